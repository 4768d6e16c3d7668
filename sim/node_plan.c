/* See node_plan.h. */
#include "node_plan.h"

#include "chance.h"

#include <string.h>

const char *const mishap_names[MISHAP_KINDS] = {
    [MISHAP_CRASH] = "crash",   [MISHAP_WIPE] = "wipe",       [MISHAP_AWAY] = "away",
    [MISHAP_AMBUSH] = "ambush", [MISHAP_SWAP] = "swap",       [MISHAP_PAUSE] = "pause",
    [MISHAP_DRIFT] = "drift",   [MISHAP_CUT] = "cut",         [MISHAP_SPLIT] = "split",
    [MISHAP_DROP] = "drop",     [MISHAP_SLOW] = "slow",       [MISHAP_DRAIN] = "drain",
    [MISHAP_POWER] = "power",   [MISHAP_KILL] = "kill",       [MISHAP_FULL] = "full",
    [MISHAP_CHOKE] = "choke",   [MISHAP_RESTORE] = "restore", [MISHAP_MOVE] = "move",
};

/* ---- kinds ---- */

static int kind_of(const char *name, size_t bytes)
{
    for (int k = 0; k < MISHAP_KINDS; k++)
        if (strlen(mishap_names[k]) == bytes && memcmp(mishap_names[k], name, bytes) == 0)
            return k;
    return -1;
}

