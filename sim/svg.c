/*
 * Draws what it is told. Heartbeats and SYNC are left out: they go all the time, and hide the rest.
 * A letter that is lost ends in a cross half way; one that arrives where nobody is, at the lane.
 */
#include "svg.h"

#include "main.h"
#include "run_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOCKS = 4,
    LEFT = 70,
    RIGHT = 30,
    TOP = 70,
    LANE = 110,
    BAR = 8,
    LEAST_WIDTH = 1200,
    MAX_WIDTH = 30000,
    WORD_WIDTH = 50
};

typedef enum mark_kind { ARROW, HELD, BLOCKED, DOWN, PAUSED, WORD } mark_kind;

/* From one moment to another, at one lane or between two. */
typedef struct mark {
    mark_kind kind;
    bool lost;
    uint8_t node, other, lock;
    uint64_t from, to;
    char text[32];
} mark;

struct picture {
    teller teller;
    uint8_t nodes;
    uint64_t from, to;
    mark *marks;
    size_t count, capacity;
    /* bars that have begun: as the last note about them says; 0 if not */
    uint64_t held[WME_MAX_NODES][LOCKS], blocked[WME_MAX_NODES][LOCKS], down[WME_MAX_NODES];
};

static mark *add(picture *p, mark m)
{
    if (m.to < p->from || m.from > p->to)
        return NULL;
    if (p->count == p->capacity) {
        p->capacity = p->capacity == 0 ? 1024 : 2 * p->capacity;
        mark *more = realloc(p->marks, p->capacity * sizeof *more);
        if (more == NULL) {
            fputs("baton-sim: out of memory\n", stderr);
            exit(EXIT_FAILURE);
        }
        p->marks = more;
    }
    p->marks[p->count] = m;
    return &p->marks[p->count++];
}

/* ---- what it is told ---- */

static void bar(picture *p, mark_kind kind, uint64_t *since, bool on, const note *n)
{
    if (on && *since == 0) {
        *since = n->at + 1; /* 0 is for none */
    } else if (!on && *since != 0) {
        add(p,
            (mark){
                .kind = kind, .node = n->node, .lock = n->lock, .from = *since - 1, .to = n->at});
        *since = 0;
    }
}

static void word(picture *p, const note *n, const char *text)
{
    mark m = {.kind = WORD, .node = n->node, .lock = n->lock, .from = n->at, .to = n->at};
    snprintf(m.text, sizeof m.text, "%s", text);
    add(p, m);
}

static void sent(picture *p, const note *n)
{
    const wme_message *m = n->message;
    if (m->kind == WME_SYNC)
        return; /* at every tick */
    mark a = {.kind = ARROW,
              .lost = n->until == 0,
              .node = n->node,
              .other = n->other,
              .lock = n->lock,
              .from = n->at,
              .to = n->until != 0 ? n->until : n->at + 2000};
    if (m->kind <= WME_DOINVOKE && m->kind != WME_REQUEST)
        snprintf(a.text, sizeof a.text, "%s %llu", wme_kind_name(m->kind),
                 (unsigned long long)m->sn);
    else
        snprintf(a.text, sizeof a.text, "%s", wme_kind_name(m->kind));
    add(p, a);
}

static void state(picture *p, const note *n)
{
    bool inside = n->stub->state == WME_CS_IDLE || n->stub->state == WME_CS_ISSUING;
    bar(p, HELD, &p->held[n->node][n->lock], inside, n);
    bar(p, BLOCKED, &p->blocked[n->node][n->lock], n->stub->blocked, n);
}

static void crashed(picture *p, const note *n)
{
    note of = *n;
    for (of.lock = 0; of.lock < LOCKS; of.lock++) {
        bar(p, HELD, &p->held[n->node][of.lock], false, &of);
        bar(p, BLOCKED, &p->blocked[n->node][of.lock], false, &of);
    }
    bar(p, DOWN, &p->down[n->node], true, n);
    word(p, n, "crash");
}

static void action(picture *p, const note *n)
{
    static const char *const words[] = {
        [WME_INSTALL] = "install", [WME_EJECTED] = "ejected",   [WME_SUSPENDED] = "suspended",
        [WME_RESUMED] = "resumed", [WME_DECISION] = "decision", [WME_EXECUTE] = NULL,
    };
    wme_verb verb = n->action->verb;
    if (verb == WME_EXECUTE) {
        char text[32];
        snprintf(text, sizeof text, "x%llu", (unsigned long long)n->action->number);
        word(p, n, text);
    } else if (words[verb] != NULL) {
        word(p, n, words[verb]);
    }
}

