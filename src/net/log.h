/* Log lines on standard error: time, level, event, and then key=value. */
#ifndef BATON_NET_LOG_H
#define BATON_NET_LOG_H

#include "serve.h"

void log_set_level(log_level most);
/* May be called by any thread. */
__attribute__((format(printf, 3, 4))) void log_line(log_level level, const char *event,
                                                    const char *format, ...);

#endif
