/*
 * The directory: one process at a time, and a file `node` that says in a few words whose it is. The
 * file is apart from the data because it outlives them in memory mode, and because data that have
 * vanished must not look like data that never were.
 */
#include "store_internal.h"

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
static const char *const boot_states[] = {
    [BOOT_NEW] = "new", [BOOT_FORGETFUL] = "forgetful", [BOOT_SETTLED] = "settled"};

enum { MAX_TEXT = 2048 }; /* of the file */

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

typedef struct words {
    size_t length;
    char text[MAX_TEXT];
} words;

/* A line of numbers, one for each node. */
static void put_line(words *w, const char *word, const uint64_t numbers[WME_MAX_NODES])
{
    w->length += (size_t)snprintf(w->text + w->length, MAX_TEXT - w->length, "%s", word);
    for (int i = 0; i < WME_MAX_NODES; i++)
        w->length +=
            (size_t)snprintf(w->text + w->length, MAX_TEXT - w->length, " %" PRIu64, numbers[i]);
    w->length += (size_t)snprintf(w->text + w->length, MAX_TEXT - w->length, "\n");
}

static void put_all(const store *s, directory_state state, words *w)
{
    const boot_durable *m = &s->boot_check;
    w->length = (size_t)snprintf(
        w->text, MAX_TEXT,
        "baton data %d\ncluster %s\nnode %s\ndurability %s\nstate %s\nboot %" PRIu64
        " %s\nlife %" PRIu64 "\nwrites %" PRIu64 "\noutdated %d\n",
        STORE_FORMAT, s->cluster, s->node, durabilities[s->durability], states[state], m->boot,
        boot_states[m->state], m->life, m->writes, m->outdated);
    put_line(w, "heard", m->heard);
    put_line(w, "lives", m->lives);
    put_line(w, "runs", m->runs);
    put_line(w, "turns", m->turns);
}

