/* `baton top`: reads what to show, and shows it until it has been enough. */
#include "top.h"
#include "baton/board.h"
#include "cli.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_INTERVAL 0.02
#define MOST_INTERVAL  3600.0
/* Rates need two looks: the first report comes this long after the first look, or sooner. */
#define FIRST_INTERVAL 0.2

static void help(void)
{
    puts(
        "Usage: baton top [OPTION...] [BOARD]\n"
        "       baton top --list\n"
        "       baton top --remove [BOARD]\n"
        "Shows what goes on around the locks of a BOARD (environment variable BATON_BOARD, else\n"
        "'default'): who holds each lock, who waits for it, and deadlocks. On a terminal it shows\n"
        "them live until q is pressed; elsewhere it prints a report per interval.\n"
        "\n"
        "  -i, --interval SECONDS  between reports, from 0.02 to 3600 (1)\n"
        "  -n, --count N           end after N reports\n"
        "      --once              one report as plain text\n"
        "      --json              one report as JSON; with --count, N of them\n"
        "      --list              instead: the names of the boards there are\n"
        "      --remove            instead: remove the board's name; who has it open keeps it\n"
        "  -h, --help              this help\n"
        "\n"
        "Columns: PASSAGES through the lock so far; PER S, since the report before; FOR, how long\n"
        "it has been held or waited for; WHO holds and waits, first come first. A thread is\n"
        "PROCESS (COMMAND), or PROCESS/THREAD (COMMAND) if it is not the first of its process.\n"
        "'?' stands for the time of who came when the lock looked free. 'dead' is a process that\n"
        "has ended without taking its card down; who waits for a dead holder is stuck.");
}

/* The command line. */
typedef struct wish {
    const char *board;
    double interval;
    uint64_t count; /* 0: no end */
    bool once;
    bool as_json;
    bool list;
    bool remove;
    bool about_reports; /* an option was given that --list and --remove have no use for */
} wish;

enum { ONCE = 256, JSON, LIST, REMOVE };

