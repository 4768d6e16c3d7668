/*
 * Directories and files of a user's. In /tmp anybody could have made the directory before: it is
 * used only if it is this user's and closed to all others.
 */
#include "places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void place_runtime(char directory[PLACE_BYTES])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime != NULL && runtime[0] == '/')
        snprintf(directory, PLACE_BYTES, "%s/baton", runtime);
    else
        snprintf(directory, PLACE_BYTES, "/tmp/baton-%u", (unsigned)getuid());
}

bool place_runtime_make(const char *directory, char complaint[PLACE_BYTES])
{
    struct stat info;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        snprintf(complaint, PLACE_BYTES, "cannot make %.400s: %s", directory, strerror(errno));
        return false;
    }
    if (lstat(directory, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid() ||
        (info.st_mode & 077) != 0) {
        snprintf(complaint, PLACE_BYTES, "%.400s is not a directory of yours alone (mode 700)",
                 directory);
        return false;
    }
    return true;
}

/* Makes the directories above a file, as far as they are missing. */
static bool make_directories(char *file)
{
    for (char *slash = strchr(file + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(file, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made)
            return false;
    }
    return true;
}

bool place_state(const char *name, char file[PLACE_BYTES])
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    if (state != NULL && state[0] == '/')
        snprintf(file, PLACE_BYTES, "%s/baton/%s", state, name);
    else if (home != NULL && home[0] == '/')
        snprintf(file, PLACE_BYTES, "%s/.local/state/baton/%s", home, name);
    else
        return false;
    return make_directories(file);
}

const char *place_server(const char *given, char room[PLACE_BYTES])
{
    const char *at = given != NULL ? given : getenv("BATON_AT");
    if (at != NULL && at[0] != '\0')
        return at;
    char directory[PLACE_BYTES];
    place_runtime(directory);
    snprintf(room, PLACE_BYTES, "%.500s/socket", directory);
    return room;
}

char *read_password(const char *command, const char *name)
{
    struct stat info;
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(name, "re");
    if (file == NULL || fstat(fileno(file), &info) != 0) {
        fprintf(stderr, "baton %s: cannot read %s: %s\n", command, name, strerror(errno));
        if (file != NULL)
            fclose(file);
        return NULL;
    }
    ssize_t length = getline(&line, &room, file);
    fclose(file);
    if (length > 0)
        line[strcspn(line, "\r\n")] = '\0';
    if (length <= 0 || line[0] == '\0') {
        fprintf(stderr, "baton %s: the first line of %s is empty; it must be a password\n", command,
                name);
    } else if ((info.st_mode & 077) != 0) {
        fprintf(stderr, "baton %s: others may read %s; type 'chmod 600 %s'\n", command, name, name);
    } else {
        return line;
    }
    free(line);
    return NULL;
}
