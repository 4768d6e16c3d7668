/* Records: the tree in LMDB, its transactions, and what its errors mean. */
#include "store_internal.h"

#include <errno.h>

/* ---- keys ---- */

static void key_add(record_key *key, const void *bytes, size_t count)
{
    assert(count <= sizeof key->at - key->bytes);
    if (count > 0)
        memcpy(key->at + key->bytes, bytes, count);
    key->bytes += count;
}

record_key key_of_head(void)
{
    return (record_key){.bytes = 1, .at = {HEAD}};
}

record_key key_of_name(byte_string name)
{
    record_key key = {.bytes = 1, .at = {NAME}};
    key_add(&key, name.at, name.bytes);
    return key;
}

record_key key_of_part(uint64_t number, char part, byte_string rest)
{
    record_key key = {.bytes = PART_PREFIX + 1, .at = {PART}};
    for (int i = 0; i < 8; i++)
        key.at[1 + i] = (uint8_t)(number >> (56 - 8 * i));
    key.at[PART_PREFIX] = (uint8_t)part;
    key_add(&key, rest.at, rest.bytes);
    return key;
}

static MDB_val val(byte_string string)
{
    MDB_val value = {.mv_size = string.bytes};
    memcpy(&value.mv_data, &string.at, sizeof string.at); /* LMDB does not change it */
    return value;
}

static byte_string string_of(MDB_val value)
{
    return (byte_string){value.mv_data, value.mv_size};
}

/* ---- what goes wrong ---- */

/* What a code of LMDB means to people; the directory is named. */
static void explain(const store *s, int code, const char *what, char complaint[COMPLAINT])
{
    int left = COMPLAINT;
    if (code == MDB_MAP_FULL)
        snprintf(
            complaint, (size_t)left,
            "cannot %s: the data in %s have come to their limit of %zu bytes; raise it and start "
            "the node again",
            what, s->path, s->max_bytes);
    else if (code == ENOSPC || code == EDQUOT || code == EFBIG)
        snprintf(complaint, (size_t)left,
                 "cannot %s: no space is left for %s; make room and start the node again", what,
                 s->path);
    else if (code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID ||
             code == MDB_PANIC || code == MDB_VERSION_MISMATCH)
        snprintf(complaint, (size_t)left,
                 "cannot %s: %s/data.mdb is damaged (%s); empty the directory, and the node "
                 "rejoins: see "
                 "'A node's disk is lost' in docs/operations.md",
                 what, s->path, mdb_strerror(code));
    else if (code == EIO) /* that is also what LMDB calls it when a write has room for a part */
        snprintf(complaint, (size_t)left,
                 "cannot %s: the disk is full or fails (%s); see to %s and start the node again",
                 what, strerror(code), s->path);
    else
        snprintf(complaint, (size_t)left, "cannot %s in %s: %s", what, s->path, mdb_strerror(code));
}

bool store_fail(store *s, int code, const char *what)
{
    if (!s->broken)
        explain(s, code, what, s->why);
    s->broken = true;
    return false;
}

/* A file of the directory is not as it was left. */
static bool blame(store *s, const char *file, const char *is, const char *what)
{
    if (!s->broken)
        snprintf(
            s->why, sizeof s->why,
            "%s/%s is %s%s; empty the directory, and the node rejoins: see 'A node's disk is lost' "
            "in docs/operations.md",
            s->path, file, is, what);
    s->broken = true;
    return false;
}

bool store_damaged(store *s, const char *file, const char *what)
{
    return blame(s, file, "damaged: ", what);
}

bool store_lost(store *s, const char *file)
{
    return blame(s, file, "lost", "");
}

/* ---- transactions ---- */

MDB_txn *look_begin(store *s)
{
    if (s->broken)
        return NULL;
    if (s->open != NULL)
        return s->open;
    int code = s->reader == NULL ? mdb_txn_begin(s->env, NULL, MDB_RDONLY, &s->reader)
                                 : mdb_txn_renew(s->reader);
    if (code == 0)
        return s->reader;
    store_fail(s, code, "read");
    return NULL;
}

void look_end(store *s)
{
    if (s->open == NULL && s->reader != NULL)
        mdb_txn_reset(s->reader);
}

MDB_txn *write_begin(store *s)
{
    if (s->broken)
        return NULL;
    if (s->open != NULL)
        return s->open;
    int code = mdb_txn_begin(s->env, NULL, 0, &s->open);
    if (code == 0)
        return s->open;
    s->open = NULL;
    store_fail(s, code, "write");
    return NULL;
}

/* ---- records ---- */

