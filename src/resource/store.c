/* The store: opening, closing, turns. */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- room ---- */

store_usage store_used(const store *s)
{
    MDB_envinfo info = {0};
    MDB_stat stat = {0};
    mdb_env_info(s->env, &info);
    mdb_env_stat(s->env, &stat);
    return (store_usage){.bytes = (info.me_last_pgno + 1) * (uint64_t)stat.ms_psize,
                         .max = info.me_mapsize,
                         .commits = s->commits};
}

/* With so many bytes more. */
static bool is_full_with(const store *s, uint64_t more)
{
    store_usage used = store_used(s);
    return used.bytes + more > used.max - used.max / 8;
}

bool store_is_full(const store *s)
{
    return is_full_with(s, 0);
}

/*
 * Whether the store may be full as soon as LMDB gets what was written: how much that takes is known
 * when it has it, so nothing waits for the next checkpoint then.
 */
static bool may_become_full(const store *s)
{
    return is_full_with(s, s->touched * (uint64_t)sysconf(_SC_PAGESIZE));
}

/* ---- turns ---- */

static bool put_head(store *s, uint64_t number)
{
    record_key key = key_of_head();
    byte_writer w = {.at = s->scratch, .capacity = sizeof s->scratch};
    put_number(&w, STORE_FORMAT);
    put_number(&w, number);
    put_number(&w, s->journal.salt);
    put_number(&w, s->journal.bytes);
    put_number(&w, s->total);
    put_string(&w, (byte_string){(const uint8_t *)s->cluster, strlen(s->cluster)});
    put_string(&w, (byte_string){(const uint8_t *)s->node, strlen(s->node)});
    return record_put(s, &key, (byte_string){w.at, w.used});
}

/*
 * All turns since the last one, and the one that ends now, come to LMDB, which flushes as it does
 * by itself: the pages first, and then the meta page that makes them count.
 */
static bool checkpoint(store *s, uint64_t number)
{
    if (!put_head(s, number))
        return false;
    int code = mdb_txn_commit(s->open);
    s->open = NULL;
    if (code != 0)
        return store_fail(s, code, "write");
    journal_begin_anew(&s->journal);
    s->touched = 0;
    return true;
}

/* The turn is in the journal; false if the store has failed. In memory mode there is none. */
static bool write_turn(store *s, uint64_t number)
{
    int code = 0;
    if (s->durability == STORE_DISK)
        code = journal_write(&s->journal, number);
    else
        journal_count_turn(&s->journal);
    return code == 0 || store_fail(s, code, "write");
}

bool store_commit(store *s)
{
    if (s->broken)
        return false;
    if (!journal_has_turn(&s->journal))
        return true;
    uint64_t number = s->last_turn + 1;
    bool waits = journal_fits(&s->journal) && !may_become_full(s);
    if (!(waits ? write_turn(s, number) : checkpoint(s, number)))
        return false;
    s->commits++;
    s->last_turn = number;
    return true;
}

bool store_checkpoint(store *s)
{
    return store_commit(s) && (s->open == NULL || checkpoint(s, s->last_turn));
}

/* ---- opening ---- */

static bool find_next_number(store *s, MDB_txn *txn)
{
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    int code = mdb_cursor_open(txn, s->tree, &cursor);
    if (code != 0)
        return store_fail(s, code, "read");
    code = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
    mdb_cursor_close(cursor);
    if (code != 0)
        return store_fail(s, code, "read"); /* not even a head */
    const uint8_t *at = key.mv_data;
    s->next_number = 0;
    for (size_t i = 1; at[0] == PART && i < PART_PREFIX; i++)
        s->next_number = s->next_number << 8 | at[i];
    s->next_number++;
    return true;
}

static int open_environment(store *s)
{
    long page = sysconf(_SC_PAGESIZE);
    int code = mdb_env_create(&s->env);
    if (code == 0)
        code = mdb_env_set_mapsize(s->env, s->max_bytes / (size_t)page * (size_t)page);
    if (code == 0)
        code = mdb_env_set_maxreaders(s->env, 8); /* this one, and people's tools */
    if (code == 0)
        code = mdb_env_open(s->env, s->path,
                            MDB_NOTLS | (s->durability == STORE_MEMORY ? MDB_NOSYNC : 0), 0600);
    return code;
}

static bool open_tree(store *s)
{
    int code = open_environment(s);
    if (code == 0)
        code = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &s->reader);
    if (code == 0)
        code = mdb_dbi_open(s->reader, NULL, 0, &s->tree);
    if (s->reader != NULL)
        mdb_txn_reset(s->reader);
    return code == 0 || store_fail(s, code, "open the data");
}

/* Sums in the journal begin with it. Nobody else knows it, so nobody can make an entry. */
static bool draw_salt(store *s)
{
    uint64_t *salt = &s->journal.salt;
    *salt = s->boot_wished;
    return *salt != 0 || getrandom(salt, sizeof *salt, 0) == sizeof *salt ||
           store_fail(s, errno, "find a random number for what is");
}

