/* Fault plans by chance. */
#include "plan.h"

#include "chance.h"

enum {
    SOON = 15, /* ms: a node is back before what was sent to it has arrived */
    STORM = 1 << FAULT_AMBUSH | 1 << FAULT_SLOW | 1 << FAULT_PAUSE,
    AMNESIA = 1 << FAULT_SPLIT | 1 << FAULT_CRASH,
    DEAFNESS = 1 << FAULT_CUT | 1 << FAULT_PAUSE,
};

/* How often each kind is drawn, beside the others. */
static const uint8_t weights[FAULT_KINDS] = {
    [FAULT_CRASH] = 4, [FAULT_AMBUSH] = 4,    [FAULT_FORGET] = 3, [FAULT_LATE] = 1,
    [FAULT_PAUSE] = 3, [FAULT_DRIFT] = 1,     [FAULT_CUT] = 2,    [FAULT_SPLIT] = 3,
    [FAULT_LOSE] = 1,  [FAULT_DUPLICATE] = 1, [FAULT_SLOW] = 2,
};

static uint32_t from_to(uint64_t *chance, uint32_t least, uint32_t max)
{
    return max <= least ? least : least + (uint32_t)(draw(chance) % (max - least + 1));
}

static uint16_t some_nodes(uint64_t *chance, uint32_t nodes)
{
    return (uint16_t)from_to(chance, 1, (1U << nodes) - 2);
}

static void add(plan *p, fault f)
{
    if (p->count < MAX_FAULTS)
        p->faults[p->count++] = f;
}

/* Several nodes at nearly the same time, perhaps all: the power is gone. */
static void add_crashes(plan *p, uint32_t nodes, uint32_t horizon, uint64_t *chance)
{
    uint32_t at = from_to(chance, 0, horizon * 3 / 4);
    uint32_t which = draw(chance) % 2 ? (1U << nodes) - 1 : some_nodes(chance, nodes);
    for (uint32_t i = 0; i < nodes; i++)
        if (which >> i & 1)
            add(p, (fault){FAULT_CRASH, at + from_to(chance, 0, 5), from_to(chance, 1, horizon / 4),
                           (uint16_t)(1 << i), 0, (int32_t)from_to(chance, 0, 10)});
}

/* An epoch change in bad weather, and nodes that forget in the middle of it what they may not. */
static void add_storm(plan *p, uint32_t nodes, uint32_t horizon, uint64_t *chance)
{
    uint32_t at = from_to(chance, 0, horizon / 2);
    uint16_t silent = (uint16_t)(1U << draw(chance) % nodes);
    add(p, (fault){.kind = FAULT_SLOW,
                   .at = at,
                   .length = from_to(chance, 100, horizon / 2),
                   .amount = (int32_t)from_to(chance, 10, 60)});
    add(p, (fault){.kind = FAULT_PAUSE,
                   .at = at + from_to(chance, 0, 100),
                   .length = from_to(chance, 50, horizon / 3),
                   .nodes = silent});
    for (uint32_t i = 0; i < nodes; i++)
        if (draw(chance) % 2)
            add(p, (fault){.kind = FAULT_AMBUSH,
                           .at = at + from_to(chance, 0, 200),
                           .length = from_to(chance, 1, 2 * SOON),
                           .nodes = (uint16_t)(1 << i),
                           .amount = (int32_t)from_to(chance, 0, 12)});
}

/* A node that is heard but hears nothing misses one epoch change after another. */
static void add_deafness(plan *p, uint32_t nodes, uint32_t horizon, uint64_t *chance)
{
    uint32_t at = from_to(chance, 0, horizon / 3);
    uint32_t length = from_to(chance, horizon / 4, horizon / 2);
    uint16_t deaf = (uint16_t)(1U << draw(chance) % nodes);
    add(p, (fault){.kind = FAULT_CUT,
                   .at = at,
                   .length = length,
                   .nodes = (uint16_t)(((1U << nodes) - 1) & ~deaf),
                   .others = deaf});
    for (uint32_t i = from_to(chance, 1, 4); i > 0; i--)
        add(p, (fault){.kind = FAULT_PAUSE,
                       .at = at + from_to(chance, 0, length),
                       .length = from_to(chance, 100, 250),
                       .nodes = (uint16_t)(1U << draw(chance) % nodes)});
}

