/* Durations, counted between bounds. Most of what is counted is short, so the search is, too. */
#include "durations.h"

const uint64_t duration_bound[DURATION_BOUNDS] = {
    1, 5, 10, 50, 100, 500, 1000, 5000, 10000, 60000, 300000, 3600000, 86400000};

void durations_add(durations *to, uint64_t ms)
{
    uint32_t at = 0;
    while (at < DURATION_BOUNDS && ms > duration_bound[at])
        at++;
    to->count[at]++;
    to->total += ms;
}

void durations_join(durations *to, const durations *more)
{
    for (uint32_t i = 0; i <= DURATION_BOUNDS; i++)
        to->count[i] += more->count[i];
    to->total += more->total;
}
