/*
 * Sets of locks in the caller's memory: made, found again by another process, joined and left.
 * No paper's algorithm is here; it only hands out seats and checks what callers ask for.
 *
 *   header | claimed: a register per participant | participants | pairs | locks
 *
 * Each part begins on a cache line of its own. Everything behind the header is laid out by its
 * numbers alone, so every process finds it, wherever it has mapped the memory.
 */
#define BATON_REG_SHORT_NAMES
#include "layout.h"
#include "table.h"

#include <string.h>

#define MAGIC 0x6e6f746162616221ULL
/* Changes whenever the layout of a lock, a participant or the set does. */
#define LAYOUT 1U

/*
 * The top bit of a participant's `inside`: somebody watches it. So the check that it is not inside,
 * which is made anyway, also finds out that it is watched, and who is not watched pays nothing.
 */
#define WATCHED 0x80000000U
/* What check_outside says then: no error, and not BATON_OK. */
enum { IS_WATCHED = 2 };

/*
 * What was made, written once by the maker and never changed. `magic` is written last, so that who
 * finds it finds the rest as well; `checksum` covers everything between them.
 */
struct baton_locks {
    BATON_ATOMIC(uint64_t) magic;
    uint32_t layout;
    uint32_t word_bytes; /* a 32-bit process must not use what a 64-bit one made */
    uint32_t locks;
    uint32_t participants;
    uint32_t waiting;
    char algorithm[28];
    uint64_t bytes;
    uint64_t checksum;
};

/* Where the parts of a set begin, in bytes from its start, and how far apart their elements are. */
typedef struct plan {
    size_t claimed;
    size_t participants;
    size_t pairs;
    size_t locks;
    size_t bytes;
    size_t lock_stride;
} plan;

static bool plan_set(const row *of, uint32_t locks, uint32_t participants, plan *out)
{
    size_t pairs;
    plan p = {0};
    bool fits = extend(&p.lock_stride, 1, of->lock_bytes(participants)) &&
                !__builtin_mul_overflow((size_t)locks, (size_t)participants, &pairs) &&
                extend(&p.claimed, 1, sizeof(baton_locks));
    if (!fits)
        return false;
    p.participants = p.claimed;
    fits = extend(&p.participants, participants, sizeof(baton_reg));
    p.pairs = p.participants;
    fits = fits && extend(&p.pairs, participants, of->participant_bytes);
    p.locks = p.pairs;
    fits = fits && extend(&p.locks, pairs, of->pair_bytes);
    p.bytes = p.locks;
    fits = fits && extend(&p.bytes, locks, p.lock_stride);
    *out = p;
    return fits;
}

static int check_spec(const baton_locks_spec *spec, const row **of, plan *out)
{
    if (spec == NULL || spec->algorithm == NULL ||
        (spec->waiting != BATON_SPIN && spec->waiting != BATON_PARK))
        return BATON_BAD_ARGUMENT;
    *of = baton_row_find(spec->algorithm);
    if (*of == NULL)
        return BATON_NO_ALGORITHM;
    uint32_t max = (*of)->is.max_participants;
    if (spec->locks == 0 || spec->locks >= WATCHED || spec->participants == 0 ||
        (max != 0 && spec->participants > max) ||
        !plan_set(*of, spec->locks, spec->participants, out))
        return BATON_BAD_COUNT;
    return BATON_OK;
}

static void *at(baton_locks *set, size_t offset)
{
    return (char *)set + offset;
}

static uint64_t header_checksum(const baton_locks *set)
{
    return checksum_of(&set->layout, &set->checksum);
}

/*
 * Reads the header of what may or may not be a set: somebody may have written over it, or be making
 * it anew at this moment. What it says is believed only if it is whole, and there all the time.
 */
static int read_header(const baton_locks *set, const row **of, plan *p, baton_locks_spec *spec)
{
    if (atomic_load_explicit(&set->magic, memory_order_acquire) != MAGIC)
        return BATON_NOT_LOCKS;
    baton_locks copy;
    memcpy((char *)&copy + sizeof copy.magic, (const char *)set + sizeof copy.magic,
           sizeof copy - sizeof copy.magic);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&set->magic, memory_order_relaxed) != MAGIC)
        return BATON_NOT_LOCKS;
    if (copy.layout != LAYOUT || copy.word_bytes != sizeof(baton_word))
        return BATON_OTHER_VERSION;
    if (copy.checksum != header_checksum(&copy))
        return BATON_NOT_LOCKS;
    copy.algorithm[sizeof copy.algorithm - 1] = '\0';
    *of = baton_row_find(copy.algorithm);
    if (*of == NULL)
        return BATON_NOT_LOCKS;
    *spec = (baton_locks_spec){
        .algorithm = (*of)->is.name,
        .locks = copy.locks,
        .participants = copy.participants,
        .waiting = (baton_waiting)copy.waiting,
    };
    /* A checksum that fits by chance must still not lead out of the memory. */
    if (check_spec(spec, of, p) != BATON_OK || p->bytes != copy.bytes)
        return BATON_NOT_LOCKS;
    return BATON_OK;
}

