/* `baton-sim node`: does what it is asked for. */
#include "chance.h"
#include "jepsen.h"
#include "json.h"
#include "main.h"
#include "node_options.h"
#include "svg.h"
#include "workers.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long number;

static_assert(sizeof(fleet_counts) <= MAX_SUMS && sizeof(fleet_counts) % sizeof(uint64_t) == 0,
              "a worker has room for them, and they are numbers");

/* ---- many runs ---- */

static void add(void *to, const void *more)
{
    uint64_t *sums = to;
    const uint64_t *those = more;
    for (size_t i = 0; i < sizeof(fleet_counts) / sizeof *sums; i++)
        sums[i] += those[i];
}

static void run_one(const void *wishes, uint64_t seed, void *sums, trouble *found)
{
    fleet_settings s = once_settings(wishes, seed);
    once_result r = once_run(&s, NULL, NULL);
    add(sums, &r.counts);
    *found = r.trouble;
}

static void report(const harvest *h, const fleet_counts *c, const node_wishes *w)
{
    double runs = h->runs > 0 ? (double)h->runs : 1;
    printf("node: %llu runs%s, %.1f s, %.1f runs/s\n", (number)h->runs,
           h->interrupted ? " (interrupted)" : "", h->seconds,
           h->seconds > 0 ? (double)h->runs / h->seconds : 0);
    printf("  in each on average: %.0f events, %.0f messages, %.0f turns, %.0f commits, %.1f s\n",
           (double)c->events / runs, (double)c->messages / runs, (double)c->turns / runs,
           (double)c->commits / runs, (double)c->virtual_us * 1e-6 / runs);
    printf("  %llu sections, %llu operations, %llu ejected, %llu resumed, %llu not, %llu lingered, "
           "%llu changes of epoch, %llu went to rest\n",
           (number)c->sections, (number)c->operations, (number)c->ejected, (number)c->resumed,
           (number)c->refused, (number)c->lingered, (number)c->epochs, (number)c->rested);
    printf("  leases: renewed %llu times, %llu sections given up, %llu silent nodes left, %llu "
           "sections overlapped as they may\n",
           (number)c->renewed, (number)c->given_up, (number)c->left_silent, (number)c->overlaps);
    printf("  faults:");
    for (int k = 0; k < MISHAP_KINDS; k++)
        printf(" %s %llu,", mishap_names[k], (number)c->begun[k]);
    printf(" connections lost %llu\n  nodes died %llu times, within a turn, from its begin on:",
           (number)c->broken_lines, (number)c->deaths);
    for (int k = 0; k < TURN_POINTS; k++)
        printf(" %llu", (number)c->points[k]);
    printf(", while it commits: %llu\n", (number)c->points[POINT_COMMIT]);
    printf("  disks: %llu sectors lost, %llu turns torn, %llu calls failed, %llu nodes ended since "
           "there was no room\n",
           (number)c->lost_sectors, (number)c->torn, (number)c->failed_calls, (number)c->full);
    printf("  in memory: %llu runs, and parts of %llu; consensus outside: %llu runs, asked %llu "
           "times, lost %llu, twice %llu, late %llu\n",
           (number)c->in_memory, (number)c->mixed, (number)c->outside, (number)c->asked,
           (number)c->asked_lost, (number)c->asked_twice, (number)c->asked_late);
    printf("  %llu older copies restored; %llu runs not judged to their end, since one spoke to a "
           "node that could not know better\n",
           (number)c->stale, (number)c->unjudged);
    for (uint32_t i = 0; i < h->broken; i++) {
        const failure *f = &h->failures[i];
        fleet_settings s = once_settings(w, f->seed);
        char command[512];
        once_command(w, &s, f->seed, command);
        printf("BROKEN: %s: %s\n  in %llu runs, the first with seed %llu, at %.3f ms\n"
               "  %s --replay\n",
               f->trouble.property, f->trouble.what, (number)f->count, (number)f->seed,
               (double)f->trouble.at / 1000, command);
    }
}

