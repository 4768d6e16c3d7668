/*
 * A shard of the registry: the locks whose names hash to it, and who has to do with which. Tables
 * only; what happens is in registry.c. Whoever calls anything here has the shard's lock.
 */
#ifndef BATON_SESSION_SHARD_H
#define BATON_SESSION_SHARD_H

#include "baton/lock.h"
#include "name_table.h"
#include "registry.h"

#define NOTHING UINT32_MAX

enum { SHARDS = 16 };

/* What is kept about a session: its roles in each shard, as lists. */
typedef struct session_roles {
    uint32_t first[SHARDS];
} session_roles;

_Static_assert(sizeof(session_roles) <= LOCK_SESSION_KEEPS, "there must be room for it");

static inline session_roles *roles_of(lock_session *me)
{
    return (session_roles *)(void *)me->kept;
}

/* A lock. */
typedef struct record {
    name_entry entry; /* among the shard's records */
    wdme_register reg;
    uint64_t since;
    uint32_t roles; /* that point here */
    size_t name_bytes;
    char name[];
} record;

/*
 * What one session has to do with one lock: it holds it, waits for it, or is to be told. Numbered
 * by its place in the shard's array, as is the member that belongs to it.
 */
typedef struct role {
    lock_session *who;
    record *of;
    uint32_t next, previous; /* of the same session, or among the free ones */
    uint32_t next_in_bucket;
    bool waited; /* it has asked by LOCK, */
    uint64_t asked_at;
} role;

typedef struct shard {
    BATON_OWN_LINE baton_tas lock;
    name_table records;
    role *role;
    wdme_member *member;
    uint32_t capacity, free_role;
    uint32_t roles;        /* in use */
    uint32_t *role_bucket; /* as many as there is room for roles */
    uint32_t *spoken_to;   /* roles that the event at hand has spoken to: some may be over */
    uint32_t spoken;
    uint64_t next_generation;
    lock_counts counts;
    lock_session *before; /* who holds what nobody of this server does; NULL: nobody */
    uint32_t number;      /* of this shard */
} shard;

/* False if there is no memory. */
bool shard_start(shard *s, uint64_t first_generation);
void shard_free(shard *s);

record *find_record(const shard *s, const char *name, size_t bytes, uint64_t hash);
/* A lock that is not there yet; its register is to be started. NULL if there is no memory. */
record *add_record(shard *s, const char *name, size_t bytes, uint64_t hash);
void drop_record(shard *s, record *gone);

/* NOTHING if the session has no role with the lock. */
uint32_t find_role(const shard *s, const record *of, const lock_session *who);
/* The same, with a new one if it has none; NOTHING if there is no memory. */
uint32_t get_role(shard *s, record *of, lock_session *who);
void drop_role(shard *s, uint32_t number);
/* Gives memory back that was needed once. Numbers of roles must not be in use. */
void shard_tidy(shard *s);

#endif
