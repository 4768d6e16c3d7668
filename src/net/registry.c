/* The registry: what sessions say to the registers of locks, and what these say to sessions. */
#include "registry.h"
#include "shard.h"

#include <stdlib.h>
#include <string.h>

/* Those of one server. */
typedef struct registers {
    registry base; /* first: found from it */
    shard shard[SHARDS];
    uint32_t most_waiters;
} registers;

static registers *registers_of(registry *r)
{
    return (registers *)(void *)r;
}

/* ---- what registers say ---- */

/* An event that is being handled. */
typedef struct event {
    registers *in;
    shard *shard;
    record *of;
    session_roles *speaker; /* whose loop this is; NULL if none */
    uint64_t now;
} event;

static void count_message(shard *s, wdme_kind kind)
{
    s->counts.failed += kind == WDME_FAIL;
    s->counts.resets += kind == WDME_RESET;
    s->counts.lost += kind == WDME_LOST;
    s->counts.stale += kind == WDME_STALE;
    s->counts.timeouts += kind == WDME_TIMEOUT;
    s->counts.sections += kind == WDME_OK;
}

/* Loops look at their clocks at different moments: later may be a little earlier. */
static uint64_t lapse(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

static void count_entry(event *e, const role *who)
{
    e->of->since = e->now;
    if (who->waited)
        durations_add(&e->shard->counts.waits, lapse(who->asked_at, e->now));
}

/* The section that an event finds. */
typedef struct section {
    bool held;
    uint64_t generation, since;
} section;

static section section_now(const event *e)
{
    const record *of = e->of;
    bool held = of->reg.holder != WDME_NOBODY &&
                e->shard->role[of->reg.holder].who->hear != NULL; /* before: not ours to count */
    return (section){held, of->reg.generation, of->since};
}

/* Counts it if the event has ended it, by whatever way. */
static void count_end(event *e, section was)
{
    if (was.held && e->of->reg.generation != was.generation)
        durations_add(&e->shard->counts.holds, lapse(was.since, e->now));
}

static void speak(void *context, uint32_t to, wdme_message m)
{
    event *e = context;
    session_roles *who = e->shard->role[to].who;
    e->shard->spoken_to[e->shard->spoken++] = to;
    if (who->hear == NULL)
        return;
    count_message(e->shard, m.kind);
    if (m.kind == WDME_OK)
        count_entry(e, &e->shard->role[to]);
    if (who == e->speaker) {
        who->hear(who, m, e->of->name, e->of->name_bytes);
        return;
    }
    e->shard->counts.handed_on += m.kind == WDME_OK;
    notice *n = malloc(sizeof *n + e->of->name_bytes);
    if (n == NULL)
        abort(); /* a grant that is not heard of would block the lock for ever */
    *n = (notice){.to = who, .message = m, .name_bytes = e->of->name_bytes};
    memcpy(n->name, e->of->name, e->of->name_bytes);
    who->post(who, n);
}

static wdme_place place_of(event *e)
{
    return (wdme_place){&e->of->reg, e->shard->member, &e->shard->next_generation, speak, e};
}

/* The lock, new if there is none; NULL if there is no memory. */
static record *get_record(event *e, const char *name, size_t bytes, uint64_t hash)
{
    record *found = find_record(e->shard, name, bytes, hash);
    if (found != NULL)
        return found;
    e->of = add_record(e->shard, name, bytes, hash);
    if (e->of == NULL)
        return NULL;
    e->of->since = e->now;
    wdme_place b = place_of(e);
    wdme_register_start(&b);
    return e->of;
}

/* Roles that mean nothing any more go, and so does the lock. */
static void tidy_up(event *e)
{
    shard *s = e->shard;
    for (uint32_t i = 0; i < s->spoken; i++) {
        uint32_t number = s->spoken_to[i];
        if (s->role[number].of == e->of && e->of->reg.holder != number &&
            !s->member[number].waits && !s->member[number].loses)
            drop_role(s, number);
    }
    s->spoken = 0;
    if (e->of->roles == 0 && wdme_register_is_idle(&e->of->reg))
        drop_record(s, e->of);
}

static event begin(registry *r, session_roles *speaker, uint32_t number, uint64_t now)
{
    registers *in = registers_of(r);
    baton_tas_enter(&in->shard[number].lock);
    return (event){.in = in, .shard = &in->shard[number], .speaker = speaker, .now = now};
}

static void end(event *e)
{
    shard_tidy(e->shard);
    baton_tas_exit(&e->shard->lock);
}

static uint32_t shard_of(uint64_t hash)
{
    return (uint32_t)(hash >> 60); /* the lower bits choose the bucket */
}

_Static_assert(SHARDS == 16, "a shard for each value of the hash's upper four bits");

/* ---- what sessions say ---- */

/* A lock that is free has a holder nonetheless while grants are held back. False: no memory. */
static bool hold_back(event *e)
{
    shard *s = e->shard;
    if (s->before == NULL || e->of->reg.holder != WDME_NOBODY)
        return true;
    uint32_t before = get_role(s, e->of, s->before);
    if (before == NOTHING)
        return false;
    wdme_place b = place_of(e);
    wdme_register_receive(&b, before, (wdme_message){.kind = WDME_TRY});
    return true;
}

static registry_verdict tell(event *e, session_roles *me, uint64_t hash, const char *name,
                             size_t bytes, wdme_message m)
{
    shard *s = e->shard;
    e->of = get_record(e, name, bytes, hash);
    if (e->of == NULL)
        return REGISTRY_NO_ROOM;
    bool asks = m.kind != WDME_EXIT;
    uint32_t mine = !asks || hold_back(e) ? get_role(s, e->of, me) : NOTHING;
    if (mine == NOTHING) {
        tidy_up(e);
        return REGISTRY_NO_ROOM;
    }
    s->spoken_to[s->spoken++] = mine;
    registry_verdict verdict = REGISTRY_DONE;
    section before = section_now(e);
    wdme_place b = place_of(e);
    bool waited = s->member[mine].waits;
    if (m.kind == WDME_LOCK && (waited || e->of->reg.holder == mine))
        verdict = REGISTRY_TWICE;
    else if (m.kind == WDME_LOCK && e->of->reg.holder != WDME_NOBODY &&
             e->of->reg.waiting >= e->in->most_waiters)
        verdict = REGISTRY_CROWD;
    if (verdict == REGISTRY_DONE) {
        if (asks) {
            s->role[mine].waited = m.kind == WDME_LOCK;
            s->role[mine].asked_at = e->now;
        }
        wdme_register_receive(&b, mine, m);
        count_end(e, before);
    }
    s->counts.tries += m.kind == WDME_TRY;
    tidy_up(e);
    return verdict;
}

registry_verdict registry_tell(registry *r, session_roles *me, const char *name, size_t bytes,
                               wdme_message m, uint64_t now)
{
    if (r->ways != NULL)
        return r->ways->tell(r, me, name, bytes, m, now);
    uint64_t hash = hash_of(name, bytes);
    event e = begin(r, me, shard_of(hash), now);
    registry_verdict verdict = tell(&e, me, hash, name, bytes, m);
    end(&e);
    return verdict;
}

void registry_wait_over(registry *r, session_roles *me, const char *name, size_t bytes,
                        uint64_t now)
{
    if (r->ways != NULL) {
        r->ways->wait_over(r, me, name, bytes, now);
        return;
    }
    uint64_t hash = hash_of(name, bytes);
    event e = begin(r, me, shard_of(hash), now);
    e.of = find_record(e.shard, name, bytes, hash);
    uint32_t mine = e.of != NULL ? find_role(e.shard, e.of, me) : NOTHING;
    if (mine != NOTHING) {
        wdme_place b = place_of(&e);
        wdme_register_wait_over(&b, mine);
        tidy_up(&e);
    }
    end(&e);
}

/* Something happens to every role of the session in every shard. Returns how often it held. */
static uint32_t for_all_roles(registry *r, session_roles *me, uint64_t now,
                              void (*what)(wdme_place *b, uint32_t member), bool told)
{
    uint32_t held = 0;
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(r, told ? me : NULL, n, now);
        for (uint32_t at = me->first[n], next; at != NOTHING; at = next) {
            next = e.shard->role[at].next; /* of another lock, so it stays */
            e.of = e.shard->role[at].of;
            held += e.of->reg.holder == at;
            e.shard->spoken_to[e.shard->spoken++] = at;
            section before = section_now(&e);
            wdme_place b = place_of(&e);
            what(&b, at);
            count_end(&e, before);
            tidy_up(&e);
        }
        end(&e);
    }
    return held;
}