int directory_write(const store *s, directory_state state)
{
    words w;
    put_all(s, state, &w);
    int file = openat(s->directory, "node.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    int code = write_all(file, w.text);
    close(file);
    if (code != 0)
        return code;
    if (renameat(s->directory, "node.new", s->directory, "node") != 0 || fsync(s->directory) != 0)
        return errno;
    return 0;
}

/*
 * What a process has written that was killed before it could sync is read as if it were there; so
 * it is synced before anybody is told of it. And what a sync has failed to write stays in the
 * system's memory all the same: that is forgotten, as far as the system does us the favour, so that
 * the disk is read. (What is read from the journal comes to LMDB before anybody is told of it.)
 */
int directory_settle(const store *s)
{
    int file = openat(s->directory, STORE_DATA, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? 0 : errno;
    int code = fdatasync(file) == 0 ? 0 : errno;
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
    return code;
}

static int remove_file(const store *s, const char *name)
{
    return unlinkat(s->directory, name, 0) == 0 || errno == ENOENT ? 0 : errno;
}

int directory_empty(const store *s)
{
    static const char *const files[] = {STORE_DATA, "lock.mdb", JOURNAL_NAME};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof files / sizeof files[0]; i++)
        code = remove_file(s, files[i]);
    return code;
}

/* ---- reading ---- */

typedef struct node_file {
    int version;
    char cluster[STORE_MAX_ID + 1], node[STORE_MAX_ID + 1], durability[8], state[16];
    boot_durable boot_check;
} node_file;

_Static_assert(STORE_MAX_ID == 64, "as in the format below");

/* A line of put_line; NULL, or what follows. */
static const char *take_line(const char *text, const char *word, uint64_t numbers[WME_MAX_NODES])
{
    size_t length = strlen(word);
    if (text == NULL || strncmp(text, word, length) != 0)
        return NULL;
    text += length;
    for (int i = 0; i < WME_MAX_NODES; i++) {
        int end = 0;
        if (sscanf(text, " %" SCNu64 "%n", &numbers[i], &end) != 1)
            return NULL;
        text += end;
    }
    return *text == '\n' ? text + 1 : NULL;
}

static bool read_boot(const char *text, boot_durable *m)
{
    char state[16];
    int outdated;
    int end = 0;
    *m = (boot_durable){0};
    int fields =
        sscanf(text, "\nboot %" SCNu64 " %15s\nlife %" SCNu64 "\nwrites %" SCNu64 "\noutdated %d%n",
               &m->boot, state, &m->life, &m->writes, &outdated, &end);
    if (fields != 5 || m->boot == 0 || text[end] != '\n')
        return false;
    const char *rest = take_line(text + end + 1, "heard", m->heard);
    rest = take_line(rest, "lives", m->lives);
    rest = take_line(rest, "runs", m->runs);
    rest = take_line(rest, "turns", m->turns);
    if (rest == NULL || *rest != '\0')
        return false;
    m->outdated = outdated != 0;
    while (m->state <= BOOT_SETTLED && strcmp(state, boot_states[m->state]) != 0)
        m->state++;
    return m->state <= BOOT_SETTLED;
}

static bool read_node_file(const char *text, node_file *f)
{
    int end = 0;
    int fields =
        sscanf(text, "baton data %d\ncluster %64s\nnode %64s\ndurability %7s\nstate %15s%n",
               &f->version, f->cluster, f->node, f->durability, f->state, &end);
    return fields == 5 && read_boot(text + end, &f->boot_check);
}

/* Compares with what this node wants to be. */
static bool is_ours(const store *s, const node_file *f, char complaint[COMPLAINT])
{
    if (strcmp(f->cluster, s->cluster) != 0)
        snprintf(complaint, COMPLAINT,
                 "%s belongs to cluster '%s', not to '%s': other ids in --peers, or another "
                 "--consensus; give each its own directory",
                 s->path, f->cluster, s->cluster);
    else if (strcmp(f->node, s->node) != 0)
        snprintf(complaint, COMPLAINT,
                 "%s belongs to node '%s', not to '%s'; give each its own directory", s->path,
                 f->node, s->node);
    else if (strcmp(f->durability, durabilities[s->durability]) != 0)
        snprintf(complaint, COMPLAINT,
                 "%s was made for durability %s, not %s; that cannot be changed", s->path,
                 f->durability, durabilities[s->durability]);
    else
        return true;
    return false;
}

static bool understand(store *s, const char *text, directory_state *state,
                       char complaint[COMPLAINT])
{
    node_file f;
    int version;
    if (sscanf(text, "baton data %d\n", &version) == 1 && version != STORE_FORMAT) {
        snprintf(complaint, COMPLAINT,
                 "%s was written by another version of baton (format %d, here %d)", s->path,
                 version, STORE_FORMAT);
        return false;
    }
    if (read_node_file(text, &f)) {
        if (!is_ours(s, &f, complaint))
            return false;
        for (*state = DIRECTORY_CREATING; *state <= DIRECTORY_BOOTED; ++*state)
            if (strcmp(f.state, states[*state]) == 0) {
                s->boot_check = f.boot_check;
                return true;
            }
    }
    snprintf(complaint, COMPLAINT,
             "%s/node is damaged, or not a file of baton; if the directory is a node's, empty it, "
             "and the node rejoins",
             s->path);
    return false;
}

static bool read_state(store *s, directory_state *state, char complaint[COMPLAINT])
{
    char text[MAX_TEXT];
    int file = openat(s->directory, "node", O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        *state = DIRECTORY_CREATING;
        if (faccessat(s->directory, STORE_DATA, F_OK, 0) != 0)
            return true;
        snprintf(complaint, COMPLAINT,
                 "%s has data, but no file 'node' that says whose; it is damaged, or not baton's",
                 s->path);
        return false;
    }
    ssize_t count = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (count < 0)
        snprintf(complaint, COMPLAINT, "cannot read %s/node: %s", s->path, strerror(errno));
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
    return length > 0 && length <= STORE_MAX_ID;
}

bool directory_claim(store *s, directory_state *state, char complaint[COMPLAINT])
{
    s->directory = -1;
    if (!is_id(s->cluster) || !is_id(s->node)) {
        snprintf(complaint, COMPLAINT,
                 "a cluster or a node is named by 1 to %d letters, digits, and any of -_.:,",
                 STORE_MAX_ID);
        return false;
    }
    if (mkdir(s->path, 0700) != 0 && errno != EEXIST) {
        snprintf(complaint, COMPLAINT, "cannot make %s: %s", s->path, strerror(errno));
        return false;
    }
    s->directory = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->directory < 0) {
        snprintf(complaint, COMPLAINT, "cannot open %s: %s", s->path, strerror(errno));
        return false;
    }
    if (flock(s->directory, LOCK_EX | LOCK_NB) != 0) {
        snprintf(complaint, COMPLAINT,
                 errno == EWOULDBLOCK
                     ? "another running process uses %s; give each its own directory"
                     : "cannot lock %s",
                 s->path);
        return false;
    }
    if (faccessat(s->directory, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        snprintf(complaint, COMPLAINT, "cannot write in %s: %s", s->path, strerror(errno));
        return false;
    }
    if (!read_state(s, state, complaint))
        return false;
    if (s->boot_check.boot == 0)
        s->boot_check.boot = s->boot_wished;
    while (s->boot_check.boot == 0)
        if (getrandom(&s->boot_check.boot, sizeof s->boot_check.boot, 0) !=
            sizeof s->boot_check.boot) {
            snprintf(complaint, COMPLAINT, "no random numbers: %s", strerror(errno));
            return false;
        }
    return true;
}
