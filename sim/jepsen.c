/* See jepsen.h. */
#include "jepsen.h"

#include "main.h"
#include "seen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

typedef struct lines {
    FILE *out;
    uint64_t index; /* of the next one */
} lines;

/* All of a line but its value. Jepsen counts time in nanoseconds. */
static void begin_line(lines *l, const char *type, const char *f, uint64_t process, uint64_t us)
{
    fprintf(l->out,
            "{\"index\":%" PRIu64 ",\"type\":\"%s\",\"f\":\"%s\",\"process\":%" PRIu64
            ",\"time\":%" PRIu64 ",\"value\":",
            l->index++, type, f, process, us * 1000);
}

static void end_line(lines *l, uint32_t lock, uint64_t token)
{
    fprintf(l->out, ",\"lock\":%" PRIu32, lock);
    if (token != 0)
        fprintf(l->out, ",\"token\":%" PRIu64, token);
    fputs("}\n", l->out);
}

static FILE *open_file(const char *file)
{
    FILE *out = fopen(file, "w");
    if (out == NULL)
        fprintf(stderr, "baton-sim: cannot write '%s': %s\n", file, strerror(errno));
    return out;
}

static int close_file(FILE *out, const char *file)
{
    bool written = ferror(out) == 0;
    if (fclose(out) == 0 && written)
        return EXIT_FINE;
    fprintf(stderr, "baton-sim: cannot write '%s': %s\n", file, strerror(errno));
    return EXIT_IO;
}

/* ---- wme: appends to a list, and what the list then has ---- */

/* A replica in one state executes an operation and is in the next: so a state stands for a list. */
typedef struct passage {
    uint64_t before, after;
    uint64_t key;
    uint32_t lock;
} passage;

/* Somebody who may have an operation under way. */
typedef struct issuer {
    uint8_t node;
    uint64_t key; /* of its operation; 0: none */
    uint64_t token;
    uint64_t lives; /* as how many processes it has been; they end with `info` */
} issuer;

struct recorder {
    teller teller;
    lines lines;
    const char *file;
    uint32_t nodes, per_lock, locks; /* issuers of a lock */
    uint64_t processes;              /* so far; whoever reads at the end is the next */
    issuer *issuers;
    passage *passages;
    size_t count, capacity;
};

static issuer *issuer_of(recorder *r, const note *n)
{
    return &r->issuers[n->lock * r->per_lock + n->person];
}

static uint64_t process_of(const recorder *r, const issuer *who)
{
    uint64_t all = (uint64_t)r->per_lock * r->locks;
    return (uint64_t)(who - r->issuers) + who->lives * all;
}

static const passage *find_passage(const recorder *r, uint32_t lock, uint64_t after)
{
    for (size_t i = r->count; i-- > 0;)
        if (r->passages[i].lock == lock && r->passages[i].after == after)
            return &r->passages[i];
    return NULL;
}

static void learn_passage(recorder *r, const note *n)
{
    if (find_passage(r, n->lock, n->until) != NULL)
        return;
    if (r->count == r->capacity) {
        r->capacity = r->capacity == 0 ? 256 : 2 * r->capacity;
        r->passages = must_alloc(r->passages, r->capacity * sizeof *r->passages);
    }
    r->passages[r->count++] =
        (passage){.before = n->before, .after = n->until, .key = n->value, .lock = n->lock};
}

/* From the oldest on; a state is found from the newest on. */
static void write_list(recorder *r, uint32_t lock, uint64_t state)
{
    size_t length = 0;
    uint64_t *keys = must_alloc(NULL, (r->count + 1) * sizeof *keys);
    for (const passage *l = find_passage(r, lock, state); l != NULL && length < r->count;
         l = find_passage(r, lock, l->before))
        keys[length++] = l->key;
    fputc('[', r->lines.out);
    for (size_t i = length; i-- > 0;)
        fprintf(r->lines.out, "%" PRIu64 "%s", keys[i], i > 0 ? "," : "");
    fputc(']', r->lines.out);
    free(keys);
}

/* The operation begins, or ends as `type`; what it has read is known if it is `ok`. */
static void write_append(recorder *r, const char *type, const issuer *who, uint64_t state,
                         uint64_t at)
{
    uint32_t lock = (uint32_t)(who - r->issuers) / r->per_lock;
    uint64_t process = process_of(r, who);
    if (process >= r->processes)
        r->processes = process + 1;
    begin_line(&r->lines, type, "txn", process, at);
    fprintf(r->lines.out, "[[\"append\",%" PRIu32 ",%" PRIu64 "],[\"r\",%" PRIu32 ",", lock,
            who->key, lock);
    if (strcmp(type, "ok") == 0)
        write_list(r, lock, state);
    else
        fputs("null", r->lines.out);
    fputs("]]", r->lines.out);
    end_line(&r->lines, lock, who->token);
}

static void write_end(recorder *r, const char *type, issuer *who, uint64_t state, uint64_t at)
{
    if (who->key == 0)
        return;
    write_append(r, type, who, state, at);
    who->key = 0;
    who->lives += strcmp(type, "info") == 0;
}

static void node_is_gone(recorder *r, const note *n)
{
    for (uint32_t i = 0; i < r->per_lock * r->locks; i++)
        if (r->issuers[i].node == n->node)
            write_end(r, "info", &r->issuers[i], 0, n->at);
}

/* When all is over: what a replica has, read by a process that does nothing else. */
static void write_final_read(recorder *r, const note *n)
{
    uint64_t process = r->processes++;
    begin_line(&r->lines, "invoke", "txn", process, n->at);
    fprintf(r->lines.out, "[[\"r\",%u,null]]", n->lock);
    end_line(&r->lines, n->lock, 0);
    begin_line(&r->lines, "ok", "txn", process, n->at);
    fprintf(r->lines.out, "[[\"r\",%u,", n->lock);
    write_list(r, n->lock, n->until);
    fputs("]]", r->lines.out);
    end_line(&r->lines, n->lock, 0);
}

