/*
 * Failure detector by heartbeats. The own place in `heard` has the latest time that it was told, so
 * that the clock never goes back and it is never silent to itself.
 *
 * Who was paused itself has heard nobody in the meantime: what was sent is still on its way to it.
 * So a time that comes late is no reason to suspect anybody who may, with the longest time-out, be
 * there; the next one is.
 */
#include "detector.h"

#include "out.h"

#include <assert.h>

/* Beats between two times that were told, from which on the later one is late. */
enum { LATE = 2 };

static uint64_t forward(const detector *d, uint64_t now)
{
    return now > d->heard[d->me] ? now : d->heard[d->me];
}

/* `heard` may be ahead of a clock that went back before it was told. */
static uint64_t silence(const detector *d, uint8_t node, uint64_t now)
{
    return now > d->heard[node] ? now - d->heard[node] : 0;
}

void detector_start(detector *d, uint8_t me, uint8_t nodes, detector_settings settings,
                    uint64_t now)
{
    assert(me < nodes && nodes <= WME_MAX_NODES);
    assert(settings.beat > 0 && settings.first_timeout / 2 >= settings.beat);
    assert(settings.max_timeout >= settings.first_timeout);
    assert(settings.max_timeout < UINT64_MAX / 4);
    *d = (detector){.settings = settings, .me = me, .nodes = nodes, .next_beat = now};
    for (uint8_t i = 0; i < nodes; i++) {
        d->heard[i] = now;
        d->timeout[i] = settings.max_timeout;
    }
}

bool detector_heard(detector *d, uint8_t from, uint64_t now)
{
    assert(from < d->nodes && from != d->me);
    if (forward(d, now) > d->heard[from])
        d->heard[from] = forward(d, now);
    if (!(d->met & wme_bit(from)))
        d->timeout[from] = d->settings.first_timeout;
    d->met |= wme_bit(from);
    if (!(d->suspected & wme_bit(from)))
        return false;
    d->suspected &= (uint16_t)~wme_bit(from);
    d->wrong++;
    d->timeout[from] += d->timeout[from] / 2;
    if (d->timeout[from] > d->settings.max_timeout)
        d->timeout[from] = d->settings.max_timeout;
    return true;
}

detector_news detector_time(detector *d, uint64_t now)
{
    detector_news news = {0};
    now = forward(d, now);
    bool late = silence(d, d->me, now) > LATE * d->settings.beat;
    d->heard[d->me] = now;
    if (now >= d->next_beat) {
        news.beat = true;
        d->next_beat = now + d->settings.beat;
    }
    for (uint8_t i = 0; i < d->nodes; i++) {
        uint64_t allowed = late ? d->settings.max_timeout : d->timeout[i];
        if (d->suspected & wme_bit(i) || silence(d, i, now) <= allowed)
            continue;
        d->suspected |= wme_bit(i);
        news.changed = true;
    }
    return news;
}
