/* Log lines, each written at once. */
#include "log.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static log_level the_max = LOG_INFO;

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