/* New and empty data, which begin with a head. */
static bool create(store *s, directory_state state)
{
    int code = directory_write(s, state);
    if (code == 0)
        code = directory_empty(s);
    s->journal.bytes = s->journal_wished;
    if (code == 0 && s->durability == STORE_DISK)
        code = journal_create(s, s->journal_wished);
    if (code != 0)
        return store_fail(s, code, "make a new store");
    if (!draw_salt(s) || !open_tree(s) || !checkpoint(s, 1))
        return false;
    s->last_turn = 1;
    if (fsync(s->directory) != 0)
        return store_fail(s, errno, "make a new store");
    if (state == DIRECTORY_CREATING)
        code = directory_write(s, DIRECTORY_READY);
    return code == 0 || store_fail(s, code, "make a new store");
}

/* What is there. After it, all of it is in LMDB. */
static bool reopen(store *s)
{
    int code = directory_settle(s);
    if (code != 0)
        return store_fail(s, code, "bring the data to the disk");
    if (!verify_file(s) || !open_tree(s))
        return false;
    code = journal_open(s);
    if (code == ENOENT)
        return store_lost(s, JOURNAL_NAME);
    if (code != 0)
        return store_fail(s, code, "open the journal");
    return journal_replay(s) && (s->open == NULL || checkpoint(s, s->last_turn));
}

/*
 * Who has lost what it knew, and has not got all back, begins again with nothing. Others do not ask
 * how old its data are, since it says itself that it has none: so it must not go on with any.
 */
static bool forgets(const store *s)
{
    return s->boot_check.state == BOOT_FORGETFUL;
}

static bool open_data(store *s, directory_state state)
{
    bool is_new = s->durability == STORE_MEMORY || state == DIRECTORY_CREATING || forgets(s);
    s->booted = state == DIRECTORY_BOOTED;
    if (!(is_new ? create(s, state) : reopen(s)))
        return false;
    MDB_txn *txn = look_begin(s);
    bool fine = txn != NULL && find_next_number(s, txn);
    look_end(s);
    return fine;
}

static bool copy_text(char *to, size_t capacity, const char *from)
{
    int length = snprintf(to, capacity, "%s", from);
    return length >= 0 && (size_t)length < capacity;
}

store *store_open(const store_options *options, char complaint[COMPLAINT])
{
    directory_state state;
    store *s = calloc(1, sizeof *s);
    if (s == NULL) {
        snprintf(complaint, COMPLAINT, "no memory for a store");
        return NULL;
    }
    s->directory = s->journal.file = -1;
    s->durability = options->durability;
    s->max_bytes = options->max_bytes;
    s->own = options->own;
    s->boot_wished = options->boot;
    s->journal_wished = options->journal_bytes != 0 ? options->journal_bytes : JOURNAL_BYTES;
    if (!copy_text(s->path, sizeof s->path, options->directory)) {
        snprintf(complaint, COMPLAINT, "the name of the data directory is too long");
    } else if (!copy_text(s->cluster, sizeof s->cluster, options->cluster) ||
               !copy_text(s->node, sizeof s->node, options->node)) {
        snprintf(complaint, COMPLAINT, "a cluster's or node's id has at most %d characters",
                 STORE_MAX_ID);
    } else if (directory_claim(s, &state, complaint)) {
        if (open_data(s, state))
            return s;
        snprintf(complaint, COMPLAINT, "%s", s->why);
    }
    store_close(s);
    return NULL;
}

void store_close(store *s)
{
    if (s == NULL)
        return;
    if (s->open != NULL)
        mdb_txn_abort(s->open); /* what was committed is in the journal */
    if (s->reader != NULL)
        mdb_txn_abort(s->reader);
    if (s->env != NULL)
        mdb_env_close(s->env);
    journal_close(&s->journal);
    if (s->directory >= 0)
        close(s->directory); /* last: from now on it is the next one's */
    free(s);
}

/* ---- questions ---- */

int store_descriptor(const store *s)
{
    return s->directory;
}

const char *store_why(const store *s)
{
    return s->why;
}

bool store_works(const store *s)
{
    return !s->broken;
}

uint64_t store_total(const store *s)
{
    return s->total;
}

bool store_took_back(const store *s)
{
    return s->took_back;
}

bool store_booted(const store *s)
{
    return s->booted;
}

boot_durable store_boot(const store *s)
{
    return s->boot_check;
}

bool store_save_boot(store *s, const boot_durable *its)
{
    if (s->broken)
        return false;
    s->boot_check = *its;
    int code = directory_write(s, s->booted ? DIRECTORY_BOOTED : DIRECTORY_READY);
    return code == 0 || store_fail(s, code, "write");
}

bool store_mark_booted(store *s)
{
    if (s->broken)
        return false;
    if (s->booted)
        return true;
    int code = directory_write(s, DIRECTORY_BOOTED);
    if (code != 0)
        return store_fail(s, code, "write");
    s->booted = true;
    return true;
}

uint64_t store_turn(const store *s)
{
    return s->durability == STORE_DISK ? s->last_turn : 0;
}
