/* Jobs: one exploration and what came out of it, in words or as JSON. */
#include "jobs.h"

#include <string.h>

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

void job_run(const job *j, report *r, on_progress *progress)
{
    *r = (report){0};
    if (j->endless) {
        r->endless = explore_endless(&j->plan, j->limit, progress);
        return;
    }
    if (j->timed) {
        r->timed = explore_timed(&j->plan, j->seed, j->runs, progress);
        return;
    }
    r->result = j->random ? explore_randomly(&j->plan, j->seed, j->runs, progress)
                          : explore(&j->plan, j->limit, progress);
    for (uint32_t p = j->plan.start; j->figures && p < j->plan.processes; p++) {
        scope watching = j->plan;
        watching.watched = p + 1;
        watching.c11 = false;
        result watched = explore(&watching, j->limit, progress);
        if (r->result.ending == EXHAUSTED && watched.ending != EXHAUSTED) {
            r->result.ending = watched.ending; /* the figures are those of a part only */
            r->result.trouble = watched.trouble;
        }
        r->remote.thesis = larger(r->remote.thesis, watched.figures.thesis);
        r->remote.standard = larger(r->remote.standard, watched.figures.standard);
        r->remote.dsm = larger(r->remote.dsm, watched.figures.dsm);
        result_free(&watched);
    }
}

static ending ending_of(const report *r)
{
    return r->endless.seconds > 0 ? r->endless.ending : r->result.ending;
}

bool report_impossible(const report *r)
{
    return ending_of(r) == IMPOSSIBLE;
}

bool report_broken(const job *j, const report *r)
{
    if (j->timed)
        return r->timed.trouble != NULL;
    if (j->endless)
        return r->endless.ending == IMPOSSIBLE ||
               (r->endless.ending == VIOLATION && j->plan.subject->lockout_free);
    return r->result.ending == VIOLATION;
}

bool report_limit(const report *r)
{
    return ending_of(r) == LIMIT;
}

/* ---- in words ---- */

static void number_text(uint32_t value, char text[16])
{
    if (value >= UNBOUNDED)
        snprintf(text, 16, "unbounded");
    else
        snprintf(text, 16, "%u", value);
}

static void property_line(FILE *out, const result *r, const char *name, bool promised)
{
    const char *verdict = "holds";
    if (r->property != NULL && strcmp(r->property, name) == 0)
        verdict = "VIOLATED";
    else if (!promised)
        verdict = "not promised";
    else if (r->ending == IMPOSSIBLE)
        verdict = "not checked";
    else if (r->ending == VIOLATION)
        verdict = "not seen to the end";
    else if (r->ending == LIMIT)
        verdict = "no violation seen";
    fprintf(out, "  %-18s %s\n", name, verdict);
}

static void endless_text(const job *j, const report *r, FILE *out)
{
    const endless *e = &r->endless;
    char wait[16];
    fprintf(out, "%s, %u processes, endless: ", j->plan.subject->name, j->plan.processes);
    if (e->ending == IMPOSSIBLE || e->ending == LIMIT) {
        fprintf(out, "%s\n", e->trouble);
        return;
    }
    number_text(e->worst_wait, wait);
    fprintf(out, "exhausted, %llu configurations, %.2f s\n", (unsigned long long)e->states,
            e->seconds);
    fprintf(out, "  %-18s %s\n", "lockout freedom",
            e->ending != VIOLATION          ? "holds"
            : j->plan.subject->lockout_free ? "VIOLATED"
                                            : "not promised, and does not hold");
    if (e->ending == VIOLATION)
        fprintf(out, "  process %u can try for ever while all others go on\n", e->victim + 1);
    fprintf(out, "  %-18s %s\n", "worst wait", wait);
    fprintf(out, "  (critical sections of others, if steps take no time)\n");
}

static void timed_text(const job *j, const report *r, FILE *out)
{
    const timed *t = &r->timed;
    fprintf(out, "%s, %u processes, in time: ", j->plan.subject->name, j->plan.processes);
    if (t->trouble != NULL) {
        fprintf(out, "%s\n", t->trouble);
        return;
    }
    fprintf(out, "%llu runs, %llu entries, %.2f s\n", (unsigned long long)t->runs,
            (unsigned long long)t->entries, t->seconds);
    fprintf(out, "  %-18s %u c + %u l (seed %llu)\n", "longest wait seen", t->sections, t->steps,
            (unsigned long long)t->seed);
}

static const char *how_it_ended(const result *r)
{
    switch (r->ending) {
    case EXHAUSTED:
        return "exhausted";
    case LIMIT:
        return "stopped at the limit";
    case VIOLATION:
        return "violation found";
    default:
        return r->trouble;
    }
}

