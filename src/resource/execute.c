/* Runs operations on the resource of a lock. Equal resources give equal results, on any node. */
#include "store_internal.h"

#include <errno.h>
#include <inttypes.h>

/* What an operation works on, in the turn. */
typedef struct run {
    store *s;
    store_lock *lock;
    const op *o;
    resp_out *result;
} run;

/* ---- values ---- */

static record_found get_value(run r, byte_string *value)
{
    record_key key = key_of_part(r.lock->number, 'k', r.o->key);
    return record_get(r.s, write_begin(r.s), &key, value);
}

static uint64_t cost(byte_string key, size_t value_bytes)
{
    return key.bytes + value_bytes + STORE_KEY_COST;
}

/*
 * Instead of a value of so many bytes, or of none. Sets *fits, and tells the client, if the lock
 * has become too large.
 */
static bool put_value(run r, record_found before, size_t bytes_before, byte_string value,
                      bool *fits)
{
    uint64_t less = before == RECORD_FOUND ? cost(r.o->key, bytes_before) : 0;
    uint64_t bytes = r.lock->bytes - less + cost(r.o->key, value.bytes);
    *fits = bytes <= STORE_MAX_RESOURCE;
    if (!*fits) {
        resp_error(r.result,
                   "FULL the keys of this lock would take more than %d bytes; delete some",
                   STORE_MAX_RESOURCE);
        return true;
    }
    r.lock->bytes = bytes;
    r.lock->keys += before == RECORD_ABSENT;
    record_key key = key_of_part(r.lock->number, 'k', r.o->key);
    return record_put(r.s, &key, value);
}

/* ---- one function for each verb; false if the store has failed ---- */

static bool run_set(run r)
{
    byte_string old;
    bool fits;
    record_found found = get_value(r, &old);
    if (found == RECORD_FAILED || !put_value(r, found, old.bytes, r.o->value, &fits))
        return false;
    if (fits)
        resp_ok(r.result);
    return true;
}

static bool run_get(run r)
{
    byte_string value;
    record_found found = get_value(r, &value);
    if (found == RECORD_FOUND)
        resp_bulk(r.result, value.at, value.bytes);
    else
        resp_null(r.result);
    return found != RECORD_FAILED;
}

static bool run_del(run r)
{
    byte_string old;
    record_found found = get_value(r, &old);
    if (found == RECORD_FOUND) {
        record_key key = key_of_part(r.lock->number, 'k', r.o->key);
        r.lock->bytes -= cost(r.o->key, old.bytes);
        r.lock->keys--;
        if (!record_delete(r.s, &key))
            return false;
    }
    resp_integer(r.result, found == RECORD_FOUND);
    return found != RECORD_FAILED;
}

static bool run_incr(run r)
{
    byte_string old;
    int64_t number = 0;
    char text[24];
    bool fits;
    record_found found = get_value(r, &old);
    if (found == RECORD_FAILED)
        return false;
    if (found == RECORD_FOUND && !op_number(old, &number)) {
        resp_error(r.result, "ERR the value is not an integer of 64 bits");
        return true;
    }
    if (__builtin_add_overflow(number, r.o->by, &number)) {
        resp_error(r.result, "ERR the sum would be beyond 64 bits");
        return true;
    }
    size_t length = (size_t)snprintf(text, sizeof text, "%" PRId64, number);
    byte_string value = {(const uint8_t *)text, length};
    if (!put_value(r, found, old.bytes, value, &fits))
        return false;
    if (fits)
        resp_integer(r.result, number);
    return true;
}

static bool run_cas(run r)
{
    byte_string old;
    bool fits = false;
    record_found found = get_value(r, &old);
    if (found == RECORD_FAILED)
        return false;
    bool matches =
        r.o->absent ? found == RECORD_ABSENT : found == RECORD_FOUND && same_bytes(old, r.o->old);
    if (!matches)
        resp_integer(r.result, 0);
    else if (!put_value(r, found, old.bytes, r.o->value, &fits))
        return false;
    if (fits)
        resp_integer(r.result, 1);
    return true;
}

/* ---- SCAN ---- */

/* Keys and values, from the cursor's place on; where to go on, if there is more. */
static int gather(run r, MDB_cursor *cursor, resp_out *pairs, uint32_t *count, byte_string *next)
{
    enum { FRAME = 32, OTHERS = OP_MAX_KEY + 64 }; /* around a pair, and around all of them */
    record_key from = key_of_part(r.lock->number, 'k', r.o->key);
    MDB_val key = {.mv_size = from.bytes, .mv_data = from.at};
    MDB_val found;
    int code = mdb_cursor_get(cursor, &key, &found, MDB_SET_RANGE);
    for (; code == 0; code = mdb_cursor_get(cursor, &key, &found, MDB_NEXT)) {
        byte_string whole = {key.mv_data, key.mv_size};
        byte_string value;
        if (whole.bytes <= PART_PREFIX || memcmp(whole.at, from.at, PART_PREFIX + 1) != 0)
            return 0;
        if (!record_unseal(whole, (byte_string){found.mv_data, found.mv_size}, &value))
            return MDB_CORRUPTED;
        byte_string name = {whole.at + PART_PREFIX + 1, whole.bytes - PART_PREFIX - 1};
        if (*count == r.o->count ||
            pairs->bytes + name.bytes + value.bytes + FRAME + OTHERS > OP_MAX_RESULT) {
            *next = name;
            return 0;
        }
        resp_bulk(pairs, name.at, name.bytes);
        resp_bulk(pairs, value.at, value.bytes);
        ++*count;
    }
    return code == MDB_NOTFOUND ? 0 : code;
}

