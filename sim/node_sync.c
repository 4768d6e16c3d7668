/*
 * What the disk of a machine has for certain, and what is still on its way to it. The store and
 * LMDB write and sync by calls of the C library; in this program these calls are the ones below:
 * they do what they are asked for, and remember of each sector that is written how it was when the
 * file was last synced. So a power failure can put back any of these, and a call can fail as on a
 * full disk, or never come because the process was killed before it.
 */
#include "node_fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    METAS = 16,        /* of LMDB's first pages, one of which makes a checkpoint count */
    JOURNAL = 1 << 30, /* sectors of the journal are numbered from here on */
};

struct disk_sector {
    uint64_t number;
    bool stuck;   /* a sync has failed: it never gets there, though whoever reads finds it */
    size_t bytes; /* of what was there before */
    uint8_t before[DISK_SECTOR];
};

static fleet *of; /* whose calls these are: of that machine. NULL: nobody's */
static machine *host;

void disk_use(fleet *f, uint8_t node)
{
    of = f;
    host = f != NULL ? &f->machines[node] : NULL;
}

/* ---- what was written since the last sync ---- */

static disk_sector *find_sector(const disk *d, uint64_t number)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->sectors[i].number == number)
            return &d->sectors[i];
    return NULL;
}

/* The file that has this sector. */
static void path_of(uint8_t node, uint64_t sector, char path[160])
{
    char directory[128];
    disk_path(node, "data", directory);
    snprintf(path, 160, "%s/%s", directory, sector < JOURNAL ? "data.mdb" : "journal");
}

static int open_file_of(uint8_t node, uint64_t sector)
{
    char path[160];
    path_of(node, sector, path);
    return open(path, O_RDWR | O_CLOEXEC);
}

static off_t place_of(uint64_t sector)
{
    return (off_t)(sector % JOURNAL * DISK_SECTOR);
}

/* The number of that file's first sector; data and the journal are all that is torn. */
static uint64_t first_sector(int file)
{
    struct stat about;
    struct stat journal;
    char path[160];
    path_of((uint8_t)(host - of->machines), JOURNAL, path);
    bool is_journal =
        fstat(file, &about) == 0 && stat(path, &journal) == 0 && about.st_ino == journal.st_ino;
    return is_journal ? JOURNAL : 0;
}

static void keep_sector(disk *d, uint64_t number)
{
    disk_sector *p = find_sector(d, number);
    if (p != NULL) {
        p->stuck = false;
        return;
    }
    if (d->count == d->capacity) {
        d->capacity = d->capacity * 2 + 8;
        d->sectors = realloc(d->sectors, d->capacity * sizeof *d->sectors);
        if (d->sectors == NULL)
            fleet_out_of_order("out of memory");
    }
    p = &d->sectors[d->count++];
    /* Who writes need not be allowed to read. */
    int file = open_file_of((uint8_t)(host - of->machines), number);
    ssize_t count = pread(file, p->before, DISK_SECTOR, place_of(number));
    if (count < 0)
        fleet_out_of_order("a sector cannot be kept");
    close(file);
    p->number = number;
    p->stuck = false;
    p->bytes = (size_t)count;
}

static void keep_sectors(disk *d, int file, off_t at, size_t bytes)
{
    uint64_t first = (uint64_t)at / DISK_SECTOR;
    uint64_t end = ((uint64_t)at + bytes + DISK_SECTOR - 1) / DISK_SECTOR;
    uint64_t before = d->watched ? first_sector(file) : 0;
    for (uint64_t number = first; number < end && d->watched; number++)
        keep_sector(d, before + number);
}

/* What is stuck is taken for done. */
static bool has_work(const disk *d, uint64_t file)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->sectors[i].number / JOURNAL == file / JOURNAL && !d->sectors[i].stuck)
            return true;
    return false;
}

/* Those of that file for which `stays` is false are on the disk. */
static void settle(disk *d, uint64_t file, bool (*stays)(const disk_sector *p))
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < d->count; i++)
        if (d->sectors[i].number / JOURNAL != file / JOURNAL || stays(&d->sectors[i]))
            d->sectors[left++] = d->sectors[i];
    d->count = left;
}

static bool is_stuck(const disk_sector *p)
{
    return p->stuck;
}

static bool is_not_stuck(const disk_sector *p)
{
    return !p->stuck;
}

static bool is_no_meta(const disk_sector *p)
{
    return p->number >= METAS;
}

/* The turn that the store has written counts from now on, whatever happens. */
static void turn_is_certain(void)
{
    if (host->store != NULL)
        host->disk.certain = host->disk.tried;
}

/* ---- calls that fail ---- */

