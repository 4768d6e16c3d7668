/* `baton locks`: the table of algorithms, or the bytes that locks take, or who holds a server's. */
#include "baton/lock.h"
#include "cli.h"
#include "held.h"
#include "json.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct wish {
    bool as_json, of_space;
    const char *at;
    server_access by;
} wish;

static const option_row rows[] = {
    {"space", 0, NULL,
     "instead: bytes that LOCKS locks for PARTICIPANTS participants take, header and padding "
     "included, from the sizes of the real types",
     INTO(wish, of_space)},
    {"at", 0, "ADDR",
     "instead: the locks that are held at the server there, HOST:PORT or the path of a Unix "
     "socket; only those whose names match PATTERN, as file names do",
     INTO(wish, at)},
    ACCESS_ROWS(wish, by),
    {"json", 0, NULL, "the same as JSON", INTO(wish, as_json)},
    {0},
};

const command_line locks_line = {
    .program = "baton locks",
    .usage = "[--json]\n[--json] --space LOCKS PARTICIPANTS\n[--json] --at ADDR [PATTERN]",
    .intro = "Lists the lock algorithms and what they promise.",
    .rows = rows,
    .end =
        "Columns: FIFO, entries in the order of doorways; LOCKOUT-FREE, every process that tries "
        "enters; WAIT-FREE EXIT, exit takes a bounded number of steps whatever others do; TRY, "
        "has a try that does not wait; BYPASS, how many critical sections of others a waiting "
        "process may see if all go on taking steps; NEEDS, instructions beyond atomic reads and "
        "writes; SPACE, registers for L locks and n participants (N: n rounded up to a power of "
        "two); MOST, the largest n.",
    .max_words = OPTIONS_ANY,
};

static const char *yes(bool value)
{
    return value ? "yes" : "-";
}

static void print_table(void)
{
    printf("%-15s %-5s %-13s %-15s %-4s %-10s %-10s %-9s %-6s %s\n", "NAME", "FIFO", "LOCKOUT-FREE",
           "WAIT-FREE EXIT", "TRY", "BYPASS", "NEEDS", "SPACE", "MOST", "FROM");
    const baton_algorithm *a;
    for (size_t i = 0; (a = baton_algorithm_at(i)) != NULL; i++) {
        char max[16] = "any";
        if (a->max_participants != 0)
            snprintf(max, sizeof max, "%" PRIu32, a->max_participants);
        printf("%-15s %-5s %-13s %-15s %-4s %-10s %-10s %-9s %-6s %s\n", a->name, yes(a->fifo),
               yes(a->lockout_free), yes(a->wait_free_exit), yes(a->has_try), a->bypass,
               a->instructions, a->space, max, a->source);
    }
}

static void print_table_json(void)
{
    json j = json_start(stdout);
    json_open(&j, NULL, '[');
    const baton_algorithm *a;
    for (size_t i = 0; (a = baton_algorithm_at(i)) != NULL; i++) {
        json_open(&j, NULL, '{');
        json_string(&j, "name", a->name);
        json_string(&j, "title", a->title);
        json_string(&j, "source", a->source);
        json_bool(&j, "fifo", a->fifo);
        json_bool(&j, "lockout_free", a->lockout_free);
        json_bool(&j, "wait_free_exit", a->wait_free_exit);
        json_bool(&j, "try", a->has_try);
        json_string(&j, "bypass", a->bypass);
        json_string(&j, "instructions", a->instructions);
        json_string(&j, "registers", a->space);
        if (a->max_participants != 0)
            json_integer(&j, "max_participants", a->max_participants);
        else
            json_null(&j, "max_participants");
        json_close(&j, '}');
    }
    json_close(&j, ']');
}

/* Bytes for so many locks and participants; false if the algorithm does not take that many. */
static bool space(const baton_algorithm *a, uint32_t locks, uint32_t participants, size_t *bytes)
{
    baton_locks_spec spec = {a->name, locks, participants, BATON_SPIN};
    return baton_locks_size(&spec, bytes) == BATON_OK;
}

static void print_space(uint32_t locks, uint32_t participants)
{
    printf("%-15s %20s   %s\n", "NAME", "BYTES", "REGISTERS");
    const baton_algorithm *a;
    for (size_t i = 0; (a = baton_algorithm_at(i)) != NULL; i++) {
        size_t bytes;
        if (space(a, locks, participants, &bytes))
            printf("%-15s %20zu   %s\n", a->name, bytes, a->space);
        else
            printf("%-15s %20s   too many participants or too large\n", a->name, "-");
    }
}

static void print_space_json(uint32_t locks, uint32_t participants)
{
    json j = json_start(stdout);
    json_open(&j, NULL, '{');
    json_integer(&j, "locks", locks);
    json_integer(&j, "participants", participants);
    json_open(&j, "bytes", '{');
    const baton_algorithm *a;
    for (size_t i = 0; (a = baton_algorithm_at(i)) != NULL; i++) {
        size_t bytes;
        if (space(a, locks, participants, &bytes))
            json_integer(&j, a->name, bytes);
        else
            json_null(&j, a->name);
    }
    json_close(&j, '}');
    json_close(&j, '}');
}

static int show_table(const wish *w, const options_got *got)
{
    if (got->words != 0)
        return options_wrong(&locks_line, "unexpected '%s'", got->word[0]);
    (w->as_json ? print_table_json : print_table)();
    return finish_output("locks");
}

static int show_space(const wish *w, const options_got *got)
{
    uint64_t numbers[2];
    if (got->words != 2)
        return options_wrong(&locks_line,
                             "--space takes two numbers, of locks and of participants");
    for (int i = 0; i < 2; i++)
        if (!parse_number(got->word[i], 1, UINT32_MAX, &numbers[i]))
            return options_wrong(&locks_line, "'%s' is not a whole number from 1 to %" PRIu32,
                                 got->word[i], UINT32_MAX);
    (w->as_json ? print_space_json : print_space)((uint32_t)numbers[0], (uint32_t)numbers[1]);
    return finish_output("locks");
}

int cmd_locks(char **argv)
{
    wish w = {0};
    options_got got;
    int code;
    if (!read_options(&locks_line, argv, &w, &got, &code))
        return code;
    if (w.at != NULL && (w.of_space || got.words > 1))
        return options_wrong(&locks_line, "--at takes one pattern at most, and no --space");
    if (w.at != NULL)
        return (w.as_json ? print_held_json : print_held)(w.at, &w.by, got.word[0]);
    return w.of_space ? show_space(&w, &got) : show_table(&w, &got);
}