static bool run_scan(run r)
{
    MDB_cursor *cursor;
    resp_out pairs = {0};
    uint32_t count = 0;
    byte_string next = {0};
    MDB_txn *txn = write_begin(r.s);
    if (txn == NULL)
        return false;
    int code = mdb_cursor_open(txn, r.s->tree, &cursor);
    if (code != 0)
        return store_fail(r.s, code, "read");
    code = gather(r, cursor, &pairs, &count, &next);
    resp_array(r.result, 2);
    resp_bulk(r.result, next.at, next.bytes);
    resp_array(r.result, 2 * count);
    resp_raw(r.result, pairs.at, pairs.bytes);
    r.result->overflow = r.result->overflow || pairs.overflow;
    mdb_cursor_close(cursor);
    resp_free(&pairs);
    return code == 0 || store_fail(r.s, code, "read");
}

/* ---- any of them ---- */

static bool run_any(run r)
{
    switch (r.o->verb) {
    case OP_SET:
        return run_set(r);
    case OP_GET:
        return run_get(r);
    case OP_DEL:
        return run_del(r);
    case OP_INCR:
        return run_incr(r);
    case OP_CAS:
        return run_cas(r);
    default:
        return run_scan(r);
    }
}

static bool run_on_keys(store *s, store_lock *lock, const wme_op *o, resp_out *result)
{
    op decoded;
    if (op_decode(o->data, o->bytes, &decoded))
        return run_any((run){s, lock, &decoded, result});
    resp_error(result, "ERR not an operation of this resource");
    return true;
}

/* What was executed, and with what result. */
static bool remember(store *s, store_lock *lock, const wme_op *o, byte_string result)
{
    record_key key = key_of_part(lock->number, 'r', (byte_string){&o->origin, 1});
    byte_string operation = {o->data, o->bytes};
    if (s->own != NULL)
        operation = own_operation(o);
    lock->executed++;
    lock->digest = digest_more(lock->digest, operation, result);
    lock->answered[o->origin] = o->id;
    return record_put(s, &key, op_kept(result)) && lock_write_executed(s, lock);
}

bool store_execute(store *s, store_lock *lock, const wme_op *o, uint64_t number, resp_out *result)
{
    resp_out made = {0}; /* in protocol 2, whatever the client speaks */
    if (s->broken)       /* an earlier one of this turn may not have been executed */
        return false;
    assert(number == lock->executed + 1 && o->origin < WME_MAX_NODES);
    bool fine = lock_number(s, lock) &&
                (s->own != NULL ? own_run(s, lock, o, &made) : run_on_keys(s, lock, o, &made));
    byte_string bytes = {(const uint8_t *)made.at, made.bytes};
    if (fine && made.overflow)
        fine = store_fail(s, ENOMEM, "execute");
    fine = fine && remember(s, lock, o, bytes) && (s->own == NULL || own_trim(s, lock));
    if (fine)
        op_reply(result, bytes);
    resp_free(&made);
    return fine;
}

bool store_recall(store *s, const store_lock *lock, const wme_op *o, resp_out *result)
{
    byte_string value;
    if (s->broken)
        return false;
    assert(o->origin < WME_MAX_NODES && lock->answered[o->origin] == o->id);
    record_key key = key_of_part(lock->number, 'r', (byte_string){&o->origin, 1});
    record_found found = record_get(s, look_begin(s), &key, &value);
    if (found == RECORD_FOUND)
        op_reply(result, value);
    look_end(s);
    return found == RECORD_FOUND ||
           (found == RECORD_ABSENT && store_damaged(s, STORE_DATA, "a result is missing"));
}

bool store_read(store *s, const store_lock *lock, byte_string key, resp_out *result)
{
    byte_string value;
    record_found found = RECORD_ABSENT;
    if (lock->number != 0 && key.bytes <= OP_MAX_KEY) {
        record_key at = key_of_part(lock->number, 'k', key);
        found = record_get(s, look_begin(s), &at, &value);
    }
    if (found == RECORD_FOUND)
        resp_bulk(result, value.at, value.bytes);
    else if (found == RECORD_ABSENT)
        resp_null(result);
    look_end(s);
    return found != RECORD_FAILED && !s->broken;
}
