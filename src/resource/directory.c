/*
 * The directory: one process at a time, and a file `node` that says in a few words whose it is. The
 * file is apart from the data because it outlives them in memory mode, and because data that have
 * vanished must not look like data that never were.
 */
#include "room.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const states[] = {"creating", "ready", "booted"};
static const char *const durabilities[] = {"disk", "memory"};
static const char *const musters[] = {
    [MUSTER_NEW] = "new", [MUSTER_FORGETFUL] = "forgetful", [MUSTER_SETTLED] = "settled"};

enum { MOST_TEXT = 1024 }; /* of the file */

/* ---- writing ---- */

static int write_all(int file, const char *text)
{
    size_t length = strlen(text);
    ssize_t written = write(file, text, length);
    if (written < 0)
        return errno;
    if ((size_t)written < length)
        return ENOSPC;
    return fsync(file) == 0 ? 0 : errno;
}

int directory_write(const store *s, directory_state state)
{
    char text[MOST_TEXT];
    int length =
        snprintf(text, sizeof text,
                 "baton data %d\ncluster %s\nnode %s\ndurability %s\nstate %s\nboot %" PRIu64
                 "\nmuster %s\nheard",
                 STORE_FORMAT, s->cluster, s->node, durabilities[s->durability], states[state],
                 s->muster.boot, musters[s->muster.state]);
    for (int i = 0; i < WME_MOST_NODES; i++)
        length +=
            snprintf(text + length, sizeof text - (size_t)length, " %" PRIu64, s->muster.heard[i]);
    snprintf(text + length, sizeof text - (size_t)length, "\n");
    int file = openat(s->directory, "node.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    int code = write_all(file, text);
    close(file);
    if (code != 0)
        return code;
    if (renameat(s->directory, "node.new", s->directory, "node") != 0 || fsync(s->directory) != 0)
        return errno;
    return 0;
}

static int remove_file(const store *s, const char *name)
{
    return unlinkat(s->directory, name, 0) == 0 || errno == ENOENT ? 0 : errno;
}

int directory_empty(const store *s)
{
    int code = remove_file(s, "data.mdb");
    return code != 0 ? code : remove_file(s, "lock.mdb");
}

/* ---- reading ---- */

typedef struct node_file {
    int version;
    char cluster[STORE_MOST_ID + 1], node[STORE_MOST_ID + 1], durability[8], state[16];
    muster_durable muster;
} node_file;

_Static_assert(STORE_MOST_ID == 64, "as in the format below");

static bool read_muster(const char *text, muster_durable *m)
{
    char state[16];
    int end = 0;
    *m = (muster_durable){0};
    if (sscanf(text, "\nboot %" SCNu64 "\nmuster %15s\nheard%n", &m->boot, state, &end) != 2 ||
        m->boot == 0 || end == 0)
        return false;
    for (int i = 0; i < WME_MOST_NODES; i++) {
        int more = 0;
        if (sscanf(text + end, " %" SCNu64 "%n", &m->heard[i], &more) != 1)
            return false;
        end += more;
    }
    while (m->state <= MUSTER_SETTLED && strcmp(state, musters[m->state]) != 0)
        m->state++;
    return m->state <= MUSTER_SETTLED && strcmp(text + end, "\n") == 0;
}

static bool read_node_file(const char *text, node_file *f)
{
    int end = 0;
    int fields =
        sscanf(text, "baton data %d\ncluster %64s\nnode %64s\ndurability %7s\nstate %15s%n",
               &f->version, f->cluster, f->node, f->durability, f->state, &end);
    if (fields != 5)
        return false;
    if (strcmp(text + end, "\n") != 0)
        return read_muster(text + end, &f->muster);
    /* from before boot ids: whoever has run is taken for settled */
    bool ran = strcmp(f->state, states[DIRECTORY_BOOTED]) == 0;
    f->muster = (muster_durable){.state = ran ? MUSTER_SETTLED : MUSTER_NEW};
    return true;
}

/* Compares with what this node wants to be. */
static bool is_ours(const store *s, const node_file *f, char complaint[STORE_COMPLAINT])
{
    if (strcmp(f->cluster, s->cluster) != 0)
        snprintf(complaint, STORE_COMPLAINT,
                 "%s belongs to cluster '%s', not to '%s': other ids in --peers, or another "
                 "--consensus; give each its own directory",
                 s->path, f->cluster, s->cluster);
    else if (strcmp(f->node, s->node) != 0)
        snprintf(complaint, STORE_COMPLAINT,
                 "%s belongs to node '%s', not to '%s'; give each its own directory", s->path,
                 f->node, s->node);
    else if (strcmp(f->durability, durabilities[s->durability]) != 0)
        snprintf(complaint, STORE_COMPLAINT,
                 "%s was made for durability %s, not %s; that cannot be changed", s->path,
                 f->durability, durabilities[s->durability]);
    else
        return true;
    return false;
}

static bool understand(store *s, const char *text, directory_state *state,
                       char complaint[STORE_COMPLAINT])
{
    node_file f;
    int version;
    if (sscanf(text, "baton data %d\n", &version) == 1 && version != STORE_FORMAT) {
        snprintf(complaint, STORE_COMPLAINT,
                 "%s was written by another version of baton (format %d, here %d)", s->path,
                 version, STORE_FORMAT);
        return false;
    }
    if (read_node_file(text, &f)) {
        if (!is_ours(s, &f, complaint))
            return false;
        for (*state = DIRECTORY_CREATING; *state <= DIRECTORY_BOOTED; ++*state)
            if (strcmp(f.state, states[*state]) == 0) {
                s->muster = f.muster;
                return true;
            }
    }
    snprintf(complaint, STORE_COMPLAINT,
             "%s/node is damaged, or not a file of baton; if the directory is a node's, empty it, "
             "and the node rejoins",
             s->path);
    return false;
}

static bool read_state(store *s, directory_state *state, char complaint[STORE_COMPLAINT])
{
    char text[MOST_TEXT];
    int file = openat(s->directory, "node", O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        *state = DIRECTORY_CREATING;
        if (faccessat(s->directory, "data.mdb", F_OK, 0) != 0)
            return true;
        snprintf(complaint, STORE_COMPLAINT,
                 "%s has data, but no file 'node' that says whose; it is damaged, or not baton's",
                 s->path);
        return false;
    }
    ssize_t count = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (count < 0)
        snprintf(complaint, STORE_COMPLAINT, "cannot read %s/node: %s", s->path, strerror(errno));
    if (file >= 0)
        close(file);
    if (count < 0)
        return false;
    text[count] = '\0';
    return understand(s, text, state, complaint);
}

/* ---- claiming ---- */

static bool is_id(const char *id)
{
    size_t length = strlen(id);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)id[i]) && strchr("-_.:,", id[i]) == NULL)
            return false;
    return length > 0 && length <= STORE_MOST_ID;
}