/* Whether the call is not carried out; then errno says why. */
static bool call_fails(bool syncs)
{
    disk *d = host != NULL ? &host->disk : NULL;
    uint8_t node = host != NULL ? (uint8_t)(host - of->machines) : 0;
    if (d == NULL || d->fails == DISK_WORKS ||
        (d->fails == DISK_FULL && !host_may_die(of, node) && !d->ran_out))
        return false;
    if (d->calls > 0 && !(syncs && d->until_sync)) {
        d->calls--;
        return false;
    }
    if (syncs && d->until_sync && fleet_happens(of, 30))
        return false; /* not this one, but the next, which a checkpoint has */
    d->calls = 0;
    of->counts.failed_calls++;
    if (d->fails == DISK_FULL) {
        d->ran_out = true;
        host->settled = host->settled && !host_forgets(of, node); /* it is as good as dead */
    }
    errno = d->fails == DISK_FULL ? ENOSPC : EIO;
    return true;
}

/* Those that do not come through now never will, unless they are written again. */
static void sync_fails(disk *d, uint64_t file)
{
    for (uint32_t i = 0; i < d->count && d->fails == DISK_FULL; i++)
        if (d->sectors[i].number / JOURNAL == file / JOURNAL)
            d->sectors[i].stuck = d->sectors[i].stuck || fleet_happens(of, 50);
    if (d->fails == DISK_FULL)
        settle(d, file, is_stuck);
}

/* ---- the calls ---- */

/* As the linker knows them, whatever names the headers give them; LMDB's library finds them. */
#define CALL(name) __asm__(name) __attribute__((visibility("default")))
ssize_t call_pwrite(int file, const void *bytes, size_t count, off_t at) CALL("pwrite");
ssize_t call_pwrite64(int file, const void *bytes, size_t count, off_t at) CALL("pwrite64");
ssize_t call_writev(int file, const struct iovec *parts, int count) CALL("writev");
int call_fdatasync(int file) CALL("fdatasync");
int call_fsync(int file) CALL("fsync");
int call_fadvise(int file, off_t at, off_t bytes, int advice) CALL("posix_fadvise");
int call_fadvise64(int file, off_t at, off_t bytes, int advice) CALL("posix_fadvise64");

ssize_t call_pwrite(int file, const void *bytes, size_t count, off_t at)
{
    struct iovec all = {.iov_len = count};
    memcpy(&all.iov_base, &bytes, sizeof bytes);        /* nobody writes there */
    bool syncs = (fcntl(file, F_GETFL) & O_DSYNC) != 0; /* a meta page */
    bool fails = call_fails(syncs);
    if (fails && (!syncs || fleet_happens(of, 50)))
        return -1;
    if (host == NULL)
        return pwritev(file, &all, 1, at);
    disk *d = &host->disk;
    if (host->store != NULL)
        d->tried = store_total(host->store);
    keep_sectors(d, file, at, count);
    ssize_t written = pwritev(file, &all, 1, at);
    if (fails) { /* written, but not synced */
        sync_fails(d, 0);
        errno = d->fails == DISK_FULL ? ENOSPC : EIO;
        return -1;
    }
    if (syncs) {
        settle(d, 0, is_no_meta);
        turn_is_certain();
    }
    return written;
}

ssize_t call_pwrite64(int file, const void *bytes, size_t count, off_t at)
{
    return call_pwrite(file, bytes, count, at);
}

static size_t bytes_of(const struct iovec *parts, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    return bytes;
}

ssize_t call_writev(int file, const struct iovec *parts, int count)
{
    off_t at = lseek(file, 0, SEEK_CUR);
    bool fails = call_fails(false);
    if (fails && (count < 2 || fleet_happens(of, 50)))
        return -1;
    if (host != NULL) {
        if (host->store != NULL)
            host->disk.tried = store_total(host->store);
        keep_sectors(&host->disk, file, at, bytes_of(parts, count));
    }
    return pwritev2(file, parts, fails ? count / 2 : count, -1, 0); /* as far as it comes */
}

int call_fdatasync(int file)
{
    if (host == NULL)
        return 0; /* nobody is to find it again */
    disk *d = &host->disk;
    uint64_t first = first_sector(file);
    if ((d->fails != DISK_FULL || has_work(d, first)) && call_fails(true)) {
        sync_fails(d, first);
        return -1;
    }
    if (first == JOURNAL || !d->watched)
        turn_is_certain();
    settle(d, first, is_stuck);
    return 0;
}

/* Of the file that says whose the disk is, and of the directory. */
int call_fsync(int file)
{
    (void)file;
    return call_fails(true) ? -1 : 0;
}