static void record_action(recorder *r, const note *n)
{
    issuer *who = issuer_of(r, n);
    if (n->action->verb == WME_CRIT || n->action->verb == WME_KEPT)
        who->token = n->action->token;
    else if (n->action->verb == WME_EJECTED)
        write_end(r, "fail", who, 0, n->at);
}

static void record(teller *to, const note *n)
{
    recorder *r = (recorder *)to;
    if (n->kind == NOTE_ACTION && n->action->user != NULL) {
        record_action(r, n);
    } else if (n->kind == NOTE_ISSUE) {
        issuer *who = issuer_of(r, n);
        who->node = n->node;
        who->key = n->value;
        write_append(r, "invoke", who, 0, n->at);
    } else if (n->kind == NOTE_OUTCOME) {
        write_end(r, "ok", issuer_of(r, n), n->until, n->at);
    } else if (n->kind == NOTE_LEAVE) {
        write_end(r, "info", issuer_of(r, n), 0, n->at);
    } else if (n->kind == NOTE_CRASH) {
        node_is_gone(r, n);
    } else if (n->kind == NOTE_EXECUTED) {
        learn_passage(r, n);
    } else if (n->kind == NOTE_FINAL) {
        write_final_read(r, n);
    }
}

recorder *recorder_open(const char *file, uint32_t nodes, uint32_t people, uint32_t locks)
{
    FILE *out = open_file(file);
    if (out == NULL)
        return NULL;
    recorder *r = must_zero(1, sizeof *r);
    *r = (recorder){.teller = {record},
                    .lines = {.out = out},
                    .nodes = nodes,
                    .per_lock = nodes * people,
                    .locks = locks};
    r->issuers = must_zero((size_t)r->per_lock * locks, sizeof *r->issuers);
    r->file = file;
    return r;
}

teller *recorder_teller(recorder *r)
{
    return &r->teller;
}

int recorder_close(recorder *r)
{
    int code = close_file(r->lines.out, r->file);
    free(r->issuers);
    free(r->passages);
    free(r);
    return code;
}

/* ---- node: increments of a counter, and what it then has ---- */

/* An operation begins or ends; `turn` is when, among all of them. */
typedef struct happening {
    uint64_t turn;
    const judged_op *op;
    bool ends;
} happening;

static int by_turn(const void *a, const void *b)
{
    uint64_t left = ((const happening *)a)->turn;
    uint64_t right = ((const happening *)b)->turn;
    return left < right ? -1 : left > right;
}

static size_t gather(const judge *j, happening *all)
{
    size_t count = 0;
    for (uint32_t i = 0; i < j->ops; i++) {
        const judged_op *o = &j->op[i];
        if (!o->counts)
            continue;
        all[count++] = (happening){o->begun_turn, o, false};
        if (o->ended_turn != 0)
            all[count++] = (happening){o->ended_turn, o, true};
    }
    qsort(all, count, sizeof *all, by_turn);
    return count;
}

/*
 * An increment adds 1 and reads what the counter then has: as Jepsen sees it, two operations at the
 * same time, so by two processes. That reading is known only if it was told.
 */
static void write_increment(lines *l, const happening *h, uint64_t process)
{
    const judged_op *o = h->op;
    const char *type = !h->ends                  ? "invoke"
                       : o->fate == FATE_DONE    ? "ok"
                       : o->fate == FATE_NOWHERE ? "fail"
                                                 : "info";
    uint64_t at = h->ends ? o->ended : o->begun;
    bool told = o->fate == FATE_DONE;
    if (told && !h->ends) {
        begin_line(l, "invoke", "read", process + 1, at);
        fputs("null", l->out);
        end_line(l, o->lock, o->token);
    }
    begin_line(l, type, "add", process, at);
    fputc('1', l->out);
    end_line(l, o->lock, o->token);
    if (told && h->ends) {
        begin_line(l, "ok", "read", process + 1, at);
        fprintf(l->out, "%" PRIu64, o->result);
        end_line(l, o->lock, o->token);
    }
}

static void write_total(lines *l, uint32_t lock, uint64_t total, uint64_t process, uint64_t at)
{
    begin_line(l, "invoke", "read", process, at);
    fputs("null", l->out);
    end_line(l, lock, 0);
    begin_line(l, "ok", "read", process, at);
    fprintf(l->out, "%" PRIu64, total);
    end_line(l, lock, 0);
}

int jepsen_save(const judge *j, uint32_t clients, uint32_t locks, uint64_t end, const char *file)
{
    uint64_t lives[UINT8_MAX + 1] = {0};
    uint64_t processes = 0;
    lines l = {.out = open_file(file)};
    if (l.out == NULL)
        return EXIT_IO;
    happening *all = must_alloc(NULL, (2 * (size_t)j->ops + 1) * sizeof *all);
    size_t count = gather(j, all);
    for (size_t i = 0; i < count; i++) {
        const judged_op *o = all[i].op;
        uint64_t process = 2 * (o->client + lives[o->client] * clients);
        write_increment(&l, &all[i], process);
        if (process + 2 > processes)
            processes = process + 2;
        /* One that never ends has its process for itself, too. */
        bool open = o->fate == FATE_OPEN && (all[i].ends || o->ended_turn == 0);
        lives[o->client] += open;
    }
    for (uint32_t i = 0; i < locks; i++)
        if (j->has_total[i])
            write_total(&l, i, j->total[i], processes++, end);
    free(all);
    return close_file(l.out, file);
}
