/*
 * A resource of a program's own (store_own). It lives in the program's memory; on the disk is what
 * leads to it, its state as of some operation and the operations since:
 *
 *   's' piece     of the state: number and digest of the operation that it is as of, its bytes
 *   't' number    an operation since then; empty if it was none
 *
 * These are keys and values of the lock like any others, so snapshots and checks need not know of
 * it. When a new state is taken depends on what was executed and nothing else: equal resources look
 * equal on all nodes.
 */
#include "store_internal.h"

#include <errno.h>
#include <stdarg.h>

enum {
    OWN_KEY = 9, /* bytes: a letter and a number */
    PIECE = OP_MAX_VALUE,
    LEAST_LOG = 64 << 10, /* bytes of operations before a new state is taken */
    STATE_PER_LOG = 4, /* and as many as the state has, divided by that: a large one less often */
    MAX_HEAD = 2 * MAX_NUMBER_BYTES,
};
_Static_assert(2 * STORE_OWN_STATE <= STORE_MAX_RESOURCE,
               "a state, its frames, and a log of a quarter of it have room in a lock");
_Static_assert((int)STORE_OWN_RESULT + 16 <= (int)OP_MAX_KEPT, "every result is remembered");

__attribute__((format(printf, 2, 3))) static bool own_fail(store *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!s->broken) /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): as in peers.c */
        vsnprintf(s->why, sizeof s->why, format, arguments);
    va_end(arguments);
    s->broken = true;
    return false;
}

/* ---- what lies on the disk ---- */

static bool own_put(store *s, store_lock *lock, char kind, uint64_t number, byte_string value)
{
    uint8_t name[OWN_KEY] = {(uint8_t)kind};
    for (int i = 0; i < 8; i++)
        name[1 + i] = (uint8_t)(number >> (56 - 8 * i));
    record_key key = key_of_part(lock->number, 'k', (byte_string){name, sizeof name});
    uint64_t cost = sizeof name + value.bytes + STORE_KEY_COST;
    *(kind == 's' ? &s->own_state : &s->own_log) += cost;
    lock->keys++;
    lock->bytes += cost;
    return record_put(s, &key, value);
}

static bool own_clear(store *s, store_lock *lock)
{
    record_key all = key_of_part(lock->number, 'k', (byte_string){0});
    lock->keys = lock->bytes = s->own_state = s->own_log = 0;
    return record_delete_all(s, (byte_string){all.at, all.bytes});
}

/* ---- operations ---- */

byte_string own_operation(const wme_op *o)
{
    return (byte_string){o->data, o->bytes <= STORE_OWN_OPERATION ? o->bytes : 0};
}

static bool apply(store *s, byte_string operation, resp_out *result)
{
    uint8_t bytes[STORE_OWN_RESULT];
    if (operation.bytes == 0) {
        resp_error(result, "ERR not an operation of this resource");
        return true;
    }
    size_t count = s->own->apply(s->own->context, operation, bytes);
    if (count > sizeof bytes)
        return own_fail(s, "the resource says that a result has %zu bytes; it may have %d", count,
                        STORE_OWN_RESULT);
    resp_bulk(result, bytes, count);
    return true;
}

bool own_run(store *s, store_lock *lock, const wme_op *o, resp_out *result)
{
    byte_string operation = own_operation(o);
    return own_put(s, lock, 't', lock->executed + 1, operation) && apply(s, operation, result);
}

/* ---- states ---- */

static void put_head(const store_lock *lock, resp_out *state)
{
    uint8_t head[MAX_HEAD];
    byte_writer w = {.at = head, .capacity = sizeof head};
    put_number(&w, lock->executed);
    put_number(&w, lock->digest);
    resp_raw(state, w.at, w.used);
}

bool own_trim(store *s, store_lock *lock)
{
    if (s->own_log < LEAST_LOG + s->own_state / STATE_PER_LOG)
        return true;
    resp_out state = {0};
    put_head(lock, &state);
    state.max = state.bytes + STORE_OWN_STATE;
    s->own->snapshot(s->own->context, &state);
    bool fine = !state.overflow || own_fail(s,
                                            "the state of the resource has more than %d bytes, "
                                            "or there is no memory for it",
                                            STORE_OWN_STATE);
    fine = fine && own_clear(s, lock);
    for (size_t at = 0; fine && at < state.bytes; at += PIECE) {
        size_t left = state.bytes - at;
        byte_string piece = {(const uint8_t *)state.at + at, left < PIECE ? left : PIECE};
        fine = own_put(s, lock, 's', at / PIECE, piece);
    }
    resp_free(&state);
    return fine && lock_write_executed(s, lock);
}

/* ---- coming back ---- */

/* A resource on its way from the disk. */
typedef struct waking {
    store *s;
    resp_out state; /* the pieces so far */
    uint64_t pieces;
    bool restored;
    uint64_t executed, digest;
} waking;

static bool restore(waking *w)
{
    byte_reader r = {.at = (const uint8_t *)w->state.at, .left = w->state.bytes};
    const store_own *own = w->s->own;
    if (w->state.overflow)
        return store_fail(w->s, ENOMEM, "bring back the resource");
    if (w->pieces > 0) {
        w->executed = take_number(&r, UINT64_MAX);
        w->digest = take_number(&r, UINT64_MAX);
    }
    w->restored = true;
    if (r.bad)
        return store_damaged(w->s, STORE_DATA, "the state of a resource cannot be read");
    return own->restore(own->context, (byte_string){r.at, r.left}) ||
           own_fail(w->s,
                    "the resource does not understand its state as of operation %llu, of %zu "
                    "bytes; is this the right version of the program?",
                    (unsigned long long)w->executed, r.left);
}

static bool run_again(waking *w, byte_string operation)
{
    resp_out result = {0};
    bool fine = apply(w->s, operation, &result);
    if (fine && result.overflow)
        fine = store_fail(w->s, ENOMEM, "bring back the resource");
    w->executed++;
    w->digest =
        digest_more(w->digest, operation, (byte_string){(const uint8_t *)result.at, result.bytes});
    resp_free(&result);
    return fine;
}

static bool wake_by(void *context, byte_string key, byte_string value)
{
    waking *w = context;
    uint64_t number = 0;
    for (size_t i = 1; i < OWN_KEY && key.bytes == OWN_KEY; i++)
        number = number << 8 | key.at[i];
    uint64_t cost = key.bytes + value.bytes + STORE_KEY_COST;
    if (key.bytes == OWN_KEY && key.at[0] == 's' && number == w->pieces) {
        w->pieces++;
        w->s->own_state += cost;
        resp_raw(&w->state, value.at, value.bytes);
        return true;
    }
    if (!w->restored && !restore(w))
        return false;
    w->s->own_log += cost;
    if (key.bytes == OWN_KEY && key.at[0] == 't' && number == w->executed + 1)
        return run_again(w, value);
    return store_damaged(w->s, STORE_DATA, "a resource has something that is not its own");
}

bool own_wake(store *s, const store_lock *lock)
{
    waking w = {.s = s};
    s->own_state = s->own_log = 0;
    MDB_txn *txn = look_begin(s);
    bool fine = txn != NULL && lock_each_key(s, txn, lock, wake_by, &w);
    look_end(s);
    fine = fine && (w.restored || restore(&w));
    resp_free(&w.state);
    if (!fine)
        return false;
    if (w.executed != lock->executed)
        return store_damaged(s, STORE_DATA, "operations of a resource are missing");
    return w.digest == lock->digest ||
           own_fail(s,
                    "the resource is not deterministic, or of another version of the program: run "
                    "again, the same operations gave other results");
}
