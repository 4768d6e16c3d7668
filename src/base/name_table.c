/* Hash tables by name: chains of entries that lie in what they are about. */
#include "name_table.h"

#include <stdlib.h>

/* FNV-1a; and its upper bits, which are better, for the lower ones, which choose a bucket. */
uint64_t name_hash(const char *name, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3ULL;
    return hash ^ hash >> 32;
}

static name_entry **bucket_of(const name_table *t, uint64_t hash)
{
    return &t->bucket[hash & (t->buckets - 1)];
}

static void put(name_table *t, name_entry *e)
{
    name_entry **first = bucket_of(t, e->hash);
    e->next = *first;
    *first = e;
}

/* If there is no memory for that it stays as it is: longer chains, then. */
static void resize(name_table *t, size_t buckets)
{
    name_table resized;
    if (!name_table_start(&resized, buckets))
        return;
    name_walk all = name_walk_all(t);
    for (name_entry *e; (e = name_walk_next(&all)) != NULL;)
        put(&resized, e);
    resized.count = t->count;
    name_table_end(t);
    *t = resized;
}

bool name_table_start(name_table *t, size_t buckets)
{
    *t = (name_table){.bucket = calloc(buckets, sizeof(name_entry *))};
    t->buckets = t->bucket != NULL ? buckets : 0;
    return t->bucket != NULL;
}

void name_table_end(name_table *t)
{
    free(t->bucket);
    *t = (name_table){0};
}

void name_table_add(name_table *t, name_entry *e, uint64_t hash)
{
    if (t->count >= t->buckets)
        resize(t, 2 * t->buckets);
    e->hash = hash;
    put(t, e);
    t->count++;
}

void name_table_remove(name_table *t, name_entry *e)
{
    name_entry **link = bucket_of(t, e->hash);
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    t->count--;
}

void name_table_shrink(name_table *t, size_t fewest)
{
    if (t->buckets > fewest && t->count < t->buckets / 8)
        resize(t, t->buckets / 2);
}
