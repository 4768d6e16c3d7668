/* Names of locks that are of interest, and what is held of them. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

bool names_start(name_table *in)
{
    enum { FIRST_BUCKETS = 64 };
    return name_table_start(in, FIRST_BUCKETS);
}

static bool is_called(const name_entry *e, const char *name, size_t bytes)
{
    const lock_name *n = OWNER_OF(e, lock_name, entry);
    return n->bytes == bytes && memcmp(n->name, name, bytes) == 0;
}

lock_name *names_find(const name_table *in, const char *name, size_t bytes, uint64_t hash)
{
    return OWNER_OF(name_table_find(in, name, bytes, hash, is_called), lock_name, entry);
}

static bool is_unused(const lock_name *n)
{
    return n->users == 0 && list_is_empty(&n->holds) && n->a.doing == WDME_RESTS;
}

static void forget(name_table *in, lock_name *n)
{
    name_table_remove(in, &n->entry);
    pthread_cond_destroy(&n->answered);
    free(n);
}

/* A closed gate that is forgotten costs one message when it is tried again. */
static void forget_gate(baton_client *c, lock_name *n, void *context)
{
    (void)context;
    if (is_unused(n))
        forget(&c->names, n);
}

/* What is held stays: when that is most of it, there is no use in looking at all again soon. */
static void forget_gates(baton_client *c)
{
    names_each(c, forget_gate, NULL);
    c->max_names = c->names.count < MAX_NAMES / 2 ? MAX_NAMES : 2 * c->names.count;
}

lock_name *names_get(baton_client *c, const char *name, size_t bytes, uint64_t hash)
{
    name_table *in = &c->names;
    lock_name *n = names_find(in, name, bytes, hash);
    if (n != NULL)
        return n;
    if (in->count >= c->max_names)
        forget_gates(c);
    n = calloc(1, sizeof *n + bytes + 1);
    if (n == NULL)
        return NULL;
    pthread_cond_init(&n->answered, NULL);
    list_start(&n->holds);
    n->bytes = bytes;
    memcpy(n->name, name, bytes);
    name_table_add(in, &n->entry, hash);
    return n;
}

void names_tidy(name_table *in, lock_name *n)
{
    if (is_unused(n) && wdme_gate_is_open(&n->a) && n->a.given_up == 0)
        forget(in, n);
}

void names_each(baton_client *c, void (*each)(baton_client *c, lock_name *n, void *context),
                void *context)
{
    name_walk all = name_walk_all(&c->names);
    for (lock_name *n; (n = OWNER_OF(name_walk_next(&all), lock_name, entry)) != NULL;)
        each(c, n, context);
}

void names_free(name_table *in)
{
    name_walk all = name_walk_all(in);
    for (lock_name *n; (n = OWNER_OF(name_walk_next(&all), lock_name, entry)) != NULL;) {
        holds_free(&n->holds); /* none, unless it is still held */
        forget(in, n);
    }
    name_table_end(in);
}

/* ---- holds ---- */

void holds_free(list_head *all)
{
    LIST_EACH (at, all)
        free(OWNER_OF(at, hold, link));
    list_start(all);
}

hold *names_hold(const lock_name *n, uint64_t token)
{
    LIST_EACH (at, &n->holds) {
        hold *h = OWNER_OF(at, hold, link);
        if (h->token == token)
            return h;
    }
    return NULL;
}

hold *names_hold_over(const lock_name *n, const line *k, uint64_t server_token)
{
    LIST_EACH (at, &n->holds) {
        hold *h = OWNER_OF(at, hold, link);
        if (h->over == k && (server_token == 0 || h->server_token == server_token))
            return h;
    }
    return NULL;
}

void hold_attach(lock_name *n, hold *h)
{
    h->of = n;
    list_push_front(&n->holds, &h->link);
    h->over->holds++;
}

void hold_detach(hold *h)
{
    list_remove(&h->link);
    drift_end(&h->drift);
    h->over->holds--;
}

void hold_lose(baton_client *c, hold *h)
{
    hold_detach(h);
    h->over = NULL;
    c->counts.lost++;
    tell_loss(c, h);
    pthread_cond_broadcast(&c->moved);
    keeper_wake(c); /* to free the line */
}
