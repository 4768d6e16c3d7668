/*
 * The journal: what turns have written, one entry for each, in a file of its own that is as long as
 * it will ever be. A turn is durable when its entry is: one write in one place, and one flush,
 * where LMDB alone would write several pages and flush twice. Now and then LMDB gets all of it at
 * once, and the journal begins anew from its first byte (a checkpoint, in store.c).
 *
 *   entry   number of the turn (8), bytes of its records (8), sum (8), records
 *   record  what happens (1), key (string), value (string, only if it is put)
 *
 * Entries begin at pages, and have them for themselves: who writes one harms no other, even if the
 * power fails and leaves a page that is neither old nor new.
 *
 * An entry counts if it has the number that comes next and its sum is right. Sums begin with a salt
 * that nobody else knows, so nobody can put an entry into a value. The first entry that does not
 * count is the end: what was not synced as a whole, and nobody was told of. But if an entry of a
 * later turn comes behind it, then that was synced, and this one before it: the file is damaged.
 */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRY_HEAD = 24, PAGE = 4096 };

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* ---- the file ---- */

/* All of it is written, so that no later write needs anything of the disk but its bytes. */
static int fill(int file, size_t bytes)
{
    static const uint8_t nothing[16 * PAGE];
    for (size_t at = 0; at < bytes;) {
        size_t part = bytes - at < sizeof nothing ? bytes - at : sizeof nothing;
        ssize_t written = pwrite(file, nothing, part, (off_t)at);
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        at += (size_t)written;
    }
    return fdatasync(file) == 0 ? 0 : errno;
}

