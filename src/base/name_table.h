/*
 * Hash tables by name. What is in one has an entry in it, which costs a pointer and a hash, and its
 * name wherever it likes: so the table compares hashes, and asks its owner about the rest.
 *
 * A table has a power of two of buckets, and twice as many when there are more entries than that.
 * It has fewer again only if its owner says so (name_table_shrink): so what is in it may be removed
 * while somebody walks through it.
 */
#ifndef BATON_BASE_NAME_TABLE_H
#define BATON_BASE_NAME_TABLE_H

#include "owner.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct name_entry {
    struct name_entry *next; /* in its bucket */
    uint64_t hash;
} name_entry;

/* All zero: nothing that name_table_end would have to free. */
typedef struct name_table {
    name_entry **bucket;
    size_t buckets, count;
} name_table;

/* The same everywhere, for ever: which node of a cluster owns a lock at first depends on it. */
uint64_t name_hash(const char *name, size_t bytes);

/* Empty, with so many buckets, a power of two. False if there is no memory. */
bool name_table_start(name_table *t, size_t buckets);
/* What is still in it is its owner's. */
void name_table_end(name_table *t);

/* There must be none of that name yet. */
void name_table_add(name_table *t, name_entry *e, uint64_t hash);
void name_table_remove(name_table *t, name_entry *e);
/* Half as many buckets, but not less than `fewest`, if most are empty. */
void name_table_shrink(name_table *t, size_t fewest);

/* NULL if there is none. `is_called` says whether the entry, whose hash fits, has that name. */
static inline name_entry *name_table_find(const name_table *t, const char *name, size_t bytes,
                                          uint64_t hash,
                                          bool (*is_called)(const name_entry *e, const char *name,
                                                            size_t bytes))
{
    name_entry *e = t->bucket[hash & (t->buckets - 1)];
    while (e != NULL && (e->hash != hash || !is_called(e, name, bytes)))
        e = e->next;
    return e;
}

/*
 * A way through a table, bucket by bucket. The entry that was found last may be removed, others may
 * not; nothing may be added.
 */
typedef struct name_walk {
    const name_table *of;
    size_t bucket, end; /* the next bucket, and where to stop */
    name_entry *next;
} name_walk;

static inline name_walk name_walk_all(const name_table *t)
{
    return (name_walk){.of = t, .end = t->buckets};
}

static inline name_walk name_walk_bucket(const name_table *t, size_t bucket)
{
    return (name_walk){.of = t, .bucket = bucket, .end = bucket + 1};
}

/* NULL if that were all. */
static inline name_entry *name_walk_next(name_walk *w)
{
    while (w->next == NULL && w->bucket < w->end)
        w->next = w->of->bucket[w->bucket++];
    name_entry *e = w->next;
    if (e != NULL)
        w->next = e->next;
    return e;
}

/*
 * A way through a table in parts, between which it may be changed, grow and shrink. Each entry has
 * a place that depends on its hash alone, the lower bits of that in reverse. So a bucket is a range
 * of places, whatever number of buckets there is, and whoever goes from place to place comes to
 * every entry that is there all the time, and to none twice:
 *
 *     for (uint64_t place = from; place < NAME_PLACES; place = name_place_behind(t, place)) {
 *         name_walk w = name_walk_bucket(t, name_bucket_at(t, place));
 *         for (name_entry *e; (e = name_walk_next(&w)) != NULL;)
 *             if (name_place(e) >= place)
 *                 ...
 *     }
 */
#define NAME_PLACES ((uint64_t)1 << 32)

static inline uint32_t name_reverse(uint32_t bits)
{
    bits = (bits & 0x55555555) << 1 | (bits >> 1 & 0x55555555);
    bits = (bits & 0x33333333) << 2 | (bits >> 2 & 0x33333333);
    bits = (bits & 0x0f0f0f0f) << 4 | (bits >> 4 & 0x0f0f0f0f);
    return __builtin_bswap32(bits);
}

static inline uint64_t name_place(const name_entry *e)
{
    return name_reverse((uint32_t)e->hash);
}

/* The bucket in which entries of that place are. */
static inline size_t name_bucket_at(const name_table *t, uint64_t place)
{
    return name_reverse((uint32_t)place) & (t->buckets - 1);
}

/* The first place behind that bucket. */
static inline uint64_t name_place_behind(const name_table *t, uint64_t place)
{
    uint64_t each = NAME_PLACES / t->buckets;
    return (place / each + 1) * each;
}

#endif