static const struct option options[] = {
    {"interval", required_argument, NULL, 'i'}, {"count", required_argument, NULL, 'n'},
    {"once", no_argument, NULL, ONCE},          {"json", no_argument, NULL, JSON},
    {"list", no_argument, NULL, LIST},          {"remove", no_argument, NULL, REMOVE},
    {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
};

/* "1", "0.2": digits with at most one point. */
static bool parse_seconds(const char *text, double *seconds)
{
    size_t length = strlen(text);
    const char *point = strchr(text, '.');
    if (length == 0 || strspn(text, "0123456789.") != length || strcmp(text, ".") == 0 ||
        (point != NULL && strchr(point + 1, '.') != NULL))
        return false;
    double value = strtod(text, NULL);
    if (!(value >= LEAST_INTERVAL && value <= MOST_INTERVAL))
        return false;
    *seconds = value;
    return true;
}

static int parse_option(int option, wish *w, char **argv)
{
    w->about_reports = w->about_reports || (option != LIST && option != REMOVE);
    switch (option) {
    case 'i':
        if (!parse_seconds(optarg, &w->interval))
            return usage_error("top", "--interval takes seconds from %g to %g, as in 0.5",
                               LEAST_INTERVAL, MOST_INTERVAL);
        break;
    case 'n':
        if (!parse_number(optarg, 1, UINT32_MAX, &w->count))
            return usage_error("top", "--count takes a whole number from 1 to %" PRIu32,
                               UINT32_MAX);
        break;
    case ONCE:
        w->once = true;
        break;
    case JSON:
        w->as_json = true;
        break;
    case LIST:
        w->list = true;
        break;
    case REMOVE:
        w->remove = true;
        break;
    case ':':
        return option_error("top", "wants a value", argv);
    default:
        return option_error("top", "is no option", argv);
    }
    return EXIT_DONE;
}

/* What cannot be wished for at the same time; and which board, if the words do not say. */
static int settle(wish *w, int words, char **word)
{
    if (w->list && w->remove)
        return usage_error("top", "--list and --remove do not go together");
    if ((w->list || w->remove) && w->about_reports)
        return usage_error("top", "%s prints no report, and takes no options for one",
                           w->list ? "--list" : "--remove");
    if (w->once && w->count > 0)
        return usage_error("top", "--once and --count do not go together");
    if (words > (w->list ? 0 : 1))
        return usage_error("top", "unexpected '%s'", word[w->list ? 0 : 1]);
    const char *usual = getenv("BATON_BOARD");
    w->board = words > 0 ? word[0] : usual != NULL && usual[0] != '\0' ? usual : "default";
    if (w->count == 0 && (w->once || w->as_json))
        w->count = 1;
    return EXIT_DONE;
}

/* ---- boards ---- */

static const char *const prefix = "baton.";

static int is_board(const struct dirent *entry)
{
    return strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
           entry->d_name[strlen(prefix)] != '\0';
}

static int list_boards(void)
{
    struct dirent **entry = NULL;
    int found = scandir("/dev/shm", &entry, is_board, alphasort);
    int reason = errno;
    for (int i = 0; i < found; i++) {
        text_clean(entry[i]->d_name); /* anybody may make files there */
        puts(entry[i]->d_name + strlen(prefix));
        free(entry[i]);
    }
    free(entry);
    if (found < 0 && reason != ENOENT) {
        fprintf(stderr, "baton top: cannot list /dev/shm: %s\n", strerror(reason));
        return EXIT_FAILED;
    }
    if (found <= 0)
        fputs("(no boards)\n", stderr);
    return finish_output("top");
}

static int remove_board(const char *board)
{
    int error = baton_board_remove(board);
    if (error != BATON_OK)
        return top_failure(board, error);
    printf("Removed board '%s'. Programs that have it open go on with it, unseen.\n", board);
    return finish_output("top");
}

/* ---- reports ---- */

static top_look looks[2];
static top_scene scene;

static uint64_t after(double seconds)
{
    return top_now_ns() + (uint64_t)(seconds * 1e9);
}

static void print_report(const wish *w, bool live, bool first)
{
    if (live) {
        top_screen_show(&scene, w->board);
    } else if (w->as_json) {
        top_print_json(&scene, w->board);
    } else {
        fputs(first ? "" : "\n", stdout);
        top_print_text(&scene, w->board, (top_page){stdout, UINT32_MAX, UINT32_MAX, "", ""});
    }
}

/* Whether the report got out; if not, because it has been enough for the reader or the user. */
static bool report_is_out(int *code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    if (errno != EPIPE && !top_is_ended())
        *code = finish_output("top");
    __fpurge(stdout); /* or the end of the program would try again */
    return false;
}

static int lost(const char *board, int error)
{
    if (error != BATON_NO_BOARD)
        return top_failure(board, error);
    fprintf(stderr, "baton top: board '%s' has been removed\n", board);
    return EXIT_FAILED;
}

/* Report after report, from the second look on. */
static int report(const wish *w, bool live)
{
    int code = EXIT_DONE;
    uint64_t until = after(w->interval < FIRST_INTERVAL ? w->interval : FIRST_INTERVAL);
    for (uint64_t reports = 0; w->count == 0 || reports < w->count;) {
        top_event event = top_wait(until);
        if (event == TOP_ENDED)
            break;
        if (event == TOP_TIME_IS_OVER) {
            top_look *later = &looks[(reports + 1) % 2];
            int error = top_look_at(w->board, later);
            if (error != BATON_OK) {
                top_screen_close();
                return lost(w->board, error);
            }
            top_scene_make(&looks[reports % 2], later, &scene);
            until = after(w->interval);
            reports++;
        } else if (reports == 0) {
            continue; /* nothing yet to be redrawn */
        }
        print_report(w, live, reports == 1);
        if (!report_is_out(&code))
            break;
    }
    return code;
}

static int show(const wish *w)
{
    top_catch_signals();
    int error = top_look_at(w->board, &looks[0]);
    if (error != BATON_OK)
        return top_failure(w->board, error);
    bool live = !w->once && !w->as_json && top_screen_fits();
    if (live)
        top_screen_open();
    int code = report(w, live);
    top_screen_close();
    return code;
}

int cmd_top(int argc, char **argv)
{
    wish w = {.interval = 1};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":i:n:h", options, NULL)) != -1;) {
        if (option == 'h') {
            help();
            return finish_output("top");
        }
        int code = parse_option(option, &w, argv);
        if (code != EXIT_DONE)
            return code;
    }
    int code = settle(&w, argc - optind, argv + optind);
    if (code != EXIT_DONE)
        return code;
    if (w.list)
        return list_boards();
    return w.remove ? remove_board(w.board) : show(&w);
}
