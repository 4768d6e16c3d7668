/* Shards: tables of locks and roles that grow and shrink. */
#include "shard.h"

#include <stdlib.h>
#include <string.h>

/* ---- records ---- */

enum { FEWEST_BUCKETS = 64 };

static bool is_called(const name_entry *e, const char *name, size_t bytes)
{
    const record *at = OWNER_OF(e, record, entry);
    return at->name_bytes == bytes && memcmp(at->name, name, bytes) == 0;
}

record *find_record(const shard *s, const char *name, size_t bytes, uint64_t hash)
{
    return OWNER_OF(name_table_find(&s->records, name, bytes, hash, is_called), record, entry);
}

record *add_record(shard *s, const char *name, size_t bytes, uint64_t hash)
{
    record *made = malloc(sizeof *made + bytes);
    if (made == NULL)
        return NULL;
    *made = (record){.name_bytes = bytes};
    memcpy(made->name, name, bytes);
    name_table_add(&s->records, &made->entry, hash);
    return made;
}

void drop_record(shard *s, record *gone)
{
    name_table_remove(&s->records, &gone->entry);
    free(gone);
    name_table_shrink(&s->records, FEWEST_BUCKETS);
}

/* ---- roles ---- */

static uint32_t role_hash(const record *of, const lock_session *who)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)of >> 4) * 0x9e3779b97f4a7c15ULL ^
                     ((uint64_t)(uintptr_t)who >> 4) * 0xc2b2ae3d27d4eb4fULL;
    return (uint32_t)(mixed >> 32);
}

uint32_t find_role(const shard *s, const record *of, const lock_session *who)
{
    uint32_t at = s->role_bucket[role_hash(of, who) & (s->capacity - 1)];
    while (at != NOTHING && (s->role[at].of != of || s->role[at].who != who))
        at = s->role[at].next_in_bucket;
    return at;
}

static void put_into_bucket(shard *s, uint32_t number)
{
    uint32_t *first =
        &s->role_bucket[role_hash(s->role[number].of, s->role[number].who) & (s->capacity - 1)];
    s->role[number].next_in_bucket = *first;
    *first = number;
}

static void *grown(void *array, uint32_t capacity, size_t each)
{
    return realloc(array, (size_t)capacity * each);
}

enum { FEWEST_ROLES = 64 };

/* Puts the roles from `from` on among the free ones. */
static void free_roles(shard *s, uint32_t from)
{
    for (uint32_t i = s->capacity; i-- > from;) {
        s->role[i] = (role){.next = s->free_role};
        s->free_role = i;
    }
}

/* Room for so many roles; their numbers stay. False if there is no memory for more. */
static bool resize_roles(shard *s, uint32_t capacity)
{
    role *roles = grown(s->role, capacity, sizeof *roles);
    s->role = roles != NULL ? roles : s->role;
    wdme_member *members = grown(s->member, capacity, sizeof *members);
    s->member = members != NULL ? members : s->member;
    uint32_t *bucket = grown(s->role_bucket, capacity, sizeof *bucket);
    s->role_bucket = bucket != NULL ? bucket : s->role_bucket;
    uint32_t *spoken_to = grown(s->spoken_to, 2 * capacity, sizeof *spoken_to);
    s->spoken_to = spoken_to != NULL ? spoken_to : s->spoken_to;
    if (roles == NULL || members == NULL || bucket == NULL || spoken_to == NULL)
        return false; /* what has grown stays, and does no harm */
    uint32_t old = s->capacity;
    s->capacity = capacity;
    memset(s->role_bucket, 0xff, capacity * sizeof *bucket);
    for (uint32_t i = 0; i < s->roles; i++) /* it grows only when all are in use */
        put_into_bucket(s, i);
    if (capacity < old)
        s->free_role = NOTHING;
    free_roles(s, capacity < old ? 0 : old);
    return true;
}

static bool grow_roles(shard *s)
{
    return resize_roles(s, s->capacity == 0 ? FEWEST_ROLES : 2 * s->capacity);
}

uint32_t get_role(shard *s, record *of, lock_session *who)
{
    uint32_t number = find_role(s, of, who);
    if (number != NOTHING)
        return number;
    if (s->free_role == NOTHING && !grow_roles(s))
        return NOTHING;
    uint32_t *first = &roles_of(who)->first[s->number];
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
    uint32_t *link = &s->role_bucket[role_hash(gone->of, gone->who) & (s->capacity - 1)];
    while (*link != number)
        link = &s->role[*link].next_in_bucket;
    *link = gone->next_in_bucket;
    if (gone->previous != NOTHING)
        s->role[gone->previous].next = gone->next;
    else
        roles_of(gone->who)->first[s->number] = gone->next;
    if (gone->next != NOTHING)
        s->role[gone->next].previous = gone->previous;
    gone->of->roles--;
    s->roles--;
    *gone = (role){.next = s->free_role};
    s->free_role = number;
}

void shard_tidy(shard *s)
{
    if (s->roles == 0 && s->capacity > 64 * FEWEST_ROLES)
        resize_roles(s, FEWEST_ROLES);
}

/* ---- begin and end ---- */

bool shard_start(shard *s, uint64_t first_generation)
{
    baton_tas_init(&s->lock, BATON_PARK);
    s->next_generation = first_generation;
    s->free_role = NOTHING;
    return name_table_start(&s->records, FEWEST_BUCKETS) && grow_roles(s);
}

void shard_free(shard *s)
{
    name_walk all = name_walk_all(&s->records);
    for (record *at; (at = OWNER_OF(name_walk_next(&all), record, entry)) != NULL;)
        free(at);
    name_table_end(&s->records);
    free(s->role);
    free(s->member);
    free(s->role_bucket);
    free(s->spoken_to);
}
