/* The failure detector: the test is the clock. */
#include "detector.h"
#include "out.h"
#include "unit.h"

enum { BEAT = 100, FIRST = 300, MAX = 2000, START = 5000 };

static detector new_detector(uint8_t me, uint8_t nodes)
{
    detector d;
    detector_start(&d, me, nodes, (detector_settings){BEAT, FIRST, MAX}, START);
    return d;
}

/* One that has heard of all at its start. */
static detector open_detector(uint8_t me, uint8_t nodes)
{
    detector d = new_detector(me, nodes);
    for (uint8_t i = 0; i < nodes; i++)
        if (i != me)
            detector_heard(&d, i, START);
    return d;
}

/*
 * When time alone changes something next. A node that is overdue, which is so only after a late
 * time, is looked at with the next beat.
 */
static uint64_t next_change(const detector *d)
{
    uint64_t deadline = d->next_beat;
    for (uint8_t i = 0; i < d->nodes; i++) {
        uint64_t end = d->heard[i] + d->timeout[i] + 1;
        if (d->suspected & wme_bit(i) || end <= d->heard[d->me])
            continue;
        if (end < deadline)
            deadline = end;
    }
    return deadline;
}

/* Tells it the time whenever that changes something, up to `end`; returns the beats. */
static uint32_t pass(detector *d, uint64_t end)
{
    uint32_t beats = 0;
    uint64_t now = 0;
    while (next_change(d) <= end) {
        assert_true(next_change(d) > now); /* it goes on */
        now = next_change(d);
        beats += detector_time(d, now).beat;
    }
    return beats;
}

static void test_beats(void **state)
{
    detector d = open_detector(0, 1);
    (void)state;
    assert_int_equal(next_change(&d), START);
    assert_true(detector_time(&d, START).beat);
    assert_false(detector_time(&d, START).beat);
    assert_false(detector_time(&d, START + BEAT - 1).beat);
    assert_int_equal(next_change(&d), START + BEAT);
    assert_int_equal(pass(&d, START + 10 * BEAT), 10);
    assert_int_equal(d.suspected, 0);                       /* never itself */
    assert_true(detector_time(&d, START + 90 * BEAT).beat); /* one for all that were missed */
    assert_int_equal(next_change(&d), START + 91 * BEAT);
}

static void test_completeness(void **state)
{
    detector d = open_detector(1, 3);
    (void)state;
    pass(&d, START + FIRST - BEAT / 2);
    detector_heard(&d, 2, START + FIRST - BEAT / 2);
    assert_int_equal(next_change(&d), START + FIRST);
    assert_false(detector_time(&d, START + FIRST).changed); /* not longer than its time-out */
    assert_int_equal(next_change(&d), START + FIRST + 1);
    assert_true(detector_time(&d, START + FIRST + 1).changed);
    assert_int_equal(d.suspected, 1U << 0);
    assert_false(detector_time(&d, START + FIRST + 2).changed); /* news once */
    for (uint64_t t = START + FIRST; t < START + 50 * MAX; t += BEAT) {
        detector_heard(&d, 2, t);
        pass(&d, t);
        assert_int_equal(d.suspected, 1U << 0);
    }
    assert_int_equal(d.wrong, 0);
}

/* A node that beats each `every`: how often it is suspected wrongly, in a long time. */
static uint64_t wrong_suspicions(uint64_t every)
{
    detector d = open_detector(0, 2);
    uint64_t calm = START + 500 * every, wrong = 0;
    for (uint64_t t = START; t < START + 1000 * every; t += every) {
        pass(&d, t);
        if (t == calm)
            wrong = d.wrong;
        bool suspected = d.suspected != 0;
        assert_int_equal(detector_heard(&d, 1, t), suspected);
        assert_int_equal(d.suspected, 0);
    }
    assert_int_equal(d.wrong, wrong); /* from some time on never again */
    assert_true(d.timeout[1] <= MAX);
    return d.wrong;
}

static void test_eventual_accuracy(void **state)
{
    (void)state;
    assert_int_equal(wrong_suspicions(BEAT), 0);
    assert_int_equal(wrong_suspicions(FIRST), 0);
    assert_int_equal(wrong_suspicions(FIRST + 1), 1);
    assert_int_equal(wrong_suspicions(460), 2); /* 300, 450, 675 */
    assert_int_equal(wrong_suspicions(MAX), 5); /* ..., 1012, 1518, 2000 */
}