static void tell(teller *to, const note *n)
{
    picture *p = (picture *)to;
    if (n->kind == NOTE_SENT)
        sent(p, n);
    else if (n->kind == NOTE_STATE)
        state(p, n);
    else if (n->kind == NOTE_ACTION)
        action(p, n);
    else if (n->kind == NOTE_CRASH)
        crashed(p, n);
    else if (n->kind == NOTE_EMPTIED)
        word(p, n, "forgets");
    else if (n->kind == NOTE_START) {
        bar(p, DOWN, &p->down[n->node], false, n);
        word(p, n, "start");
    } else if (n->kind == NOTE_SUSPECTS)
        word(p, n, n->value != 0 ? "suspects" : "trusts");
    else if (n->kind == NOTE_WRONG)
        word(p, n, "!!");
    else if (n->kind == NOTE_FAULT && n->fault->kind == FAULT_PAUSE)
        add(p, (mark){.kind = PAUSED,
                      .node = (uint8_t)__builtin_ctz(n->fault->nodes),
                      .from = n->at,
                      .to = n->at + n->fault->length * 1000ULL});
}

picture *picture_new(uint8_t nodes, uint64_t from, uint64_t to)
{
    picture *p = calloc(1, sizeof *p);
    if (p == NULL) {
        fputs("baton-sim: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    p->teller.tell = tell;
    p->nodes = nodes;
    p->from = from;
    p->to = to;
    for (uint8_t n = 0; n < nodes; n++)
        p->down[n] = 1; /* since 0, until they start */
    return p;
}

teller *picture_teller(picture *p)
{
    return &p->teller;
}

static void picture_free(picture *p)
{
    free(p->marks);
    free(p);
}

/* ---- the drawing ---- */

typedef struct paper {
    FILE *out;
    uint64_t from, to;
    double per_us;
    double last_word[WME_MAX_NODES];
    uint32_t words[WME_MAX_NODES];
} paper;

static double x_of(const paper *on, uint64_t at)
{
    uint64_t within = at < on->from ? on->from : at > on->to ? on->to : at;
    return LEFT + (double)(within - on->from) * on->per_us;
}

static int y_of(uint8_t node)
{
    return TOP + node * LANE + LANE / 2;
}

static const char *colour(const mark *m)
{
    if (strncmp(m->text, "INVOKE", 6) == 0 || strncmp(m->text, "DOINVOKE", 8) == 0)
        return "#1565c0";
    if (strncmp(m->text, "ACK", 3) == 0)
        return "#90a4ae";
    if (strncmp(m->text, "GRANTED", 7) == 0)
        return "#2e7d32";
    if (strncmp(m->text, "REQUEST", 7) == 0)
        return "#a5a51b";
    if (strncmp(m->text, "NEWEP", 5) == 0)
        return "#e65100";
    return strncmp(m->text, "STATE", 5) == 0 ? "#6a1b9a" : "#c62828"; /* consensus */
}

static void draw_arrow(const paper *on, const mark *m)
{
    double x1 = x_of(on, m->from);
    double x2 = x_of(on, m->to);
    double y1 = y_of(m->node);
    double y2 = y_of(m->other);
    if (m->lost) { /* it ends half way */
        x2 = (x1 + x2) / 2;
        y2 = (y1 + y2) / 2;
    }
    fprintf(on->out,
            "<line x1='%.1f' y1='%.0f' x2='%.1f' y2='%.0f' stroke='%s'%s><title>%s from %u to %u, "
            "%.3f ms%s</title></line>\n",
            x1, y1, x2, y2, colour(m),
            m->lost ? " stroke-dasharray='3,3'" : " marker-end='url(#tip)'", m->text, m->node,
            m->other, (double)m->from / 1000, m->lost ? ", lost" : "");
    if (m->lost)
        fprintf(on->out, "<path d='M%.1f %.1fl8 8m-8 0l8 -8' stroke='#c62828' stroke-width='2'/>\n",
                x2 - 4, y2 - 4);
    if (strncmp(m->text, "ACK", 3) != 0)
        fprintf(on->out, "<text x='%.1f' y='%.1f' fill='%s' class='s'>%s</text>\n",
                x1 + (x2 - x1) * 0.3 + 3, y1 + (y2 - y1) * 0.3, colour(m), m->text);
}

static void draw_bar(const paper *on, const mark *m, const char *fill, int above)
{
    double x = x_of(on, m->from);
    fprintf(on->out, "<rect x='%.1f' y='%d' width='%.1f' height='%d' fill='%s'/>\n", x,
            y_of(m->node) - above - (above > 0 ? m->lock : -m->lock) * BAR, x_of(on, m->to) - x + 1,
            BAR, fill);
}

/* Words that would stand upon each other stand below each other. */
static void draw_word(paper *on, const mark *m)
{
    double x = x_of(on, m->from);
    bool close = x - on->last_word[m->node] < WORD_WIDTH;
    on->words[m->node] = close ? on->words[m->node] + 1 : 0;
    on->last_word[m->node] = x;
    fprintf(on->out, "<circle cx='%.1f' cy='%d' r='2'/><text x='%.1f' y='%u' class='w'>%s</text>\n",
            x, y_of(m->node), x, (unsigned)y_of(m->node) + 24 + on->words[m->node] % 4 * 9,
            m->text);
}

static void draw_mark(paper *on, const mark *m)
{
    switch (m->kind) {
    case ARROW:
        draw_arrow(on, m);
        break;
    case HELD:
        draw_bar(on, m, "#43a047", BAR);
        break;
    case BLOCKED:
        draw_bar(on, m, "#ff9800", 0);
        break;
    case DOWN:
        draw_bar(on, m, "#212121", BAR / 2);
        break;
    case PAUSED:
        draw_bar(on, m, "#b39ddb", -BAR);
        break;
    case WORD:
        draw_word(on, m);
    }
}

static void draw_frame(const paper *on, const picture *p, const char *title, double width)
{
    FILE *out = on->out;
    int height = TOP + p->nodes * LANE + 40;
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%d' "
            "font-family='sans-serif' font-size='12'>\n"
            "<defs><marker id='tip' viewBox='0 0 8 8' refX='8' refY='4' markerWidth='7' "
            "markerHeight='7' orient='auto'><path d='M0 0L8 4L0 8z' fill='context-stroke'/>"
            "</marker></defs>\n"
            "<style>.s{font-size:9px}.w{font-size:9px;fill:#444}</style>\n"
            "<rect width='100%%' height='100%%' fill='white'/>\n",
            width + LEFT + RIGHT, height);
    fprintf(out, "<text x='10' y='20' font-size='14'>%s</text>\n", title);
    fprintf(out,
            "<g class='s'><rect x='10' y='32' width='20' height='%d' fill='#43a047'/>"
            "<text x='34' y='40'>holds</text><rect x='80' y='32' width='20' height='%d' "
            "fill='#ff9800'/><text x='104' y='40'>blocked by an epoch change</text>"
            "<rect x='240' y='32' width='20' height='%d' fill='#212121'/><text x='264' y='40'>down"
            "</text><rect x='310' y='32' width='20' height='%d' fill='#b39ddb'/>"
            "<text x='334' y='40'>paused</text><text x='390' y='40'>x7: executes operation 7; "
            "heartbeats and SYNC are left out</text></g>\n",
            BAR, BAR, BAR, BAR);
    for (uint8_t n = 0; n < p->nodes; n++)
        fprintf(out,
                "<text x='10' y='%d'>node %u</text><line x1='%d' y1='%d' x2='%.0f' y2='%d' "
                "stroke='#bbb'/>\n",
                y_of(n) + 4, n, LEFT, y_of(n), LEFT + width, y_of(n));
}

static void draw_times(const paper *on, const picture *p)
{
    static const uint64_t steps[] = {1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000};
    uint64_t step = 1000000;
    for (size_t i = sizeof steps / sizeof steps[0]; i-- > 0;)
        if ((double)steps[i] * on->per_us > 60)
            step = steps[i];
    int bottom = TOP + p->nodes * LANE;
    for (uint64_t at = (on->from + step - 1) / step * step; at <= on->to; at += step)
        fprintf(on->out,
                "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#eee'/>"
                "<text x='%.1f' y='%d' class='s'>%llu ms</text>\n",
                x_of(on, at), TOP, x_of(on, at), bottom, x_of(on, at), bottom + 14,
                (unsigned long long)at / 1000);
}

/* Bars that have not ended with the run. */
static void end_bars(picture *p, uint64_t end)
{
    note n = {.at = end};
    for (n.node = 0; n.node < p->nodes; n.node++) {
        for (n.lock = 0; n.lock < LOCKS; n.lock++) {
            bar(p, HELD, &p->held[n.node][n.lock], false, &n);
            bar(p, BLOCKED, &p->blocked[n.node][n.lock], false, &n);
        }
        n.lock = 0;
        bar(p, DOWN, &p->down[n.node], false, &n);
    }
}

static bool picture_write(picture *p, const char *title, uint64_t end, FILE *out)
{
    paper on = {.out = out, .from = p->from, .to = p->to < end ? p->to : end};
    if (on.to <= on.from)
        on.to = on.from + 1000;
    double width = (double)(on.to - on.from) * 0.02; /* 20 points for a millisecond */
    width = width < LEAST_WIDTH ? LEAST_WIDTH : width > MAX_WIDTH ? MAX_WIDTH : width;
    on.per_us = width / (double)(on.to - on.from);
    end_bars(p, end);
    draw_frame(&on, p, title, width);
    draw_times(&on, p);
    for (mark_kind kind = WORD + 1; kind-- > 0;) /* arrows last, above all others */
        for (size_t i = 0; i < p->count; i++)
            if (p->marks[i].kind == kind)
                draw_mark(&on, &p->marks[i]);
    fputs("</svg>\n", out);
    return !ferror(out);
}

int picture_save(picture *p, const char *title, uint64_t end, const char *file)
{
    FILE *out = fopen(file, "w");
    bool written = out != NULL && picture_write(p, title, end, out);
    if (out != NULL)
        written = fclose(out) == 0 && written;
    picture_free(p);
    if (!written)
        fprintf(stderr, "baton-sim: cannot write '%s': %s\n", file, strerror(errno));
    return written ? EXIT_FINE : EXIT_IO;
}
