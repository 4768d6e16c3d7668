/* `baton bench --at`: asks who is there, puts load on them, prints what came out. */
#include "ask.h"
#include "baton/lock.h"
#include "bench.h"
#include "cli.h"
#include "json.h"
#include "server_paths.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

typedef struct load_results {
    const load_plan *plan;
    load_result result;
    char complaint[LOAD_COMPLAINT];
} load_results;

static const char *plural(uint64_t number)
{
    return number == 1 ? "" : "s";
}

static void show_progress(const load_progress *now)
{
    fprintf(stderr,
            "\r\033[K%3.0f%%  %s: %.0f per second, p50 %.2f ms, p99 %.2f ms, %" PRIu64 " error%s",
            100 * now->share, now->doing, now->per_s, now->p50_ms, now->p99_ms, now->errors,
            plural(now->errors));
}

/* ---- figures ---- */

/* The columns; the last is the longest of all. */
static const struct column {
    const char *name, *json;
    double share;
} columns[] = {
    {"p50", "p50_ms", 0.5},      {"p90", "p90_ms", 0.9}, {"p99", "p99_ms", 0.99},
    {"p99.9", "p999_ms", 0.999}, {"max", "max_ms", 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static double ms_at(const histogram *took, double share)
{
    return (double)histogram_at(took, share) / 1e6;
}

/* How it went with one kind, or with all together. */
typedef struct figures {
    const char *name;
    const histogram *took;
    double per_s;
} figures;

static figures figures_of(const load_result *r, const char *name, const histogram *took,
                          uint64_t in_time)
{
    return (figures){name, took, r->seconds > 0 ? (double)in_time / r->seconds : 0};
}

static figures kind_figures(const load_result *r, load_kind kind)
{
    return figures_of(r, load_kind_name[kind], &r->took[kind], r->in_time[kind]);
}

static figures all_figures(const load_result *r)
{
    static histogram all;
    uint64_t in_time = 0;
    memset(&all, 0, sizeof all);
    for (load_kind k = 0; k < LOAD_KINDS; k++) {
        histogram_join(&all, &r->took[k]);
        in_time += r->in_time[k];
    }
    return figures_of(r, "all", &all, in_time);
}

static uint32_t kinds_of(const load_plan *p)
{
    uint32_t kinds = 0;
    for (load_kind k = 0; k < LOAD_KINDS; k++)
        kinds += p->weight[k] > 0;
    return kinds;
}

/* ---- text ---- */

static void print_heading(const load_plan *p, const load_result *r)
{
    printf("%" PRIu32 " client%s at %" PRIu32 " address%s, ", p->clients, plural(p->clients),
           p->addresses, p->addresses == 1 ? "" : "es");
    if (kinds_of(p) > 1 || p->weight[LOAD_ISSUE] == 0)
        printf("%" PRIu32 " shared lock%s, ", p->locks, plural(p->locks));
    if (p->counts)
        printf("INCR, ");
    else if (p->least_bytes == p->max_bytes)
        printf("values of %" PRIu32 " byte%s, ", p->max_bytes, plural(p->max_bytes));
    else
        printf("values of %" PRIu32 " to %" PRIu32 " bytes, ", p->least_bytes, p->max_bytes);
    if (p->rate > 0)
        printf("open loop, %" PRIu64 " due per second\n", p->rate);
    else
        puts("closed loop");
    printf("%.1f s measured after %g s of warm-up%s\n", r->seconds, (double)p->warm_up_ms / 1000,
           r->interrupted ? "; interrupted" : "");
}

static void print_row(figures f)
{
    printf("%-9s %11" PRIu64 " %11.1f", f.name, f.took->count, f.per_s);
    for (size_t i = 0; i < COLUMNS; i++)
        printf(" %9.3f", ms_at(f.took, columns[i].share));
    putchar('\n');
}

static void print_errors(const load_result *r)
{
    fputs("errors:", stdout);
    for (uint32_t i = 0; i < r->errors; i++)
        printf("%s %" PRIu64 " %s", i == 0 ? "" : ",", r->error[i].count, r->error[i].kind);
    puts(r->errors == 0 ? " none" : "");
}

static void print_text(const void *results)
{
    const load_plan *p = ((const load_results *)results)->plan;
    const load_result *r = &((const load_results *)results)->result;
    print_heading(p, r);
    printf("%-9s %11s %11s", "ms", "operations", "per second");
    for (size_t i = 0; i < COLUMNS; i++)
        printf(" %9s", columns[i].name);
    putchar('\n');
    for (load_kind k = 0; k < LOAD_KINDS; k++)
        if (p->weight[k] > 0)
            print_row(kind_figures(r, k));
    if (kinds_of(p) > 1)
        print_row(all_figures(r));
    if (p->weight[LOAD_TRY] > 0)
        printf("%" PRIu64 " tr%s found somebody inside\n", r->refused,
               r->refused == 1 ? "y" : "ies");
    print_errors(r);
    if (r->unsent > 0)
        printf("%" PRIu64 " more %s due, and no client was free: this rate is too high for %" PRIu32
               " client%s here\n",
               r->unsent, r->unsent == 1 ? "was" : "were", p->clients, plural(p->clients));
    printf("the generator itself took %.0f %% of a processor%s\n", 100 * r->processor,
           r->processor > 0.8 ? ": it may be what is slow here" : "");
}

/* ---- JSON ---- */

static void json_figures(json *j, figures f)
{
    double count = (double)f.took->count;
    json_integer(j, "operations", f.took->count);
    json_real(j, "per_s", f.per_s);
    json_real(j, "mean_ms", count > 0 ? (double)f.took->total / count / 1e6 : 0);
    for (size_t i = 0; i < COLUMNS; i++)
        json_real(j, columns[i].json, ms_at(f.took, columns[i].share));
}

static void json_plan(json *j, const load_plan *p)
{
    json_open(j, "at", '[');
    for (uint32_t i = 0; i < p->addresses; i++)
        json_string(j, NULL, p->address[i].text);
    json_close(j, ']');
    json_integer(j, "clients", p->clients);
    json_integer(j, "locks", p->locks);
    json_string(j, "operation", p->counts ? "incr" : "set");
    json_integer(j, "value_bytes_least", p->least_bytes);
    json_integer(j, "value_bytes_most", p->max_bytes);
    json_string(j, "loop", p->rate > 0 ? "open" : "closed");
    json_integer(j, "rate", p->rate);
    json_real(j, "warm_up_s", (double)p->warm_up_ms / 1000);
}

static void json_result(json *j, const load_result *r)
{
    json_real(j, "seconds", r->seconds);
    json_bool(j, "interrupted", r->interrupted);
    json_integer(j, "begun", r->begun);
    json_integer(j, "failed", r->failed);
    json_integer(j, "unsent", r->unsent);
    json_integer(j, "refused", r->refused);
    json_integer(j, "issued_with_warm_up", r->issued);
    json_real(j, "processor", r->processor);
}

static void print_json(const void *results)
{
    const load_plan *p = ((const load_results *)results)->plan;
    const load_result *r = &((const load_results *)results)->result;
    json j = json_start(stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "version", baton_version());
    json_plan(&j, p);
    json_result(&j, r);
    json_open(&j, "all", '{');
    json_figures(&j, all_figures(r));
    json_close(&j, '}');
    json_open(&j, "results", '[');
    for (load_kind k = 0; k < LOAD_KINDS; k++) {
        if (p->weight[k] == 0)
            continue;
        json_open(&j, NULL, '{');
        json_string(&j, "kind", load_kind_name[k]);
        json_figures(&j, kind_figures(r, k));
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_open(&j, "errors", '[');
    for (uint32_t i = 0; i < r->errors; i++) {
        json_open(&j, NULL, '{');
        json_string(&j, "kind", r->error[i].kind);
        json_integer(&j, "count", r->error[i].count);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

/* ---- who is there ---- */

/* What HELLO says of who is there. */
static int ask_hello(ask *a, bool *is_baton, bool *is_node)
{
    ask_item item;
    char key[16] = "";
    int error = ask_send(a, 1, (const char *const[]){"HELLO"}, &item);
    for (int64_t i = 0, more = item.number; error == EXIT_DONE && i < more; i++) {
        error = ask_next(a, &item);
        if (error == EXIT_DONE && i % 2 == 0)
            snprintf(key, sizeof key, "%s", item.text);
        else if (error == EXIT_DONE && strcmp(key, "server") == 0)
            *is_baton = strcmp(item.text, "baton") == 0;
        else if (error == EXIT_DONE && strcmp(key, "mode") == 0)
            *is_node = strcmp(item.text, "cluster") == 0;
    }
    return error;
}

/* The first kind of the mix that only a node can do; NULL: none. */
static const char *needs_node(const load_plan *p)
{
    for (load_kind k = 0; k < LOAD_LOCK; k++)
        if (p->weight[k] > 0)
            return load_kind_name[k];
    return NULL;
}

/* Where it was reached; a server may know its socket by another path. */
static bool note_place(load_address *at, const ask *a)
{
    struct sockaddr_un *here = (struct sockaddr_un *)(void *)&at->name;
    at->bytes = sizeof at->name;
    if (strchr(at->text, '/') == NULL)
        return getpeername(a->channel.socket, (struct sockaddr *)&at->name, &at->bytes) == 0;
    *here = (struct sockaddr_un){.sun_family = AF_UNIX};
    at->bytes = sizeof *here;
    return snprintf(here->sun_path, sizeof here->sun_path, "%s", at->text) <
           (int)sizeof here->sun_path;
}

static int look_at(const load_plan *p, load_address *at, const server_access *by)
{
    ask a;
    bool is_baton = false, is_node = false;
    if (address_read(at->text).kind == ADDRESS_TLS) {
        fprintf(stderr, "baton bench: it puts load on plain addresses only, and %s is TLS\n",
                at->text);
        return EXIT_USAGE;
    }
    int error = ask_open(&a, "bench", at->text, by);
    if (error != EXIT_DONE)
        return error;
    error = ask_hello(&a, &is_baton, &is_node);
    if (error == EXIT_DONE && !note_place(at, &a))
        error = EXIT_UNREACHABLE;
    ask_close(&a);
    if (error != EXIT_DONE)
        return error;
    if (!is_baton) {
        fprintf(stderr, "baton bench: %s is no server of Baton's\n", at->text);
        return EXIT_FAILED;
    }
    if (!is_node && needs_node(p) != NULL) {
        fprintf(stderr,
                "baton bench: %s is no node of a cluster, and keeps no data: there is no '%s'; "
                "use --mix lock or --mix try\n",
                at->text, needs_node(p));
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* ---- all of it ---- */

static const char *measure(void *results)
{
    load_results *r = results;
    return load_run(r->plan, &r->result, r->complaint) ? NULL : r->complaint;
}

static const char *draw(const void *results, int file)
{
    const load_results *r = results;
    return load_plot(r->plan, &r->result, file);
}

int bench_load(load_plan *plan, const server_access *by, const bench_view *view)
{
    static load_results results;
    char *password = NULL;
    int error = EXIT_DONE;
    for (uint32_t i = 0; i < plan->addresses && error == EXIT_DONE; i++)
        error = look_at(plan, &plan->address[i], by);
    if (error != EXIT_DONE)
        return error;
    if (by->password_file != NULL && (password = read_password("bench", by->password_file)) == NULL)
        return EXIT_FAILED;
    plan->password = password;
    plan->progress = view->with_progress ? show_progress : NULL;
    results.plan = plan;
    bench_kind kind = {&results, measure, print_text, print_json, draw};
    error = bench_run(&kind, view);
    free(password);
    if (error == EXIT_DONE && all_figures(&results.result).took->count == 0) {
        fputs("baton bench: no operation was answered; the errors say why\n", stderr);
        return EXIT_FAILED;
    }
    return error;
}
