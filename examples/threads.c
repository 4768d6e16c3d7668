/*
 * Two threads and a counter, with a lock used directly: the concrete type, no table, no checks.
 *
 *     cc threads.c $(pkg-config --cflags --libs baton) -pthread && ./a.out
 */
#include <baton/lock.h>

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 2, PASSAGES = 100000 };

static baton_dt1 lock;
static baton_dt1_participant participant[THREADS];
static long counter; /* guarded by lock */

static void *count(void *argument)
{
    baton_dt1_participant *me = argument;
    for (int i = 0; i < PASSAGES; i++) {
        baton_dt1_enter(&lock, me);
        counter++;
        baton_dt1_exit(&lock, me);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    baton_dt1_init(&lock, BATON_SPIN);
    for (unsigned i = 0; i < THREADS; i++) {
        baton_dt1_join(&participant[i], i + 1);
        if (pthread_create(&thread[i], NULL, count, &participant[i]) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    printf("%ld of %d\n", counter, THREADS * PASSAGES);
    return counter == (long)THREADS * PASSAGES ? 0 : 1;
}
