/* Fault plans as text: printed, read. */
#include "plan.h"

#include "number.h"

#include <string.h>

enum { MAX_MS = 1000000, FEW_NODES = 1, MANY_NODES = 2, TWO_SIDES = 3 };

/* How a kind is written, and what it may say. */
static const struct grammar {
    const char *name;
    uint8_t nodes;      /* none, one, many, or many "to" many */
    const char *amount; /* the word before it; "" for none before, NULL for no amount */
    int32_t least, max;
    bool for_ever;
} grammars[FAULT_KINDS] = {
    [FAULT_CRASH] = {"crash", FEW_NODES, "after", 0, 1000, true},
    [FAULT_AMBUSH] = {"ambush", FEW_NODES, "after", 0, 1000, false},
    [FAULT_FORGET] = {"forget", FEW_NODES, "after", 0, 1000, false},
    [FAULT_LATE] = {"late", FEW_NODES, NULL, 0, 0, false},
    [FAULT_PAUSE] = {"pause", FEW_NODES, NULL, 0, 0, false},
    [FAULT_DRIFT] = {"drift", FEW_NODES, "by", -50, 100, true},
    [FAULT_CUT] = {"cut", TWO_SIDES, NULL, 0, 0, false},
    [FAULT_SPLIT] = {"split", MANY_NODES, NULL, 0, 0, false},
    [FAULT_LOSE] = {"lose", 0, "", 1, 100, false},
    [FAULT_DUPLICATE] = {"duplicate", 0, "", 1, 100, false},
    [FAULT_SLOW] = {"slow", 0, "", 1, 1000, false},
};

static fault_kind find_kind(const char *name)
{
    fault_kind kind = 0;
    while (kind < FAULT_KINDS && strcmp(grammars[kind].name, name) != 0)
        kind++;
    return kind;
}

int faults_parse(const char *text)
{
    if (strcmp(text, "none") == 0)
        return 0;
    if (strcmp(text, "all") == 0)
        return ALL_FAULTS;
    char copy[128];
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return -1;
    int faults = 0;
    char *rest = NULL;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        fault_kind kind = find_kind(word);
        if (kind == FAULT_KINDS)
            return -1;
        faults |= 1 << kind;
    }
    return faults != 0 ? faults : -1;
}

void faults_text(int faults, char text[128])
{
    snprintf(text, 128, "%s", faults == 0 ? "none" : faults == ALL_FAULTS ? "all" : "");
    if (text[0] != '\0')
        return;
    for (fault_kind k = 0; k < FAULT_KINDS; k++)
        if (faults >> k & 1)
            snprintf(text + strlen(text), 128 - strlen(text), "%s%s", text[0] ? "," : "",
                     grammars[k].name);
}

/* ---- as text ---- */

static void nodes_text(uint16_t nodes, char *text, size_t capacity)
{
    text[0] = '\0';
    for (int i = 0; nodes >> i != 0; i++)
        if (nodes >> i & 1)
            snprintf(text + strlen(text), capacity - strlen(text), "%s%d", text[0] ? "," : "", i);
}

void fault_text(const fault *f, char text[96])
{
    const struct grammar *g = &grammars[f->kind];
    char some[24];
    char others[24];
    int n = snprintf(text, 96, "at %u %s", f->at, g->name);
    nodes_text(f->nodes, some, sizeof some);
    nodes_text(f->others, others, sizeof others);
    if (g->nodes != 0)
        n += snprintf(text + n, 96 - (size_t)n, " %s", some);
    if (g->nodes == TWO_SIDES)
        n += snprintf(text + n, 96 - (size_t)n, " to %s", others);
    if (g->amount != NULL)
        n += snprintf(text + n, 96 - (size_t)n, "%s%s %d", g->amount[0] ? " " : "", g->amount,
                      f->amount);
    if (f->length == FOR_EVER)
        snprintf(text + n, 96 - (size_t)n, " for ever");
    else
        snprintf(text + n, 96 - (size_t)n, " for %u", f->length);
}

void plan_print(const plan *p, FILE *to)
{
    char text[96];
    for (uint32_t i = 0; i < p->count; i++) {
        fault_text(&p->faults[i], text);
        fprintf(to, "%s\n", text);
    }
}

