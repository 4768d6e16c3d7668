/*
 * The object around the algorithms: made in the caller's memory, found again by another process,
 * joined and left; and STORE and COLLECT themselves, which are the same for array, tree and matrix.
 */
#include "object.h"
#include "layout.h"

#include <string.h>

#define MAGIC 0x6e6f746162636f6cULL
/* Changes whenever the layout of an object does. */
#define LAYOUT 1U

/* As in a set of locks: `magic` is written last, `checksum` covers what lies between them. */
struct baton_collect {
    BATON_ATOMIC(uint64_t) magic;
    uint32_t layout;
    uint32_t word_bytes;
    char name[8];
    uint32_t participants;
    uint32_t collectors;
    uint64_t value_bytes;
    uint64_t bytes;
    uint64_t checksum;
};

/* Where the parts begin, in bytes from the start. */
typedef struct plan {
    const kind *of;
    size_t seats;
    size_t requests;
    size_t slots;
    size_t nodes;
    size_t bytes;
} plan;

static const kind *const kinds[] = {
    &baton_collect_array,
    &baton_collect_tree,
    &baton_collect_matrix,
};

static const kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

static int plan_object(const baton_collect_spec *spec, plan *out)
{
    if (spec == NULL || spec->object == NULL)
        return BATON_BAD_ARGUMENT;
    plan p = {.of = find_kind(spec->object)};
    if (p.of == NULL)
        return BATON_NO_OBJECT;
    uint32_t n = spec->participants;
    if (n == 0 || n > p.of->max || spec->collectors == 0 ||
        spec->collectors > BATON_MAX_COLLECTORS || spec->value_bytes == 0 ||
        spec->value_bytes > BATON_MAX_VALUE_BYTES)
        return BATON_BAD_COUNT;
    size_t slots = (size_t)n * value_slots(spec->value_bytes, spec->collectors);
    bool fits = extend(&p.seats, 1, sizeof(baton_collect));
    p.requests = p.seats;
    fits = fits && extend(&p.requests, n, sizeof(seat));
    p.slots = p.requests;
    fits = fits && extend(&p.slots, spec->collectors, sizeof(request));
    p.nodes = p.slots;
    fits = fits && extend(&p.nodes, slots, value_words(spec->value_bytes) * sizeof(baton_reg));
    p.bytes = p.nodes;
    fits = fits && extend(&p.bytes, p.of->nodes(n), sizeof(node));
    *out = p;
    return fits ? BATON_OK : BATON_BAD_COUNT;
}

static parts parts_of(baton_collect *object, const plan *p, const baton_collect_spec *spec)
{
    char *base = (char *)object;
    return (parts){
        .kind = p->of,
        .seats = base + p->seats,
        .requests = base + p->requests,
        .slots = base + p->slots,
        .nodes = base + p->nodes,
        .value_bytes = spec->value_bytes,
        .participants = spec->participants,
        .collectors = spec->collectors,
    };
}

static uint64_t header_checksum(const baton_collect *object)
{
    return checksum_of(&object->layout, &object->checksum);
}

/* Believes what the header says only if it is whole, and there all the time; see src/lock/set.c. */
static int read_header(const baton_collect *object, plan *p, baton_collect_spec *spec)
{
    baton_collect copy;
    if (atomic_load_explicit(&object->magic, memory_order_acquire) != MAGIC)
        return BATON_NOT_COLLECT;
    memcpy((char *)&copy + sizeof copy.magic, (const char *)object + sizeof copy.magic,
           sizeof copy - sizeof copy.magic);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&object->magic, memory_order_relaxed) != MAGIC)
        return BATON_NOT_COLLECT;
    if (copy.layout != LAYOUT || copy.word_bytes != sizeof(baton_word))
        return BATON_OTHER_VERSION;
    if (copy.checksum != header_checksum(&copy) || copy.name[sizeof copy.name - 1] != '\0')
        return BATON_NOT_COLLECT;
    baton_collect_spec said = {
        .object = copy.name,
        .participants = copy.participants,
        .collectors = copy.collectors,
        .value_bytes = (size_t)copy.value_bytes,
    };
    if (plan_object(&said, p) != BATON_OK || p->bytes != copy.bytes)
        return BATON_NOT_COLLECT;
    said.object = p->of->name; /* not the copy, which goes */
    *spec = said;
    return BATON_OK;
}

int baton_collect_size(const baton_collect_spec *spec, size_t *bytes)
{
    plan p;
    int error = plan_object(spec, &p);
    if (error != BATON_OK || bytes == NULL)
        return error != BATON_OK ? error : BATON_BAD_ARGUMENT;
    *bytes = p.bytes;
    return BATON_OK;
}

static void init_seats(const parts *in)
{
    for (uint32_t id = 0; id < in->participants; id++) {
        seat *s = seat_of(in, id);
        reg_init(&s->owner, 0);
        reg_init(&s->progress, 0);
        reg_init(&s->value, 0);
    }
    for (uint32_t c = 0; c < in->collectors; c++) {
        request *r = request_of(in, c);
        reg_init(&r->owner, 0);
        reg_init(&r->reads, 0);
    }
}