uint32_t registry_lease_over(registry *r, session_roles *me, uint64_t now)
{
    if (r->ways != NULL)
        return r->ways->lease_over(r, me, now);
    return for_all_roles(r, me, now, wdme_register_lease_over, true);
}

void registry_join(session_roles *me)
{
    me->seats = NULL;
    for (uint32_t n = 0; n < SHARDS; n++)
        me->first[n] = NOTHING;
}

uint32_t registry_leave(registry *r, session_roles *me, uint64_t now)
{
    if (r->ways != NULL)
        return r->ways->leave(r, me, now);
    return for_all_roles(r, me, now, wdme_register_gone, false);
}

static void set_before(registry *r, session_roles *before)
{
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(r, NULL, n, 0);
        e.shard->before = before;
        end(&e);
    }
}

void registry_hold_back(registry *r, session_roles *before)
{
    set_before(r, before);
}

void registry_open(registry *r, session_roles *before, uint64_t now)
{
    set_before(r, NULL);
    registry_leave(r, before, now);
}

bool registry_release(registry *r, const char *name, size_t bytes, uint64_t generation,
                      uint64_t now)
{
    if (r->ways != NULL)
        return r->ways->release(r, name, bytes, generation, now);
    uint64_t hash = hash_of(name, bytes);
    event e = begin(r, NULL, shard_of(hash), now);
    e.of = find_record(e.shard, name, bytes, hash);
    bool held =
        e.of != NULL && e.of->reg.holder != WDME_NOBODY && e.of->reg.generation == generation;
    if (held) {
        section before = section_now(&e);
        wdme_place b = place_of(&e);
        wdme_register_lease_over(&b, e.of->reg.holder);
        count_end(&e, before);
        tidy_up(&e);
    }
    end(&e);
    return held;
}

