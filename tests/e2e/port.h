/* Ports of this machine that stay free for the test that has taken them, until it ends. */
#ifndef BATON_TESTS_PORT_H
#define BATON_TESTS_PORT_H

int take_port(void);

#endif
