/*
 * Lives of processes, from /proc/PID/stat: number, state and start time in ticks since boot. A word
 * holds the number in its lowest 22 bits (Linux has no larger ones) and the ticks above.
 */
#include "life.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PID_BITS = 22 };

/* What /proc says about a process; false if there is no such process, or no telling. */
static bool read_stat(int32_t pid, char *state, uint64_t *started)
{
    char path[32];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%" PRId32 "/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return false;
    text[length] = '\0';
    /* Its second field, the name, may hold anything, spaces and brackets too. */
    const char *after_name = strrchr(text, ')');
    return after_name != NULL &&
           sscanf(after_name,
                  ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                  "%" SCNu64,
                  state, started) == 2;
}

static uint64_t life(int32_t pid, uint64_t started)
{
    return (uint64_t)(started << PID_BITS) | (uint64_t)pid;
}

int32_t life_process(uint64_t of)
{
    return (int32_t)(of & ((1U << PID_BITS) - 1));
}

uint64_t life_of_this_process(void)
{
    char state;
    uint64_t started;
    int32_t pid = getpid();
    return read_stat(pid, &state, &started) ? life(pid, started) : 0;
}

bool life_is_over(uint64_t of)
{
    char state;
    uint64_t started;
    int32_t pid = life_process(of);
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return true;
    if (!read_stat(pid, &state, &started))
        return kill(pid, 0) != 0 && errno == ESRCH; /* it may have gone just now */
    return life(pid, started) != of || state == 'Z' || state == 'X';
}

uint64_t life_name_space(void)
{
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
}
