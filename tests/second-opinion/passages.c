/*
 * What GenMC runs: so many processes, each of which passes through a lock so many times.
 * scripts/second-opinion says which lock and how many, by these macros:
 *
 *   SOURCE                 the file of src/lock, or a mutant of it
 *   PROCESSES, PASSAGES    how many, and how often each
 *   BYTES, INIT(lock, n)   how the lock is made
 *   SEAT                   the type of a participant, if there are any; JOIN(seat, number)
 *   ENTER(lock, seat, i)   and EXIT; TRY, if process 0 shall try instead
 *
 * Sections count in a plain variable. A lock that lets two in, or lets the next one in without what
 * the last one wrote, has a data race there, and GenMC finds those.
 */
#include <assert.h>
#include <pthread.h>

#include SOURCE

enum { WORDS = (BYTES + sizeof(baton_word) - 1) / sizeof(baton_word) };

static BATON_OWN_LINE baton_word lock[WORDS];
static unsigned sections;
static unsigned failed_tries; /* of process 0, which alone tries */
#ifdef SEAT
static SEAT seats[PROCESSES];
#endif

static void section(void)
{
    sections++;
}

static void *passages(void *process)
{
    uint32_t i = (uint32_t)(uintptr_t)process;
    (void)i;
    for (int passage = 0; passage < PASSAGES; passage++) {
#ifdef TRY
        if (i == 0 && !TRY((void *)lock, &seats[i], i)) {
            failed_tries++;
            continue;
        }
        if (i != 0)
#endif
            ENTER((void *)lock, &seats[i], i);
        section();
        EXIT((void *)lock, &seats[i], i);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[PROCESSES];
    INIT((void *)lock, PROCESSES);
#ifdef SEAT
    for (uint32_t i = 0; i < PROCESSES; i++)
        JOIN(&seats[i], i + 1);
#endif
    for (uintptr_t i = 0; i < PROCESSES; i++)
        pthread_create(&thread[i], NULL, passages, (void *)i);
    for (uint32_t i = 0; i < PROCESSES; i++)
        pthread_join(thread[i], NULL);
    assert(sections + failed_tries == PROCESSES * PASSAGES);
    return 0;
}
