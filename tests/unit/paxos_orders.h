/* Every run of a small kind, as a search over states. */
#ifndef BATON_UNIT_PAXOS_ORDERS_H
#define BATON_UNIT_PAXOS_ORDERS_H

void test_all_orders(void **state);

#endif