/* A page is copied before it is changed, and may be split; a long value has pages of its own. */
static void count_pages(store *s, size_t bytes)
{
    s->touched += 2 + bytes / 4096;
}

static uint64_t seal_of(byte_string key, const void *value, size_t bytes)
{
    return sum_bytes(sum_bytes(0, key.at, key.bytes), value, bytes);
}

uint64_t record_sum(byte_string sealed)
{
    uint64_t sum;
    memcpy(&sum, sealed.at + sealed.bytes - SUM_BYTES, sizeof sum);
    return sum;
}

bool record_unseal(byte_string key, byte_string sealed, byte_string *value)
{
    if (sealed.bytes < SUM_BYTES)
        return false;
    *value = (byte_string){sealed.at, sealed.bytes - SUM_BYTES};
    return record_sum(sealed) == seal_of(key, value->at, value->bytes);
}

/* The record is about to go: takes it out of the total. Fine if there is none. */
static bool take_out(store *s, MDB_txn *txn, MDB_val key)
{
    MDB_val found;
    int code = mdb_get(txn, s->tree, &key, &found);
    if (code == MDB_NOTFOUND)
        return true;
    if (code != 0)
        return store_fail(s, code, "read");
    if (found.mv_size < SUM_BYTES)
        return store_damaged(s, STORE_DATA, "a record has a wrong sum");
    s->total -= record_sum(string_of(found));
    return true;
}

record_found record_get(store *s, MDB_txn *txn, const record_key *key, byte_string *value)
{
    byte_string name = {key->at, key->bytes};
    MDB_val at = val(name);
    MDB_val found;
    *value = (byte_string){0};
    if (txn == NULL)
        return RECORD_FAILED;
    int code = mdb_get(txn, s->tree, &at, &found);
    if (code == MDB_NOTFOUND)
        return RECORD_ABSENT;
    if (code != 0) {
        store_fail(s, code, "read");
        return RECORD_FAILED;
    }
    if (record_unseal(name, string_of(found), value))
        return RECORD_FOUND;
    store_damaged(s, STORE_DATA, "a record has a wrong sum");
    return RECORD_FAILED;
}

bool record_put(store *s, const record_key *key, byte_string value)
{
    byte_string name = {key->at, key->bytes};
    MDB_val at = val(name);
    MDB_val capacity = {.mv_size = value.bytes + SUM_BYTES};
    MDB_txn *txn = write_begin(s);
    bool is_head = key->at[0] == HEAD;
    if (txn == NULL || (!is_head && !take_out(s, txn, at)))
        return false;
    count_pages(s, capacity.mv_size);
    int code = mdb_put(txn, s->tree, &at, &capacity, MDB_RESERVE);
    if (code != 0)
        return store_fail(s, code, "write");
    if (!is_head)
        journal_note(&s->journal, JOURNAL_PUT, name, value);
    uint64_t sum = seal_of(name, value.at, value.bytes);
    s->total += is_head ? 0 : sum;
    if (value.bytes > 0)
        memcpy(capacity.mv_data, value.at, value.bytes);
    memcpy((uint8_t *)capacity.mv_data + value.bytes, &sum, sizeof sum);
    return true;
}

bool record_delete(store *s, const record_key *key)
{
    MDB_val at = val((byte_string){key->at, key->bytes});
    MDB_txn *txn = write_begin(s);
    if (txn == NULL || !take_out(s, txn, at))
        return false;
    journal_note(&s->journal, JOURNAL_DELETE, (byte_string){key->at, key->bytes}, (byte_string){0});
    count_pages(s, 0);
    int code = mdb_del(txn, s->tree, &at, NULL);
    return code == 0 || code == MDB_NOTFOUND || store_fail(s, code, "write");
}

bool record_delete_all(store *s, byte_string prefix)
{
    MDB_cursor *cursor;
    MDB_val key = val(prefix);
    MDB_val value;
    MDB_txn *txn = write_begin(s);
    if (txn == NULL)
        return false;
    journal_note(&s->journal, JOURNAL_DELETE_ALL, prefix, (byte_string){0});
    int code = mdb_cursor_open(txn, s->tree, &cursor);
    if (code != 0)
        return store_fail(s, code, "write");
    code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (code == 0 && key.mv_size >= prefix.bytes &&
           memcmp(key.mv_data, prefix.at, prefix.bytes) == 0) {
        s->total -= record_sum(string_of(value));
        count_pages(s, 0);
        code = mdb_cursor_del(cursor, 0);
        if (code == 0)
            code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return code == 0 || code == MDB_NOTFOUND || store_fail(s, code, "write");
}
