/*
 * Processes that share a file in memory, with a lock chosen by name. Each maps the memory wherever
 * it likes and attaches to the locks that the first one made.
 *
 *     cc processes.c $(pkg-config --cflags --libs baton) && ./a.out dt2
 */
#define _GNU_SOURCE
#include <baton/lock.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 3, PASSAGES = 1000 };

static void check(int value)
{
    if (value != BATON_OK) {
        fprintf(stderr, "processes: %s\n", baton_strerror(value));
        exit(1);
    }
}

static void *map(int file, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        perror("processes: mmap");
        exit(1);
    }
    return memory;
}

static void work(int file, size_t bytes)
{
    char *memory = map(file, bytes);
    long *counter = (long *)memory;
    baton_locks *locks;
    baton_participant me = {0};
    check(baton_locks_attach(memory + BATON_CACHE_LINE, bytes - BATON_CACHE_LINE, &locks));
    check(baton_join(locks, &me));
    for (int i = 0; i < PASSAGES; i++) {
        check(baton_enter(&me, 0));
        ++*counter;
        check(baton_exit(&me, 0));
    }
    check(baton_leave(&me));
}

int main(int argc, char **argv)
{
    baton_locks_spec spec = {
        .algorithm = argc > 1 ? argv[1] : "dt2",
        .locks = 1,
        .participants = PROCESSES,
        .waiting = BATON_PARK,
    };
    size_t bytes;
    check(baton_locks_size(&spec, &bytes));
    bytes += BATON_CACHE_LINE; /* the counter in front */

    int file = memfd_create("counter", 0);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) {
        perror("processes: memfd_create");
        return 1;
    }
    char *memory = map(file, bytes);
    baton_locks *locks;
    check(baton_locks_create(&spec, memory + BATON_CACHE_LINE, bytes - BATON_CACHE_LINE, &locks));

    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        if (child < 0) {
            perror("processes: fork");
            return 1;
        }
        if (child == 0) {
            work(file, bytes);
            return 0;
        }
    }
    for (int i = 0; i < PROCESSES; i++)
        wait(NULL);
    printf("%ld of %d\n", *(long *)memory, PROCESSES * PASSAGES);
    return *(long *)memory == PROCESSES * PASSAGES ? 0 : 1;
}