int mishaps_parse(const char *text)
{
    int kinds = 0;
    if (strcmp(text, "all") == 0)
        return ALL_MISHAPS;
    if (strcmp(text, "none") == 0)
        return 0;
    for (const char *at = text; at != NULL;) {
        const char *comma = strchr(at, ',');
        int kind = kind_of(at, comma != NULL ? (size_t)(comma - at) : strlen(at));
        if (kind < 0)
            return -1;
        kinds |= 1 << kind;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return kinds;
}

void mishaps_text(int kinds, char text[MISHAPS_TEXT])
{
    size_t length = 0;
    snprintf(text, MISHAPS_TEXT, "%s", kinds == ALL_MISHAPS ? "all" : "none");
    for (int k = 0; k < MISHAP_KINDS && kinds != ALL_MISHAPS; k++)
        if ((kinds >> k & 1) != 0)
            length += (size_t)snprintf(text + length, MISHAPS_TEXT - length, "%s%s",
                                       length > 0 ? "," : "", mishap_names[k]);
}

/* ---- by chance ---- */

static uint32_t pick(uint64_t *chance, uint32_t least, uint32_t max)
{
    return least + (uint32_t)(draw(chance) % (max - least + 1));
}

static uint16_t some_of(uint64_t *chance, uint32_t nodes, uint32_t count)
{
    uint16_t those = 0;
    while ((uint32_t)__builtin_popcount(those) < count)
        those |= (uint16_t)(1U << pick(chance, 0, nodes - 1));
    return those;
}

/* Whether the run may have another of that kind. */
static bool fits(const node_plan *p, mishap_kind kind, uint32_t nodes)
{
    bool disk = kind == MISHAP_WIPE || kind == MISHAP_AWAY || kind == MISHAP_RESTORE;
    uint32_t disks = 0;
    bool line =
        kind == MISHAP_CUT || kind == MISHAP_SPLIT || kind == MISHAP_DROP || kind == MISHAP_CHOKE;
    if (nodes < 2 && (disk || line || kind == MISHAP_SWAP || kind == MISHAP_MOVE))
        return false;
    for (uint32_t i = 0; i < p->count; i++) {
        mishap_kind other = p->mishaps[i].kind;
        disks += other == MISHAP_WIPE || other == MISHAP_AWAY;
        if (disk && (kind == MISHAP_AWAY || other == MISHAP_AWAY))
            return false; /* it has one disk to spare */
    }
    return !disk || disks < 2;
}

static mishap draw_one(mishap_kind kind, uint32_t nodes, uint32_t horizon, uint64_t *chance)
{
    mishap m = {.kind = kind, .at = pick(chance, 0, horizon), .length = pick(chance, 5, 700)};
    m.nodes = some_of(chance, nodes, 1);
    uint32_t minority = pick(chance, 1, nodes > 2 ? nodes / 2 : 1);
    switch (kind) {
    case MISHAP_CRASH:
    case MISHAP_AMBUSH:
        m.amount = (int32_t)pick(chance, 0, TURN_POINTS - 1);
        break;
    case MISHAP_WIPE:
        m.amount = (int32_t)pick(chance, 0, TURN_POINTS);
        break;
    case MISHAP_SWAP:
        m.nodes = some_of(chance, nodes, nodes - minority);
        m.length = pick(chance, 200, 1500);
        break;
    case MISHAP_DRIFT:
        m.at = 0;
        m.amount = (int32_t)pick(chance, 0, 200) - 100;
        m.length = horizon;
        break;
    case MISHAP_CUT:
    case MISHAP_DROP:
        m.nodes = some_of(chance, nodes, minority);
        m.others = (uint16_t)(~m.nodes & ((1U << nodes) - 1));
        if (draw(chance) % 2 == 0) {
            uint16_t swapped = m.nodes;
            m.nodes = m.others;
            m.others = swapped;
        }
        break;
    case MISHAP_SPLIT:
        m.nodes = some_of(chance, nodes, minority);
        m.length = pick(chance, 100, 2500);
        break;
    case MISHAP_SLOW:
        m.amount = (int32_t)pick(chance, 5, 300);
        break;
    case MISHAP_PAUSE:
        m.length = pick(chance, 20, 2000);
        break;
    case MISHAP_POWER:
        m.nodes = some_of(chance, nodes, draw(chance) % 2 == 0 ? 1 : minority);
        m.amount = (int32_t)pick(chance, 1, MAX_DARK);
        break;
    case MISHAP_KILL:
        m.amount = (int32_t)pick(chance, 1, 100);
        break;
    case MISHAP_FULL:
        m.amount = (int32_t)pick(chance, 0, 9);
        break;
    case MISHAP_RESTORE:
        m.amount = (int32_t)pick(chance, 1, 1500);
        break;
    case MISHAP_MOVE:
        m.amount = (int32_t)pick(chance, 50, 600);
        break;
    default:
        break;
    }
    return m;
}

/* `more` of them: of kinds that came later, so that what was drawn before them stays as it was. */
static void draw_more(node_plan *p, int kinds, uint32_t nodes, uint32_t horizon, uint64_t more)
{
    for (mishap_kind kind = MISHAP_RESTORE; kind < MISHAP_KINDS; kind++) {
        mishap m = draw_one(kind, nodes, horizon, &more);
        bool alone = (kinds & ((1 << FIRST_KINDS) - 1)) == 0;
        bool comes = draw(&more) % 4 == 0 || alone;
        if (comes && (kinds >> kind & 1) != 0 && fits(p, kind, nodes) && p->count < MAX_MISHAPS)
            p->mishaps[p->count++] = m;
    }
}

void node_plan_draw(node_plan *p, int kinds, uint32_t nodes, uint32_t horizon, uint64_t *chance)
{
    uint64_t more = ~*chance;
    uint32_t wanted = pick(chance, 0, 6);
    p->count = 0;
    for (uint32_t i = 0; i < wanted && kinds != 0; i++) {
        mishap_kind kind = (mishap_kind)pick(chance, 0, FIRST_KINDS - 1);
        mishap m = draw_one(kind, nodes, horizon, chance);
        if ((kinds >> kind & 1) == 0)
            wanted += wanted < 1000; /* another try: a wish for few kinds gets as many of them */
        else if (fits(p, kind, nodes) && p->count < MAX_MISHAPS)
            p->mishaps[p->count++] = m;
    }
    draw_more(p, kinds, nodes, horizon, more);
}

/* ---- as text ---- */

static size_t nodes_text(uint16_t nodes, char *text)
{
    size_t length = 0;
    for (uint32_t i = 0; i < 16; i++)
        if ((nodes >> i & 1) != 0)
            length += (size_t)sprintf(text + length, "%s%u", length > 0 ? "," : "", i);
    return length;
}

uint32_t mishap_end(const mishap *m, uint32_t nodes)
{
    uint32_t amount = (uint32_t)m->amount;
    uint32_t more = m->kind == MISHAP_RESTORE ? amount
                    : m->kind == MISHAP_MOVE  ? nodes * amount
                                              : 0;
    return m->at + m->length + more;
}

void mishap_text(const mishap *m, char text[128])
{
    size_t length = (size_t)sprintf(text, "at %u %s ", m->at, mishap_names[m->kind]);
    length += nodes_text(m->nodes, text + length);
    if (m->others != 0) {
        length += (size_t)sprintf(text + length, " to ");
        length += nodes_text(m->others, text + length);
    }
    sprintf(text + length, " for %u by %d", m->length, m->amount);
}

bool node_plan_has(const node_plan *p, int kinds)
{
    for (uint32_t i = 0; i < p->count; i++)
        if ((kinds >> p->mishaps[i].kind & 1) != 0)
            return true;
    return false;
}

void node_plan_print(const node_plan *p, FILE *to)
{
    char text[128];
    for (uint32_t i = 0; i < p->count; i++) {
        mishap_text(&p->mishaps[i], text);
        fprintf(to, "%s\n", text);
    }
}

static bool read_nodes(const char *text, uint32_t nodes, uint16_t *those)
{
    *those = 0;
    for (; *text >= '0' && (uint32_t)(*text - '0') < nodes; text++) {
        *those |= (uint16_t)(1U << (*text - '0'));
        if (*++text != ',')
            break;
    }
    return *text == '\0' && *those != 0;
}

static bool read_line(const char *line, uint32_t nodes, mishap *m)
{
    char kind[16];
    char those[24];
    char others[24] = "";
    char more;
    *m = (mishap){0};
    int read = sscanf(line, "at %7u %15s %23s for %7u by %7d %c", &m->at, kind, those, &m->length,
                      &m->amount, &more);
    bool directed = read < 5;
    if (directed)
        read = sscanf(line, "at %7u %15s %23s to %23s for %7u by %7d %c", &m->at, kind, those,
                      others, &m->length, &m->amount, &more);
    int found = read == (directed ? 6 : 5) ? kind_of(kind, strlen(kind)) : -1;
    if (found < 0 || !read_nodes(those, nodes, &m->nodes))
        return false;
    m->kind = (mishap_kind)found;
    bool between = m->kind == MISHAP_CUT || m->kind == MISHAP_DROP;
    bool dies = m->kind == MISHAP_CRASH || m->kind == MISHAP_AMBUSH || m->kind == MISHAP_WIPE;
    if (m->kind == MISHAP_POWER && (m->amount < 1 || m->amount > MAX_DARK))
        return false;
    bool least = m->kind == MISHAP_KILL || m->kind == MISHAP_FULL || m->kind == MISHAP_RESTORE ||
                 m->kind == MISHAP_MOVE;
    if (least && m->amount < 0)
        return false;
    if (dies && (m->amount < 0 || m->amount >= TURN_POINTS + (m->kind == MISHAP_WIPE)))
        return false;
    return between == directed && (!directed || read_nodes(others, nodes, &m->others));
}

const char *node_plan_read(node_plan *p, FILE *from, uint32_t nodes, char complaint[160])
{
    char line[160];
    p->count = 0;
    for (int number = 1; fgets(line, sizeof line, from) != NULL; number++) {
        line[strcspn(line, "#\n")] = '\0';
        if (line[strspn(line, " \t")] == '\0')
            continue;
        if (p->count == MAX_MISHAPS || !read_line(line, nodes, &p->mishaps[p->count])) {
            snprintf(complaint, 160, "line %d of the plan is no mishap of %u nodes: '%.80s'",
                     number, nodes, line);
            return complaint;
        }
        p->count++;
    }
    return NULL;
}
