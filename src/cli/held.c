/* The locks that a server has given. Names and addresses come from strangers: they are cleaned. */
#include "held.h"
#include "ask.h"
#include "cli.h"
#include "json.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

typedef struct held_lock {
    char name[1024];
    char holder[128];
    int64_t token;
    int64_t for_ms;
    int64_t waiting;
} held_lock;

static int take_text(ask *a, char *text, size_t bytes)
{
    ask_item item;
    int error = ask_next(a, &item);
    if (error != EXIT_DONE)
        return error;
    size_t length = item.bytes < bytes - 1 ? item.bytes : bytes - 1;
    for (size_t i = 0; i < length; i++)
        text[i] = item.text[i] == '\0' ? '?' : item.text[i];
    text[length] = '\0';
    text_clean(text);
    return EXIT_DONE;
}

static int take_number(ask *a, int64_t *number)
{
    ask_item item = {0};
    int error = ask_next(a, &item);
    *number = item.number;
    return error;
}

/* A row is NAME TOKEN HOLDER AGE WAITERS; what a later server adds is passed over. */
static int take_row(ask *a, held_lock *lock)
{
    int64_t columns;
    int64_t ignored;
    int error = take_number(a, &columns);
    if (error == EXIT_DONE)
        error = take_text(a, lock->name, sizeof lock->name);
    if (error == EXIT_DONE)
        error = take_number(a, &lock->token);
    if (error == EXIT_DONE)
        error = take_text(a, lock->holder, sizeof lock->holder);
    if (error == EXIT_DONE)
        error = take_number(a, &lock->for_ms);
    if (error == EXIT_DONE)
        error = take_number(a, &lock->waiting);
    for (int64_t i = 5; error == EXIT_DONE && i < columns; i++)
        error = take_number(a, &ignored);
    return error;
}

/* One part of the list: a number, and rows. Reads where the next part begins; 0: there is none. */
static int each_of_page(ask *a, const char *pattern, int64_t *place,
                        void (*print)(const held_lock *lock, void *context), void *context)
{
    char from[24];
    ask_item first;
    held_lock lock;
    int64_t rows = 0;
    snprintf(from, sizeof from, "%" PRId64, *place);
    int code = ask_send(a, 4, (const char *[]){"LOCKS", pattern, "CURSOR", from}, &first);
    if (code == EXIT_DONE)
        code = take_number(a, place);
    if (code == EXIT_DONE)
        code = take_number(a, &rows);
    for (int64_t i = 0; code == EXIT_DONE && i < rows; i++) {
        code = take_row(a, &lock);
        if (code == EXIT_DONE)
            print(&lock, context);
    }
    return code;
}

/* Calls `print` for each lock. */
static int each(const char *address, const server_access *by, const char *pattern,
                void (*print)(const held_lock *lock, void *context), void *context)
{
    ask a;
    int64_t place = 0;
    int code = ask_open(&a, "locks", address, by);
    if (code != EXIT_DONE)
        return code;
    do
        code = each_of_page(&a, pattern != NULL ? pattern : "*", &place, print, context);
    while (code == EXIT_DONE && place != 0);
    ask_close(&a);
    return code;
}

static void print_text(const held_lock *lock, void *context)
{
    (void)context;
    printf("%-24s %12" PRId64 " %-22s %10.1f %8" PRId64 "\n", lock->name, lock->token, lock->holder,
           (double)lock->for_ms / 1000, lock->waiting);
}

int print_held(const char *address, const server_access *by, const char *pattern)
{
    printf("%-24s %12s %-22s %10s %8s\n", "NAME", "TOKEN", "HOLDER", "HELD FOR s", "WAITING");
    int code = each(address, by, pattern, print_text, NULL);
    int written = finish_output("locks");
    return code != EXIT_DONE ? code : written;
}

static void print_object(const held_lock *lock, void *context)
{
    json *j = context;
    json_open(j, NULL, '{');
    json_string(j, "name", lock->name);
    json_integer(j, "token", (uint64_t)lock->token);
    json_string(j, "holder", lock->holder);
    json_real(j, "held_for_s", (double)lock->for_ms / 1000);
    json_integer(j, "waiting", (uint64_t)lock->waiting);
    json_close(j, '}');
}

int print_held_json(const char *address, const server_access *by, const char *pattern)
{
    json j = json_start(stdout);
    json_open(&j, NULL, '[');
    int code = each(address, by, pattern, print_object, &j);
    json_close(&j, ']');
    int written = finish_output("locks");
    return code != EXIT_DONE ? code : written;
}
