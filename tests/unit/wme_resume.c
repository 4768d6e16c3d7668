/* A section that goes on at another node, after its own has died, if nobody was inside since. */
#include "wme_tests.h"

/* User 0 of node 0 is inside, and then node 0 is dead. Returns its token. */
static uint64_t enter_and_crash(scene *w)
{
    if (scene_told(w, 0, 0)[0] == '\0')
        scene_try(w, 0, 0);
    assert_int_equal(scene_told(w, 0, 0)[0], 'C');
    uint64_t token = scene_user_at(w, 0, 0)->token;
    scene_crash(w, 0);
    return token;
}

static void suspect_0(scene *w)
{
    for (uint8_t i = 1; i < w->nodes; i++)
        if (w->node[i].up)
            scene_suspect(w, i, 0);
    scene_settle(w);
}

static void test_resume(void **state)
{
    const uint8_t *nodes = *state;
    for (uint8_t at = 1; at < *nodes; at++) {
        scene *w = scene_open(*nodes, false);
        uint64_t token = enter_and_crash(w);
        scene_resume(w, at, 0, token);
        scene_settle(w);
        assert_string_equal(scene_told(w, at, 0), ""); /* it may live, for all that is known */
        suspect_0(w);
        assert_string_equal(scene_told(w, at, 0), "C");
        assert_true(scene_user_at(w, at, 0)->token > token);
        scene_issue(w, at, 0);
        scene_settle(w);
        scene_exit(w, at, 0);
        assert_string_equal(scene_told(w, at, 0), "COR");
        scene_close(w);
    }
}

/* Whoever waits elsewhere, before or behind it: the token goes to who was inside. */
static void test_before_others(void **state)
{
    const uint8_t *nodes = *state;
    for (uint8_t at = 1; at < *nodes; at++) {
        scene *w = scene_open(*nodes, false);
        for (uint8_t i = 1; i < *nodes; i++)
            scene_try(w, i, 1);
        uint64_t token = enter_and_crash(w);
        scene_settle(w); /* all know who asks */
        scene_resume(w, at, 0, token);
        for (uint8_t i = 1; i < *nodes; i++)
            scene_suspect(w, i, 0);
        scene_deliver_every(w, WME_NEWEP, at, ANY); /* it is among those who are gathered */
        scene_settle(w);
        assert_string_equal(scene_told(w, at, 0), "C");
        for (uint8_t i = 1; i < *nodes; i++)
            assert_string_equal(scene_told(w, i, 1), "");
        scene_exit(w, at, 0);
        scene_settle(w);
        uint32_t inside = 0;
        for (uint8_t i = 1; i < *nodes; i++)
            inside += scene_told(w, i, 1)[0] == 'C';
        assert_int_equal(inside, 1);
        scene_close(w);
    }
}

/* Its own node does not suspect anybody yet: it is chosen all the same. */
static void test_chosen_by_another(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 1, 1);
    uint64_t token = enter_and_crash(w);
    scene_resume(w, 2, 0, token);
    scene_settle(w);
    scene_suspect(w, 1, 0);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 2)->now.epoch, 2);
    assert_string_equal(scene_told(w, 2, 0), "C");
    assert_string_equal(scene_told(w, 1, 1), "");
    scene_close(w);
}

/* And is enough, though who proposes does not suspect the owner: one epoch must do. */
static void test_one_suspects(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    uint64_t token = enter_and_crash(w);
    scene_resume(w, 2, 0, token);
    scene_settle(w);
    scene_suspect(w, 2, 0);
    scene_deliver(w, WME_NEWEP, 2, 1);
    scene_drop(w, WME_NEWEP, 1, 2); /* only 1 hears a majority */
    scene_settle(w);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 2);
    assert_string_equal(scene_told(w, 2, 0), "C");
    scene_close(w);
}

/* Whoever lives keeps the token: it is not given away for somebody who wants to resume. */
static void test_owner_lives(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_resume(w, 2, 0, scene_user_at(w, 0, 0)->token);
    scene_settle(w);
    scene_crash(w, 1);
    scene_restart(w, 1); /* an epoch change in which nobody is suspected */
    scene_deliver(w, WME_NEWEP, 1, 2);
    scene_deliver_every(w, WME_NEWEP, 2, ANY); /* all hear of it */
    scene_settle(w);
    assert_int_equal(scene_stub(w, 0)->now.epoch, 2);
    assert_string_equal(scene_told(w, 0, 0), "C");
    assert_string_equal(scene_told(w, 2, 0), "");
    scene_exit(w, 0, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 2, 0), "E"); /* it was another stay, in another epoch */
    scene_close(w);
}

/* Where it waits is suspected, too. */
static void test_dead_again(void **state)
{
    scene *w = scene_open(5, false);
    (void)state;
    uint64_t token = enter_and_crash(w);
    scene_resume(w, 2, 0, token);
    for (uint8_t i = 1; i < 5; i++)
        scene_suspect(w, i, 0);
    for (uint8_t i = 1; i < 5; i++)
        if (i != 2)
            scene_deliver(w, WME_NEWEP, 2, i);
    scene_crash(w, 2);
    for (uint8_t i = 1; i < 5; i++)
        if (i != 2)
            scene_suspect(w, i, 2);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 2); /* one change is enough */
    scene_resume(w, 1, 0, token);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_close(w);
}