bool directory_claim(store *s, directory_state *state, char complaint[STORE_COMPLAINT])
{
    s->directory = -1;
    if (!is_id(s->cluster) || !is_id(s->node)) {
        snprintf(complaint, STORE_COMPLAINT,
                 "a cluster or a node is named by 1 to %d letters, digits, and any of -_.:,",
                 STORE_MOST_ID);
        return false;
    }
    if (mkdir(s->path, 0700) != 0 && errno != EEXIST) {
        snprintf(complaint, STORE_COMPLAINT, "cannot make %s: %s", s->path, strerror(errno));
        return false;
    }
    s->directory = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->directory < 0) {
        snprintf(complaint, STORE_COMPLAINT, "cannot open %s: %s", s->path, strerror(errno));
        return false;
    }
    if (flock(s->directory, LOCK_EX | LOCK_NB) != 0) {
        snprintf(complaint, STORE_COMPLAINT,
                 errno == EWOULDBLOCK
                     ? "another running process uses %s; give each its own directory"
                     : "cannot lock %s",
                 s->path);
        return false;
    }
    if (faccessat(s->directory, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        snprintf(complaint, STORE_COMPLAINT, "cannot write in %s: %s", s->path, strerror(errno));
        return false;
    }
    if (!read_state(s, state, complaint))
        return false;
    while (s->muster.boot == 0)
        if (getrandom(&s->muster.boot, sizeof s->muster.boot, 0) != sizeof s->muster.boot) {
            snprintf(complaint, STORE_COMPLAINT, "no random numbers: %s", strerror(errno));
            return false;
        }
    return true;
}