int baton_locks_size(const baton_locks_spec *spec, size_t *bytes)
{
    const row *of;
    plan p;
    int error = check_spec(spec, &of, &p);
    if (error != BATON_OK || bytes == NULL)
        return error != BATON_OK ? error : BATON_BAD_ARGUMENT;
    *bytes = p.bytes;
    return BATON_OK;
}

static void init_seats(const row *of, baton_locks *set, const plan *p)
{
    size_t each = of->pair_bytes != 0 ? of->pair_bytes : of->participant_bytes;
    size_t start = of->pair_bytes != 0 ? p->pairs : p->participants;
    size_t count = of->pair_bytes != 0 ? (size_t)set->locks * set->participants : set->participants;
    if (of->join == NULL)
        return;
    for (size_t seat = 0; seat < count; seat++)
        of->join(at(set, start + seat * each), seat % set->participants + 1);
}

int baton_locks_create(const baton_locks_spec *spec, void *memory, size_t bytes,
                       baton_locks **locks)
{
    const row *of;
    plan p;
    int error = check_spec(spec, &of, &p);
    if (error != BATON_OK)
        return error;
    if (memory == NULL || locks == NULL)
        return BATON_BAD_ARGUMENT;
    if ((uintptr_t)memory % BATON_CACHE_LINE != 0)
        return BATON_MISALIGNED;
    if (bytes < p.bytes)
        return BATON_TOO_SMALL;

    baton_locks *set = memory;
    atomic_store_explicit(&set->magic, 0, memory_order_relaxed); /* not to be found half made */
    atomic_thread_fence(memory_order_release);                   /* and that before the rest */
    memset((char *)set + sizeof set->magic, 0, p.bytes - sizeof set->magic);
    set->layout = LAYOUT;
    set->word_bytes = sizeof(baton_word);
    set->locks = spec->locks;
    set->participants = spec->participants;
    set->waiting = spec->waiting;
    strncpy(set->algorithm, of->is.name, sizeof set->algorithm - 1);
    set->bytes = p.bytes;
    for (uint32_t i = 0; i < spec->locks; i++)
        of->init(at(set, p.locks + i * p.lock_stride), spec->participants, spec->waiting);
    init_seats(of, set, &p);
    set->checksum = header_checksum(set);
    atomic_store_explicit(&set->magic, MAGIC, memory_order_release);
    *locks = set;
    return BATON_OK;
}

int baton_locks_attach(void *memory, size_t bytes, baton_locks **locks)
{
    if (memory == NULL || locks == NULL)
        return BATON_BAD_ARGUMENT;
    if ((uintptr_t)memory % BATON_CACHE_LINE != 0)
        return BATON_MISALIGNED;
    if (bytes < sizeof(baton_locks))
        return BATON_TOO_SMALL;
    const row *of;
    plan p;
    baton_locks_spec spec;
    int error = read_header(memory, &of, &p, &spec);
    if (error != BATON_OK)
        return error;
    if (bytes < p.bytes)
        return BATON_TOO_SMALL;
    *locks = memory;
    return BATON_OK;
}

int baton_locks_describe(const baton_locks *locks, baton_locks_spec *spec)
{
    const row *of;
    plan p;
    if (locks == NULL || spec == NULL)
        return BATON_BAD_ARGUMENT;
    return read_header(locks, &of, &p, spec);
}

int baton_join(baton_locks *locks, baton_participant *me)
{
    if (locks == NULL || me == NULL)
        return BATON_BAD_ARGUMENT;
    if (me->self == me)
        return BATON_ALREADY_JOINED;
    const row *of;
    plan p;
    baton_locks_spec spec;
    int error = read_header(locks, &of, &p, &spec);
    if (error != BATON_OK)
        return error;
    baton_reg *claimed = at(locks, p.claimed);
    for (uint32_t i = 0; i < spec.participants; i++) {
        /* acquire: the place as the one who left it; a look first, to leave full lines alone */
        if (reg_read(&claimed[i], relaxed) != 0 || !reg_cas(&claimed[i], 0, 1, acquire))
            continue;
        bool in_pairs = of->pair_bytes != 0;
        size_t each = in_pairs ? of->pair_bytes : of->participant_bytes;
        size_t first = (in_pairs ? p.pairs : p.participants) + i * each;
        *me = (baton_participant){
            .self = me,
            .row = of,
            .claim = &claimed[i],
            .lock = at(locks, p.locks),
            .seat = at(locks, first),
            .lock_stride = p.lock_stride,
            .seat_stride = in_pairs ? spec.participants * each : 0,
            .locks = spec.locks,
            .index = i,
        };
        return BATON_OK;
    }
    return BATON_FULL;
}

