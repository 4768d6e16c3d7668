/*
 * Looks at the records, in order, when a store is opened: each can be what its key says, and a lock
 * has as many keys as it should, of the size that it should.
 */
#include "store_internal.h"

static bool is_head(record_check *c, byte_string value)
{
    const store *s = c->of;
    byte_reader r = {.at = value.at, .left = value.bytes};
    bool same = take_number(&r, UINT64_MAX) == STORE_FORMAT;
    c->turn = take_number(&r, UINT64_MAX);
    c->salt = take_number(&r, UINT64_MAX);
    c->journal_bytes = take_number(&r, SIZE_MAX / 2);
    c->told_total = take_number(&r, UINT64_MAX);
    c->head = true;
    byte_string cluster = take_string(&r, STORE_MAX_ID);
    byte_string node = take_string(&r, STORE_MAX_ID);
    return same && all_read(&r) &&
           same_bytes(cluster, (byte_string){(const uint8_t *)s->cluster, strlen(s->cluster)}) &&
           same_bytes(node, (byte_string){(const uint8_t *)s->node, strlen(s->node)});
}

static bool is_durable(byte_string value)
{
    replica_durable d;
    bool fine = durable_decode(value, &d);
    replica_durable_end(&d);
    return fine;
}

static bool is_part(char part, byte_string rest, byte_string value)
{
    store_lock lock;
    switch (part) {
    case 'd':
        return rest.bytes == 0 && is_durable(value);
    case 'e':
        return rest.bytes == 0 && lock_read_executed(value, &lock);
    case 'k':
        return rest.bytes > 0 && rest.bytes <= OP_MAX_KEY && value.bytes <= OP_MAX_VALUE;
    case 'r':
        return rest.bytes == 1 && rest.at[0] < WME_MAX_NODES && value.bytes <= OP_MAX_KEPT;
    default:
        return false;
    }
}

static bool is_possible(record_check *c, byte_string key, byte_string value)
{
    uint64_t number;
    if (key.bytes == 0)
        return false;
    if (key.at[0] == HEAD)
        return key.bytes == 1 && is_head(c, value);
    if (key.at[0] == NAME)
        return key.bytes > 1 && key.bytes <= 1 + STORE_MAX_NAME && lock_read_number(value, &number);
    if (key.at[0] != PART || key.bytes <= PART_PREFIX)
        return false;
    byte_string rest = {key.at + PART_PREFIX + 1, key.bytes - PART_PREFIX - 1};
    return is_part((char)key.at[PART_PREFIX], rest, value);
}

/* ---- the keys of a lock ---- */

/* At the end of what belongs to a lock. */
static bool keys_fit(const record_check *c)
{
    return c->keys == c->lock.keys && c->bytes == c->lock.bytes;
}

static uint64_t number_in(byte_string key)
{
    uint64_t number = 0;
    for (size_t i = 1; i < PART_PREFIX; i++)
        number = number << 8 | key.at[i];
    return number;
}

static bool count_part(record_check *c, byte_string key, byte_string value)
{
    uint64_t number = number_in(key);
    if (number != c->lock.number) {
        if (!keys_fit(c))
            return false;
        c->lock = (store_lock){.number = number};
        c->keys = c->bytes = 0;
    }
    if (key.at[PART_PREFIX] == 'e')
        return lock_read_executed(value, &c->lock);
    if (key.at[PART_PREFIX] == 'k') {
        c->keys++;
        c->bytes += key.bytes - PART_PREFIX - 1 + value.bytes + STORE_KEY_COST;
    }
    return true;
}

bool record_check_next(record_check *c, byte_string key, byte_string sealed)
{
    byte_string value;
    if (!record_unseal(key, sealed, &value) || !is_possible(c, key, value))
        return false;
    if (key.at[0] != HEAD)
        c->total += record_sum(sealed);
    return key.at[0] != PART || count_part(c, key, value);
}

bool record_check_end(const record_check *c)
{
    return c->head && c->total == c->told_total && keys_fit(c);
}
