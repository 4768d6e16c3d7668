/* Names of locks that are of interest, and what is held of them. */
#include "room.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 64 };

uint64_t name_hash(const char *name, size_t *bytes)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    size_t at = 0;
    for (; at < BATON_CLIENT_NAME_BYTES && name[at] != '\0'; at++)
        hash = (hash ^ (unsigned char)name[at]) * 1099511628211u;
    *bytes = at;
    return hash ^ hash >> 32;
}

lock_name *names_find(const lock_names *in, const char *name, size_t bytes, uint64_t hash)
{
    if (in->buckets == 0)
        return NULL;
    lock_name *n = in->bucket[hash & (in->buckets - 1)];
    while (n != NULL && (n->hash != hash || n->bytes != bytes || memcmp(n->name, name, bytes) != 0))
        n = n->next;
    return n;
}

static bool grow(lock_names *in)
{
    size_t buckets = in->buckets == 0 ? FIRST_BUCKETS : in->buckets * 2;
    lock_name **bucket = calloc(buckets, sizeof(lock_name *));
    if (bucket == NULL)
        return in->buckets > 0;
    for (size_t i = 0; i < in->buckets; i++) {
        for (lock_name *n = in->bucket[i], *next; n != NULL; n = next) {
            next = n->next;
            n->next = bucket[n->hash & (buckets - 1)];
            bucket[n->hash & (buckets - 1)] = n;
        }
    }
    free(in->bucket);
    in->bucket = bucket;
    in->buckets = buckets;
    return true;
}

static bool is_unused(const lock_name *n)
{
    return n->users == 0 && n->holds == NULL && n->a.doing == WDME_RESTS;
}

static void forget(lock_names *in, lock_name *n)
{
    lock_name **link = &in->bucket[n->hash & (in->buckets - 1)];
    while (*link != n)
        link = &(*link)->next;
    *link = n->next;
    in->count--;
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

lock_name *names_get(baton_client *c, const char *name, size_t bytes, uint64_t hash)
{
    lock_names *in = &c->names;
    lock_name *n = names_find(in, name, bytes, hash);
    if (n != NULL)
        return n;
    if (in->count >= MOST_NAMES)
        names_each(c, forget_gate, NULL);
    if (in->count >= in->buckets && !grow(in))
        return NULL;
    n = calloc(1, sizeof *n + bytes + 1);
    if (n == NULL)
        return NULL;
    pthread_cond_init(&n->answered, NULL);
    n->hash = hash;
    n->bytes = bytes;
    memcpy(n->name, name, bytes);
    n->next = in->bucket[hash & (in->buckets - 1)];
    in->bucket[hash & (in->buckets - 1)] = n;
    in->count++;
    return n;
}

void names_tidy(lock_names *in, lock_name *n)
{
    if (is_unused(n) && wdme_gate_is_open(&n->a) && n->a.given_up == 0)
        forget(in, n);
}

void names_each(baton_client *c, void (*each)(baton_client *c, lock_name *n, void *context),
                void *context)
{
    for (size_t i = 0; i < c->names.buckets; i++) {
        for (lock_name *n = c->names.bucket[i], *next; n != NULL; n = next) {
            next = n->next;
            each(c, n, context);
        }
    }
}

void names_free(lock_names *in)
{
    for (size_t i = 0; i < in->buckets; i++) {
        for (lock_name *n = in->bucket[i], *next; n != NULL; n = next) {
            next = n->next;
            while (n->holds != NULL) { /* none, unless it is still held */
                hold *h = n->holds;
                n->holds = h->next;
                free(h);
            }
            pthread_cond_destroy(&n->answered);
            free(n);
        }
    }
    free(in->bucket);
    *in = (lock_names){0};
}

/* ---- holds ---- */

hold *names_hold(const lock_name *n, uint64_t token)
{
    hold *h = n->holds;
    while (h != NULL && h->token != token)
        h = h->next;
    return h;
}

hold *names_hold_over(const lock_name *n, const line *k, uint64_t wire)
{
    hold *h = n->holds;
    while (h != NULL && (h->over != k || (wire != 0 && h->wire != wire)))
        h = h->next;
    return h;
}

void hold_attach(lock_name *n, hold *h)
{
    h->next = n->holds;
    n->holds = h;
    h->over->holds++;
}

void hold_detach(lock_name *n, hold *h)
{
    hold **link = &n->holds;
    while (*link != h)
        link = &(*link)->next;
    *link = h->next;
    h->next = NULL;
    h->over->holds--;
}

void hold_lose(baton_client *c, lock_name *n, hold *h)
{
    hold_detach(n, h);
    h->over = NULL;
    *c->untold_end = h;
    c->untold_end = &h->next;
    c->counts.lost++;
    pthread_cond_broadcast(&c->moved);
    keeper_wake(c);
}
