/*
 * Remote references of the watched process: what its caches would hold, and what it pays. Three
 * ways to count, see docs/check.md.
 */
#include "meter.h"

static uint32_t watched; /* from 1; 0: nobody */

void meter_begin(uint32_t process)
{
    watched = process;
}

enum { VALID = 1, MINE = 2, EXCLUSIVE = 4 };

static void charge(uint8_t *counter, bool remote)
{
    if (remote && *counter < METER_FULL)
        ++*counter;
}

void meter_access(config *c, uint32_t p, const point *at, bool writes)
{
    uint8_t *line = &c->meter.cached[at->reg];
    if (p + 1 != watched) {
        *line = writes ? 0 : (uint8_t)(*line & ~EXCLUSIVE);
        return;
    }
    bool home = register_at(at->reg)->home == p + 1;
    charge(&c->meter.thesis, writes ? !(*line & MINE) : !(*line & (VALID | MINE)));
    charge(&c->meter.standard, writes ? !(*line & EXCLUSIVE) : !(*line & VALID));
    if (at->await == 0) /* looks at a condition are charged when the look succeeds */
        charge(&c->meter.dsm, !home);
    *line = writes ? VALID | MINE | EXCLUSIVE : *line | VALID;
}

/* A look has come to its end: where was it, and was it local? */
void meter_look(config *c, uint32_t p, const point *last, bool passed, figures *f)
{
    if (p + 1 != watched)
        return;
    for (const point *q = last; q->act != ACT_AWAIT; q = point_at(q->parent)) {
        if (q->await == 0 || register_at(q->reg)->home == p + 1)
            continue;
        if (passed)
            charge(&c->meter.dsm, true);
        else
            f->dsm = UNBOUNDED; /* it looks again and again from afar */
    }
}

void meter_passage_over(config *c, uint32_t p, figures *f)
{
    if (p + 1 != watched)
        return;
    f->thesis = c->meter.thesis > f->thesis ? c->meter.thesis : f->thesis;
    f->standard = c->meter.standard > f->standard ? c->meter.standard : f->standard;
    f->dsm = c->meter.dsm > f->dsm ? c->meter.dsm : f->dsm;
    c->meter.thesis = c->meter.standard = c->meter.dsm = 0;
}
