/* Runs for people. Replays a run step by step and says what each step does. */
#include "trace.h"
#include "seen.h"
#include "source.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LANE = 42, TEXT = 160 };

/* One line of a run. */
typedef struct line {
    uint32_t process;
    char what[TEXT];   /* "7: p1[0].next := ->p2[0]" */
    char source[TEXT]; /* "dt1.c:64  reg_write(...)" */
    bool culprit;
} line;

typedef void line_printer(const line *l, uint32_t number, void *context);

__attribute__((format(printf, 2, 3))) static void say(char *text, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, TEXT - length, format, arguments);
    va_end(arguments);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* What the access at the point did, from the configurations before and after it. */
static void describe_access(line *l, const point *at, const config *before, const config *after,
                            baton_word answer)
{
    char one[48];
    char two[48];
    const char *reg = register_at(at->reg)->name;
    const char *paper = at->act != ACT_CHOOSE ? source_paper_line(at->at.file, at->at.line) : "";
    if (paper[0] != '\0')
        say(l->what, "%s: ", paper);
    switch (at->act) {
    case ACT_READ:
        say(l->what, "%s = %s", reg, value_name(answer, one));
        if (answer != newest_value(before, at->reg))
            say(l->what, " (stale)");
        break;
    case ACT_WRITE:
        say(l->what, "%s := %s", reg, value_name(at->value, one));
        if (newest_value(after, at->reg) != at->value)
            say(l->what, " (late)");
        break;
    case ACT_SWAP:
        say(l->what, "swap %s: %s, was %s", reg, value_name(at->value, one),
            value_name(answer, two));
        break;
    case ACT_CAS:
        say(l->what, "cas %s %s to %s: %s", reg, value_name(at->expect, one),
            value_name(at->value, two),
            answer                                        ? "yes"
            : newest_value(before, at->reg) == at->expect ? "no (stale)"
                                                          : "no");
        break;
    case ACT_ADD:
        say(l->what, "add %s to %s, was %s", value_name(at->value, one), reg,
            value_name(answer, two));
        break;
    case ACT_FENCE:
        say(l->what, "fence");
        break;
    case ACT_CHOOSE:
        say(l->what, "chooses %u of %u", (unsigned)answer, (unsigned)at->value);
        return;
    case ACT_FUTEX_WAIT:
        if (answer == at->expect)
            say(l->what, "%s = %s: sleeps", reg, value_name(answer, one));
        else
            say(l->what, "%s = %s: does not sleep", reg, value_name(answer, one));
        break;
    case ACT_FUTEX_WAKE:
    case ACT_WAKE:
        say(l->what, "wakes %s", at->value == 1 ? "one" : "all");
        break;
    default:
        break;
    }
    say(l->source, "%s:%d  %s", base_name(at->at.file), at->at.line,
        source_text(at->at.file, at->at.line));
}

static void describe_phase(line *l, phase before, phase after)
{
    if (after == INSIDE)
        say(l->what, "  ENTERS");
    if (before == LEAVING && (after == TRYING || after == DONE))
        say(l->what, "  is out");
}

/* Where the process is about to do what no lock may do, or waits for ever. */
static void describe_culprit(line *l, const config *c, uint32_t p, const char *why)
{
    const standing *s = &c->process[p];
    l->process = p;
    l->culprit = true;
    if (s->phase != INSIDE && s->phase != DONE) {
        const point *at = point_at(s->at);
        if (at->act == ACT_WRONG)
            why = at->wrong;
        if (at->at.file != NULL)
            say(l->source, "%s:%d  %s", base_name(at->at.file), at->at.line,
                source_text(at->at.file, at->at.line));
    }
    say(l->what, "!! %s", why);
}

/* The access that process p is about to make, or 0 if it is inside. */
static point_id access_of(const config *c, uint32_t p)
{
    const standing *s = &c->process[p];
    if (s->phase == INSIDE)
        return 0;
    return point_at(s->at)->act == ACT_AWAIT ? point_next(s->at, 0) : s->at;
}

