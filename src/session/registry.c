/* The registry: what sessions say to the registers of locks, and what these say to sessions. */
#include "registry.h"
#include "shard.h"

#include <stdlib.h>
#include <string.h>

/* Those of one server. */
typedef struct registers {
    locks base; /* first: found from it */
    shard shard[SHARDS];
    uint32_t max_waiters;
} registers;

static registers *registers_of(locks *all)
{
    return (registers *)(void *)all;
}

/* ---- what registers say ---- */

/* An event that is being handled. */
typedef struct event {
    registers *in;
    shard *shard;
    record *of;
    lock_session *speaker; /* whose loop this is; NULL if none */
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
    lock_session *who = e->shard->role[to].who;
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

static wdme_context context_of(event *e)
{
    return (wdme_context){&e->of->reg, e->shard->member, &e->shard->next_generation, speak, e};
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
    wdme_context b = context_of(e);
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
    if (e->of->roles == 0) /* whoever holds it, waits for it or is to be told has one */
        drop_record(s, e->of);
}

static event begin(locks *all, lock_session *speaker, uint32_t number, uint64_t now)
{
    registers *in = registers_of(all);
    baton_tas_enter(&in->shard[number].lock);
    return (event){.in = in, .shard = &in->shard[number], .speaker = speaker, .now = now};
}

static void end(event *e)
{
    shard_tidy(e->shard);
    baton_tas_exit(&e->shard->lock);
}

/* By all bits of the hash: the lower ones choose the bucket. */
static uint32_t shard_of(uint64_t hash)
{
    return (uint32_t)(hash * 0x9e3779b97f4a7c15ULL >> 60);
}

_Static_assert(SHARDS == 16, "a shard for each value of four bits");

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
    wdme_context b = context_of(e);
    wdme_register_receive(&b, before, (wdme_message){.kind = WDME_TRY});
    return true;
}

static lock_verdict tell(event *e, lock_session *me, uint64_t hash, const char *name, size_t bytes,
                         wdme_message m)
{
    shard *s = e->shard;
    e->of = get_record(e, name, bytes, hash);
    if (e->of == NULL)
        return LOCK_NO_ROOM;
    bool asks = m.kind != WDME_EXIT;
    uint32_t mine = !asks || hold_back(e) ? get_role(s, e->of, me) : NOTHING;
    if (mine == NOTHING) {
        tidy_up(e);
        return LOCK_NO_ROOM;
    }
    s->spoken_to[s->spoken++] = mine;
    lock_verdict verdict = LOCK_DONE;
    section before = section_now(e);
    wdme_context b = context_of(e);
    bool waited = s->member[mine].waits;
    if (m.kind == WDME_LOCK && (waited || e->of->reg.holder == mine))
        verdict = LOCK_TWICE;
    else if (m.kind == WDME_LOCK && e->of->reg.holder != WDME_NOBODY &&
             e->of->reg.waiting >= e->in->max_waiters)
        verdict = LOCK_CROWD;
    if (verdict == LOCK_DONE) {
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

static lock_verdict registry_tell(locks *all, lock_session *me, const char *name, size_t bytes,
                                  wdme_message m, uint64_t now)
{
    uint64_t hash = name_hash(name, bytes);
    event e = begin(all, me, shard_of(hash), now);
    lock_verdict verdict = tell(&e, me, hash, name, bytes, m);
    end(&e);
    return verdict;
}

static void registry_wait_over(locks *all, lock_session *me, const char *name, size_t bytes,
                               uint64_t now)
{
    uint64_t hash = name_hash(name, bytes);
    event e = begin(all, me, shard_of(hash), now);
    e.of = find_record(e.shard, name, bytes, hash);
    uint32_t mine = e.of != NULL ? find_role(e.shard, e.of, me) : NOTHING;
    if (mine != NOTHING) {
        wdme_context b = context_of(&e);
        wdme_register_wait_over(&b, mine);
        tidy_up(&e);
    }
    end(&e);
}

/* Something happens to every role of the session in every shard. Returns how often it held. */
static uint32_t for_all_roles(locks *all, lock_session *me, uint64_t now,
                              void (*what)(wdme_context *b, uint32_t member), bool told)
{
    uint32_t held = 0;
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(all, told ? me : NULL, n, now);
        for (uint32_t at = roles_of(me)->first[n], next; at != NOTHING; at = next) {
            next = e.shard->role[at].next; /* of another lock, so it stays */
            e.of = e.shard->role[at].of;
            held += e.of->reg.holder == at;
            e.shard->spoken_to[e.shard->spoken++] = at;
            section before = section_now(&e);
            wdme_context b = context_of(&e);
            what(&b, at);
            count_end(&e, before);
            tidy_up(&e);
        }
        end(&e);
    }
    return held;
}

static bool registry_lease_over(locks *all, lock_session *me, uint64_t now)
{
    for_all_roles(all, me, now, wdme_register_lease_over, true);
    return true;
}

static void registry_join(lock_session *me)
{
    for (uint32_t n = 0; n < SHARDS; n++)
        roles_of(me)->first[n] = NOTHING;
}

static uint32_t registry_leave(locks *all, lock_session *me, uint64_t lease_until, bool quits,
                               uint64_t now)
{
    (void)quits;
    (void)lease_until; /* what it holds ends with its connection */
    return for_all_roles(all, me, now, wdme_register_gone, false);
}

static bool registry_must_stay(locks *all, lock_session *me)
{
    bool holds = false;
    for (uint32_t n = 0; n < SHARDS && !holds; n++) {
        event e = begin(all, NULL, n, 0);
        for (uint32_t at = roles_of(me)->first[n]; at != NOTHING; at = e.shard->role[at].next)
            holds |= e.shard->role[at].of->reg.holder == at;
        end(&e);
    }
    return holds;
}

static void set_before(locks *all, lock_session *before)
{
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(all, NULL, n, 0);
        e.shard->before = before;
        end(&e);
    }
}

