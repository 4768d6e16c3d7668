/* Options that all servers have in common. */
#ifndef BATON_CLI_SERVER_OPTIONS_H
#define BATON_CLI_SERVER_OPTIONS_H

#include "../net/serve.h"

bool parse_level(const char *name, log_level *level);
/* A port alone is for this machine alone. NULL if it makes no sense. */
const char *parse_http(const char *given);

#endif
