/*
 * Endless runs, in sc: processes pass through the lock again and again, so the configurations form
 * a graph with cycles instead of a tree with ends. Two questions about a process that is trying:
 *
 * Can it be kept out for ever? A cycle in which it never enters while every other process either
 * moves, or is at some time blocked or resting (weak fairness), is a run that starves it.
 *
 * How many critical sections can it see at worst? This is the factor of c in the theorems that
 * bound the wait by k*c + O(l): a section may last as long as c, a step no longer than l. With l
 * against nothing, a section that lasts c ends only when all others have come to rest: they are
 * blocked or in their remainder. Shorter sections cost nothing. So the worst wait is the longest
 * path through configurations in which the process is trying, counting the sections that end while
 * all others rest.
 */
#include "chance.h"
#include "explore.h"
#include "seen.h"

#include <stdlib.h>
#include <string.h>

/* One move in the graph. */
typedef struct edge {
    uint32_t to;
    uint8_t process;
    bool long_section; /* the end of a section during which all others came to rest */
} edge;

/* One bit per process: what it does in a configuration. */
typedef struct node {
    uint64_t first_edge; /* edges of a node stand together; they end where the next node's begin */
    uint8_t trying;      /* has begun to enter and is not yet inside */
    uint8_t idle;        /* blocked or resting: need not move */
} node;

typedef struct graph {
    node *node;
    edge *edge;
    uint32_t nodes;
    uint64_t edges, edge_capacity;
} graph;

static void describe(const scope *plan, const config *c, node *n)
{
    for (uint32_t p = plan->start; p < plan->processes; p++) {
        if (c->process[p].phase == TRYING && !is_resting(c, p))
            n->trying |= (uint8_t)(1 << p);
        if (is_resting(c, p) || is_blocked(c, p))
            n->idle |= (uint8_t)(1 << p);
    }
}

static void add_edge(graph *g, edge e)
{
    if (g->edges == g->edge_capacity) {
        g->edge_capacity *= 2;
        g->edge = must_alloc(g->edge, g->edge_capacity * sizeof *g->edge);
    }
    g->edge[g->edges++] = e;
}

/* Everything that can be reached. Returns NULL, or why that could not be done. */
static const char *draw_graph(const scope *plan, uint64_t limit, graph *g, on_progress *progress)
{
    static config here;
    static config next;
    figures unused = {0};
    uint8_t bytes[MAX_PACKED];
    bool fresh;
    uint8_t others_of_all = (uint8_t)((1U << plan->processes) - (1U << plan->start));
    uint32_t capacity = 1 << 12;
    const char *trouble =
        processes_begin(plan->subject, plan->processes, plan->park ? BATON_PARK : BATON_SPIN);
    if (trouble != NULL)
        return trouble;
    if (plan->reduce)
        processes_merge_points(MERGE_ALL); /* nothing is counted */
    if (model_begin(plan, &here) != FINE)
        return "the lock is broken; explore it with a bound to see how";
    pack_begin(plan);
    seen_set *seen = seen_new();
    seen_add(seen, bytes, pack(&here, bytes), &fresh);
    g->node = must_alloc(NULL, (capacity + 1) * sizeof *g->node);
    for (uint32_t i = 0; i < seen_count(seen) && trouble == NULL; i++) {
        if (i == capacity) {
            capacity *= 2;
            g->node = must_alloc(g->node, (capacity + 1) * sizeof *g->node);
        }
        node *n = &g->node[i];
        *n = (node){.first_edge = g->edges};
        unpack(seen_get(seen, i), &here);
        describe(plan, &here, n);
        if (is_deadlocked(&here))
            trouble = "the lock is broken; explore it with a bound to see how";
        for (uint32_t p = plan->start; p < plan->processes; p++) {
            uint32_t choices = is_blocked(&here, p) ? 0 : moves_of(&here, p);
            for (uint32_t choice = 0; choice < choices; choice++) {
                finding found = move(&here, p, choice, &next, &unused);
                if (found == NO_MOVE) {
                    /*
                     * A look that others have spoilt on the way: the process moves, and is where it
                     * was.
                     */
                    config_copy(&next, &here);
                    if (!go_back_to_await(&next, p))
                        continue;
                    found = FINE;
                }
                if (found != FINE && found != EXIT_WAITS)
                    trouble = "the lock is broken; explore it with a bound to see how";
                bool leaves = here.process[p].phase == INSIDE;
                uint8_t others = (uint8_t)(others_of_all & ~(1U << p));
                add_edge(g, (edge){
                                .to = seen_add(seen, bytes, pack(&next, bytes), &fresh),
                                .process = (uint8_t)p,
                                .long_section = leaves && (n->idle & others) == others,
                            });
            }
        }
        if (seen_count(seen) > limit)
            trouble = "stopped at the limit";
        if (progress != NULL && (i & 0x3fff) == 0)
            progress(plan, seen_count(seen), g->edges);
    }
    g->nodes = seen_count(seen);
    if (trouble == NULL)
        g->node[g->nodes] = (node){.first_edge = g->edges};
    seen_free(seen);
    return trouble;
}

