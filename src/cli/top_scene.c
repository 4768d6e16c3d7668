/*
 * From two looks to a scene: who holds, who waits in which order, who waits in vain.
 *
 * A look is no snapshot, so a circle of waits may be put together from moments that never were one.
 * It is believed only if all its cards said the same in both looks: whoever has held a lock all the
 * time has kept the others waiting all the time.
 */
#include "top_scene.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

double top_seconds_since(const top_look *look, uint64_t since_ns)
{
    if (since_ns == 0)
        return NAN;
    return look->ended_ns > since_ns ? (double)(look->ended_ns - since_ns) / 1e9 : 0;
}

static bool can_be(const top_look *look, const baton_seen *card)
{
    return card->doing == BATON_RESTS ||
           ((card->doing == BATON_WAITS || card->doing == BATON_HOLDS) && card->lock < look->locks);
}

/* Whether the card said the same in the earlier look, and that was long enough ago. */
static bool has_stayed(const top_look *earlier, const top_scene *scene, const baton_seen *card)
{
    if (scene->look->began_ns < earlier->ended_ns + TOP_APART_NS)
        return false;
    for (uint32_t i = 0; i < earlier->cards; i++) {
        const baton_seen *then = &earlier->card[i];
        if (then->card == card->card)
            return then->doing == card->doing && then->lock == card->lock &&
                   then->since_ns == card->since_ns && then->process == card->process &&
                   then->thread == card->thread;
    }
    return false;
}

/* ---- locks, holders, waiters ---- */

static double rate(const top_look *earlier, const top_look *later, uint32_t lock)
{
    if (lock >= earlier->locks || later->ended_ns <= earlier->ended_ns)
        return NAN;
    uint64_t then = earlier->lock[lock].passages;
    uint64_t now = later->lock[lock].passages;
    if (now < then) /* it is a new board */
        return NAN;
    return (double)(now - then) * 1e9 / (double)(later->ended_ns - earlier->ended_ns);
}

/* Of two holders the later one is: the other's card was read before it said that it had left. */
static void sees_holder(top_lock *lock, const baton_seen *card)
{
    if (lock->holder == NULL || card->since_ns > lock->holder->since_ns)
        lock->holder = card;
}

static int by_lock_and_since(const void *a, const void *b)
{
    const baton_seen *one = *(const baton_seen *const *)a;
    const baton_seen *other = *(const baton_seen *const *)b;
    if (one->lock != other->lock)
        return one->lock < other->lock ? -1 : 1;
    if (one->since_ns != other->since_ns)
        return one->since_ns < other->since_ns ? -1 : 1;
    return one->card < other->card ? -1 : 1; /* each is there once */
}

/* Returns how many wait, whatever for. */
static uint32_t place_cards(top_scene *scene)
{
    uint32_t waiters = 0;
    const top_look *look = scene->look;
    for (uint32_t i = 0; i < look->cards; i++) {
        const baton_seen *card = &look->card[i];
        if (!can_be(look, card))
            continue;
        scene->cards++;
        if (card->dead)
            scene->dead[scene->dead_cards++] = card;
        if (card->doing == BATON_HOLDS)
            sees_holder(&scene->lock[card->lock], card);
        else if (card->doing == BATON_WAITS)
            scene->waiter[waiters++] = card;
    }
    qsort(scene->waiter, waiters, sizeof(const baton_seen *), by_lock_and_since);
    for (uint32_t i = waiters; i-- > 0;) {
        top_lock *lock = &scene->lock[scene->waiter[i]->lock];
        lock->waiter = &scene->waiter[i]; /* in the end the first */
        lock->waiters++;
    }
    return waiters;
}

/* ---- waiting in vain ---- */

/*
 * A dead holder's card stays even if its lock has been made anew; so those who wait must have been
 * there all the time, and nobody have passed.
 */
static void find_stuck(const top_look *earlier, top_scene *scene, uint32_t number)
{
    top_lock *lock = &scene->lock[number];
    if (lock->holder == NULL || !lock->holder->dead || number >= earlier->locks ||
        earlier->lock[number].passages != lock->seen->passages ||
        !has_stayed(earlier, scene, lock->holder))
        return;
    for (uint32_t i = 0; i < lock->waiters; i++)
        if (!lock->waiter[i]->dead && has_stayed(earlier, scene, lock->waiter[i]))
            lock->stuck++;
}

