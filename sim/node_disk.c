/* Disks: directories, one for each machine; those of a process are in a room of its own. */
#include "node_fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void empty(const char *path)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "journal", "node", "node.new"};
    char name[160];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(name, sizeof name, "%s/%s", path, files[i]);
        unlink(name);
    }
    rmdir(path);
}

static void room_of(pid_t process, char path[96])
{
    const char *wished = getenv("TMPDIR");
    const char *slow = wished != NULL ? wished : "/tmp";
    snprintf(path, 96, "%.64s/baton-sim-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : slow,
             (int)process);
}

static void empty_room(pid_t process)
{
    static const char *const disks[] = {"data", "away", "copy"};
    char room[96];
    char path[128];
    room_of(process, room);
    for (unsigned node = 0; node < FLEET_NODES; node++)
        for (size_t i = 0; i < sizeof disks / sizeof disks[0]; i++) {
            snprintf(path, sizeof path, "%s/%u-%s", room, node, disks[i]);
            empty(path);
        }
}

void disk_path(uint8_t node, const char *what, char path[128])
{
    char room[96];
    room_of(getpid(), room);
    snprintf(path, 128, "%s/%u-%s", room, node, what);
}

void disk_empty(uint8_t node, const char *what)
{
    char path[128];
    disk_path(node, what, path);
    empty(path);
}

void disk_move(uint8_t node, const char *from, const char *to)
{
    char old[128];
    char new[128];
    disk_path(node, from, old);
    disk_path(node, to, new);
    empty(new);
    if (rename(old, new) != 0 && errno != ENOENT)
        fleet_out_of_order("a disk cannot be moved");
}

static void copy_file(uint8_t node, const char *name)
{
    enum { AT_ONCE = 1 << 16 };
    static char bytes[AT_ONCE];
    char from[128];
    char to[128];
    char path[160];
    disk_path(node, "data", from);
    disk_path(node, "copy", to);
    snprintf(path, sizeof path, "%s/%s", from, name);
    int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0 && errno == ENOENT)
        return; /* it has none in memory */
    snprintf(path, sizeof path, "%s/%s", to, name);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t count = 0;
    while (in >= 0 && out >= 0 && (count = read(in, bytes, AT_ONCE)) > 0)
        if (write(out, bytes, (size_t)count) != count)
            break;
    if (in < 0 || out < 0 || count != 0)
        fleet_out_of_order("a disk cannot be copied");
    close(in);
    close(out);
}

void disk_copy(uint8_t node)
{
    char path[128];
    disk_empty(node, "copy");
    disk_path(node, "copy", path);
    if (mkdir(path, 0700) != 0)
        fleet_out_of_order("a disk cannot be copied");
    copy_file(node, "node");
    copy_file(node, "data.mdb");
    copy_file(node, "journal");
}

/* As if so many slots had been made in the first epoch, and so many sections entered. */
static void age_lock(store *s, uint8_t lock, uint8_t nodes)
{
    enum { LEFT = 6 }; /* of all numbers */
    char name[8];
    int length = snprintf(name, sizeof name, "l%u", lock);
    uint64_t max = (1ULL << WME_ENTRY_BITS) - 1;
    store_lock kept;
    replica_durable durable = {0};
    byte_string called = {(const uint8_t *)name, (size_t)length};
    if (store_load(s, called, &kept, &durable) != STORE_UNKNOWN)
        fleet_out_of_order("a lock has an age already");
    durable.now.epoch = durable.consensus.epoch = 1;
    durable.now.sn = max - LEFT;
    durable.now.entry = max - LEFT - LEFT;
    durable.now.owner = (uint8_t)(lock % nodes);
    if (!store_save(s, &kept, &durable))
        fleet_out_of_order(store_why(s));
}

void disk_age(uint8_t node, uint8_t count, uint8_t nodes)
{
    char directory[128];
    char why[COMPLAINT];
    char id[2] = {(char)('a' + node), '\0'};
    disk_path(node, "data", directory);
    store_options options = {.directory = directory,
                             .cluster = "sim",
                             .node = id,
                             .boot = node + 1U,
                             .journal_bytes = DISK_JOURNAL,
                             .max_bytes = DISK_BYTES};
    store *s = store_open(&options, why);
    if (s == NULL)
        fleet_out_of_order(why);
    for (uint8_t l = 0; l < count; l++)
        age_lock(s, l, nodes);
    if (!store_commit(s))
        fleet_out_of_order(store_why(s));
    store_close(s);
}

void disks_empty(void)
{
    char room[96];
    room_of(getpid(), room);
    if (mkdir(room, 0700) != 0 && errno != EEXIST)
        fleet_out_of_order("no directory can be made for the nodes' disks");
    empty_room(getpid());
}

void disks_leave(pid_t process)
{
    char room[96];
    room_of(process, room);
    empty_room(process);
    rmdir(room);
}