/* ---- for those who look ---- */

void registry_each(registry *r, void (*each)(const registry_row *row, void *context), void *context)
{
    if (r->ways != NULL) {
        r->ways->each(r, each, context);
        return;
    }
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(r, NULL, n, 0);
        for (size_t b = 0; b < e.shard->buckets; b++) {
            for (const record *at = e.shard->bucket[b]; at != NULL; at = at->next) {
                if (at->reg.holder == WDME_NOBODY)
                    continue;
                registry_row row = {
                    .name = at->name,
                    .name_bytes = at->name_bytes,
                    .generation = at->reg.generation,
                    .since = at->since,
                    .holder = e.shard->role[at->reg.holder].who,
                    .waiters = at->reg.waiting,
                };
                each(&row, context);
            }
        }
        end(&e);
    }
}

static void count_lock(const registry_row *row, void *context)
{
    registry_counts *sum = context;
    sum->held++;
    sum->waiting += row->waiters;
    if (row->waiters > sum->longest_queue)
        sum->longest_queue = row->waiters;
}

registry_counts registry_count(registry *r)
{
    if (r->ways != NULL)
        return r->ways->count(r);
    registry_counts sum = {0};
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(r, NULL, n, 0);
        const registry_counts *c = &e.shard->counts;
        sum.locks += e.shard->records;
        sum.sections += c->sections;
        sum.handed_on += c->handed_on;
        sum.tries += c->tries;
        sum.failed += c->failed;
        sum.resets += c->resets;
        sum.lost += c->lost;
        sum.stale += c->stale;
        sum.timeouts += c->timeouts;
        durations_join(&sum.holds, &c->holds);
        durations_join(&sum.waits, &c->waits);
        end(&e);
    }
    registry_each(r, count_lock, &sum);
    return sum;
}

uint64_t registry_locks(registry *r)
{
    if (r->ways != NULL)
        return r->ways->locks(r);
    uint64_t locks = 0;
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(r, NULL, n, 0);
        locks += e.shard->records;
        end(&e);
    }
    return locks;
}

uint64_t registry_next_generation(registry *r)
{
    uint64_t greatest = 0;
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(r, NULL, n, 0);
        if (e.shard->next_generation > greatest)
            greatest = e.shard->next_generation;
        end(&e);
    }
    return greatest;
}

/* ---- begin and end ---- */

registry *registry_new(uint64_t first_generation, uint32_t most_waiters)
{
    registers *r = aligned_alloc(BATON_CACHE_LINE, sizeof *r);
    if (r == NULL)
        return NULL;
    memset(r, 0, sizeof *r);
    r->most_waiters = most_waiters;
    bool fine = true;
    for (uint32_t n = 0; n < SHARDS; n++) {
        r->shard[n].number = n;
        fine = shard_start(&r->shard[n], first_generation) && fine;
    }
    if (fine)
        return &r->base;
    registry_free(&r->base);
    return NULL;
}

void registry_free(registry *r)
{
    registers *all = registers_of(r);
    for (uint32_t n = 0; n < SHARDS; n++)
        shard_free(&all->shard[n]);
    free(all);
}