/* Somebody was inside since: at the same node, or another. */
static void test_late(void **state)
{
    for (uint8_t at = 1; at < 3; at++) {
        scene *w = scene_open(3, false);
        (void)state;
        uint64_t token = enter_and_crash(w);
        scene_try(w, 1, 1);
        suspect_0(w);
        assert_string_equal(scene_told(w, 1, 1), "C");
        scene_resume(w, at, 0, token);
        scene_try(w, at, 2);
        scene_settle(w);
        assert_string_equal(scene_told(w, at, 0), at == 1 ? "E" : ""); /* who sees it says so */
        scene_exit(w, 1, 1);
        scene_settle(w);
        assert_string_equal(scene_told(w, at, 0), "E");
        assert_string_equal(scene_told(w, at, 2), "C"); /* it was in nobody's way */
        scene_close(w);
    }
}

/* Who was inside in the epoch in between is not known. */
static void test_two_epochs(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    uint64_t token = enter_and_crash(w);
    suspect_0(w);
    scene_crash(w, 2);
    scene_restart(w, 2);
    scene_suspect(w, 2, 0);
    scene_settle(w);
    assert_int_equal(scene_stub(w, 1)->now.epoch, 3);
    scene_resume(w, 1, 0, token);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "E");
    scene_close(w);
}

/* The same, and it comes later still: whoever is inside now, it is told at once. */
static void test_long_gone(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    uint64_t token = scene_user_at(w, 0, 0)->token;
    scene_leave(w, 0, 0);
    scene_try(w, 1, 1);
    scene_settle(w);
    scene_exit(w, 1, 1);
    scene_try(w, 2, 2);
    scene_settle(w);
    assert_string_equal(scene_told(w, 2, 2), "C");
    for (uint8_t at = 0; at < 3; at++) {
        scene_resume(w, at, 0, token);
        assert_string_equal(scene_told(w, at, 0), "E");
    }
    scene_close(w);
}

/* Its node has told others of it: that somebody is inside there says nothing against it. */
static void test_told_of(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_issue(w, 0, 0);
    scene_drop(w, ANY, 0, 1);
    scene_settle(w);
    scene_tick(w, 1);
    scene_settle(w); /* by its STATE, in which this stay is counted */
    assert_int_equal(scene_stub(w, 1)->now.entry, 1);
    uint64_t token = enter_and_crash(w);
    scene_resume(w, 1, 0, token);
    suspect_0(w);
    assert_string_equal(scene_told(w, 1, 0), "C");
    scene_close(w);
}

/* Its node has let it go, in the same epoch: then others may have been inside there. */
static void test_let_go(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    scene_resume(w, 1, 0, scene_user_at(w, 0, 0)->token);
    scene_try(w, 1, 1);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "");
    scene_leave(w, 0, 0);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "E");
    assert_string_equal(scene_told(w, 1, 1), "C");
    scene_close(w);
}

/* Taken away by force while it cannot hear of it: the next enters in another epoch. */
static void test_revoked(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    uint64_t token = scene_user_at(w, 0, 0)->token;
    scene_try(w, 0, 1);
    scene_revoke(w, 0, 0);
    assert_string_equal(scene_told(w, 0, 1), ""); /* it waits for the others */
    scene_settle(w);
    assert_string_equal(scene_told(w, 0, 1), "C");
    scene_crash(w, 0);
    scene_resume(w, 1, 0, token);
    suspect_0(w);
    assert_string_equal(scene_told(w, 1, 0), "E");
    scene_close(w);
}

static void test_once(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    uint64_t token = enter_and_crash(w);
    assert_int_equal(scene_resume(w, 1, 0, token), WME_FINE);
    assert_int_equal(scene_resume(w, 1, 0, token), WME_TWICE);
    assert_int_equal(scene_try(w, 1, 0), WME_TWICE);
    scene_resume(w, 1, 1, token);
    scene_resume(w, 2, 2, token);
    suspect_0(w);
    assert_string_equal(scene_told(w, 1, 0), "");
    assert_string_equal(scene_told(w, 1, 1), "C"); /* the last of them is the first */
    scene_exit(w, 1, 1);
    scene_settle(w);
    assert_string_equal(scene_told(w, 1, 0), "E");
    assert_string_equal(scene_told(w, 2, 2), "E");
    scene_try(w, 2, 2); /* as anybody else */
    scene_settle(w);
    assert_string_equal(scene_told(w, 2, 2), "EC");
    scene_close(w);
}