/* ---- strongly connected parts of the graph in which a process is trying (Tarjan) ---- */

typedef struct parts {
    uint32_t *of;    /* part of each node, counted from 1 in reverse topological order; 0: none */
    uint32_t *index; /* scratch */
    uint32_t *low;
    uint32_t *stack;
    uint64_t *next_edge;
    uint32_t count;
} parts;

static void find_parts(const graph *g, uint8_t victim, parts *s)
{
    uint32_t *path = must_alloc(NULL, ((size_t)g->nodes + 1) * sizeof *path);
    uint32_t depth;
    uint32_t on_stack = 0;
    uint32_t clock = 0;
    memset(s->of, 0, g->nodes * sizeof *s->of);
    memset(s->index, 0, g->nodes * sizeof *s->index);
    s->count = 0;
    for (uint32_t root = 0; root < g->nodes; root++) {
        if (s->index[root] != 0 || !(g->node[root].trying & victim))
            continue;
        depth = 0;
        path[depth++] = root;
        s->index[root] = s->low[root] = ++clock;
        s->next_edge[root] = g->node[root].first_edge;
        s->stack[on_stack++] = root;
        while (depth > 0) {
            uint32_t v = path[depth - 1];
            if (s->next_edge[v] < g->node[v + 1].first_edge) {
                uint32_t w = g->edge[s->next_edge[v]++].to;
                if (!(g->node[w].trying & victim))
                    continue;
                if (s->index[w] == 0) {
                    s->index[w] = s->low[w] = ++clock;
                    s->next_edge[w] = g->node[w].first_edge;
                    s->stack[on_stack++] = w;
                    path[depth++] = w;
                } else if (s->of[w] == 0 && s->index[w] < s->low[v]) {
                    s->low[v] = s->index[w];
                }
                continue;
            }
            depth--;
            if (depth > 0 && s->low[v] < s->low[path[depth - 1]])
                s->low[path[depth - 1]] = s->low[v];
            if (s->low[v] == s->index[v]) {
                s->count++;
                uint32_t w;
                do {
                    w = s->stack[--on_stack];
                    s->of[w] = s->count;
                } while (w != v);
            }
        }
    }
    free(path);
}

