/* Log lines on standard error: time, level, event, and then key=value. */
#ifndef BATON_BASE_LOG_H
#define BATON_BASE_LOG_H

#include <stddef.h>

typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;

void log_set_level(log_level max);
/* May be called by any thread. */
__attribute__((format(printf, 3, 4))) void log_line(log_level level, const char *event,
                                                    const char *format, ...);

enum { LOG_VALUE = 400 }; /* bytes, with quotes and end: two of them fit into a line */

typedef struct log_value {
    char text[LOG_VALUE];
} log_value;

/*
 * Bytes that somebody else has chosen, such as a client's lock name, as one value of a line:
 *
 *     log_line(LOG_INFO, "lost", "lock=%s", log_quote(name, bytes).text);
 *
 * It is in quotes, and whatever is in it, no reader takes a part of it for another field, and no
 * terminal for a command: '"', '\' and all bytes but printable ASCII are escaped (as \", \\ and
 * \x9b). One that is too long ends with "...".
 */
log_value log_quote(const char *at, size_t bytes);
/* The same, up to the end of a string. */
log_value log_quote_text(const char *text);

#endif
