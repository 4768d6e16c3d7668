/* ISSUE, READ, SESSION, RESUME, STATUS: what a node understands besides the usual commands. */
#ifndef BATON_CLUSTER_COMMANDS_H
#define BATON_CLUSTER_COMMANDS_H

#include "session.h"

/* Of sessions whose backend is a cluster_node; ended by one without a name. */
extern const session_command node_commands[];

#endif
