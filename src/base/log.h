/* Log lines on standard error: time, level, event, and then key=value. */
#ifndef BATON_BASE_LOG_H
#define BATON_BASE_LOG_H

#include <stddef.h>
#include <stdint.h>

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

enum { LOG_SUM_OFTEN = 1000 }; /* milliseconds */

/*
 * Lines about something that others can bring about as often as they like, such as a connection
 * that is refused: at most one in LOG_SUM_OFTEN, with the fields of the last time and how many
 * times it was since the line before (times=N). Level and event are set by its owner. May be used
 * by any thread.
 */
typedef struct log_sum {
    log_level level;
    const char *event;
    uint64_t times; /* that the log has not heard of */
    uint64_t told_at;
    char last[LOG_VALUE + 200];
} log_sum;

/* It has happened once more; `now` is in milliseconds. */
__attribute__((format(printf, 3, 4))) void log_summed(log_sum *s, uint64_t now, const char *format,
                                                      ...);
/* Writes the line that is due, if one is; to be called some times in a second. */
void log_sum_tell(log_sum *s, uint64_t now);

#endif