/* One node is alone, perhaps inside, while the others forget what they have just told it. */
static void add_amnesia(plan *p, uint32_t nodes, uint32_t horizon, uint64_t *chance)
{
    uint32_t at = from_to(chance, 0, horizon / 2);
    uint32_t alone = (uint32_t)(draw(chance) % nodes);
    add(p, (fault){.kind = FAULT_SPLIT,
                   .at = at,
                   .length = from_to(chance, horizon / 4, horizon / 2),
                   .nodes = (uint16_t)(1U << alone)});
    for (uint32_t i = 0; i < nodes; i++)
        if (i != alone)
            add(p, (fault){.kind = FAULT_CRASH,
                           .at = at + from_to(chance, 0, 3),
                           .length = from_to(chance, 1, 2 * SOON),
                           .nodes = (uint16_t)(1U << i)});
}

static fault draw_fault(fault_kind kind, uint32_t nodes, uint32_t horizon, uint64_t *chance)
{
    fault f = {.kind = kind, .at = from_to(chance, 0, horizon * 9 / 10)};
    uint32_t longest = draw(chance) % 3 == 0 ? horizon : horizon / 5;
    if ((kind == FAULT_CRASH || kind == FAULT_AMBUSH || kind == FAULT_FORGET) &&
        draw(chance) % 2 == 0)
        longest = SOON;
    f.length = from_to(chance, 1, longest < horizon - f.at ? longest : horizon - f.at);
    f.nodes = (uint16_t)(1U << draw(chance) % nodes);
    switch (kind) {
    case FAULT_CRASH:
    case FAULT_FORGET:
        f.amount = draw(chance) % 3 == 0 ? 0 : (int32_t)from_to(chance, 1, 20);
        break;
    case FAULT_AMBUSH:
        f.amount = (int32_t)from_to(chance, 0, 12);
        break;
    case FAULT_LATE:
        f.length += f.at;
        f.at = 0;
        break;
    case FAULT_DRIFT:
        f.amount = (int32_t)from_to(chance, 0, 40) - 20;
        if (draw(chance) % 2) /* a clock need not ever be right */
            f.length = FOR_EVER;
        break;
    case FAULT_CUT:
        f.nodes = some_nodes(chance, nodes);
        f.others = some_nodes(chance, nodes);
        break;
    case FAULT_SPLIT:
        f.nodes = some_nodes(chance, nodes);
        break;
    case FAULT_LOSE:
    case FAULT_DUPLICATE:
        f.nodes = 0;
        f.amount = (int32_t)from_to(chance, 1, 40);
        break;
    case FAULT_SLOW:
        f.nodes = 0;
        f.amount = (int32_t)from_to(chance, 2, 60);
        break;
    default:
        break;
    }
    return f;
}

static fault_kind draw_kind(int some, uint64_t *chance)
{
    uint32_t all = 0;
    for (fault_kind k = 0; k < FAULT_KINDS; k++)
        all += some >> k & 1 ? weights[k] : 0;
    uint32_t at = (uint32_t)(draw(chance) % all);
    fault_kind kind = 0;
    for (;; kind++) {
        uint32_t weight = some >> kind & 1 ? weights[kind] : 0;
        if (at < weight)
            return kind;
        at -= weight;
    }
}

void plan_draw(plan *p, int faults, uint32_t nodes, uint32_t horizon, uint64_t *chance)
{
    p->count = 0;
    /* Some kinds only: what is rare in a mixture of all is common where it is alone. */
    int some = faults & (int)draw(chance);
    if (some == 0)
        some = faults;
    uint32_t wanted = some == 0 ? 0 : from_to(chance, 1, 24);
    while (p->count < wanted) {
        fault_kind kind = draw_kind(some, chance);
        if (kind == FAULT_CRASH && draw(chance) % 4 == 0)
            add_crashes(p, nodes, horizon, chance);
        else if (kind == FAULT_SPLIT && (some & AMNESIA) == AMNESIA && draw(chance) % 3 == 0)
            add_amnesia(p, nodes, horizon, chance);
        else if (kind == FAULT_AMBUSH && (some & STORM) == STORM && draw(chance) % 3 == 0)
            add_storm(p, nodes, horizon, chance);
        else if (kind == FAULT_CUT && (some & DEAFNESS) == DEAFNESS && draw(chance) % 2)
            add_deafness(p, nodes, horizon, chance);
        else
            add(p, draw_fault(kind, nodes, horizon, chance));
    }
    if (!(some >> FAULT_CRASH & 1) || draw(chance) % 3 != 0 || nodes < 3)
        return;
    uint32_t lost = from_to(chance, 1, (nodes - 1) / 2);
    for (uint32_t i = 0; i < lost; i++)
        add(p, (fault){FAULT_CRASH, from_to(chance, 0, horizon), FOR_EVER,
                       (uint16_t)(1U << draw(chance) % nodes), 0, (int32_t)from_to(chance, 0, 20)});
}