static void init_places(const parts *in)
{
    size_t count = (size_t)in->participants * value_slots(in->value_bytes, in->collectors) *
                   value_words(in->value_bytes);
    baton_reg *slot = (baton_reg *)(void *)in->slots;
    for (size_t i = 0; i < count; i++)
        reg_init(&slot[i], 0);
}

static void init_nodes(const parts *in)
{
    node *nodes = (node *)(void *)in->nodes;
    for (size_t i = 0; i < ((const kind *)in->kind)->nodes(in->participants); i++) {
        node *s = &nodes[i];
        baton_splitter_init(&s->splitter);
        reg_init(&s->marked, 0);
        reg_init(&s->here, 0);
    }
}

int baton_collect_create(const baton_collect_spec *spec, void *memory, size_t bytes,
                         baton_collect **object)
{
    plan p;
    int error = plan_object(spec, &p);
    if (error != BATON_OK)
        return error;
    if (memory == NULL || object == NULL)
        return BATON_BAD_ARGUMENT;
    if ((uintptr_t)memory % BATON_CACHE_LINE != 0)
        return BATON_MISALIGNED;
    if (bytes < p.bytes)
        return BATON_TOO_SMALL;
    baton_collect *made = memory;
    atomic_store_explicit(&made->magic, 0, memory_order_relaxed); /* not to be found half made */
    atomic_thread_fence(memory_order_release);
    made->layout = LAYOUT;
    made->word_bytes = sizeof(baton_word);
    memset(made->name, 0, sizeof made->name);
    memcpy(made->name, p.of->name, strlen(p.of->name));
    made->participants = spec->participants;
    made->collectors = spec->collectors;
    made->value_bytes = spec->value_bytes;
    made->bytes = p.bytes;
    made->checksum = header_checksum(made);
    parts in = parts_of(made, &p, spec);
    init_seats(&in);
    init_places(&in);
    init_nodes(&in);
    atomic_store_explicit(&made->magic, MAGIC, memory_order_release);
    *object = made;
    return BATON_OK;
}

int baton_collect_attach(void *memory, size_t bytes, baton_collect **object)
{
    plan p;
    baton_collect_spec spec;
    if (memory == NULL || object == NULL)
        return BATON_BAD_ARGUMENT;
    if ((uintptr_t)memory % BATON_CACHE_LINE != 0)
        return BATON_MISALIGNED;
    if (bytes < sizeof(baton_collect))
        return BATON_TOO_SMALL;
    int error = read_header(memory, &p, &spec);
    if (error != BATON_OK)
        return error;
    if (bytes < p.bytes)
        return BATON_TOO_SMALL;
    *object = memory;
    return BATON_OK;
}

int baton_collect_describe(const baton_collect *object, baton_collect_spec *spec)
{
    plan p;
    if (object == NULL || spec == NULL)
        return BATON_BAD_ARGUMENT;
    return read_header(object, &p, spec);
}

/* ---- coming and going ---- */

int find_parts(const baton_collect *object, parts *in)
{
    plan p;
    baton_collect_spec spec;
    if (object == NULL)
        return BATON_BAD_ARGUMENT;
    int error = read_header(object, &p, &spec);
    if (error == BATON_OK)
        *in = parts_of((baton_collect *)object, &p, &spec); /* who only looks writes nothing */
    return error;
}

/* The owner's register of a storer's or a collector's number. */
typedef baton_reg *owner_of(const parts *in, uint32_t number);

static baton_reg *storer_owner(const parts *in, uint32_t id)
{
    return id < in->participants ? &seat_of(in, id)->owner : NULL;
}

static baton_reg *collector_owner(const parts *in, uint32_t number)
{
    return number < in->collectors ? &request_of(in, number)->owner : NULL;
}

/* The lowest number that nobody owns, now owned. acquire: the seat as the one before left it. */
static int claim_lowest(const parts *in, owner_of *of, baton_word owner, uint32_t *number)
{
    baton_reg *claim;
    for (uint32_t i = 0; (claim = of(in, i)) != NULL; i++)
        if (reg_read(claim, relaxed) == 0 && reg_cas(claim, 0, owner, acquire)) {
            *number = i;
            return BATON_OK;
        }
    return BATON_FULL;
}

static int claim_from(const parts *in, owner_of *of, uint32_t number, baton_word dead,
                      baton_word owner)
{
    baton_reg *claim = of(in, number);
    if (claim == NULL || dead == 0)
        return BATON_BAD_ARGUMENT;
    return reg_cas(claim, dead, owner, acquire) ? BATON_OK : BATON_FULL;
}

static baton_word owner_at(const baton_collect *object, owner_of *of, uint32_t number)
{
    parts in;
    if (find_parts(object, &in) != BATON_OK)
        return 0;
    const baton_reg *claim = of(&in, number);
    return claim != NULL ? reg_read(claim, acquire) : 0;
}