/* Makes the run again. `end` is where it comes to, `last` what its last step brought to light. */
static const char *walk(const trace *t, line_printer *print, void *context, config *end,
                        finding *last)
{
    static config next;
    figures unused = {0};
    scope plan = t->plan;
    plan.fences = plan.c11;
    plan.reduce = false;
    const char *trouble =
        processes_begin(plan.subject, plan.processes, plan.park ? BATON_PARK : BATON_SPIN);
    if (trouble != NULL)
        return trouble;
    *last = model_begin(&plan, end);
    for (uint32_t i = 0; i < t->length; i++) {
        uint32_t p = t->run[i].process;
        uint32_t choice = t->run[i].choice;
        if (*last != FINE || p >= plan.processes || choice >= moves_of(end, p))
            return "the trace does not fit: no such step";
        phase before = (phase)end->process[p].phase;
        point_id from = access_of(end, p);
        *last = move(end, p, choice, &next, &unused);
        line l = {.process = p};
        if (*last == NO_MOVE && go_back_to_await(end, p)) {
            *last = FINE;
            say(l.what, "looks in vain");
            if (print != NULL)
                print(&l, i + 1, context);
            continue;
        }
        if (*last == NO_MOVE)
            return "the trace does not fit: no such step";
        if (from == 0)
            say(l.what, "leaves the critical section");
        else if (end->process[p].sleep == ASLEEP)
            say(l.what, "wakes up without cause");
        else
            describe_access(&l, point_at(from), end, &next,
                            memory_answer(end, p, point_at(from), choice));
        if (from != 0 && is_blocked(&next, p) && plan.park)
            say(l.what, "  sleeps");
        describe_phase(&l, before, (phase)next.process[p].phase);
        if (print != NULL)
            print(&l, i + 1, context);
        config_copy(end, &next);
    }
    return NULL;
}

/* The run, and behind it who did wrong. */
static const char *tell(const trace *t, line_printer *print, void *context)
{
    static config end;
    finding last;
    const char *trouble = walk(t, print, context, &end, &last);
    if (trouble != NULL || t->property == NULL)
        return trouble;
    bool deadlock = last == FINE && is_deadlocked(&end);
    for (uint32_t p = t->plan.start; p < t->plan.processes; p++) {
        line l = {0};
        if (deadlock ? is_blocked(&end, p) : t->length > 0 && p == t->run[t->length - 1].process) {
            describe_culprit(&l, &end, p, deadlock ? "waits for ever" : t->detail);
            print(&l, t->length + 1, context);
        }
    }
    return NULL;
}

const char *trace_judge(trace *t)
{
    static config end;
    finding last;
    const char *trouble = walk(t, NULL, NULL, &end, &last);
    if (trouble != NULL)
        return trouble;
    t->property = property_of(last, &t->detail);
    if (t->property == NULL && is_deadlocked(&end)) {
        t->property = "deadlock freedom";
        t->detail = "nobody can move any more";
    }
    return NULL;
}

/* ---- text ---- */

typedef struct text_context {
    FILE *out;
    uint32_t processes;
} text_context;

static void print_text_line(const line *l, uint32_t number, void *context)
{
    const text_context *c = context;
    if (l->culprit)
        fputs("     ", c->out);
    else
        fprintf(c->out, "%4u ", number);
    for (uint32_t p = 0; p < c->processes; p++)
        fprintf(c->out, "| %-*.*s ", LANE, LANE, p == l->process ? l->what : "");
    fprintf(c->out, "| %s\n", l->source);
}

const char *trace_print(const trace *t, FILE *out)
{
    text_context context = {out, t->plan.processes};
    fprintf(out, "%s, %u processes, memory %s", t->plan.subject->name, t->plan.processes,
            t->plan.c11 ? "c11" : "sc");
    if (t->property != NULL)
        fprintf(out, ": %s violated after %u steps, %s", t->property, t->length, t->detail);
    fputs("\n     ", out);
    for (uint32_t p = 0; p < t->plan.processes; p++)
        fprintf(out, "| process %-*u ", LANE - 8, p + 1);
    fputs("| source\n", out);
    return tell(t, print_text_line, &context);
}

/* ---- SVG ---- */

enum { ROW = 20, LANE_WIDTH = 320, MARGIN = 40, SOURCE_WIDTH = 720 };

static void escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

static void svg_text(FILE *out, uint32_t left, uint32_t top, const char *colour, const char *text)
{
    fprintf(out, "<text x=\"%u\" y=\"%u\" fill=\"%s\">", left, top, colour);
    escaped(out, text);
    fputs("</text>\n", out);
}

static void print_svg_line(const line *l, uint32_t number, void *context)
{
    const text_context *c = context;
    uint32_t top = 60 + ROW * number;
    uint32_t left = MARGIN + LANE_WIDTH * l->process;
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    fprintf(c->out, "<circle cx=\"%u\" cy=\"%u\" r=\"4\" fill=\"%s\"/>\n", left + 10, top - 4,
            l->culprit ? "#c00" : "#357");
    svg_text(c->out, 6, top, "#888", l->culprit ? "" : text);
    svg_text(c->out, left + 22, top, l->culprit ? "#c00" : "#000", l->what);
    svg_text(c->out, MARGIN + LANE_WIDTH * c->processes + 10, top, "#777", l->source);
}