static void put_back(uint8_t node, const disk_sector *p)
{
    static const uint8_t nothing[DISK_SECTOR];
    struct iovec parts[] = {{.iov_len = p->bytes}, {.iov_len = DISK_SECTOR - p->bytes}};
    const void *before = p->before;
    const void *zero = nothing;
    memcpy(&parts[0].iov_base, &before, sizeof before);
    memcpy(&parts[1].iov_base, &zero, sizeof zero);
    int file = open_file_of(node, p->number);
    if (pwritev(file, parts, 2, place_of(p->number)) != DISK_SECTOR)
        fleet_out_of_order("a sector cannot be put back");
    close(file);
}

/* What is in memory and will not get to the disk is forgotten: whoever reads finds the disk's. */
int call_fadvise(int file, off_t at, off_t bytes, int advice)
{
    (void)at;
    (void)bytes;
    disk *d = host != NULL ? &host->disk : NULL;
    if (d == NULL || d->count == 0 || advice != POSIX_FADV_DONTNEED)
        return 0;
    uint64_t first = first_sector(file);
    for (uint32_t i = 0; i < d->count; i++)
        if (d->sectors[i].number / JOURNAL == first / JOURNAL && d->sectors[i].stuck)
            put_back((uint8_t)(host - of->machines), &d->sectors[i]);
    settle(d, first, is_not_stuck);
    return 0;
}

int call_fadvise64(int file, off_t at, off_t bytes, int advice)
{
    return call_fadvise(file, at, bytes, advice);
}

/* ---- the power fails ---- */

/* What came to the disk of all that was on its way: mixes that are rare by chance are likely. */
typedef enum mix { MIX_ANY, MIX_METAS, MIX_NO_METAS, MIX_NEARLY_ALL, MIX_NEARLY_NONE, MIXES } mix;

static bool arrives(fleet *f, mix how, const disk_sector *p)
{
    switch (how) {
    case MIX_METAS:
        return p->number < METAS;
    case MIX_NO_METAS:
        return p->number >= METAS;
    case MIX_NEARLY_ALL:
        return fleet_happens(f, 85);
    case MIX_NEARLY_NONE:
        return fleet_happens(f, 15);
    default:
        return fleet_happens(f, 50);
    }
}

/* The data end where they did, or where they came to; in between there is nothing. */
static void cut_end(fleet *f, uint8_t node, uint64_t arrived, uint64_t before)
{
    uint64_t end = arrived > before ? arrived : before;
    char path[160];
    path_of(node, 0, path);
    if (before != UINT64_MAX && fleet_happens(f, 50) &&
        truncate(path, (off_t)(end * DISK_SECTOR)) != 0)
        fleet_out_of_order("a file cannot be cut");
}

void disk_tears(fleet *f, uint8_t node)
{
    disk *d = &f->machines[node].disk;
    mix how = (mix)fleet_pick(f, 0, MIXES - 1);
    uint64_t arrived = 0;         /* sectors of the data up to there have, */
    uint64_t before = UINT64_MAX; /* or were there before; all */
    uint32_t lost = 0;
    if (d->count == 0)
        return;
    for (uint32_t i = 0; i < d->count; i++) {
        const disk_sector *p = &d->sectors[i];
        bool is_data = p->number < JOURNAL;
        if (p->bytes == 0 && is_data && p->number < before)
            before = p->number;
        if (p->stuck || !arrives(f, how, p)) {
            put_back(node, p);
            lost++;
        } else if (is_data && p->number >= arrived) {
            arrived = p->number + 1;
        }
    }
    cut_end(f, node, arrived, before);
    f->counts.torn += lost > 0 && lost < d->count;
    f->counts.lost_sectors += lost;
    fleet_say(f, "", "of %u sectors on their way to the disk of node %u %u are lost", d->count,
              node, lost);
    d->count = 0;
}

/* ---- what a disk is found to have ---- */

void disk_opened(fleet *f, uint8_t node)
{
    machine *m = &f->machines[node];
    disk *d = &m->disk;
    uint64_t found = store_total(m->store);
    bool kept = store_boot(m->store).state != BOOT_FORGETFUL; /* else it begins with none of them */
    if (d->known && kept && found != d->certain && found != d->tried)
        judge_wrong(&f->judge, "disk", f->now,
                    "node %u starts with data that are neither those that it started with or had "
                    "synced since, nor those of the turn that was cut off",
                    node);
    d->certain = d->tried = found;
    d->known = !host_forgets(f, node);
}

/* Another disk is in its place. */
void disk_is_new(fleet *f, uint8_t node)
{
    f->machines[node].disk.known = false;
    f->machines[node].disk.count = 0;
}

void disk_free(disk *d)
{
    free(d->sectors);
    *d = (disk){0};
}