void storer_sits(baton_storer *me, const parts *in, uint32_t id)
{
    *me = (baton_storer){
        .self = me,
        .id = id,
        .value = &seat_of(in, id)->value,
        .in = *in,
    };
}

void collector_sits(baton_collector *me, const parts *in, uint32_t number)
{
    *me = (baton_collector){.self = me, .number = number, .in = *in};
}

/* What storers and collectors must be before they join; finds the object's parts. */
static int may_join(const baton_collect *object, baton_word owner, bool joined, parts *in)
{
    if (owner == 0)
        return BATON_BAD_ARGUMENT;
    return joined ? BATON_ALREADY_JOINED : find_parts(object, in);
}

int baton_storer_join(baton_collect *object, baton_word owner, baton_storer *me)
{
    parts in;
    uint32_t id = 0;
    if (me == NULL)
        return BATON_BAD_ARGUMENT;
    int error = may_join(object, owner, me->self == me, &in);
    if (error == BATON_OK)
        error = claim_lowest(&in, storer_owner, owner, &id);
    if (error == BATON_OK)
        storer_sits(me, &in, id);
    return error;
}

int baton_storer_take_over(baton_collect *object, uint32_t id, baton_word dead, baton_word owner,
                           baton_storer *me)
{
    parts in;
    if (me == NULL)
        return BATON_BAD_ARGUMENT;
    int error = may_join(object, owner, me->self == me, &in);
    if (error == BATON_OK)
        error = claim_from(&in, storer_owner, id, dead, owner);
    if (error == BATON_OK)
        storer_sits(me, &in, id);
    return error;
}

int baton_storer_leave(baton_storer *me)
{
    if (me == NULL)
        return BATON_BAD_ARGUMENT;
    if (me->self != me)
        return BATON_NOT_JOINED;
    baton_reg *claim = storer_owner(&me->in, me->id);
    *me = (baton_storer){0};
    reg_write(claim, 0, release); /* the seat as I leave it, before the next one has it */
    return BATON_OK;
}

baton_word baton_collect_owner(const baton_collect *object, uint32_t id)
{
    return owner_at(object, storer_owner, id);
}

int baton_collector_join(baton_collect *object, baton_word owner, baton_collector *me)
{
    parts in;
    uint32_t number = 0;
    if (me == NULL)
        return BATON_BAD_ARGUMENT;
    int error = may_join(object, owner, me->self == me, &in);
    if (error == BATON_OK)
        error = claim_lowest(&in, collector_owner, owner, &number);
    if (error == BATON_OK)
        collector_sits(me, &in, number);
    return error;
}

int baton_collector_take_over(baton_collect *object, uint32_t number, baton_word dead,
                              baton_word owner, baton_collector *me)
{
    parts in;
    if (me == NULL)
        return BATON_BAD_ARGUMENT;
    int error = may_join(object, owner, me->self == me, &in);
    if (error == BATON_OK)
        error = claim_from(&in, collector_owner, number, dead, owner);
    if (error == BATON_OK) {
        collector_sits(me, &in, number);
        value_reads_over(&in, number); /* what the dead one was reading is free again */
    }
    return error;
}

int baton_collector_leave(baton_collector *me)
{
    if (me == NULL)
        return BATON_BAD_ARGUMENT;
    if (me->self != me)
        return BATON_NOT_JOINED;
    baton_reg *claim = collector_owner(&me->in, me->number);
    *me = (baton_collector){0};
    reg_write(claim, 0, release);
    return BATON_OK;
}

baton_word baton_collector_owner(const baton_collect *object, uint32_t number)
{
    return owner_at(object, collector_owner, number);
}

/* ---- STORE and COLLECT ---- */

int baton_store(baton_storer *me, const void *value)
{
    if (me == NULL || value == NULL)
        return BATON_BAD_ARGUMENT;
    if (me->self != me)
        return BATON_NOT_JOINED;
    value_write(&me->in, me->id, value);      /* 1 */
    bool fine = first_store(&me->in, me->id); /* 2-16 */
    reg_fence(seq_cst); /* a collect that begins now must not miss it (erratum 6) */
    return fine ? BATON_OK : BATON_NOT_COLLECT;
}

void finder_add(finder *f, uint32_t id)
{
    if (id >= f->in->participants || f->found == f->in->participants) /* damaged memory only */
        return;
    f->ids[f->found] = id;
    f->found += value_read(f->in, id, f->collector, f->values + f->found * f->in->value_bytes);
}

int baton_collect_view(baton_collector *me, uint32_t *ids, void *values)
{
    if (me == NULL || ids == NULL || values == NULL)
        return BATON_BAD_ARGUMENT;
    if (me->self != me)
        return BATON_NOT_JOINED;
    finder f = {.in = &me->in, .collector = me->number, .ids = ids, .values = values};
    reg_fence(seq_cst); /* against that of a store: what it has stored is there to be found */
    ((const kind *)me->in.kind)->visit(&f);
    value_reads_over(&me->in, me->number);
    return (int)f.found;
}
