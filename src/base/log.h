/* Log lines on standard error: time, level, event, and then key=value. */
#ifndef BATON_BASE_LOG_H
#define BATON_BASE_LOG_H

typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;

void log_set_level(log_level max);
/* May be called by any thread. */
__attribute__((format(printf, 3, 4))) void log_line(log_level level, const char *event,
                                                    const char *format, ...);

#endif
