/* Shards: tables of locks and roles that grow and shrink. */
#include "shard.h"

#include <stdlib.h>
#include <string.h>

/* ---- hashing ---- */

/* FNV-1a, finished so that all its bits are good. */
uint64_t hash_of(const char *name, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3ULL;
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15ULL;
    return hash ^ hash >> 29;
}

static uint32_t role_hash(const record *of, const session_roles *who)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)of >> 4) * 0x9e3779b97f4a7c15ULL ^
                     ((uint64_t)(uintptr_t)who >> 4) * 0xc2b2ae3d27d4eb4fULL;
    return (uint32_t)(mixed >> 32);
}

/* ---- records ---- */

record *find_record(const shard *s, const char *name, size_t bytes, uint64_t hash)
{
    record *at = s->bucket[hash & (s->buckets - 1)];
    while (at != NULL &&
           (at->hash != hash || at->name_bytes != bytes || memcmp(at->name, name, bytes) != 0))
        at = at->next;
    return at;
}

/* Twice or half as many buckets, if that can be had. */
static void resize_buckets(shard *s, size_t buckets)
{
    record **bucket = calloc(buckets, sizeof(record *));
    if (bucket == NULL)
        return;
    for (size_t b = 0; b < s->buckets; b++) {
        for (record *at = s->bucket[b], *next; at != NULL; at = next) {
            next = at->next;
            at->next = bucket[at->hash & (buckets - 1)];
            bucket[at->hash & (buckets - 1)] = at;
        }
    }
    free(s->bucket);
    s->bucket = bucket;
    s->buckets = buckets;
}

enum { FEWEST_BUCKETS = 64 };

void drop_record(shard *s, record *gone)
{
    record **link = &s->bucket[gone->hash & (s->buckets - 1)];
    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    free(gone);
    s->records--;
    if (s->buckets > FEWEST_BUCKETS && s->records < s->buckets / 8)
        resize_buckets(s, s->buckets / 2);
}

/* ---- roles ---- */

uint32_t find_role(const shard *s, const record *of, const session_roles *who)
{
    uint32_t at = s->role_bucket[role_hash(of, who) & (s->room - 1)];
    while (at != NOTHING && (s->role[at].of != of || s->role[at].who != who))
        at = s->role[at].next_in_bucket;
    return at;
}

static void put_into_bucket(shard *s, uint32_t number)
{
    uint32_t *first =
        &s->role_bucket[role_hash(s->role[number].of, s->role[number].who) & (s->room - 1)];
    s->role[number].next_in_bucket = *first;
    *first = number;
}

static void *grown(void *array, uint32_t room, size_t each)
{
    return realloc(array, (size_t)room * each);
}

enum { FEWEST_ROLES = 64 };

/* Puts the roles from `from` on among the free ones. */
static void free_roles(shard *s, uint32_t from)
{
    for (uint32_t i = s->room; i-- > from;) {
        s->role[i] = (role){.next = s->free_role};
        s->free_role = i;
    }
}

/* Room for so many roles; their numbers stay. False if there is no memory for more. */
static bool resize_roles(shard *s, uint32_t room)
{
    role *roles = grown(s->role, room, sizeof *roles);
    s->role = roles != NULL ? roles : s->role;
    wdme_member *members = grown(s->member, room, sizeof *members);
    s->member = members != NULL ? members : s->member;
    uint32_t *bucket = grown(s->role_bucket, room, sizeof *bucket);
    s->role_bucket = bucket != NULL ? bucket : s->role_bucket;
    uint32_t *spoken_to = grown(s->spoken_to, 2 * room, sizeof *spoken_to);
    s->spoken_to = spoken_to != NULL ? spoken_to : s->spoken_to;
    if (roles == NULL || members == NULL || bucket == NULL || spoken_to == NULL)
        return false; /* what has grown stays, and does no harm */
    uint32_t old = s->room;
    s->room = room;
    memset(s->role_bucket, 0xff, room * sizeof *bucket);
    for (uint32_t i = 0; i < s->roles; i++) /* it grows only when all are in use */
        put_into_bucket(s, i);
    if (room < old)
        s->free_role = NOTHING;
    free_roles(s, room < old ? 0 : old);
    return true;
}

static bool grow_roles(shard *s)
{
    return resize_roles(s, s->room == 0 ? FEWEST_ROLES : 2 * s->room);
}

uint32_t get_role(shard *s, record *of, session_roles *who)
{
    uint32_t number = find_role(s, of, who);
    if (number != NOTHING)
        return number;
    if (s->free_role == NOTHING && !grow_roles(s))
        return NOTHING;
    uint32_t *first = &who->first[s->number];
    number = s->free_role;
    s->free_role = s->role[number].next;
    s->role[number] = (role){.who = who, .of = of, .next = *first, .previous = NOTHING};
    memset(&s->member[number], 0, sizeof s->member[number]);
    if (*first != NOTHING)
        s->role[*first].previous = number;
    *first = number;
    put_into_bucket(s, number);
    of->roles++;
    s->roles++;
    return number;
}

void drop_role(shard *s, uint32_t number)
{
    role *gone = &s->role[number];
    uint32_t *link = &s->role_bucket[role_hash(gone->of, gone->who) & (s->room - 1)];
    while (*link != number)
        link = &s->role[*link].next_in_bucket;
    *link = gone->next_in_bucket;
    if (gone->previous != NOTHING)
        s->role[gone->previous].next = gone->next;
    else
        gone->who->first[s->number] = gone->next;
    if (gone->next != NOTHING)
        s->role[gone->next].previous = gone->previous;
    gone->of->roles--;
    s->roles--;
    *gone = (role){.next = s->free_role};
    s->free_role = number;
}

void shard_tidy(shard *s)
{
    if (s->roles == 0 && s->room > 64 * FEWEST_ROLES)
        resize_roles(s, FEWEST_ROLES);
}

record *add_record(shard *s, const char *name, size_t bytes, uint64_t hash)
{
    record *made = malloc(sizeof *made + bytes);
    if (made == NULL)
        return NULL;
    if (s->records >= s->buckets)
        resize_buckets(s, 2 * s->buckets);
    record **first = &s->bucket[hash & (s->buckets - 1)];
    *made = (record){.next = *first, .hash = hash, .name_bytes = bytes};
    memcpy(made->name, name, bytes);
    *first = made;
    s->records++;
    return made;
}

/* ---- begin and end ---- */

bool shard_start(shard *s, uint64_t first_generation)
{
    baton_tas_init(&s->lock, BATON_PARK);
    s->next_generation = first_generation;
    s->free_role = NOTHING;
    resize_buckets(s, FEWEST_BUCKETS);
    return s->bucket != NULL && grow_roles(s);
}

void shard_free(shard *s)
{
    for (size_t b = 0; b < s->buckets; b++) {
        for (record *at = s->bucket[b], *next; at != NULL; at = next) {
            next = at->next;
            free(at);
        }
    }
    free(s->bucket);
    free(s->role);
    free(s->member);
    free(s->role_bucket);
    free(s->spoken_to);
}
