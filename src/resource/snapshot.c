/*
 * The resource of a lock as bytes, for a node that has missed too much: counts, the last operation
 * of each origin and its result, then keys and values in order, then a sum. There is one way only
 * to write each resource.
 */
#include "store_internal.h"

#include <errno.h>
#include <stdlib.h>

enum { SNAPSHOT_FORMAT = 1, PAIR_FRAME = 2 * MAX_NUMBER_BYTES };
_Static_assert((int)STORE_KEY_COST >= (int)PAIR_FRAME,
               "what a lock is charged covers its snapshot");

/* ---- taking ---- */

static bool put_results(store *s, MDB_txn *txn, const store_lock *lock, byte_writer *w)
{
    for (uint8_t origin = 0; origin < (uint8_t)WME_MAX_NODES; origin++) {
        byte_string result;
        record_key key = key_of_part(lock->number, 'r', (byte_string){&origin, 1});
        if (record_get(s, txn, &key, &result) == RECORD_FAILED)
            return false;
        put_number(w, lock->answered[origin]);
        put_string(w, result);
    }
    return true;
}

/* On the way into a snapshot. */
typedef struct pairs_put {
    byte_writer *w;
    uint64_t keys;
} pairs_put;

static bool put_pair(void *context, byte_string key, byte_string value)
{
    pairs_put *put = context;
    byte_writer *w = put->w;
    if (w->capacity - w->used < key.bytes + value.bytes + PAIR_FRAME + SUM_BYTES)
        return false;
    put_string(w, key);
    put_string(w, value);
    put->keys++;
    return true;
}

static bool put_all(store *s, MDB_txn *txn, const store_lock *lock, byte_writer *w)
{
    pairs_put put = {.w = w};
    put_number(w, SNAPSHOT_FORMAT);
    put_number(w, lock->executed);
    put_number(w, lock->digest);
    put_number(w, lock->keys);
    put_number(w, lock->bytes);
    if (!put_results(s, txn, lock, w) || !lock_each_key(s, txn, lock, put_pair, &put))
        return false;
    if (put.keys != lock->keys)
        return store_damaged(s, STORE_DATA, "a lock has not as many keys as it should");
    uint64_t sum = sum_bytes(0, w->at, w->used);
    put_raw(w, &sum, sizeof sum);
    return true;
}

bool store_take_snapshot(store *s, const store_lock *lock, store_snapshot *taken)
{
    size_t capacity = STORE_MAX_SNAPSHOT - STORE_MAX_RESOURCE + (size_t)lock->bytes;
    byte_writer w = {.at = malloc(capacity), .capacity = capacity};
    *taken = (store_snapshot){0};
    if (w.at == NULL)
        return store_fail(s, ENOMEM, "take a snapshot");
    MDB_txn *txn = look_begin(s);
    bool fine = txn != NULL && put_all(s, txn, lock, &w);
    look_end(s);
    if (fine)
        *taken = (store_snapshot){w.at, w.used};
    else
        free(w.at);
    return fine;
}

/* ---- reading ---- */

/* What comes before the pairs, but for the version. */
static void take_head(byte_reader *r, store_lock *lock, byte_string *results)
{
    lock->executed = take_number(r, UINT64_MAX);
    lock->digest = take_number(r, UINT64_MAX);
    lock->keys = take_number(r, STORE_MAX_RESOURCE / STORE_KEY_COST);
    lock->bytes = take_number(r, STORE_MAX_RESOURCE);
    for (int i = 0; i < WME_MAX_NODES; i++) {
        lock->answered[i] = take_number(r, UINT64_MAX);
        results[i] = take_string(r, OP_MAX_KEPT);
    }
}

static bool comes_before(byte_string a, byte_string b)
{
    size_t both = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = both == 0 ? 0 : memcmp(a.at, b.at, both);
    return order < 0 || (order == 0 && a.bytes < b.bytes);
}