const char *trace_svg(const trace *t, FILE *out)
{
    text_context context = {out, t->plan.processes};
    uint32_t width = MARGIN + LANE_WIDTH * t->plan.processes + SOURCE_WIDTH;
    uint32_t height = 90 + ROW * (t->length + 2);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "font-family=\"monospace\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height);
    char title[2 * TEXT];
    snprintf(title, sizeof title, "%s, %u processes, memory %s%s%s", t->plan.subject->name,
             t->plan.processes, t->plan.c11 ? "c11" : "sc",
             t->property != NULL ? ": violates " : "", t->property != NULL ? t->property : "");
    svg_text(out, MARGIN, 22, "#000", title);
    for (uint32_t p = 0; p < t->plan.processes; p++) {
        char name[32];
        uint32_t left = MARGIN + LANE_WIDTH * p;
        snprintf(name, sizeof name, "process %u", p + 1);
        svg_text(out, left, 48, "#357", name);
        fprintf(out, "<line x1=\"%u\" y1=\"56\" x2=\"%u\" y2=\"%u\" stroke=\"#bcd\"/>\n", left + 10,
                left + 10, height - 10);
    }
    const char *trouble = tell(t, print_svg_line, &context);
    fputs("</svg>\n", out);
    return trouble;
}

/* ---- the file ---- */

const char *trace_save(const trace *t, FILE *out)
{
    fprintf(out,
            "baton-check trace 1\nsubject %s\nprocesses %u\npassages %u\nresting %u\nmemory %s\n"
            "waiting %s\nsteps %u\n",
            t->plan.subject->name, t->plan.processes, t->plan.passages, t->plan.start,
            t->plan.c11 ? "c11" : "sc", t->plan.park ? "park" : "spin", t->length);
    for (uint32_t i = 0; i < t->length; i++)
        fprintf(out, "%u:%u%c", t->run[i].process, t->run[i].choice,
                i % 20 == 19 || i + 1 == t->length ? '\n' : ' ');
    return ferror(out) ? "cannot write the trace" : NULL;
}

const char *trace_load(trace *t, FILE *in, const baton_check_subject *subjects, size_t count)
{
    enum { MAX_STEPS = 1000000 };
    char name[64];
    char memory[8];
    char waiting[8];
    unsigned processes;
    unsigned passages;
    unsigned resting;
    unsigned length;
    *t = (trace){0};
    if (fscanf(in,
               "baton-check trace 1 subject %63s processes %u passages %u resting %u memory %7s "
               "waiting %7s steps %u",
               name, &processes, &passages, &resting, memory, waiting, &length) != 7)
        return "this is no trace of baton-check";
    for (size_t i = 0; i < count; i++)
        if (strcmp(subjects[i].name, name) == 0)
            t->plan.subject = &subjects[i];
    if (t->plan.subject == NULL)
        return "the trace is of a lock or program that is not here";
    uint32_t max = t->plan.subject->max_processes;
    if (processes == 0 || processes > MAX_PROCESSES || (max != 0 && processes > max) ||
        passages == 0 || passages > 60 || resting >= processes || length > MAX_STEPS ||
        (t->plan.subject->judge != NULL && (passages != 1 || resting != 0)))
        return "the trace does not fit: its numbers are out of range";
    bool c11 = strcmp(memory, "c11") == 0;
    bool park = strcmp(waiting, "park") == 0;
    if ((!c11 && strcmp(memory, "sc") != 0) || (!park && strcmp(waiting, "spin") != 0) ||
        (c11 && park))
        return "the trace does not fit: no such memory, or no such waiting";
    t->plan.processes = processes;
    t->plan.passages = passages;
    t->plan.start = resting;
    t->plan.c11 = c11;
    t->plan.park = park;
    t->length = length;
    t->run = must_alloc(NULL, (length + 1) * sizeof *t->run);
    for (uint32_t i = 0; i < length; i++) {
        unsigned p;
        unsigned choice;
        if (fscanf(in, "%u:%u", &p, &choice) != 2 || p >= processes || choice > UINT8_MAX)
            return "the trace does not fit: a step is missing or out of range";
        t->run[i] = (step){(uint8_t)p, (uint8_t)choice};
    }
    return NULL;
}
