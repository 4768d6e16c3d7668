/* Tokens on disk: one line of text, replaced as a whole. */
#include "tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many are reserved at a time; a restart skips them. */
static const uint64_t AHEAD = (uint64_t)1 << 24;

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

static bool write_file(const tokens *t, uint64_t reserved)
{
    char fresh[sizeof t->file + 8];
    char text[64];
    int length = snprintf(text, sizeof text, "baton tokens 1\n%" PRIu64 "\n", reserved);
    snprintf(fresh, sizeof fresh, "%s.new", t->file);
    int file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool written = write(file, text, (size_t)length) == length && fsync(file) == 0;
    written = close(file) == 0 && written;
    return written && rename(fresh, t->file) == 0 && sync_directory(t->file);
}

bool tokens_reserve(tokens *t, uint64_t next)
{
    if (next + AHEAD / 2 < t->reserved)
        return true;
    uint64_t reserved = next + AHEAD;
    if (!write_file(t, reserved))
        return false;
    t->reserved = reserved;
    return true;
}

bool tokens_are_short(const tokens *t, uint64_t next)
{
    return next + AHEAD / 4 > t->reserved;
}

bool tokens_open(tokens *t, const char *name, uint64_t *first, char complaint[256])
{
    if (strlen(name) >= sizeof t->file) {
        snprintf(complaint, 256, "the name of the state file is too long");
        return false;
    }
    snprintf(t->file, sizeof t->file, "%s", name);
    FILE *file = fopen(name, "re");
    *first = 1;
    if (file != NULL) {
        bool right = fscanf(file, "baton tokens 1 %" SCNu64, first) == 1 && *first > 0 &&
                     *first < INT64_MAX / 2;
        fclose(file);
        if (!right) {
            snprintf(complaint, 256,
                     "%s is no file of tokens, or damaged; if you remove it, tokens begin again",
                     name);
            return false;
        }
    } else if (errno != ENOENT) {
        snprintf(complaint, 256, "cannot read %s: %s", name, strerror(errno));
        return false;
    }
    t->reserved = 0;
    if (tokens_reserve(t, *first))
        return true;
    snprintf(complaint, 256, "cannot write %s: %s", name, strerror(errno));
    return false;
}