static void program_text(const result *e, FILE *out)
{
    property_line(out, e, "outcome", true);
    property_line(out, e, "deadlock freedom", true);
    property_line(out, e, "memory safety", true);
    if (e->property != NULL && strcmp(e->property, "unshared registers") == 0)
        property_line(out, e, "unshared registers", true);
    fprintf(out, "  %-18s %u\n", "own steps, at most", e->figures.entry_steps);
    for (uint32_t i = 0; i < MAX_NOTED && e->figures.noted[i].name != NULL; i++)
        fprintf(out, "  %-18s %u\n", e->figures.noted[i].name, e->figures.noted[i].max);
}

void report_text(const job *j, const report *r, FILE *out)
{
    if (j->endless) {
        endless_text(j, r, out);
        return;
    }
    if (j->timed) {
        timed_text(j, r, out);
        return;
    }
    const result *e = &r->result;
    const baton_check_subject *s = j->plan.subject;
    fprintf(out, "%s, %u processes", s->name, j->plan.processes);
    if (j->plan.start > 0)
        fprintf(out, " (%u resting)", j->plan.start);
    if (s->judge == NULL)
        fprintf(out, " x %u passages", j->plan.passages);
    fprintf(out, ", memory %s%s: %s\n", j->plan.c11 ? "c11" : "sc", j->plan.park ? ", parking" : "",
            j->random && e->ending == LIMIT ? "random runs done" : how_it_ended(e));
    fprintf(out, "  %llu configurations, %llu steps, %.4g executions, %.2f s, %.0f steps/s\n",
            (unsigned long long)e->states, (unsigned long long)e->moves, e->executions, e->seconds,
            e->seconds > 0 ? (double)e->moves / e->seconds : 0);
    if (s->judge != NULL) {
        program_text(e, out);
        return;
    }
    property_line(out, e, "mutual exclusion", true);
    property_line(out, e, "deadlock freedom", true);
    property_line(out, e, "FIFO", s->fifo);
    property_line(out, e, "wait-free exit", s->wait_free_exit);
    property_line(out, e, "memory safety", true);
    fprintf(out, "  %-18s entry %u, exit %u%s\n", "own steps, at most", e->figures.entry_steps,
            e->figures.exit_steps, e->figures.exit_waits ? " (exit waits)" : "");
    if (j->figures) {
        char thesis[16];
        char standard[16];
        char dsm[16];
        number_text(r->remote.thesis, thesis);
        number_text(r->remote.standard, standard);
        number_text(r->remote.dsm, dsm);
        fprintf(out, "  %-18s CC %s (by the thesis), %s (standard); DSM %s\n", "remote references",
                thesis, standard, dsm);
    }
}

/* ---- as a row ---- */

void report_header(FILE *out)
{
    fprintf(out, "%-15s %-8s %-6s %-7s %11s %12s %11s %7s  %s\n", "LOCK", "BOUND", "MEMORY",
            "WAITING", "STATES", "STEPS", "EXECUTIONS", "SECONDS", "VERDICT AND FIGURES");
}

void report_row(const job *j, const report *r, FILE *out)
{
    char bound[16];
    char one[16];
    char two[16];
    char three[16];
    if (j->endless)
        snprintf(bound, sizeof bound, "%u x inf", j->plan.processes);
    else if (j->plan.subject->judge != NULL)
        snprintf(bound, sizeof bound, "%u", j->plan.processes);
    else
        snprintf(bound, sizeof bound, "%u x %u", j->plan.processes, j->plan.passages);
    if (j->plan.start > 0)
        snprintf(bound, sizeof bound, "%u/%u x %u", j->plan.processes - j->plan.start,
                 j->plan.processes, j->plan.passages);
    fprintf(out, "%-15s %-8s %-6s %-7s ", j->plan.subject->name, bound, j->plan.c11 ? "c11" : "sc",
            j->plan.park ? "park" : "spin");
    if (j->endless) {
        number_text(r->endless.worst_wait, one);
        fprintf(out, "%11llu %12s %11s %7.1f  ", (unsigned long long)r->endless.states, "-", "-",
                r->endless.seconds);
        if (r->endless.trouble != NULL)
            fprintf(out, "%s\n", r->endless.trouble);
        else
            fprintf(out, "exhausted, %s, worst wait %s\n",
                    r->endless.ending == VIOLATION ? "can starve" : "lockout-free", one);
        return;
    }
    const result *e = &r->result;
    fprintf(out, "%11llu %12llu %11.3g %7.1f  %s", (unsigned long long)e->states,
            (unsigned long long)e->moves, e->executions, e->seconds, how_it_ended(e));
    if (e->property != NULL)
        fprintf(out, ": %s VIOLATED\n", e->property);
    else if (j->figures) {
        number_text(r->remote.thesis, one);
        number_text(r->remote.standard, two);
        number_text(r->remote.dsm, three);
        fprintf(out, ", RMR CC %s / %s, DSM %s\n", one, two, three);
    } else if (j->plan.subject->judge != NULL) {
        fprintf(out, ", own steps <= %u", e->figures.entry_steps);
        for (uint32_t i = 0; i < MAX_NOTED && e->figures.noted[i].name != NULL; i++)
            fprintf(out, ", %s %u", e->figures.noted[i].name, e->figures.noted[i].max);
        fputs("\n", out);
    } else
        fprintf(out, ", entry <= %u, exit <= %u%s\n", e->figures.entry_steps, e->figures.exit_steps,
                e->figures.exit_waits ? " and waits" : "");
}

