/* `baton locks`: the table of algorithms, or the bytes that locks take, or who holds a server's. */
#include "baton/lock.h"
#include "cli.h"
#include "held.h"
#include "json.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

static void help(void)
{
    puts(
        "Usage: baton locks [--json]\n"
        "       baton locks [--json] --space LOCKS PARTICIPANTS\n"
        "       baton locks [--json] --at ADDR [PATTERN]\n"
        "Lists the lock algorithms and what they promise.\n"
        "\n"
        "  --space     instead: bytes that LOCKS locks for PARTICIPANTS participants take, header\n"
        "              and padding included, from the sizes of the real types\n"
        "  --at ADDR   instead: the locks that are held at the server there, HOST:PORT or the "
        "path\n"
        "              of a Unix socket; of those names only that match PATTERN, as file names do\n"
        "  --password-file FILE  of that server ($BATON_PASSWORD_FILE)\n"
        "  --json      the same as JSON\n"
        "  -h, --help  this help\n"
        "\n"
        "Columns: FIFO, entries in the order of doorways; LOCKOUT-FREE, every process that tries\n"
        "enters; WAIT-FREE EXIT, exit takes a bounded number of steps whatever others do; TRY, "
        "has\n"
        "a try that does not wait; BYPASS, how many critical sections of others a waiting process\n"
        "may see if all go on taking steps; NEEDS, instructions beyond atomic reads and writes;\n"
        "SPACE, registers for L locks and n participants (N: n rounded up to a power of two); "
        "MOST,\n"
        "the largest n.");
}

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
        char most[16] = "any";
        if (a->most_participants != 0)
            snprintf(most, sizeof most, "%" PRIu32, a->most_participants);
        printf("%-15s %-5s %-13s %-15s %-4s %-10s %-10s %-9s %-6s %s\n", a->name, yes(a->fifo),
               yes(a->lockout_free), yes(a->wait_free_exit), yes(a->has_try), a->bypass,
               a->instructions, a->space, most, a->source);
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
        if (a->most_participants != 0)
            json_integer(&j, "most_participants", a->most_participants);
        else
            json_null(&j, "most_participants");
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

int cmd_locks(int argc, char **argv)
{
    enum { JSON = 256, SPACE, AT, PASSWORD };
    static const struct option options[] = {
        {"json", no_argument, NULL, JSON},   {"space", no_argument, NULL, SPACE},
        {"at", required_argument, NULL, AT}, {"password-file", required_argument, NULL, PASSWORD},
        {"help", no_argument, NULL, 'h'},    {NULL, 0, NULL, 0},
    };
    bool as_json = false;
    bool of_space = false;
    const char *at = NULL;
    const char *password_file = NULL;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        switch (option) {
        case JSON:
            as_json = true;
            break;
        case SPACE:
            of_space = true;
            break;
        case AT:
            at = optarg;
            break;
        case PASSWORD:
            password_file = optarg;
            break;
        case 'h':
            help();
            return finish_output("locks");
        case ':':
            return option_error("locks", "wants a value", argv);
        default:
            return option_error("locks", "is no option", argv);
        }
    }
    int words = argc - optind;
    if (at != NULL && (of_space || words > 1))
        return usage_error("locks", "--at takes one pattern at most, and no --space");
    if (at != NULL)
        return (as_json ? print_held_json : print_held)(at, password_file, argv[optind]);
    if (!of_space) {
        if (words != 0)
            return usage_error("locks", "unexpected '%s'", argv[optind]);
        (as_json ? print_table_json : print_table)();
        return finish_output("locks");
    }
    if (words != 2)
        return usage_error("locks", "--space takes two numbers, of locks and of participants");
    uint64_t numbers[2];
    for (int i = 0; i < 2; i++)
        if (!parse_number(argv[optind + i], 1, UINT32_MAX, &numbers[i]))
            return usage_error("locks", "'%s' is not a whole number from 1 to %" PRIu32,
                               argv[optind + i], UINT32_MAX);
    (as_json ? print_space_json : print_space)((uint32_t)numbers[0], (uint32_t)numbers[1]);
    return finish_output("locks");
}
