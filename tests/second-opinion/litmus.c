/*
 * Two programs that tell memory models apart; scripts/second-opinion runs them first. The assertion
 * fails if the model permits what the name of the macro says:
 *
 *   LOAD_BUFFERING    each of two processes reads what the other writes after its own read
 *   OLDER_CAS         a compare-and-swap reads a message that is not the newest
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define READ(reg)     atomic_load_explicit(&(reg), memory_order_relaxed)
#define WRITE(reg, v) atomic_store_explicit(&(reg), v, memory_order_relaxed)

static atomic_int x, y;
static int first_saw, second_saw, swapped;

static void *first(void *unused)
{
#ifdef LOAD_BUFFERING
    first_saw = READ(x);
#else
    WRITE(x, 2);
    first_saw = 1;
#endif
    WRITE(y, 1);
    return unused;
}

static void *second(void *unused)
{
    second_saw = READ(y);
#ifdef LOAD_BUFFERING
    WRITE(x, 1);
    swapped = 1;
#else
    int expected = 0;
    swapped = atomic_compare_exchange_strong_explicit(&x, &expected, 1, memory_order_relaxed,
                                                      memory_order_relaxed);
#endif
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(!(first_saw && second_saw && swapped));
    return 0;
}
