/* See status.h. What nodes say comes from strangers: it is cleaned, and bounded. */
#include "ask.h"
#include "cli.h"
#include "status.h"
#include "text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 100000 };

static void copy(char *to, size_t capacity, const char *from, size_t bytes)
{
    size_t length = bytes < capacity - 1 ? bytes : capacity - 1;
    for (size_t i = 0; i < length; i++)
        to[i] = from[i] == '\0' ? '?' : from[i];
    to[length] = '\0';
    text_clean(to);
}

/* ---- the lines of text ---- */

static void take_line(status_node *n, const char *key, const char *value)
{
    static const struct {
        const char *key;
        size_t at, capacity; /* of a text; 0: a number */
    } fields[] = {
#define TEXT(name, field) {name, offsetof(status_node, field), sizeof n->field}
#define NUMBER(name, field)                   \
    {                                         \
        name, offsetof(status_node, field), 0 \
    }
        TEXT("node", id),
        TEXT("nodes", nodes),
        TEXT("reached", reached),
        TEXT("suspected", suspected),
        TEXT("state", state),
        TEXT("why", why),
        TEXT("consensus", consensus),
        NUMBER("etcd_reached", etcd_reached),
        NUMBER("etcd_asked", etcd_asked),
        NUMBER("etcd_unanswered", etcd_unanswered),
        NUMBER("etcd_refused", etcd_refused),
        NUMBER("locks", locks),
        NUMBER("held", held),
        NUMBER("waiting", waiting),
        NUMBER("operations", operations),
        NUMBER("ejected", ejected),
        NUMBER("epochs", epochs),
        NUMBER("commits", commits),
        NUMBER("bytes", bytes),
        NUMBER("max_bytes", max_bytes),
        NUMBER("messages_sent", sent),
        NUMBER("messages_received", received),
        NUMBER("messages_dropped", dropped),
#undef TEXT
#undef NUMBER
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(fields[i].key, key) != 0)
            continue;
        char *to = (char *)n + fields[i].at;
        uint64_t number = strtoull(value, NULL, 10);
        if (fields[i].capacity > 0)
            copy(to, fields[i].capacity, value, strlen(value));
        else
            memcpy(to, &number, sizeof number);
    }
}

static void take_lines(status_node *n, char *text)
{
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        line[strcspn(line, "\r")] = '\0';
        char *colon = strchr(line, ':');
        if (colon == NULL)
            continue;
        *colon = '\0';
        take_line(n, line, colon + 1);
    }
}

/* ---- rows ---- */

/* NAME EPOCH SN OWNER STATE EXECUTED HELD WAITING; what a later node adds is passed over. */
static bool take_row(ask *a, status_lock *lock)
{
    enum { NAME, EPOCH, SN, OWNER, STATE, EXECUTED, HELD, WAITING, COLUMNS };
    uint64_t *const numbers[COLUMNS] = {
        [EPOCH] = &lock->epoch,     [SN] = &lock->sn,     [EXECUTED] = &lock->executed,
        [WAITING] = &lock->waiting, [HELD] = &lock->held,
    };
    ask_item item;
    if (ask_next(a, &item) != EXIT_DONE || item.kind != REPLY_ARRAY)
        return false;
    int64_t columns = item.number;
    for (int64_t i = 0; i < columns; i++) {
        if (ask_next(a, &item) != EXIT_DONE)
            return false;
        if (i == NAME && (lock->name = malloc(item.bytes + 1)) != NULL)
            copy(lock->name, item.bytes + 1, item.text, item.bytes);
        else if (i == OWNER || i == STATE)
            copy(i == OWNER ? lock->owner : lock->state,
                 i == OWNER ? sizeof lock->owner : sizeof lock->state, item.text, item.bytes);
        else if (i < COLUMNS && numbers[i] != NULL)
            *numbers[i] = (uint64_t)item.number;
    }
    return lock->name != NULL;
}

static bool take_answer(ask *a, status_node *n, int64_t items)
{
    ask_item item;
    if (items < 1 || items > MAX_ROWS || ask_next(a, &item) != EXIT_DONE || item.kind != REPLY_BULK)
        return false;
    take_lines(n, item.text);
    n->lock = calloc((size_t)items, sizeof n->lock[0]);
    if (n->lock == NULL)
        return false;
    for (int64_t i = 1; i < items; i++, n->listed++)
        if (!take_row(a, &n->lock[n->listed])) {
            free(n->lock[n->listed].name);
            return false;
        }
    return true;
}

bool status_ask(status_node *n, const server_access *by)
{
    static const char *const words[] = {"STATUS"};
    ask a;
    ask_item first;
    if (ask_open(&a, "status", n->address, by) != EXIT_DONE)
        return false;
    if (ask_send(&a, 1, words, &first) == EXIT_DONE) {
        n->up = first.kind == REPLY_ARRAY && take_answer(&a, n, first.number);
        if (!n->up)
            fprintf(stderr, "baton status: %s does not answer as a node does\n", n->address);
    }
    ask_close(&a);
    return n->up;
}

/* ---- who is behind ---- */

typedef struct entry {
    const status_lock *lock;
    status_node *at;
} entry;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->lock->name, ((const entry *)b)->lock->name);
}

void status_compare(status_node *nodes, uint32_t count)
{
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += nodes[i].listed;
    entry *all = calloc(total + 1, sizeof *all);
    if (all == NULL)
        return;
    total = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint64_t k = 0; k < nodes[i].listed; k++)
            all[total++] = (entry){&nodes[i].lock[k], &nodes[i]};
    qsort(all, total, sizeof *all, by_name);
    for (size_t from = 0, to; from < total; from = to) {
        uint64_t farthest = 0;
        for (to = from; to < total && by_name(&all[from], &all[to]) == 0; to++)
            if (all[to].lock->executed > farthest)
                farthest = all[to].lock->executed;
        for (size_t i = from; i < to; i++)
            all[i].at->lag += farthest - all[i].lock->executed;
    }
    free(all);
}

void status_free(status_node *n)
{
    for (uint64_t i = 0; i < n->listed; i++)
        free(n->lock[i].name);
    free(n->lock);
}