/* ---- as JSON ---- */

static void json_count(json *j, const char *key, uint32_t value)
{
    if (value >= UNBOUNDED)
        json_string(j, key, "unbounded");
    else
        json_integer(j, key, value);
}

/* "3 2 1": at most so many at once at levels 1, 2, 3, or at nodes 1, 2, 3. */
static void json_winners(json *to, const char *key, const uint8_t winners[32])
{
    char text[128] = "";
    int last = 31;
    while (last > 0 && winners[last] == 0)
        last--;
    for (int i = 1; i <= last; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", i == 1 ? "" : " ",
                 winners[i]);
    json_string(to, key, text);
}

/* What `violated: null` stands for. */
static void json_checked(json *to, const baton_check_subject *s)
{
    json_open(to, "checked", '[');
    json_string(to, NULL, s->judge != NULL ? "outcome" : "mutual exclusion");
    json_string(to, NULL, "deadlock freedom");
    json_string(to, NULL, "memory safety");
    if (s->fifo)
        json_string(to, NULL, "FIFO");
    if (s->wait_free_exit)
        json_string(to, NULL, "wait-free exit");
    json_close(to, ']');
}

static void program_fields(json *to, const result *e)
{
    json_integer(to, "own_steps", e->figures.entry_steps);
    json_open(to, "figures", '{');
    for (uint32_t i = 0; i < MAX_NOTED && e->figures.noted[i].name != NULL; i++)
        json_integer(to, e->figures.noted[i].name, e->figures.noted[i].max);
    json_close(to, '}');
}

/* What it needs of the machine, besides read and write. */
static void json_instructions(json *to, uint32_t acts)
{
    static const char *const names[] = {[ACT_SWAP] = "swap", [ACT_CAS] = "cas", [ACT_ADD] = "add"};
    char text[32] = "";
    for (int i = ACT_SWAP; i <= ACT_ADD; i++)
        if ((acts >> i & 1) != 0)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                     text[0] != '\0' ? ", " : "", names[i]);
    json_string(to, "instructions", text);
}

void report_fields(json *to, const job *j, const report *r)
{
    bool program = j->plan.subject->judge != NULL;
    json_string(to, program ? "program" : "lock", j->plan.subject->name);
    json_integer(to, "processes", j->plan.processes);
    if (!program)
        json_integer(to, "resting", j->plan.start);
    if (j->endless) {
        json_string(to, "ending", r->endless.trouble != NULL ? r->endless.trouble : "exhausted");
        json_integer(to, "configurations", r->endless.states);
        json_bool(to, "lockout_free", r->endless.ending == EXHAUSTED);
        json_count(to, "worst_wait", r->endless.worst_wait);
        json_real(to, "seconds", r->endless.seconds);
        return;
    }
    if (j->timed) {
        json_string(to, "ending", r->timed.trouble != NULL ? r->timed.trouble : "runs done");
        json_integer(to, "runs", r->timed.runs);
        json_integer(to, "longest_wait_sections", r->timed.sections);
        json_integer(to, "longest_wait_steps", r->timed.steps);
        json_integer(to, "seed", r->timed.seed);
        return;
    }
    const result *e = &r->result;
    if (!program)
        json_integer(to, "passages", j->plan.passages);
    json_string(to, "memory", j->plan.c11 ? "c11" : "sc");
    if (!program)
        json_string(to, "waiting", j->plan.park ? "park" : "spin");
    json_string(to, "ending", how_it_ended(e));
    json_checked(to, j->plan.subject);
    if (e->property != NULL) {
        json_string(to, "violated", e->property);
        json_string(to, "detail", e->detail);
        json_integer(to, "steps_to_violation", e->run_length);
    } else {
        json_null(to, "violated");
    }
    json_integer(to, "configurations", e->states);
    json_integer(to, "steps", e->moves);
    json_real(to, "executions", e->executions);
    json_real(to, "seconds", e->seconds);
    if (program) {
        program_fields(to, e);
        return;
    }
    json_integer(to, "entry_steps", e->figures.entry_steps);
    json_integer(to, "exit_steps", e->figures.exit_steps);
    json_bool(to, "exit_waits", e->figures.exit_waits);
    json_integer(to, "registers", e->figures.registers);
    json_instructions(to, e->figures.acts);
    json_winners(to, "winners", e->figures.winners);
    json_winners(to, "winners_until_lost", e->figures.holders);
    if (j->figures) {
        json_count(to, "rmr_cc_thesis", r->remote.thesis);
        json_count(to, "rmr_cc_standard", r->remote.standard);
        json_count(to, "rmr_dsm", r->remote.dsm);
    }
}

void report_json(const job *j, const report *r, FILE *out)
{
    json to = json_start(out);
    json_open(&to, NULL, '{');
    report_fields(&to, j, r);
    json_close(&to, '}');
}