int baton_leave(baton_participant *me)
{
    if (me == NULL)
        return BATON_BAD_ARGUMENT;
    if (me->self != me)
        return BATON_NOT_JOINED;
    if ((me->inside & ~WATCHED) != 0)
        return BATON_ALREADY_INSIDE;
    baton_reg *claim = me->claim;
    *me = (baton_participant){0};
    reg_write(claim, 0, release); /* the place as I leave it, before the next one has it */
    return BATON_OK;
}

/* What must hold before `me` enters lock number `lock`. IS_WATCHED if it does, and is watched. */
static int check_outside(const baton_participant *me, uint32_t lock)
{
    if (me == NULL)
        return BATON_BAD_ARGUMENT;
    if (me->self != me)
        return BATON_NOT_JOINED;
    if (me->inside != 0) {
        if (me->inside != WATCHED)
            return BATON_ALREADY_INSIDE;
        return lock < me->locks ? IS_WATCHED : BATON_NO_LOCK;
    }
    return lock < me->locks ? BATON_OK : BATON_NO_LOCK;
}

static void *lock_of(const baton_participant *me, uint32_t lock)
{
    return (char *)me->lock + lock * me->lock_stride;
}

static void *seat_of(const baton_participant *me, uint32_t lock)
{
    return (char *)me->seat + lock * me->seat_stride;
}

static void enter(const baton_participant *me, uint32_t lock)
{
    ((const row *)me->row)->enter(lock_of(me, lock), seat_of(me, lock), me->index);
}

static void leave(const baton_participant *me, uint32_t lock)
{
    ((const row *)me->row)->exit(lock_of(me, lock), seat_of(me, lock), me->index);
}

static int enter_watched(baton_participant *me, uint32_t lock)
{
    const row *of = me->row;
    /* Who can tell at once that the lock is free has nothing to wait for, and nothing to say. */
    if (of->try == NULL || !of->try(lock_of(me, lock), seat_of(me, lock), me->index)) {
        me->watch->tell(me->watch, BATON_WAITS, lock);
        enter(me, lock);
    }
    me->inside = WATCHED | (lock + 1);
    me->watch->tell(me->watch, BATON_HOLDS, lock);
    return BATON_OK;
}

static int leave_watched(baton_participant *me, uint32_t lock)
{
    me->watch->tell(me->watch, BATON_RESTS, lock); /* before anybody else can hold it */
    me->inside = WATCHED;
    leave(me, lock);
    return BATON_OK;
}

int baton_enter(baton_participant *me, uint32_t lock)
{
    int error = check_outside(me, lock);
    if (error != BATON_OK)
        return error == IS_WATCHED ? enter_watched(me, lock) : error;
    enter(me, lock);
    me->inside = lock + 1;
    return BATON_OK;
}

int baton_try(baton_participant *me, uint32_t lock)
{
    int error = check_outside(me, lock);
    if (error < BATON_OK)
        return error;
    const row *of = me->row;
    if (of->try == NULL)
        return BATON_NO_TRY;
    if (!of->try(lock_of(me, lock), seat_of(me, lock), me->index))
        return BATON_BUSY;
    me->inside |= lock + 1;
    if (error == IS_WATCHED)
        me->watch->tell(me->watch, BATON_HOLDS, lock);
    return BATON_OK;
}

int baton_exit(baton_participant *me, uint32_t lock)
{
    if (me == NULL)
        return BATON_BAD_ARGUMENT;
    if (me->self != me)
        return BATON_NOT_JOINED;
    if (lock >= me->locks)
        return BATON_NO_LOCK;
    if (me->inside != lock + 1)
        return me->inside == (WATCHED | (lock + 1)) ? leave_watched(me, lock) : BATON_NOT_INSIDE;
    me->inside = 0;
    leave(me, lock);
    return BATON_OK;
}

int baton_watch_by(baton_participant *me, baton_watch *watch)
{
    if (me == NULL || (watch != NULL && watch->tell == NULL))
        return BATON_BAD_ARGUMENT;
    if (me->self != me)
        return BATON_NOT_JOINED;
    if ((me->inside & ~WATCHED) != 0)
        return BATON_ALREADY_INSIDE;
    me->watch = watch;
    me->inside = watch != NULL ? WATCHED : 0;
    return BATON_OK;
}
