/*
 * Directories and files of a user's. In /tmp anybody could have made the directory before: it is
 * used only if it is this user's and closed to all others.
 */
#include "server_paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(const char *directory)
{
    struct stat info;
    return directory != NULL && directory[0] == '/' && stat(directory, &info) == 0 &&
           S_ISDIR(info.st_mode) && info.st_uid == getuid();
}

void path_runtime_among(const char *users, char directory[PATH_BYTES])
{
    char own[PATH_BYTES];
    const char *chosen = getenv("BATON_RUNTIME_DIR");
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    snprintf(own, sizeof own, "%s/%u", users, (unsigned)getuid());
    if (chosen != NULL && chosen[0] == '/')
        snprintf(directory, PATH_BYTES, "%s", chosen);
    else if (is_ours(own)) /* before the environment, which cron does not have */
        snprintf(directory, PATH_BYTES, "%.*s/baton", PATH_BYTES - 8, own);
    else if (is_ours(runtime))
        snprintf(directory, PATH_BYTES, "%s/baton", runtime);
    else
        snprintf(directory, PATH_BYTES, "/tmp/baton-%u", (unsigned)getuid());
}

void path_runtime(char directory[PATH_BYTES])
{
    path_runtime_among("/run/user", directory);
}

const char *path_runtime_make(const char *directory)
{
    struct stat info;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return strerror(errno);
    if (lstat(directory, &info) != 0)
        return strerror(errno);
    if (info.st_uid != getuid())
        return "it belongs to another user; set BATON_RUNTIME_DIR to a directory of yours, the "
               "same "
               "for all commands that shall exclude one another";
    if (!S_ISDIR(info.st_mode) || (info.st_mode & 077) != 0)
        return "it is not a directory of yours alone (mode 700)";
    return NULL;
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

bool path_state(const char *name, char file[PATH_BYTES])
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int length;
    if (state != NULL && state[0] == '/')
        length = snprintf(file, PATH_BYTES, "%s/baton/%s", state, name);
    else if (home != NULL && home[0] == '/')
        length = snprintf(file, PATH_BYTES, "%s/.local/state/baton/%s", home, name);
    else
        return false;
    return length < PATH_BYTES && make_directories(file);
}

const char *path_server(const char *given, char socket_path[PATH_BYTES])
{
    char directory[PATH_BYTES];
    if (given != NULL && given[0] != '\0')
        return given;
    path_runtime(directory);
    /* One that is cut here is too long for a socket by far, which is found when it is used. */
    snprintf(socket_path, PATH_BYTES, "%.*s/socket", PATH_BYTES - 8, directory);
    return socket_path;
}

char *read_password(const char *command, const char *name)
{
    struct stat info;
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen(name, "re");
    bool opened = file != NULL && fstat(fileno(file), &info) == 0;
    ssize_t length = opened ? getline(&line, &capacity, file) : -1;
    int why = opened && !ferror(file) ? 0 : errno;
    if (file != NULL)
        fclose(file);
    if (length > 0)
        line[strcspn(line, "\r\n")] = '\0';
    if (why != 0) {
        fprintf(stderr, "baton %s: cannot read %s: %s\n", command, name, strerror(why));
    } else if (length <= 0 || line[0] == '\0') {
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