void registry_hold_back(locks *all, lock_session *before)
{
    set_before(all, before);
}

void registry_open(locks *all, lock_session *before, uint64_t now)
{
    set_before(all, NULL);
    registry_leave(all, before, 0, false, now);
}

static bool registry_release(locks *all, const char *name, size_t bytes, uint64_t generation,
                             uint64_t now)
{
    uint64_t hash = name_hash(name, bytes);
    event e = begin(all, NULL, shard_of(hash), now);
    e.of = find_record(e.shard, name, bytes, hash);
    bool held =
        e.of != NULL && e.of->reg.holder != WDME_NOBODY && e.of->reg.generation == generation;
    if (held) {
        section before = section_now(&e);
        wdme_context b = context_of(&e);
        wdme_register_lease_over(&b, e.of->reg.holder);
        count_end(&e, before);
        tidy_up(&e);
    }
    end(&e);
    return held;
}

/* ---- for those who look ---- */

static void show_lock(const shard *s, const record *at,
                      void (*each)(const lock_row *row, void *context), void *context)
{
    if (at->reg.holder == WDME_NOBODY)
        return;
    lock_row row = {
        .name = at->name,
        .name_bytes = at->name_bytes,
        .generation = at->reg.generation,
        .since = at->since,
        .holder = s->role[at->reg.holder].who,
        .waiters = at->reg.waiting,
    };
    each(&row, context);
}

/* The places of a shard's locks follow those of the shard before. */
static lock_page registry_each(locks *all, uint64_t from, uint64_t most,
                               void (*each)(const lock_row *row, void *context), void *context)
{
    const uint64_t end_of_all = SHARDS * NAME_PLACES;
    lock_page page = {.next = from};
    while (page.next < end_of_all && page.looked_at < most) {
        uint64_t first = page.next / NAME_PLACES * NAME_PLACES;
        uint64_t place = page.next - first;
        event e = begin(all, NULL, (uint32_t)(first / NAME_PLACES), 0);
        const name_table *t = &e.shard->records;
        for (; place < NAME_PLACES && page.looked_at < most; place = name_place_behind(t, place)) {
            name_walk bucket = name_walk_bucket(t, name_bucket_at(t, place));
            for (const name_entry *at; (at = name_walk_next(&bucket)) != NULL;) {
                page.looked_at++;
                if (name_place(at) >= place)
                    show_lock(e.shard, OWNER_OF(at, record, entry), each, context);
            }
        }
        end(&e);
        page.next = first + place;
    }
    if (page.next >= end_of_all)
        page.next = 0;
    return page;
}

static void count_lock(const lock_row *row, void *context)
{
    lock_counts *sum = context;
    sum->held++;
    sum->waiting += row->waiters;
    if (row->waiters > sum->longest_queue)
        sum->longest_queue = row->waiters;
}

static lock_counts registry_count(locks *all)
{
    lock_counts sum = {0};
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(all, NULL, n, 0);
        const lock_counts *c = &e.shard->counts;
        sum.locks += e.shard->records.count;
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
    registry_each(all, 0, UINT64_MAX, count_lock, &sum);
    return sum;
}

static uint64_t registry_count_locks(locks *all)
{
    uint64_t sum = 0;
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(all, NULL, n, 0);
        sum += e.shard->records.count;
        end(&e);
    }
    return sum;
}

uint64_t registry_next_generation(locks *all)
{
    uint64_t greatest = 0;
    for (uint32_t n = 0; n < SHARDS; n++) {
        event e = begin(all, NULL, n, 0);
        if (e.shard->next_generation > greatest)
            greatest = e.shard->next_generation;
        end(&e);
    }
    return greatest;
}

/* ---- begin and end ---- */

static const lock_backend registry_backend = {
    .join = registry_join,
    .leave = registry_leave,
    .must_stay = registry_must_stay,
    .tell = registry_tell,
    .wait_over = registry_wait_over,
    .lease_over = registry_lease_over,
    .release = registry_release,
    .each = registry_each,
    .count = registry_count,
    .count_locks = registry_count_locks,
};

locks *registry_new(uint64_t first_generation, uint32_t max_waiters)
{
    registers *r = aligned_alloc(BATON_CACHE_LINE, sizeof *r);
    if (r == NULL)
        return NULL;
    memset(r, 0, sizeof *r);
    r->base.backend = &registry_backend;
    r->max_waiters = max_waiters;
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

void registry_free(locks *all)
{
    registers *r = registers_of(all);
    for (uint32_t n = 0; n < SHARDS; n++)
        shard_free(&r->shard[n]);
    free(r);
}