static void report_json(const harvest *h, const fleet_counts *c, const node_wishes *w)
{
    json j = json_start(stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "protocol", "node");
    json_integer(&j, "runs", h->runs);
    json_bool(&j, "interrupted", h->interrupted);
    json_integer(&j, "events", c->events);
    json_integer(&j, "messages", c->messages);
    json_integer(&j, "turns", c->turns);
    json_integer(&j, "commits", c->commits);
    json_integer(&j, "sections", c->sections);
    json_integer(&j, "operations", c->operations);
    json_integer(&j, "ejected", c->ejected);
    json_integer(&j, "resumed", c->resumed);
    json_integer(&j, "renewed", c->renewed);
    json_integer(&j, "given_up", c->given_up);
    json_integer(&j, "left_silent", c->left_silent);
    json_integer(&j, "overlaps", c->overlaps);
    json_integer(&j, "epochs", c->epochs);
    json_integer(&j, "deaths", c->deaths);
    json_open(&j, "faults", '{');
    for (int k = 0; k < MISHAP_KINDS; k++)
        json_integer(&j, mishap_names[k], c->begun[k]);
    json_close(&j, '}');
    json_integer(&j, "lost_sectors", c->lost_sectors);
    json_integer(&j, "torn_turns", c->torn);
    json_integer(&j, "failed_calls", c->failed_calls);
    json_integer(&j, "ended_for_want_of_room", c->full);
    json_integer(&j, "older_copies", c->stale);
    json_integer(&j, "runs_not_judged_to_the_end", c->unjudged);
    json_integer(&j, "runs_in_memory", c->in_memory);
    json_integer(&j, "runs_partly_in_memory", c->mixed);
    json_integer(&j, "runs_with_consensus_outside", c->outside);
    json_integer(&j, "asked_outside", c->asked);
    json_integer(&j, "asked_outside_lost", c->asked_lost);
    json_integer(&j, "asked_outside_twice", c->asked_twice);
    json_integer(&j, "asked_outside_late", c->asked_late);
    json_real(&j, "virtual_seconds", (double)c->virtual_us * 1e-6);
    json_open(&j, "broken", '[');
    for (uint32_t i = 0; i < h->broken; i++) {
        const failure *f = &h->failures[i];
        fleet_settings s = once_settings(w, f->seed);
        char command[512];
        once_command(w, &s, f->seed, command);
        json_open(&j, NULL, '{');
        json_string(&j, "property", f->trouble.property);
        json_string(&j, "what", f->trouble.what);
        json_integer(&j, "runs", f->count);
        json_integer(&j, "seed", f->seed);
        json_string(&j, "command", command);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_real(&j, "seconds", h->seconds);
    json_close(&j, '}');
}

static int run_many(const node_request *q)
{
    uint64_t runs = q->runs != 0 ? q->runs : q->seeded ? 1 : NODE_RUNS;
    labour l = {.wishes = &q->wishes,
                .run = run_one,
                .add = add,
                .leave = disks_leave,
                .sums_bytes = sizeof(fleet_counts)};
    fleet_counts sums = {0};
    harvest h = workers_run(&l, q->seed, runs, q->jobs, q->keep_going, &sums);
    (q->as_json ? report_json : report)(&h, &sums, &q->wishes);
    return h.broken > 0 ? EXIT_BROKEN : h.interrupted ? EXIT_INTERRUPTED : EXIT_FINE;
}

/* ---- one run ---- */

static int verdict_on(const once_result *r)
{
    if (r->trouble.property[0] == '\0') {
        printf("nothing wrong\n");
        return EXIT_FINE;
    }
    printf("BROKEN at %.3f ms: %s: %s\n", (double)r->trouble.at / 1000, r->trouble.property,
           r->trouble.what);
    return EXIT_BROKEN;
}

static int replay(const node_request *q)
{
    fleet_settings s = once_settings(&q->wishes, q->seed);
    char memory[16] = "";
    for (uint8_t i = 0; i < s.nodes; i++)
        memory[i] = (s.in_memory >> i & 1) != 0 ? 'm' : 'd';
    printf("seed %llu: %u nodes, ack %s, %u locks%s, %u clients; consensus %s, memory or disk: %s; "
           "delay %u us, disk %u us, lease %u "
           "ms, at most %u without a connection; times in ms\n\n",
           (number)q->seed, s.nodes, s.ack_all ? "all" : "owner", s.locks,
           s.aged ? " of great age" : "", s.clients, s.outside ? "outside" : "among them", memory,
           s.delay, s.disk, s.lease, s.max_detached);
    setvbuf(stdout, NULL, _IOLBF, 0); /* all is there when an assertion ends it */
    signal(SIGPIPE, SIG_IGN);         /* whoever has read enough leaves no disks behind */
    once_result r = once_run(&s, stdout, NULL);
    disks_leave(getpid());
    printf("\n");
    return verdict_on(&r);
}

static int draw_run(const node_request *q)
{
    fleet_settings s = once_settings(&q->wishes, q->seed);
    picture *p = picture_new(s.nodes, q->from, q->to);
    once_result r = once_run(&s, NULL, picture_teller(p));
    char title[512];
    disks_leave(getpid());
    once_command(&q->wishes, &s, q->seed, title);
    int code = picture_save(p, title, r.counts.virtual_us, q->svg_file);
    return code != EXIT_FINE ? code : verdict_on(&r);
}

static int write_history(const node_request *q)
{
    static judge heard;
    fleet_settings s = once_settings(&q->wishes, q->seed);
    once_result r = once_run_heard(&s, &heard);
    disks_leave(getpid());
    int code = jepsen_save(&heard, s.clients, s.locks, r.counts.virtual_us, q->history_file);
    return code != EXIT_FINE ? code : verdict_on(&r);
}

/* In a process of its own: it may end by an assertion. */
static trouble run_apart(const fleet_settings *s)
{
    trouble *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    trouble found = {.property = "process", .what = "no process could be started"};
    if (shared == MAP_FAILED)
        return found;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        fclose(stderr);
        alarm(120);
        *shared = once_run(s, NULL, NULL).trouble;
        _exit(0);
    }
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child)
        found = *shared;
    if (child > 0 && status != 0)
        found = (trouble){.property = "assertion", .what = "the run ends by a signal"};
    if (child > 0)
        disks_leave(child);
    munmap(shared, sizeof *shared);
    return found;
}

