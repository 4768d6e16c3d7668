/* `baton top`: reads what to show, and shows it until it has been enough. */
#include "top.h"
#include "baton/board.h"
#include "cli.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_INTERVAL 0.02
#define MAX_INTERVAL   3600.0
/* Rates need two looks: the first report comes this long after the first look, or sooner. */
#define FIRST_INTERVAL 0.2

/* The command line. */
typedef struct wish {
    const char *board;
    double interval;
    uint32_t count; /* 0: no end */
    bool once;
    bool as_json;
    bool list;
    bool remove;
} wish;

/* "1", "0.2": digits with at most one point. */
static bool take_interval(void *into, const char *text)
{
    size_t length = strlen(text);
    const char *point = strchr(text, '.');
    if (length == 0 || strspn(text, "0123456789.") != length || strcmp(text, ".") == 0 ||
        (point != NULL && strchr(point + 1, '.') != NULL))
        return false;
    double value = strtod(text, NULL);
    if (!(value >= LEAST_INTERVAL && value <= MAX_INTERVAL))
        return false;
    ((wish *)into)->interval = value;
    return true;
}

static const option_row rows[] = {
    {"interval", 'i', "SECONDS", "between reports, from 0.02 to 3600", .take = take_interval,
     .noun = "number from 0.02 to 3600", .unit = "seconds, as in 0.5", .usual = "1"},
    {"count", 'n', "N", "end after N reports", INTO(wish, count), .least = 1, .max = UINT32_MAX},
    {"once", 0, NULL, "one report as plain text", INTO(wish, once)},
    {"json", 0, NULL, "one report as JSON; with --count, N of them", INTO(wish, as_json)},
    {"list", 0, NULL, "instead: the names of the boards there are", INTO(wish, list)},
    {"remove", 0, NULL, "instead: remove the name of the board; programs that have it open keep it",
     INTO(wish, remove)},
    {0},
};

const command_line top_line = {
    .program = "baton top",
    .usage = "[OPTION...] [BOARD]\n--list\n--remove [BOARD]",
    .intro = "Shows what goes on around the locks of a BOARD (environment variable BATON_BOARD, "
             "else 'default'): who holds each lock, who waits for it, and deadlocks. On a terminal "
             "it shows them live until q is pressed; elsewhere it prints a report per interval.",
    .rows = rows,
    .end = "Columns: PASSAGES through the lock so far; PER S, since the report before; FOR, how "
           "long it has been held or waited for; WHO holds and waits, first come first. A thread "
           "is PROCESS (COMMAND), or PROCESS/THREAD (COMMAND) if it is not the first of its "
           "process. '?' stands for the time of a thread that came when the lock looked free. "
           "'dead' is a process that has ended without taking its card down; a thread that waits "
           "for a dead holder is stuck.",
    .max_words = OPTIONS_ANY,
};

/* Options that --list and --remove have no use for. */
static bool is_about_reports(const options_got *got)
{
    return options_given(&top_line, got, "interval") || options_given(&top_line, got, "count") ||
           options_given(&top_line, got, "once") || options_given(&top_line, got, "json");
}

/* What cannot be wished for at the same time; and which board, if the words do not say. */
static int settle(wish *w, const options_got *got)
{
    if (w->list && w->remove)
        return options_wrong(&top_line, "--list and --remove do not go together");
    if ((w->list || w->remove) && is_about_reports(got))
        return options_wrong(&top_line, "%s prints no report, and takes no options for one",
                             w->list ? "--list" : "--remove");
    if (w->once && w->count > 0)
        return options_wrong(&top_line, "--once and --count do not go together");
    if (got->words > (w->list ? 0 : 1))
        return options_wrong(&top_line, "unexpected '%s'", got->word[w->list ? 0 : 1]);
    const char *usual = getenv("BATON_BOARD");
    w->board = got->words > 0                      ? got->word[0]
               : usual != NULL && usual[0] != '\0' ? usual
                                                   : "default";
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

int cmd_top(char **argv)
{
    wish w = {0};
    options_got got;
    int code;
    if (!read_options(&top_line, argv, &w, &got, &code))
        return code;
    code = settle(&w, &got);
    if (code != EXIT_DONE)
        return code;
    if (w.list)
        return list_boards();
    return w.remove ? remove_board(w.board) : show(&w);
}
