/*
 * R_i: a participant's value, as one word or as many, without half a value ever being seen.
 *
 * A value that fits into a word is a register. A wider one lies in one of c + 2 places that its
 * participant has, c being the number of collectors, and a register says in which: the store writes
 * into a place that nobody reads, then points there. Who reads says so first, in a request:
 *
 *   0             reads nothing
 *   i, ASKED      is about to read i's value, and has not yet found out where it lies
 *   i, place      reads i's value in that place
 *
 *   reader            reads := (i, ASKED); fence; place := value_i;
 *                     cas(reads, (i, ASKED) -> (i, place))
 *   before a store    for each collector: if (i, ASKED), cas to (i, where my value lies now);
 *                     if (i, place), not there
 *
 * Whoever of the two comes first settles the place, so it does not change under the reader, and
 * nobody waits. At most c places are read from and one is the newest, so one is left to write to.
 * If the store does not see the request, then the reader sees where the value lies that the store
 * replaces, or a later one (a fence on either side: the reader's above, the writer's at the end of
 * its last store), and that is not the place that is being written to. If it sees the request, it
 * settles it. Places whose reader has died stay as they are until somebody takes its number over.
 */
#include "object.h"

#include <assert.h>
#include <string.h>

enum { ASKED = 0 }; /* places are counted from 1 */

size_t value_words(size_t value_bytes)
{
    return (value_bytes + sizeof(baton_word) - 1) / sizeof(baton_word);
}

static bool is_wide(size_t value_bytes)
{
    return value_bytes > sizeof(baton_word);
}

uint32_t value_slots(size_t value_bytes, uint32_t collectors)
{
    return is_wide(value_bytes) ? collectors + 2 : 0;
}

static baton_word reading(const parts *in, uint32_t id, baton_word slot)
{
    return (baton_word)(id + 1) * (in->collectors + 3) + slot;
}

static baton_reg *slot_at(const parts *in, uint32_t id, baton_word slot)
{
    size_t first = (size_t)id * value_slots(in->value_bytes, in->collectors) + slot - 1;
    return (baton_reg *)(void *)in->slots + first * value_words(in->value_bytes);
}

/* Whether that is one of an id's places. It was read from memory, which may be damaged. */
static bool is_slot(const parts *in, baton_word slot)
{
    return slot >= 1 && slot <= in->collectors + 2;
}

/* The part of a value that its w-th word holds. */
static size_t part_of(const parts *in, size_t w)
{
    size_t rest = in->value_bytes - w * sizeof(baton_word);
    return rest < sizeof(baton_word) ? rest : sizeof(baton_word);
}

static void copy_in(const parts *in, baton_reg *slot, const char *value)
{
    for (size_t w = 0; w < value_words(in->value_bytes); w++) {
        baton_word word = 0;
        memcpy(&word, value + w * sizeof word, part_of(in, w));
        reg_write(&slot[w], word, relaxed);
    }
}

static void copy_out(const parts *in, const baton_reg *slot, char *value)
{
    for (size_t w = 0; w < value_words(in->value_bytes); w++) {
        baton_word word = reg_read(&slot[w], relaxed);
        memcpy(value + w * sizeof word, &word, part_of(in, w));
    }
}

/* The place from which that collector reads my value; 0 if from none that I may not write to. */
static baton_word slot_read_by(const parts *in, uint32_t id, uint32_t collector, baton_word newest)
{
    baton_reg *reads = &request_of(in, collector)->reads;
    baton_word asked = reading(in, id, ASKED);
    baton_word seen =
        reg_read(reads, acquire); /* if it has done with a place, with all its reads */
    if (seen == asked) {
        /* acq_rel: it finds what I have written there; and as above, if it was faster */
        if (reg_cas(reads, asked, reading(in, id, newest), acq_rel))
            return 0;
        seen = reg_read(reads, acquire);
    }
    baton_word slot = seen - asked; /* too large if it is of a lower id: it wraps round */
    return slot <= in->collectors + 2 ? slot : 0;
}

static void write_wide(const parts *in, uint32_t id, const char *value)
{
    bool taken[BATON_MAX_COLLECTORS + 3] = {false};
    seat *mine = seat_of(in, id);
    baton_word newest = reg_read(&mine->value, relaxed); /* nobody else writes it */
    if (!is_slot(in, newest))                            /* nothing was stored yet */
        newest = 0;
    taken[newest] = true;
    for (uint32_t c = 0; c < in->collectors; c++)
        taken[slot_read_by(in, id, c, newest)] = true;
    baton_word slot = 1;
    while (taken[slot])
        slot++;
    assert(slot <= in->collectors + 2);
    copy_in(in, slot_at(in, id, slot), value);
    reg_write(&mine->value, slot, release); /* the words before where they lie */
}

static bool read_wide(const parts *in, uint32_t id, uint32_t collector, char *value)
{
    baton_reg *reads = &request_of(in, collector)->reads;
    baton_word asked = reading(in, id, ASKED);
    reg_write(reads, asked, release); /* my reads of the last value before I let go of its place */
    reg_fence(seq_cst);
    baton_word slot = reg_read(&seat_of(in, id)->value, acquire);
    if (!reg_cas(reads, asked, reading(in, id, slot), acquire))
        slot = reg_read(reads, relaxed) - asked; /* the store has settled it */
    if (!is_slot(in, slot))
        return false;
    copy_out(in, slot_at(in, id, slot), value);
    return true;
}

void value_write(const parts *in, uint32_t id, const void *value)
{
    if (is_wide(in->value_bytes)) {
        write_wide(in, id, value);
        return;
    }
    baton_word word = 0;
    memcpy(&word, value, in->value_bytes);
    reg_write(&seat_of(in, id)->value, word, release); /* what I did before, for who sees it */
}

bool value_read(const parts *in, uint32_t id, uint32_t collector, void *value)
{
    if (is_wide(in->value_bytes))
        return read_wide(in, id, collector, value);
    baton_word word = reg_read(&seat_of(in, id)->value, acquire);
    memcpy(value, &word, in->value_bytes);
    return true;
}

void value_reads_over(const parts *in, uint32_t collector)
{
    if (is_wide(in->value_bytes))
        reg_write(&request_of(in, collector)->reads, 0, release); /* as in read_wide */
}
