/* See errand.h. */
#include "errand.h"

#include "chance.h"

enum {
    LOST = 10, /* percent */
    DOUBLED = 10,
    LATE = 10,
    MAX_LATE = 1500 * 1000, /* us */
};

outside_verdict register_hears(outside_register *at, const wme_record *proposal)
{
    outside_verdict verdict = outside_judge(proposal->epoch, at->values);
    if (verdict == OUTSIDE_MINE) {
        wme_record_set(&at->value, proposal);
        at->values++;
    }
    return verdict;
}

void register_free(outside_register *at)
{
    wme_record_set(&at->value, &(wme_record){0});
}

static bool happens(uint64_t *chance, uint32_t percent)
{
    return draw(chance) % 100 < percent;
}

bool errand_is_lost(uint64_t *chance)
{
    return happens(chance, LOST);
}

bool errand_comes_twice(uint64_t *chance)
{
    return happens(chance, DOUBLED);
}

uint64_t errand_is_late(uint64_t *chance)
{
    return happens(chance, LATE) ? draw(chance) % MAX_LATE : 0;
}