/* The place in scene->waiter[] of the one for whom this one waits, if that waits too; or `none`. */
static uint32_t next_waiter(const top_scene *scene, uint32_t waiters, uint32_t at)
{
    const baton_seen *holder = scene->lock[scene->waiter[at]->lock].holder;
    if (holder == NULL || holder->dead)
        return waiters;
    for (uint32_t i = 0; i < waiters; i++) {
        const baton_seen *card = scene->waiter[i];
        if (!card->dead && card->process == holder->process && card->thread == holder->thread)
            return i;
    }
    return waiters;
}

/* The steps of a circle that have been written down begin with the lowest thread. */
static void turn_to_lowest(top_step *step, uint32_t steps)
{
    top_step copy[BATON_MAX_ON_BOARD];
    uint32_t lowest = 0;
    for (uint32_t i = 0; i < steps; i++) {
        const baton_seen *a = step[i].who;
        const baton_seen *b = step[lowest].who;
        if (a->process < b->process || (a->process == b->process && a->thread < b->thread))
            lowest = i;
        copy[i] = step[i];
    }
    for (uint32_t i = 0; i < steps; i++)
        step[i] = copy[(lowest + i) % steps];
}

/* Adds the circle through scene->waiter[start], if it can be believed. */
static void add_circle(const top_look *earlier, top_scene *scene, const uint32_t *next,
                       uint32_t start, uint32_t *used)
{
    top_step *step = &scene->step[*used];
    uint32_t steps = 0;
    uint32_t at = start;
    do {
        const baton_seen *who = scene->waiter[at];
        const top_lock *wanted = &scene->lock[who->lock];
        if (!has_stayed(earlier, scene, who) || !has_stayed(earlier, scene, wanted->holder))
            return;
        assert(*used + steps < BATON_MAX_ON_BOARD);
        step[steps].who = who;
        step[steps].waits_for = wanted->seen;
        at = next[at];
        steps++;
    } while (at != start);
    for (uint32_t i = 0; i < steps; i++)
        step[(i + 1) % steps].holds = step[i].waits_for;
    turn_to_lowest(step, steps);
    scene->deadlock[scene->deadlocks++] = (top_deadlock){step, steps};
    *used += steps;
}

/* From each who waits to the next, and on; who comes to where it has been has gone in a circle. */
static void find_deadlocks(const top_look *earlier, top_scene *scene, uint32_t waiters)
{
    uint32_t next[BATON_MAX_ON_BOARD];
    uint32_t walk_of[BATON_MAX_ON_BOARD] = {0}; /* in which walk it was visited, from 1 */
    uint32_t used = 0;
    for (uint32_t i = 0; i < waiters; i++)
        next[i] = scene->waiter[i]->dead ? waiters : next_waiter(scene, waiters, i);
    for (uint32_t i = 0; i < waiters; i++) {
        uint32_t at = i;
        while (at < waiters && walk_of[at] == 0) {
            walk_of[at] = i + 1;
            at = next[at];
        }
        if (at < waiters && walk_of[at] == i + 1)
            add_circle(earlier, scene, next, at, &used);
    }
}

/* ---- all of it ---- */

static int busiest_first(const void *a, const void *b)
{
    const top_lock *one = a;
    const top_lock *other = b;
    double one_rate = isnan(one->per_s) ? 0 : one->per_s;
    double other_rate = isnan(other->per_s) ? 0 : other->per_s;
    if (one->waiters != other->waiters)
        return one->waiters > other->waiters ? -1 : 1;
    if (one_rate > other_rate || one_rate < other_rate)
        return one_rate > other_rate ? -1 : 1;
    if ((one->holder != NULL) != (other->holder != NULL))
        return one->holder != NULL ? -1 : 1;
    return (one->seen > other->seen) - (one->seen < other->seen);
}

void top_scene_make(const top_look *earlier, const top_look *later, top_scene *scene)
{
    assert(later->cards <= BATON_MAX_ON_BOARD && later->locks <= BATON_MAX_LOCKS_ON_BOARD);
    scene->look = later;
    scene->participants = later->participants;
    scene->cards = 0;
    scene->dead_cards = 0;
    scene->locks = later->locks;
    scene->deadlocks = 0;
    for (uint32_t i = 0; i < later->locks; i++)
        scene->lock[i] = (top_lock){.seen = &later->lock[i], .per_s = rate(earlier, later, i)};
    uint32_t waiters = place_cards(scene);
    for (uint32_t i = 0; i < later->locks; i++)
        find_stuck(earlier, scene, i);
    find_deadlocks(earlier, scene, waiters); /* while a lock still lies under its number */
    qsort(scene->lock, scene->locks, sizeof scene->lock[0], busiest_first);
}
