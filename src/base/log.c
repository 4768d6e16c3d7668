/* Log lines, each written at once. */
#include "log.h"

#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static log_level the_max = LOG_INFO;
static pthread_mutex_t sums = PTHREAD_MUTEX_INITIALIZER; /* guards every log_sum */

void log_set_level(log_level max)
{
    the_max = max;
}

void log_line(log_level level, const char *event, const char *format, ...)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char text[1024];
    struct timespec now;
    struct tm utc;
    if (level > the_max)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t length = strftime(text, sizeof text, "time=%Y-%m-%dT%H:%M:%S", &utc);
    length += (size_t)snprintf(text + length, sizeof text - length, ".%03ldZ level=%s event=%s ",
                               now.tv_nsec / 1000000, names[level], event);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(text + length, sizeof text - length - 1, format, arguments);
    va_end(arguments);
    length += more > 0 ? (size_t)more : 0;
    if (length > sizeof text - 2)
        length = sizeof text - 2;
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)text[i])) /* one line, whatever a client has sent */
            text[i] = '?';
    text[length++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, text, length);
    (void)ignored; /* there is nobody left to tell */
}

/* How a byte is written: by itself, behind a backslash, or in digits. */
static size_t escape(unsigned char byte, char out[5])
{
    static const char digits[] = "0123456789abcdef";
    bool quoted = byte == '"' || byte == '\\';
    size_t length = 0;
    if (quoted || byte < 0x20 || byte > 0x7e)
        out[length++] = '\\';
    if (length == 0 || quoted) {
        out[length++] = (char)byte;
    } else {
        out[length++] = 'x';
        out[length++] = digits[byte >> 4];
        out[length++] = digits[byte & 15];
    }
    return length;
}

log_value log_quote(const char *at, size_t bytes)
{
    static const char cut[] = "...\"";
    log_value v;
    size_t length = 0;
    v.text[length++] = '"';
    for (size_t i = 0; i < bytes; i++) {
        char one[5];
        size_t more = escape((unsigned char)at[i], one);
        if (length + more + sizeof cut > sizeof v.text) {
            memcpy(v.text + length, cut, sizeof cut);
            return v;
        }
        memcpy(v.text + length, one, more);
        length += more;
    }
    memcpy(v.text + length, "\"", 2);
    return v;
}

log_value log_quote_text(const char *text)
{
    return log_quote(text, strlen(text));
}

static void tell_sum(log_sum *s, uint64_t now)
{
    if (s->times == 0 || (s->told_at != 0 && now - s->told_at < LOG_SUM_OFTEN))
        return;
    log_line(s->level, s->event, "%s times=%" PRIu64, s->last, s->times);
    s->times = 0;
    s->told_at = now;
}

void log_summed(log_sum *s, uint64_t now, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&sums);
    vsnprintf(s->last, sizeof s->last, format, arguments);
    s->times++;
    tell_sum(s, now);
    pthread_mutex_unlock(&sums);
    va_end(arguments);
}

void log_sum_tell(log_sum *s, uint64_t now)
{
    pthread_mutex_lock(&sums);
    tell_sum(s, now);
    pthread_mutex_unlock(&sums);
}