/* Whether the plan still breaks the same; then it is kept. */
static bool still_breaks(fleet_settings *s, const node_plan *tried, const char *property)
{
    fleet_settings with = *s;
    with.plan = *tried;
    if (strcmp(run_apart(&with).property, property) != 0)
        return false;
    s->plan = *tried;
    return true;
}

static void make_smaller(fleet_settings *s, const char *property)
{
    for (uint32_t i = s->plan.count; i-- > 0;) {
        node_plan less = s->plan;
        memmove(&less.mishaps[i], &less.mishaps[i + 1],
                (less.count - i - 1) * sizeof less.mishaps[0]);
        less.count--;
        still_breaks(s, &less, property);
    }
    for (uint32_t i = 0; i < s->plan.count; i++)
        for (node_plan shorter = s->plan; shorter.mishaps[i].length > 10;) {
            shorter.mishaps[i].length /= 2;
            if (!still_breaks(s, &shorter, property))
                break;
        }
}

static int minimize(const node_request *q)
{
    fleet_settings s = once_settings(&q->wishes, q->seed);
    uint32_t before = s.plan.count;
    trouble first = run_apart(&s);
    if (first.property[0] == '\0') {
        printf("# seed %llu breaks nothing\n", (number)q->seed);
        return EXIT_FINE;
    }
    make_smaller(&s, first.property);
    node_wishes with_plan = q->wishes;
    char command[512];
    with_plan.plan_file = "FILE";
    once_command(&with_plan, &s, q->seed, command);
    printf("# %s: %s\n# %u faults of %u; with this as FILE:\n# %s --replay\n", first.property,
           first.what, s.plan.count, before, command);
    node_plan_print(&s.plan, stdout);
    return EXIT_BROKEN;
}

int node_main(char **argv)
{
    node_request q;
    int code = EXIT_FINE;
    options_verdict verdict = node_request_parse(&q, argv);
    if (verdict != OPTIONS_FINE)
        return verdict == OPTIONS_HELPED ? finish_output(EXIT_FINE) : EXIT_USAGE;
    switch (q.task) {
    case TASK_RUNS:
        code = run_many(&q);
        break;
    case TASK_REPLAY:
        code = replay(&q);
        break;
    case TASK_PICTURE:
        code = draw_run(&q);
        break;
    case TASK_HISTORY:
        code = write_history(&q);
        break;
    case TASK_PLAN: {
        fleet_settings s = once_settings(&q.wishes, q.seed);
        node_plan_print(&s.plan, stdout);
        break;
    }
    case TASK_MINIMIZE:
        code = minimize(&q);
    }
    return finish_output(code);
}
