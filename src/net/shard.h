/*
 * A shard of the registry: the locks whose names hash to it, and who has to do with which. Tables
 * only; what happens is in registry.c. Whoever calls anything here has the shard's lock.
 */
#ifndef BATON_NET_SHARD_H
#define BATON_NET_SHARD_H

#include "baton/lock.h"
#include "registry.h"

#define NOTHING UINT32_MAX

/* A lock. */
typedef struct record {
    struct record *next; /* in its bucket */
    wdme_register reg;
    uint64_t hash;
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
    session_roles *who;
    record *of;
    uint32_t next, previous; /* of the same session, or among the free ones */
    uint32_t next_in_bucket;
    bool waited; /* it has asked by LOCK, */
    uint64_t asked_at;
} role;

typedef struct shard {
    BATON_OWN_LINE baton_tas lock;
    record **bucket;
    size_t buckets; /* a power of two */
    size_t records;
    role *role;
    wdme_member *member;
    uint32_t room, free_role;
    uint32_t roles;        /* in use */
    uint32_t *role_bucket; /* as many as there is room for roles */
    uint32_t *spoken_to;   /* roles that the event at hand has spoken to: some may be over */
    uint32_t spoken;
    uint64_t next_generation;
    registry_counts counts;
    session_roles *before; /* who holds what nobody of this server does; NULL: nobody */
    uint32_t number;       /* of this shard */
} shard;

uint64_t hash_of(const char *name, size_t bytes);

/* False if there is no memory. */
bool shard_start(shard *s, uint64_t first_generation);
void shard_free(shard *s);

record *find_record(const shard *s, const char *name, size_t bytes, uint64_t hash);
/* A lock that is not there yet; its register is to be started. NULL if there is no memory. */
record *add_record(shard *s, const char *name, size_t bytes, uint64_t hash);
void drop_record(shard *s, record *gone);

/* NOTHING if the session has no role with the lock. */
uint32_t find_role(const shard *s, const record *of, const session_roles *who);
/* The same, with a new one if it has none; NOTHING if there is no memory. */
uint32_t get_role(shard *s, record *of, session_roles *who);
void drop_role(shard *s, uint32_t number);
/* Gives memory back that was needed once. Numbers of roles must not be in use. */
void shard_tidy(shard *s);

#endif
