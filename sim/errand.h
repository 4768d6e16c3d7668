/*
 * Consensus outside of the cluster, for simulators: a register for each lock, that never fails
 * itself, and the way to it and back, on which all goes wrong that can, in good weather too:
 * questions and answers are lost, come twice, and come when nobody thinks of them any more.
 */
#ifndef BATON_SIM_ERRAND_H
#define BATON_SIM_ERRAND_H

#include "outside.h"
#include "wme.h"

#include <stdbool.h>
#include <stdint.h>

/* Of consensus/outside.h. */
typedef struct outside_register {
    uint64_t values;
    wme_record value; /* the last */
} outside_register;

/* What it makes of a proposal. If that says OUTSIDE_MINE or _THIS, its value is the answer. */
outside_verdict register_hears(outside_register *at, const wme_record *proposal);
void register_free(outside_register *at);

/* Of one question or answer on its way, by chance. */
bool errand_is_lost(uint64_t *chance);
bool errand_comes_twice(uint64_t *chance);
uint64_t errand_is_late(uint64_t *chance); /* us; mostly 0 */

#endif