int journal_create(store *s, size_t bytes)
{
    journal *j = &s->journal;
    j->file = openat(s->directory, JOURNAL_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    j->bytes = whole_pages(bytes);
    return j->file < 0 ? errno : fill(j->file, j->bytes);
}

int journal_open(store *s)
{
    s->journal.file = openat(s->directory, JOURNAL_NAME, O_RDWR | O_CLOEXEC);
    return s->journal.file < 0 ? errno : 0;
}

void journal_close(journal *j)
{
    if (j->file >= 0)
        close(j->file);
    free(j->entry);
    *j = (journal){.file = -1};
}

/* ---- the turn ---- */

static bool make_room(journal *j, size_t bytes)
{
    if (j->used + bytes <= j->capacity)
        return true;
    size_t capacity = whole_pages(j->capacity * 2 + bytes);
    uint8_t *grown = realloc(j->entry, capacity);
    if (grown == NULL)
        return false;
    j->entry = grown;
    j->capacity = capacity;
    return true;
}

void journal_note(journal *j, journal_verb verb, byte_string key, byte_string value)
{
    size_t most = 1 + 2 * (size_t)MAX_NUMBER_BYTES + key.bytes + value.bytes;
    if (j->replays)
        return;
    if (j->used == 0)
        j->used = make_room(j, ENTRY_HEAD) ? ENTRY_HEAD : 0;
    /* Too much for the file, or for memory: that turn becomes a checkpoint. */
    j->too_long = j->too_long || j->used == 0 || j->used + most > j->bytes || !make_room(j, most);
    if (j->too_long) {
        j->used = ENTRY_HEAD;
        return;
    }
    byte_writer w = {.at = j->entry, .used = j->used, .capacity = j->capacity};
    put_raw(&w, &(uint8_t){(uint8_t)verb}, 1);
    put_string(&w, key);
    if (verb == JOURNAL_PUT)
        put_string(&w, value);
    j->used = w.used;
}

bool journal_has_turn(const journal *j)
{
    return j->used > 0;
}

bool journal_fits(const journal *j)
{
    return !j->too_long && j->end + whole_pages(j->used) <= j->bytes;
}

static void drop_turn(journal *j)
{
    j->used = 0;
    j->too_long = false;
}

void journal_count_turn(journal *j)
{
    j->end += whole_pages(j->used);
    drop_turn(j);
}

void journal_begin_anew(journal *j)
{
    drop_turn(j);
    j->end = 0;
}

static uint64_t entry_sum(uint64_t salt, uint64_t number, byte_string records)
{
    return sum_bytes(sum_bytes(salt, &number, sizeof number), records.at, records.bytes);
}

int journal_write(journal *j, uint64_t number)
{
    byte_string records = {j->entry + ENTRY_HEAD, j->used - ENTRY_HEAD};
    uint64_t head[] = {number, records.bytes, entry_sum(j->salt, number, records)};
    size_t bytes = whole_pages(j->used);
    memcpy(j->entry, head, sizeof head);
    memset(j->entry + j->used, 0, bytes - j->used); /* so that no page must be read first */
    ssize_t written = pwrite(j->file, j->entry, bytes, (off_t)j->end);
    if (written < (ssize_t)bytes)
        return written < 0 ? errno : ENOSPC;
    journal_count_turn(j);
    return fdatasync(j->file) == 0 ? 0 : errno;
}

/* ---- reading ---- */

/* The number of the turn that begins there, whatever its sum; 0 if none does. */
static uint64_t number_at(byte_string all, size_t at)
{
    uint64_t number = 0;
    if (at < all.bytes)
        memcpy(&number, all.at + at, sizeof number);
    return number;
}

/* The entry of that turn that begins there; false if there is none. */
static bool entry_at(const journal *j, byte_string all, size_t at, uint64_t number,
                     byte_string *records)
{
    uint64_t head[ENTRY_HEAD / sizeof(uint64_t)];
    if (at >= all.bytes)
        return false;
    memcpy(head, all.at + at, sizeof head);
    if (head[0] != number || head[1] > all.bytes - at - ENTRY_HEAD)
        return false;
    *records = (byte_string){all.at + at + ENTRY_HEAD, head[1]};
    return head[2] == entry_sum(j->salt, number, *records);
}

/* Whether one of a later turn is there, which was written when all before it were durable. */
static bool goes_on(const journal *j, byte_string all, size_t at, uint64_t number)
{
    byte_string records;
    for (; at < all.bytes; at += PAGE) {
        uint64_t told = number_at(all, at);
        if (told > number && entry_at(j, all, at, told, &records))
            return true;
    }
    return false;
}

static bool do_record(store *s, byte_reader *r)
{
    byte_string first = take_raw(r, 1);
    uint8_t verb = first.at != NULL ? first.at[0] : 0;
    record_key key = {0};
    byte_string name = take_string(r, sizeof key.at);
    byte_string value = {0};
    if (verb == JOURNAL_PUT)
        value = take_string(r, r->left);
    if (r->bad || name.bytes == 0)
        return store_damaged(s, JOURNAL_NAME, "an entry cannot be read");
    memcpy(key.at, name.at, name.bytes);
    key.bytes = name.bytes;
    switch ((journal_verb)verb) {
    case JOURNAL_PUT:
        return record_put(s, &key, value);
    case JOURNAL_DELETE:
        return record_delete(s, &key);
    case JOURNAL_DELETE_ALL:
        return record_delete_all(s, name);
    }
    return store_damaged(s, JOURNAL_NAME, "an entry cannot be read");
}

static bool replay(store *s, byte_string all)
{
    byte_string records;
    size_t at = 0;
    /* The first entry is of the last checkpoint, or of the one before it. */
    if (number_at(all, at) > s->last_turn + 1)
        return store_damaged(s, STORE_DATA, "it is older than the journal");
    while (entry_at(&s->journal, all, at, s->last_turn + 1, &records)) {
        byte_reader r = {.at = records.at, .left = records.bytes};
        while (r.left > 0)
            if (!do_record(s, &r))
                return false;
        at += whole_pages(ENTRY_HEAD + records.bytes);
        s->last_turn++;
    }
    s->took_back = number_at(all, at) == s->last_turn + 1;
    return !goes_on(&s->journal, all, at, s->last_turn + 1) ||
           store_damaged(s, JOURNAL_NAME, "an entry has a wrong sum");
}

bool journal_replay(store *s)
{
    journal *j = &s->journal;
    struct stat about;
    if (fstat(j->file, &about) != 0)
        return store_fail(s, errno, "read the journal");
    if (about.st_size != (off_t)j->bytes) /* else the end of it would be missing, unnoticed */
        return store_damaged(s, JOURNAL_NAME, "it is not as long as it was");
    uint8_t *all = malloc(j->bytes);
    ssize_t count = all == NULL ? -1 : pread(j->file, all, j->bytes, 0);
    bool fine = false;
    if (all != NULL && count == (ssize_t)j->bytes) {
        j->replays = true;
        fine = replay(s, (byte_string){all, j->bytes});
        j->replays = false;
    } else {
        store_fail(s, all == NULL ? ENOMEM : count < 0 ? errno : EIO, "read the journal");
    }
    free(all);
    return fine;
}
