/*
 * How many turns a store takes in a second, with so many operations in each: synced and not. Prints
 * a line for each; asserts nothing.
 *
 *   store_speed DIRECTORY [SECONDS]     the directory must not be there
 */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LOCKS = 64, MAX_PATH = 240 };

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* As a node does it: each operation is accepted in a slot, and executed. */
static bool one_operation(store *s, store_lock *lock, wme_op *o, resp_out *result)
{
    replica_durable d = {.now = {.epoch = 1, .last = o}};
    o->id = lock->executed + 1;
    d.now.sn = d.now.ops = d.now.op_sn = o->id;
    result->bytes = 0;
    return store_execute(s, lock, o, o->id, result) && store_save(s, lock, &d);
}

static bool measure(store *s, store_lock *locks, wme_op *o, unsigned in_turn, double seconds,
                    const char *mode)
{
    uint64_t turns = 0;
    resp_out result = {0};
    double begin = now();
    double end = begin;
    for (unsigned next = 0; end - begin < seconds; end = now(), turns++) {
        bool fine = true;
        for (unsigned i = 0; i < in_turn && fine; i++)
            fine = one_operation(s, &locks[next++ % LOCKS], o, &result);
        if (!fine || !store_commit(s))
            return false;
    }
    resp_free(&result);
    double rate = (double)turns / (end - begin);
    printf("%-6s %3u operations in a turn: %8.0f turns/s %9.0f operations/s %8.1f us each turn\n",
           mode, in_turn, rate, rate * in_turn, 1e6 / rate);
    fflush(stdout);
    return true;
}

static wme_op *make_op(void)
{
    static const char value[100];
    op set = {.verb = OP_SET,
              .key = {(const uint8_t *)"balance/1234", 12},
              .value = {(const uint8_t *)value, sizeof value}};
    return op_encode(&set);
}

static bool measure_mode(const char *directory, store_durability durability, double seconds)
{
    static const unsigned turns[] = {1, 16, 64};
    static char names[LOCKS][16];
    const char *mode = durability == STORE_DISK ? "disk" : "memory";
    char path[MAX_PATH];
    char complaint[COMPLAINT];
    store_lock locks[LOCKS];
    replica_durable unsaved;
    snprintf(path, sizeof path, "%s-%s", directory, mode);
    store_options options = {.directory = path,
                             .cluster = "bench",
                             .node = "a",
                             .durability = durability,
                             .max_bytes = (size_t)1 << 30};
    store *s = store_open(&options, complaint);
    if (s == NULL) {
        fprintf(stderr, "store_speed: %s\n", complaint);
        return false;
    }
    for (int i = 0; i < LOCKS; i++) {
        int length = snprintf(names[i], sizeof names[i], "lock-%d", i);
        byte_string name = {(const uint8_t *)names[i], (size_t)length};
        store_load(s, name, &locks[i], &unsaved);
    }
    wme_op *o = make_op();
    bool fine = o != NULL;
    for (size_t i = 0; i < sizeof turns / sizeof *turns && fine; i++)
        fine = measure(s, locks, o, turns[i], seconds, mode);
    if (!fine)
        fprintf(stderr, "store_speed: %s\n", store_why(s));
    wme_op_drop(o);
    store_close(s);
    return fine;
}

int main(int count, char **words)
{
    if (count < 2 || count > 3) {
        fputs("usage: store_speed DIRECTORY [SECONDS]\n", stderr);
        return 64;
    }
    double seconds = count == 3 ? strtod(words[2], NULL) : 3;
    return measure_mode(words[1], STORE_DISK, seconds) &&
                   measure_mode(words[1], STORE_MEMORY, seconds)
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
