/* Locks in the store: what the protocol must not forget, by name. */
#include "store_internal.h"

/* ---- numbers ---- */

static byte_string nothing(void)
{
    return (byte_string){0};
}

bool lock_number(store *s, store_lock *lock)
{
    if (lock->number != 0)
        return !s->broken;
    record_key key = key_of_name(lock->name);
    byte_writer w = {.at = s->scratch, .capacity = sizeof s->scratch};
    put_number(&w, s->next_number);
    if (!record_put(s, &key, (byte_string){w.at, w.used}))
        return false;
    lock->number = s->next_number++;
    return true;
}

bool lock_read_number(byte_string bytes, uint64_t *number)
{
    byte_reader r = {.at = bytes.at, .left = bytes.bytes};
    *number = take_number(&r, UINT64_MAX);
    return all_read(&r) && *number != 0;
}

/* ---- what was executed ---- */

bool lock_write_executed(store *s, const store_lock *lock)
{
    record_key key = key_of_part(lock->number, 'e', nothing());
    byte_writer w = {.at = s->scratch, .capacity = sizeof s->scratch};
    put_number(&w, lock->executed);
    put_number(&w, lock->digest);
    put_number(&w, lock->keys);
    put_number(&w, lock->bytes);
    for (int i = 0; i < WME_MAX_NODES; i++)
        put_number(&w, lock->answered[i]);
    return record_put(s, &key, (byte_string){w.at, w.used});
}

bool lock_read_executed(byte_string bytes, store_lock *lock)
{
    byte_reader r = {.at = bytes.at, .left = bytes.bytes};
    lock->executed = take_number(&r, UINT64_MAX);
    lock->digest = take_number(&r, UINT64_MAX);
    lock->keys = take_number(&r, UINT64_MAX);
    lock->bytes = take_number(&r, STORE_MAX_RESOURCE);
    for (int i = 0; i < WME_MAX_NODES; i++)
        lock->answered[i] = take_number(&r, UINT64_MAX);
    return all_read(&r);
}

/* ---- load and save ---- */

static record_found load_parts(store *s, MDB_txn *txn, store_lock *lock, replica_durable *durable)
{
    byte_string value;
    record_key key = key_of_part(lock->number, 'e', nothing());
    record_found found = record_get(s, txn, &key, &value);
    if (found == RECORD_FOUND && !lock_read_executed(value, lock))
        store_damaged(s, STORE_DATA, "what a lock has executed cannot be read");
    if (s->broken)
        return RECORD_FAILED;
    key = key_of_part(lock->number, 'd', nothing());
    found = record_get(s, txn, &key, &value);
    if (found != RECORD_FOUND)
        return found;
    if (!durable_decode(value, durable)) {
        store_damaged(s, STORE_DATA, "the state of a lock cannot be read");
        return RECORD_FAILED;
    }
    if (lock->executed > durable->now.ops || durable->now.ops - lock->executed > 1) {
        replica_durable_end(durable);
        store_damaged(s, STORE_DATA, "the state of a lock and its resource do not fit together");
        return RECORD_FAILED;
    }
    return RECORD_FOUND;
}

store_found store_load(store *s, byte_string name, store_lock *lock, replica_durable *durable)
{
    byte_string value;
    assert(name.bytes > 0 && name.bytes <= STORE_MAX_NAME);
    memset(durable, 0, sizeof *durable);
    *lock = (store_lock){.name = name};
    MDB_txn *txn = look_begin(s);
    record_key key = key_of_name(name);
    record_found found = record_get(s, txn, &key, &value);
    if (found == RECORD_FOUND && !lock_read_number(value, &lock->number))
        store_damaged(s, STORE_DATA, "the number of a lock cannot be read");
    else if (found == RECORD_FOUND)
        found = load_parts(s, txn, lock, durable);
    look_end(s);
    if (!s->broken && s->own != NULL && !own_wake(s, lock))
        replica_durable_end(durable);
    if (s->broken)
        return STORE_FAILED;
    return found == RECORD_FOUND ? STORE_FOUND : STORE_UNKNOWN;
}

bool store_save(store *s, store_lock *lock, const replica_durable *durable)
{
    if (!lock_number(s, lock))
        return false;
    record_key key = key_of_part(lock->number, 'd', nothing());
    size_t count = durable_encode(durable, s->scratch);
    return record_put(s, &key, (byte_string){s->scratch, count});
}

/* ---- all of them ---- */

static bool is_same(MDB_val key, const record_key *other)
{
    return key.mv_size == other->bytes && memcmp(key.mv_data, other->at, other->bytes) == 0;
}

bool store_each(store *s, byte_string after, bool (*visit)(void *context, byte_string name),
                void *context)
{
    MDB_cursor *cursor;
    record_key first = key_of_name(after);
    MDB_val key = {.mv_size = first.bytes, .mv_data = first.at};
    MDB_val value;
    MDB_txn *txn = look_begin(s);
    if (txn == NULL)
        return false;
    int code = mdb_cursor_open(txn, s->tree, &cursor);
    if (code != 0)
        return store_fail(s, code, "read");
    code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    if (code == 0 && is_same(key, &first))
        code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    while (code == 0 && *(const uint8_t *)key.mv_data == NAME &&
           visit(context, (byte_string){(const uint8_t *)key.mv_data + 1, key.mv_size - 1}))
        code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    mdb_cursor_close(cursor);
    look_end(s);
    return code == 0 || code == MDB_NOTFOUND || store_fail(s, code, "read");
}

bool lock_each_key(store *s, MDB_txn *txn, const store_lock *lock,
                   bool (*visit)(void *context, byte_string key, byte_string value), void *context)
{
    MDB_cursor *cursor;
    record_key prefix = key_of_part(lock->number, 'k', nothing());
    MDB_val key = {.mv_size = prefix.bytes, .mv_data = prefix.at};
    MDB_val found;
    int code = mdb_cursor_open(txn, s->tree, &cursor);
    if (code != 0)
        return store_fail(s, code, "read");
    code = mdb_cursor_get(cursor, &key, &found, MDB_SET_RANGE);
    for (; code == 0; code = mdb_cursor_get(cursor, &key, &found, MDB_NEXT)) {
        byte_string whole = {key.mv_data, key.mv_size};
        byte_string value;
        if (whole.bytes < prefix.bytes || memcmp(whole.at, prefix.at, prefix.bytes) != 0)
            break;
        if (!record_unseal(whole, (byte_string){found.mv_data, found.mv_size}, &value)) {
            store_damaged(s, STORE_DATA, "a record has a wrong sum");
            break;
        }
        byte_string name = {whole.at + prefix.bytes, whole.bytes - prefix.bytes};
        if (!visit(context, name, value))
            break;
    }
    mdb_cursor_close(cursor);
    return !s->broken && (code == 0 || code == MDB_NOTFOUND || store_fail(s, code, "read"));
}
