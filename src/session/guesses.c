/* Wrong passwords: a slot for each address, forgotten after a minute without one. */
#include "guesses.h"
#include "name_table.h"

#include <string.h>

enum { FORGOTTEN_AFTER = 60000 };

/* The host of HOST:PORT; clients of a Unix socket are all alike. */
static uint32_t slot_of(const char *from)
{
    const char *port = strrchr(from, ':');
    size_t bytes = port != NULL ? (size_t)(port - from) : strlen(from);
    return (uint32_t)(name_hash(from, bytes) % GUESS_ADDRESSES);
}

static uint64_t pause_after(uint32_t wrong)
{
    uint64_t pause = 0;
    for (uint32_t i = GUESSES_FREE; i < wrong && pause < GUESS_LONGEST; i++)
        pause = pause == 0 ? GUESS_PAUSE : 2 * pause;
    return pause < GUESS_LONGEST ? pause : GUESS_LONGEST;
}

void guesses_start(guesses *of)
{
    *of = (guesses){0};
    baton_tas_init(&of->lock, BATON_PARK);
}

uint64_t guesses_turn(guesses *of, const char *from, uint64_t now)
{
    uint32_t which = slot_of(from);
    baton_tas_enter(&of->lock);
    if (now - of->slot[which].since > FORGOTTEN_AFTER)
        of->slot[which].wrong = 0;
    uint64_t at = of->slot[which].next > now ? of->slot[which].next : now;
    if (at > now + GUESS_LONGEST)
        at = now + GUESS_LONGEST; /* many at once: nobody waits for all of them */
    of->slot[which].next = at + pause_after(of->slot[which].wrong);
    baton_tas_exit(&of->lock);
    return at;
}

void guesses_wrong(guesses *of, const char *from, uint64_t now)
{
    uint32_t which = slot_of(from);
    baton_tas_enter(&of->lock);
    of->count++;
    of->slot[which].wrong++;
    of->slot[which].since = now;
    if (of->slot[which].next < now)
        of->slot[which].next = now;
    of->slot[which].next += pause_after(of->slot[which].wrong);
    baton_tas_exit(&of->lock);
}

uint64_t guesses_count(guesses *of)
{
    baton_tas_enter(&of->lock);
    uint64_t count = of->count;
    baton_tas_exit(&of->lock);
    return count;
}
