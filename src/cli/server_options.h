/* Options that all servers have in common. */
#ifndef BATON_CLI_SERVER_OPTIONS_H
#define BATON_CLI_SERVER_OPTIONS_H

#include "serve.h"

/* In the order of log_level. */
#define LOG_LEVELS "error|warn|info|debug"

/*
 * The value of --http, for a struct that begins with a serve_settings. A port alone is for this
 * machine alone. False if it makes no sense.
 */
bool take_http(void *into, const char *value);

#endif
