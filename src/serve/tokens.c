/* Tokens and leases on disk: a few words of text, replaced as a whole. */
#include "tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* So many are reserved at a time; a restart skips them. */
static const uint64_t AHEAD = (uint64_t)1 << 24;

/* For so long another server may need to leave the file: milliseconds, in steps of so many. */
enum { PATIENCE = 5000, PAUSE = 10 };

/* The directory's entry must be on disk as well. */
static bool sync_directory(const char *file)
{
    char copy[sizeof((tokens *)0)->file];
    snprintf(copy, sizeof copy, "%s", file);
    int directory = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return false;
    bool synced = fsync(directory) == 0;
    close(directory);
    return synced;
}

/* Who writes has the mutex, or is alone. */
static bool write_file(tokens *t, uint64_t reserved, uint64_t lease)
{
    char fresh[sizeof t->file + 8];
    char text[96];
    int length = snprintf(text, sizeof text, "baton tokens 2\n%" PRIu64 "\nlease %" PRIu64 "\n",
                          reserved, lease);
    snprintf(fresh, sizeof fresh, "%s.new", t->file);
    int file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool written = write(file, text, (size_t)length) == length && fsync(file) == 0;
    written = close(file) == 0 && written;
    if (!written || rename(fresh, t->file) != 0 || !sync_directory(t->file))
        return false;
    atomic_store_explicit(&t->written, lease, memory_order_seq_cst);
    return true;
}

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- tokens ---- */

bool tokens_reserve(tokens *t, uint64_t next)
{
    if (next + AHEAD / 2 < t->reserved)
        return true;
    pthread_mutex_lock(&t->mutex);
    bool written = write_file(t, next + AHEAD, t->written);
    if (written)
        t->reserved = next + AHEAD;
    pthread_mutex_unlock(&t->mutex);
    return written;
}

bool tokens_are_short(const tokens *t, uint64_t next)
{
    return next + AHEAD / 4 > t->reserved;
}

/* ---- leases ---- */

static uint32_t kind_of(uint64_t lease)
{
    uint32_t bits = 0;
    for (; lease > 0; lease >>= 1)
        bits++;
    return bits;
}

/* One more, or one less; how many have none is of no interest. */
static void count_lease(tokens *t, uint64_t lease, int64_t more)
{
    if (lease > 0)
        atomic_fetch_add_explicit(&t->leases[kind_of(lease)], (uint64_t)more, memory_order_seq_cst);
}

/* No lease of a session is longer. */
static uint64_t longest_lease(const tokens *t)
{
    uint32_t kind = LEASE_KINDS - 1;
    while (kind > 0 && atomic_load_explicit(&t->leases[kind], memory_order_seq_cst) == 0)
        kind--;
    uint64_t longest = ((uint64_t)1 << kind) - 1;
    return longest < LONGEST_LEASE ? longest : LONGEST_LEASE;
}

/*
 * The race with tokens_settle: here a lease is counted, then the file is looked at; there the file
 * is said to have less, then leases are counted once more. So one of both sees the other.
 */
bool tokens_change_lease(tokens *t, uint64_t from, uint64_t to)
{
    count_lease(t, to, 1);
    bool known = to <= atomic_load_explicit(&t->written, memory_order_seq_cst);
    if (!known) {
        pthread_mutex_lock(&t->mutex);
        known = to <= t->written || write_file(t, t->reserved, to);
        pthread_mutex_unlock(&t->mutex);
    }
    count_lease(t, known ? from : to, -1);
    return known;
}

bool tokens_settle(tokens *t, uint64_t inherited_left)
{
    pthread_mutex_lock(&t->mutex);
    uint64_t before = t->written;
    uint64_t needed = longer(longest_lease(t), inherited_left);
    bool settled = true;
    if (needed < before) {
        atomic_store_explicit(&t->written, needed, memory_order_seq_cst);
        needed = longer(longest_lease(t), needed);
        settled = write_file(t, t->reserved, needed < before ? needed : before);
        if (!settled)
            atomic_store_explicit(&t->written, before, memory_order_seq_cst);
    }
    pthread_mutex_unlock(&t->mutex);
    return settled;
}

/* Below a minute, or an eighth, it is not worth a write. */
bool tokens_say_too_much(const tokens *t, uint64_t inherited_left)
{
    enum { MINUTE = 60000 };
    uint64_t written = atomic_load_explicit(&t->written, memory_order_relaxed);
    return written > MINUTE && longer(longest_lease(t), inherited_left) < written - written / 8;
}

/* ---- begin and end ---- */

bool tokens_close(tokens *t, uint64_t lease)
{
    bool written = t->written == lease || write_file(t, t->reserved, lease);
    pthread_mutex_destroy(&t->mutex);
    close(t->claim); /* last: from now on the file is the next server's */
    return written;
}

/* Makes sure that no other server writes the file. */
static bool claim(tokens *t, char complaint[COMPLAINT])
{
    char name[sizeof t->file + 8];
    snprintf(name, sizeof name, "%s.lock", t->file);
    t->claim = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (t->claim < 0) {
        snprintf(complaint, COMPLAINT, "cannot write %.128s: %s", t->file, strerror(errno));
        return false;
    }
    for (int waited = 0; waited <= PATIENCE; waited += PAUSE) {
        if (flock(t->claim, LOCK_EX | LOCK_NB) == 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE * 1000000L}, NULL);
    }
    snprintf(complaint, COMPLAINT, "another server uses %.128s; give each its own --state",
             t->file);
    close(t->claim);
    return false;
}

/* The first version knew no leases. */
static bool read_file(FILE *file, uint64_t *first, uint64_t *lease)
{
    int version;
    *lease = 0;
    if (fscanf(file, "baton tokens %d %" SCNu64, &version, first) != 2 || *first == 0 ||
        *first >= INT64_MAX / 2)
        return false;
    if (version == 1)
        return true;
    return version == 2 && fscanf(file, " lease %" SCNu64, lease) == 1 && *lease <= LONGEST_LEASE;
}

static bool open_claimed(tokens *t, uint64_t *first, char complaint[COMPLAINT])
{
    FILE *file = fopen(t->file, "re");
    *first = 1;
    if (file != NULL) {
        bool right = read_file(file, first, &t->inherited);
        fclose(file);
        if (!right) {
            snprintf(
                complaint, COMPLAINT,
                "%.128s is no file of tokens, or damaged; if you remove it, tokens begin again",
                t->file);
            return false;
        }
    } else if (errno != ENOENT) {
        snprintf(complaint, COMPLAINT, "cannot read %.128s: %s", t->file, strerror(errno));
        return false;
    }
    t->written = t->inherited;
    if (tokens_reserve(t, *first))
        return true;
    snprintf(complaint, COMPLAINT, "cannot write %.128s: %s", t->file, strerror(errno));
    return false;
}

bool tokens_open(tokens *t, const char *name, uint64_t *first, char complaint[COMPLAINT])
{
    *t = (tokens){0};
    if (strlen(name) >= sizeof t->file) {
        snprintf(complaint, COMPLAINT, "the name of the state file is too long");
        return false;
    }
    snprintf(t->file, sizeof t->file, "%s", name);
    pthread_mutex_init(&t->mutex, NULL);
    if (!claim(t, complaint))
        return false;
    if (open_claimed(t, first, complaint))
        return true;
    close(t->claim);
    return false;
}