static void test_time_out_has_a_limit(void **state)
{
    detector d = open_detector(0, 3);
    uint64_t t = START;
    (void)state;
    for (int i = 0; i < 20; i++, t += 2 * MAX) {
        pass(&d, t);
        detector_heard(&d, 1, t);
    }
    assert_int_equal(d.timeout[1], MAX);
    assert_int_equal(d.timeout[2], FIRST); /* each has its own */
    t -= 2 * MAX;
    detector_heard(&d, 2, t);
    pass(&d, t + FIRST * 3 / 2);
    assert_int_equal(d.suspected, 0);
    pass(&d, t + FIRST * 3 / 2 + 1);
    assert_int_equal(d.suspected, 1U << 2);
    pass(&d, t + MAX);
    assert_int_equal(d.suspected, 1U << 2);
    pass(&d, t + MAX + 1);
    assert_int_equal(d.suspected, 1U << 1 | 1U << 2);
}

static void test_clock_goes_back(void **state)
{
    detector d = open_detector(0, 2);
    uint64_t t = START + 2 * BEAT;
    (void)state;
    pass(&d, t);
    for (uint64_t back = 0; back < t; back += BEAT) {
        detector_news news = detector_time(&d, t - back);
        assert_false(news.beat || news.changed);
    }
    assert_int_equal(next_change(&d), t + BEAT);
    detector_heard(&d, 1, 0); /* which is at t */
    pass(&d, t + FIRST);
    assert_int_equal(d.suspected, 0);
    t += FIRST;
    detector_heard(&d, 1, t + BEAT); /* ahead of what it was told ... */
    detector_heard(&d, 1, t);
    assert_false(detector_time(&d, t).changed); /* ... and back again */
    pass(&d, t + BEAT + FIRST);
    assert_int_equal(d.suspected, 0);
    pass(&d, t + BEAT + FIRST + 1);
    assert_int_equal(d.suspected, 1U << 1);
}

static void test_pause(void **state)
{
    detector d = open_detector(0, 3);
    uint64_t t = START + MAX;
    (void)state;
    pass(&d, START);
    assert_false(detector_time(&d, t).changed); /* the others' messages may wait to be read */
    assert_int_equal(next_change(&d), t + BEAT);
    detector_heard(&d, 1, t);
    assert_true(detector_time(&d, t + BEAT).changed);
    assert_int_equal(d.suspected, 1U << 2);
    detector earlier = d;
    assert_false(detector_time(&earlier, t + MAX).changed);
    assert_true(detector_time(&d, t + MAX + 1).changed); /* however late: beyond the longest */
    assert_int_equal(d.suspected, 1U << 1 | 1U << 2);
    assert_true(detector_heard(&d, 1, t + MAX + 1));
    assert_int_equal(d.suspected, 1U << 2);
    assert_int_equal(d.wrong, 1);
}

static void test_has_just_started(void **state)
{
    detector d = new_detector(0, 3);
    (void)state;
    pass(&d, START + MAX - BEAT);
    assert_int_equal(d.suspected, 0); /* they may not have found it yet */
    detector_heard(&d, 1, START + MAX - BEAT);
    pass(&d, START + MAX + 1);
    assert_int_equal(d.suspected, 1U << 2); /* but not for ever */
    pass(&d, START + MAX - BEAT + FIRST + 1);
    assert_int_equal(d.suspected, 1U << 1 | 1U << 2);
    detector_heard(&d, 2, START + 2 * MAX);
    pass(&d, START + 2 * MAX + FIRST * 3 / 2);
    assert_int_equal(d.suspected, 1U << 1);
    pass(&d, START + 2 * MAX + FIRST * 3 / 2 + 1);
    assert_int_equal(d.suspected, 1U << 1 | 1U << 2);
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_beats, NULL, "beats, and never suspects itself");
    suite_add(&s, test_completeness, NULL, "who is silent for ever is suspected for ever");
    suite_add(&s, test_eventual_accuracy, NULL, "who is there is not, in the end");
    suite_add(&s, test_time_out_has_a_limit, NULL, "time-outs grow, each for itself, to a limit");
    suite_add(&s, test_clock_goes_back, NULL, "a clock that goes back stands still");
    suite_add(&s, test_pause, NULL, "who was paused itself suspects nobody for that");
    suite_add(&s, test_has_just_started, NULL, "who has just started waits for the others");
    return suite_run(&s, "detector");
}