/* However many come, a step has an end. */
static void test_many(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    uint64_t token = scene_user_at(w, 0, 0)->token;
    for (uint8_t i = 0; i < WME_MAX_RESUMING; i++)
        scene_resume(w, 1, i, token);
    scene_resume(w, 1, WME_MAX_RESUMING, token);
    assert_string_equal(scene_told(w, 1, WME_MAX_RESUMING), "E");
    scene_try(w, 1, WME_MAX_RESUMING);
    scene_exit(w, 0, 0);
    scene_settle(w);
    for (uint8_t i = 0; i < WME_MAX_RESUMING; i++)
        assert_string_equal(scene_told(w, 1, i), "E");
    assert_string_equal(scene_told(w, 1, WME_MAX_RESUMING), "EC");
    scene_close(w);
}

/* The owner stays the same in an epoch change: who is inside there can resume from the new one. */
static void test_kept(void **state)
{
    const bool *knows = *state;
    scene *w = scene_open(3, false);
    scene_try(w, 0, 0);
    uint64_t first = scene_user_at(w, 0, 0)->token;
    scene_crash(w, 2);
    scene_restart(w, 2);
    scene_settle(w);
    uint64_t token = scene_user_at(w, 0, 0)->token;
    assert_int_equal(scene_stub(w, 0)->now.epoch, 2);
    assert_string_equal(scene_told(w, 0, 0), "C");
    assert_true(token > first);
    scene_crash(w, 0);
    scene_resume(w, 1, 0, *knows ? token : first);
    suspect_0(w);
    assert_string_equal(scene_told(w, 1, 0), *knows ? "C" : "E");
    scene_close(w);
}

/* The same while it waits for an outcome; that comes later, once. */
static void test_kept_issuing(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_try(w, 0, 0);
    uint64_t first = scene_user_at(w, 0, 0)->token;
    scene_crash(w, 2);
    scene_restart(w, 2);
    scene_deliver_every(w, WME_NEWEP, 2, 0); /* blocked */
    scene_issue(w, 0, 0);
    assert_true(scene_user_at(w, 0, 0)->token == first);
    scene_settle(w);
    assert_true(scene_user_at(w, 0, 0)->token > first);
    assert_string_equal(scene_told(w, 0, 0), "CO");
    scene_exit(w, 0, 0);
    scene_try(w, 0, 1);
    assert_true(scene_user_at(w, 0, 1)->token > scene_user_at(w, 0, 0)->token);
    scene_close(w);
}

/* Its node was only away for a moment. */
static void test_restarted(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    uint64_t token = enter_and_crash(w);
    scene_restart(w, 0);
    scene_resume(w, 0, 0, token);
    scene_settle(w);
    assert_string_equal(scene_told(w, 0, 0), "C");
    scene_close(w);
}

/* A node that sees no majority does not know who was inside. */
static void test_suspended(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_suspect(w, 0, 1);
    scene_suspect(w, 0, 2);
    scene_resume(w, 0, 0, 2ULL << WME_ENTRY_BITS | 1); /* of an epoch that it has missed */
    assert_string_equal(scene_told(w, 0, 0), "");
    scene_trust(w, 0, 1);
    assert_string_equal(scene_told(w, 0, 0), "E");
    scene_close(w);
}

/* Before the first epoch nobody was inside. */
static void test_no_token(void **state)
{
    scene *w = scene_open(3, false);
    (void)state;
    scene_resume(w, 0, 0, 1);
    assert_string_equal(scene_told(w, 0, 0), "E");
    scene_close(w);
}

void wme_resume_tests(suite *s)
{
    static const uint8_t sizes[] = {3, 5};
    static const bool yes = true, no = false;
    for (size_t i = 0; i < sizeof sizes; i++) {
        suite_add(s, test_resume, &sizes[i], "resume, %u nodes: at any of them", sizes[i]);
        suite_add(s, test_before_others, &sizes[i], "resume, %u nodes: before others", sizes[i]);
    }
    suite_add(s, test_chosen_by_another, NULL, "resume: chosen by who suspects");
    suite_add(s, test_one_suspects, NULL, "resume: chosen by who does not suspect");
    suite_add(s, test_owner_lives, NULL, "resume: not while the owner lives");
    suite_add(s, test_dead_again, NULL, "resume: where it first came is dead, too");
    suite_add(s, test_late, NULL, "resume: not after another was inside");
    suite_add(s, test_two_epochs, NULL, "resume: not two epochs later");
    suite_add(s, test_let_go, NULL, "resume: not if it was let go");
    suite_add(s, test_long_gone, NULL, "resume: what is long over, at once");
    suite_add(s, test_told_of, NULL, "resume: others know that it was inside");
    suite_add(s, test_revoked, NULL, "resume: not if it was taken away");
    suite_add(s, test_once, NULL, "resume: once");
    suite_add(s, test_many, NULL, "resume: many come, and none may");
    suite_add(s, test_kept, &yes, "resume: from the last epoch that its node was in");
    suite_add(s, test_kept, &no, "resume: not from the one before");
    suite_add(s, test_kept_issuing, NULL, "resume: kept while it waits for an outcome");
    suite_add(s, test_restarted, NULL, "resume: at a node that has restarted");
    suite_add(s, test_no_token, NULL, "resume: not what nobody has begun");
    suite_add(s, test_suspended, NULL, "resume: no answer from a minority");
}
