/* The store: opening, closing, turns. */
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- turns ---- */

static bool put_head(store *s)
{
    record_key key = key_of_head();
    byte_writer w = {.at = s->scratch, .room = sizeof s->scratch};
    put_number(&w, STORE_FORMAT);
    put_number(&w, mdb_txn_id(s->turn));
    put_number(&w, s->total);
    put_string(&w, (byte_string){(const uint8_t *)s->cluster, strlen(s->cluster)});
    put_string(&w, (byte_string){(const uint8_t *)s->node, strlen(s->node)});
    return record_put(s, &key, (byte_string){w.at, w.used});
}

/*
 * One flush, where LMDB alone would need two: one for the pages, and one for the meta page that
 * makes them count, since a disk may write them in any order. But if the power fails in between,
 * then verify.c finds that the turn is not there as a whole, and takes it back; the turn before is
 * there, since a turn never writes on pages of the one before. Nobody has been told of what is
 * lost.
 */
bool store_commit(store *s)
{
    if (s->broken)
        return false;
    if (s->turn == NULL)
        return true;
    if (!put_head(s)) /* which turn the data are of: see verify.c */
        return false;
    int code = mdb_txn_commit(s->turn);
    s->turn = NULL;
    if (code == 0 && s->durability == STORE_DISK)
        code = mdb_env_sync(s->env, 1);
    if (code != 0)
        return store_fail(s, code, "write");
    s->commits++;
    return true;
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
        code = mdb_env_set_mapsize(s->env, s->most_bytes / (size_t)page * (size_t)page);
    if (code == 0)
        code = mdb_env_set_maxreaders(s->env, 8); /* this one, and people's tools */
    if (code == 0)
        code = mdb_env_open(s->env, s->path, MDB_NOTLS | MDB_NOSYNC, 0600);
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

/* New and empty data, which begin with a head. */
static bool create(store *s, directory_state state)
{
    int code = directory_write(s, state);
    if (code == 0)
        code = directory_empty(s);
    if (code != 0)
        return store_fail(s, code, "make a new store");
    if (!open_tree(s) || turn_begin(s) == NULL || !store_commit(s))
        return false;
    s->commits = 0;
    if (fsync(s->directory) != 0)
        return store_fail(s, errno, "make a new store");
    if (state == DIRECTORY_CREATING)
        code = directory_write(s, DIRECTORY_READY);
    return code == 0 || store_fail(s, code, "make a new store");
}

static bool open_data(store *s, directory_state state)
{
    s->booted = state == DIRECTORY_BOOTED;
    if (s->durability == STORE_MEMORY || state == DIRECTORY_CREATING) {
        if (!create(s, state))
            return false;
    } else {
        if (!verify_file(s) || !open_tree(s))
            return false;
    }
    MDB_txn *txn = look_begin(s);
    bool fine = txn != NULL && find_next_number(s, txn);
    look_end(s);
    return fine;
}

static bool copy_text(char *to, size_t room, const char *from)
{
    int length = snprintf(to, room, "%s", from);
    return length >= 0 && (size_t)length < room;
}

store *store_open(const store_options *options, char complaint[STORE_COMPLAINT])
{
    directory_state state;
    store *s = calloc(1, sizeof *s);
    if (s == NULL) {
        snprintf(complaint, STORE_COMPLAINT, "no memory for a store");
        return NULL;
    }
    s->directory = -1;
    s->durability = options->durability;
    s->most_bytes = options->most_bytes;
    s->own = options->own;
    if (!copy_text(s->path, sizeof s->path, options->directory)) {
        snprintf(complaint, STORE_COMPLAINT, "the name of the data directory is too long");
    } else if (!copy_text(s->cluster, sizeof s->cluster, options->cluster) ||
               !copy_text(s->node, sizeof s->node, options->node)) {
        snprintf(complaint, STORE_COMPLAINT, "a cluster's or node's id has at most %d characters",
                 STORE_MOST_ID);
    } else if (directory_claim(s, &state, complaint)) {
        if (open_data(s, state))
            return s;
        snprintf(complaint, STORE_COMPLAINT, "%s", s->why);
    }
    store_close(s);
    return NULL;
}

void store_close(store *s)
{
    if (s == NULL)
        return;
    if (s->turn != NULL)
        mdb_txn_abort(s->turn);
    if (s->reader != NULL)
        mdb_txn_abort(s->reader);
    if (s->env != NULL)
        mdb_env_close(s->env);
    if (s->directory >= 0)
        close(s->directory); /* last: from now on it is the next one's */
    free(s);
}

/* ---- questions ---- */

const char *store_why(const store *s)
{
    return s->why;
}

bool store_works(const store *s)
{
    return !s->broken;
}

bool store_took_back(const store *s)
{
    return s->took_back;
}

bool store_booted(const store *s)
{
    return s->booted;
}

muster_durable store_muster(const store *s)
{
    return s->muster;
}

bool store_save_muster(store *s, const muster_durable *its)
{
    if (s->broken)
        return false;
    s->muster = *its;
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

store_usage store_used(const store *s)
{
    MDB_envinfo info = {0};
    MDB_stat stat = {0};
    mdb_env_info(s->env, &info);
    mdb_env_stat(s->env, &stat);
    return (store_usage){.bytes = (info.me_last_pgno + 1) * (uint64_t)stat.ms_psize,
                         .most = info.me_mapsize,
                         .commits = s->commits};
}