/* Whether some part is a fair cycle: then the victim can starve in it. */
static bool starves(const graph *g, const parts *s, uint8_t all)
{
    uint8_t *excused =
        must_zero(s->count + 1, 1); /* moves in the part, or is idle somewhere in it */
    bool *cycle = must_zero(s->count + 1, sizeof *cycle);
    bool found = false;
    for (uint32_t v = 0; v < g->nodes; v++) {
        if (s->of[v] == 0)
            continue;
        excused[s->of[v]] |= g->node[v].idle;
        for (uint64_t e = g->node[v].first_edge; e < g->node[v + 1].first_edge; e++) {
            if (s->of[g->edge[e].to] == s->of[v]) {
                excused[s->of[v]] |= (uint8_t)(1 << g->edge[e].process);
                cycle[s->of[v]] = true;
            }
        }
    }
    for (uint32_t part = 1; part <= s->count; part++)
        found = found || (cycle[part] && (excused[part] & all) == all);
    free(excused);
    free(cycle);
    return found;
}

/* The longest path, counted in long sections. Parts come in reverse topological order. */
static uint32_t longest_wait(const graph *g, const parts *s)
{
    uint32_t *best = must_zero(s->count + 1, sizeof *best); /* from this part on */
    uint32_t *order = must_alloc(NULL, ((size_t)g->nodes + 1) * sizeof *order);
    uint32_t *start = must_zero(s->count + 2, sizeof *start);
    uint32_t worst = 0;
    for (uint32_t v = 0; v < g->nodes; v++) /* nodes sorted by part */
        start[s->of[v] + 1]++;
    for (uint32_t part = 1; part <= s->count + 1; part++)
        start[part] += start[part - 1];
    for (uint32_t v = 0; v < g->nodes; v++)
        order[start[s->of[v]]++] = v;
    for (uint32_t i = 0; i < g->nodes && worst < UNBOUNDED; i++) {
        uint32_t v = order[i];
        uint32_t part = s->of[v];
        if (part == 0)
            continue;
        for (uint64_t e = g->node[v].first_edge; e < g->node[v + 1].first_edge; e++) {
            const edge *to = &g->edge[e];
            if (s->of[to->to] == 0)
                continue; /* the victim enters */
            if (s->of[to->to] == part && to->long_section)
                worst = UNBOUNDED;
            uint32_t wait = best[s->of[to->to]] + to->long_section;
            best[part] = wait > best[part] ? wait : best[part];
        }
        worst = best[part] > worst ? best[part] : worst;
    }
    free(best);
    free(order);
    free(start);
    return worst;
}

endless explore_endless(const scope *given, uint64_t limit, on_progress *progress)
{
    scope plan = *given;
    plan.c11 = false;
    plan.passages = 0;
    plan.watched = 0;
    endless r = {.ending = EXHAUSTED};
    graph g = {.edge = must_alloc(NULL, sizeof(edge)), .edge_capacity = 1};
    double start = seconds_now();
    r.trouble = draw_graph(&plan, limit, &g, progress);
    r.states = g.nodes;
    if (r.trouble != NULL) {
        r.ending = strcmp(r.trouble, "stopped at the limit") == 0 ? LIMIT : IMPOSSIBLE;
    } else {
        size_t n = (size_t)g.nodes + 1;
        parts s = {
            .of = must_alloc(NULL, n * sizeof *s.of),
            .index = must_alloc(NULL, n * sizeof *s.index),
            .low = must_alloc(NULL, n * sizeof *s.low),
            .stack = must_alloc(NULL, n * sizeof *s.stack),
            .next_edge = must_alloc(NULL, n * sizeof *s.next_edge),
        };
        uint8_t all = (uint8_t)((1U << plan.processes) - (1U << plan.start));
        for (uint32_t p = plan.start; p < plan.processes; p++) {
            find_parts(&g, (uint8_t)(1 << p), &s);
            if (starves(&g, &s, all) && r.ending == EXHAUSTED) {
                r.ending = VIOLATION;
                r.victim = p;
            }
            uint32_t wait = longest_wait(&g, &s);
            r.worst_wait = wait > r.worst_wait ? wait : r.worst_wait;
        }
        free(s.of);
        free(s.index);
        free(s.low);
        free(s.stack);
        free(s.next_edge);
    }
    free(g.node);
    free(g.edge);
    r.seconds = seconds_now() - start;
    return r;
}
