/* The failure detector: the test is the clock. */
#include "../../src/wme/detector.h"
#include "unit.h"

enum { BEAT = 100, FIRST = 300, MOST = 2000, START = 5000 };

static detector open_detector(uint8_t me, uint8_t nodes)
{
    detector d;
    detector_start(&d, me, nodes, (detector_settings){BEAT, FIRST, MOST}, START);
    return d;
}

/* Tells it the time whenever it wants, up to `end`; returns the beats. */
static uint32_t pass(detector *d, uint64_t end)
{
    uint32_t beats = 0;
    uint64_t now = 0;
    while (detector_deadline(d) <= end) {
        assert_true(detector_deadline(d) > now); /* it does not ask for the same time for ever */
        now = detector_deadline(d);
        beats += detector_time(d, now).beat;
    }
    return beats;
}

static void test_beats(void **state)
{
    detector d = open_detector(0, 1);
    (void)state;
    assert_int_equal(detector_deadline(&d), START);
    assert_true(detector_time(&d, START).beat);
    assert_false(detector_time(&d, START).beat);
    assert_false(detector_time(&d, START + BEAT - 1).beat);
    assert_int_equal(detector_deadline(&d), START + BEAT);
    assert_int_equal(pass(&d, START + 10 * BEAT), 10);
    assert_int_equal(d.suspected, 0);                       /* never itself */
    assert_true(detector_time(&d, START + 90 * BEAT).beat); /* one for all that were missed */
    assert_int_equal(detector_deadline(&d), START + 91 * BEAT);
}

static void test_completeness(void **state)
{
    detector d = open_detector(1, 3);
    (void)state;
    pass(&d, START + FIRST - BEAT / 2);
    detector_heard(&d, 2, START + FIRST - BEAT / 2);
    assert_int_equal(detector_deadline(&d), START + FIRST);
    assert_false(detector_time(&d, START + FIRST).changed); /* not longer than its time-out */
    assert_int_equal(detector_deadline(&d), START + FIRST + 1);
    assert_true(detector_time(&d, START + FIRST + 1).changed);
    assert_int_equal(d.suspected, 1U << 0);
    assert_false(detector_time(&d, START + FIRST + 2).changed); /* news once */
    for (uint64_t t = START + FIRST; t < START + 50 * MOST; t += BEAT) {
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
    assert_true(d.timeout[1] <= MOST);
    return d.wrong;
}

static void test_eventual_accuracy(void **state)
{
    (void)state;
    assert_int_equal(wrong_suspicions(BEAT), 0);
    assert_int_equal(wrong_suspicions(FIRST), 0);
    assert_int_equal(wrong_suspicions(FIRST + 1), 1);
    assert_int_equal(wrong_suspicions(460), 2);  /* 300, 450, 675 */
    assert_int_equal(wrong_suspicions(MOST), 5); /* ..., 1012, 1518, 2000 */
}

static void test_time_out_has_a_limit(void **state)
{
    detector d = open_detector(0, 3);
    uint64_t t = START;
    (void)state;
    for (int i = 0; i < 20; i++, t += 2 * MOST) {
        pass(&d, t);
        detector_heard(&d, 1, t);
    }
    assert_int_equal(d.timeout[1], MOST);
    assert_int_equal(d.timeout[2], FIRST); /* each has its own */
    t -= 2 * MOST;
    detector_heard(&d, 2, t);
    pass(&d, t + FIRST * 3 / 2);
    assert_int_equal(d.suspected, 0);
    pass(&d, t + FIRST * 3 / 2 + 1);
    assert_int_equal(d.suspected, 1U << 2);
    pass(&d, t + MOST);
    assert_int_equal(d.suspected, 1U << 2);
    pass(&d, t + MOST + 1);
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
    assert_int_equal(detector_deadline(&d), t + BEAT);
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
    uint64_t t = START + MOST;
    (void)state;
    pass(&d, START);
    assert_false(detector_time(&d, t).changed); /* the others' messages may wait to be read */
    assert_int_equal(detector_deadline(&d), t + BEAT);
    detector_heard(&d, 1, t);
    assert_true(detector_time(&d, t + BEAT).changed);
    assert_int_equal(d.suspected, 1U << 2);
    detector earlier = d;
    assert_false(detector_time(&earlier, t + MOST).changed);
    assert_true(detector_time(&d, t + MOST + 1).changed); /* however late: beyond the longest */
    assert_int_equal(d.suspected, 1U << 1 | 1U << 2);
    assert_true(detector_heard(&d, 1, t + MOST + 1));
    assert_int_equal(d.suspected, 1U << 2);
    assert_int_equal(d.wrong, 1);
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
    return suite_run(&s, "detector");
}