/* The words of a line, one after another. */
typedef struct words {
    char *rest;
} words;

static const char *next_word(words *w)
{
    const char *word = strtok_r(NULL, " \t\r\n", &w->rest);
    return word != NULL ? word : "";
}

static bool is_next(words *w, const char *word)
{
    return strcmp(next_word(w), word) == 0;
}

static bool take_ms(words *w, uint32_t *to)
{
    uint64_t number;
    if (!parse_number(next_word(w), 0, MAX_MS, &number))
        return false;
    *to = (uint32_t)number;
    return true;
}

static bool take_nodes(words *w, uint32_t nodes, bool many, uint16_t *to)
{
    char list[64];
    if (snprintf(list, sizeof list, "%s", next_word(w)) >= (int)sizeof list)
        return false;
    *to = 0;
    char *rest = NULL;
    for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        uint64_t number;
        if (!parse_number(one, 0, nodes - 1, &number) || (*to != 0 && !many))
            return false;
        *to |= (uint16_t)(1 << number);
    }
    return *to != 0;
}

static bool take_amount(words *w, const struct grammar *g, int32_t *to)
{
    if (g->amount[0] != '\0' && !is_next(w, g->amount))
        return false;
    const char *word = next_word(w);
    bool minus = word[0] == '-' && g->least < 0;
    uint64_t number;
    if (!parse_number(word + minus, 0, (uint64_t)(minus ? -g->least : g->max), &number))
        return false;
    *to = minus ? -(int32_t)number : (int32_t)number;
    return *to >= g->least;
}

static bool take_length(words *w, const struct grammar *g, uint32_t *to)
{
    if (!is_next(w, "for"))
        return false;
    words look = *w;
    if (g->for_ever && w->rest != NULL && strncmp(w->rest, "ever", 4) == 0 &&
        is_next(&look, "ever")) {
        *w = look;
        *to = FOR_EVER;
        return true;
    }
    return take_ms(w, to) && *to > 0;
}

static bool read_fault(words *w, uint32_t nodes, fault *f)
{
    *f = (fault){0};
    if (!take_ms(w, &f->at))
        return false;
    f->kind = find_kind(next_word(w));
    if (f->kind == FAULT_KINDS)
        return false;
    const struct grammar *g = &grammars[f->kind];
    return (g->nodes == 0 || take_nodes(w, nodes, g->nodes != FEW_NODES, &f->nodes)) &&
           (g->nodes != TWO_SIDES ||
            (is_next(w, "to") && take_nodes(w, nodes, true, &f->others))) &&
           (g->amount == NULL || take_amount(w, g, &f->amount)) && take_length(w, g, &f->length) &&
           next_word(w)[0] == '\0';
}

const char *plan_read(plan *p, FILE *from, uint32_t nodes, char complaint[160])
{
    char line[256];
    p->count = 0;
    for (unsigned number = 1; fgets(line, sizeof line, from) != NULL; number++) {
        char text[64];
        line[strcspn(line, "#\n")] = '\0';
        snprintf(text, sizeof text, "%.63s", line);
        words w = {NULL};
        const char *first = strtok_r(line, " \t\r", &w.rest);
        if (first == NULL)
            continue;
        fault f;
        if (strcmp(first, "at") != 0 || !read_fault(&w, nodes, &f)) {
            snprintf(complaint, 160, "line %u of the plan is no fault of %u nodes: '%s'", number,
                     nodes, text);
            return complaint;
        }
        if (p->count == MAX_FAULTS) {
            snprintf(complaint, 160, "a plan has at most %d faults", MAX_FAULTS);
            return complaint;
        }
        p->faults[p->count++] = f;
    }
    if ((uint32_t)__builtin_popcount(plan_lost(p)) > (nodes - 1) / 2) {
        snprintf(complaint, 160, "only a minority of %u nodes may be crashed for ever", nodes);
        return complaint;
    }
    return NULL;
}

uint32_t plan_end(const plan *p)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const fault *f = &p->faults[i];
        end = f->at + f->length > end ? f->at + f->length : end;
    }
    return end;
}

uint16_t plan_lost(const plan *p)
{
    uint16_t lost = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->faults[i].kind == FAULT_CRASH && p->faults[i].length == FOR_EVER)
            lost |= p->faults[i].nodes;
    return lost;
}