/* Whether all pairs are there, in order, and of the size that was said. */
static bool pairs_are_right(byte_reader r, const store_lock *lock)
{
    byte_string before = {0};
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < lock->keys && !r.bad; i++) {
        byte_string key = take_string(&r, OP_MAX_KEY);
        byte_string value = take_string(&r, OP_MAX_VALUE);
        r.bad = r.bad || key.bytes == 0 || !comes_before(before, key);
        bytes += key.bytes + value.bytes + STORE_KEY_COST;
        before = key;
    }
    return all_read(&r) && bytes == lock->bytes;
}

/* NULL, or what is wrong; the reader is then before the pairs. */
static const char *open_snapshot(byte_string snapshot, byte_reader *r, store_lock *lock,
                                 byte_string *results)
{
    uint64_t sum;
    if (snapshot.bytes < SUM_BYTES || snapshot.bytes > STORE_MAX_SNAPSHOT)
        return "the snapshot is too short, or too long";
    *r = (byte_reader){.at = snapshot.at, .left = snapshot.bytes - SUM_BYTES};
    memcpy(&sum, snapshot.at + r->left, sizeof sum);
    if (sum != sum_bytes(0, r->at, r->left))
        return "the snapshot has a wrong sum";
    if (take_number(r, UINT64_MAX) != SNAPSHOT_FORMAT)
        return "the snapshot is of another version";
    take_head(r, lock, results);
    return pairs_are_right(*r, lock) ? NULL : "the snapshot is not as it should be";
}

const char *store_check_snapshot(byte_string snapshot, uint64_t *executed,
                                 uint64_t answered[WME_MAX_NODES])
{
    byte_reader r;
    byte_string results[WME_MAX_NODES];
    store_lock lock;
    const char *wrong = open_snapshot(snapshot, &r, &lock, results);
    if (wrong != NULL)
        return wrong;
    *executed = lock.executed;
    memcpy(answered, lock.answered, sizeof lock.answered);
    return NULL;
}

/* ---- installing ---- */

static bool install_results(store *s, uint64_t number, const byte_string *results)
{
    bool fine = true;
    for (uint8_t origin = 0; origin < (uint8_t)WME_MAX_NODES && fine; origin++) {
        record_key key = key_of_part(number, 'r', (byte_string){&origin, 1});
        if (results[origin].bytes > 0)
            fine = record_put(s, &key, results[origin]);
    }
    return fine;
}

static bool install_pairs(store *s, const store_lock *lock, byte_reader *r)
{
    bool fine = true;
    for (uint64_t i = 0; i < lock->keys && fine; i++) {
        byte_string name = take_string(r, OP_MAX_KEY);
        byte_string value = take_string(r, OP_MAX_VALUE);
        record_key key = key_of_part(lock->number, 'k', name);
        fine = record_put(s, &key, value);
    }
    return fine;
}

static bool clear(store *s, uint64_t number)
{
    record_key keys = key_of_part(number, 'k', (byte_string){0});
    record_key results = key_of_part(number, 'r', (byte_string){0});
    return record_delete_all(s, (byte_string){keys.at, keys.bytes}) &&
           record_delete_all(s, (byte_string){results.at, results.bytes});
}

bool store_install(store *s, store_lock *lock, byte_string snapshot)
{
    byte_reader r;
    byte_string results[WME_MAX_NODES];
    store_lock newer = {.name = lock->name};
    const char *wrong = open_snapshot(snapshot, &r, &newer, results);
    if (wrong != NULL) {
        snprintf(s->why, sizeof s->why, "cannot install a snapshot: %s", wrong);
        s->broken = true;
        return false;
    }
    if (!lock_number(s, lock))
        return false;
    newer.number = lock->number;
    *lock = newer;
    return clear(s, lock->number) && install_results(s, lock->number, results) &&
           install_pairs(s, lock, &r) && lock_write_executed(s, lock) &&
           (s->own == NULL || own_wake(s, lock));
}
