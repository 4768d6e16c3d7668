/*
 * Whether a node is new, or has forgotten, or has old data: scenes, and the worlds of
 * boot_worlds.c.
 */
#include "boot_worlds.h"

static boot_check some(uint8_t nodes, boot_state state, bool forgets)
{
    boot_check m;
    boot_start(&m, 0, nodes, &(boot_durable){.state = state, .boot = 7}, forgets, 6, 99);
    return m;
}

static boot_message answer(uint8_t from, boot_state state, bool other)
{
    return (boot_message){
        .nonce = 99, .boot = 10U + from, .state = state, .other = other, .known = 1};
}

static void hear_from(boot_check *m, uint8_t from, boot_state state, bool other)
{
    boot_message what = answer(from, state, other);
    boot_message back;
    boot_hear(m, from, &what, &back);
}

static void test_alone(void **state)
{
    (void)state;
    assert_int_equal(some(1, BOOT_NEW, false).durable.state, BOOT_SETTLED);
    boot_check m = some(1, BOOT_SETTLED, true);
    assert_int_equal(m.durable.state, BOOT_FORGETFUL);
    assert_true(boot_is_lost(&m));
}

static void test_all_are_new(void **state)
{
    boot_check m = some(3, BOOT_NEW, false);
    (void)state;
    hear_from(&m, 1, BOOT_NEW, false);
    assert_int_equal(m.durable.state, BOOT_NEW);
    assert_int_equal(boot_missing(&m), 1 << 2);
    hear_from(&m, 2, BOOT_NEW, false);
    assert_int_equal(m.durable.state, BOOT_SETTLED);
    assert_int_equal(m.durable.heard[1], 11);
    assert_int_equal(m.durable.heard[2], 12);
}

static void test_enough_are_settled(void **state)
{
    boot_check m = some(5, BOOT_NEW, false);
    (void)state;
    for (uint8_t i = 1; i < 4; i++) {
        assert_int_equal(m.durable.state, BOOT_NEW);
        hear_from(&m, i, BOOT_SETTLED, false);
    }
    assert_int_equal(m.durable.state, BOOT_SETTLED);
    boot_message question;
    assert_int_equal(boot_tick(&m, &question), 1 << 4); /* whom it does not know yet */
}

/* Nobody that has itself forgotten is a witness. */
static void test_forgetful_witness(void **state)
{
    boot_check m = some(3, BOOT_NEW, false);
    (void)state;
    hear_from(&m, 1, BOOT_FORGETFUL, false);
    hear_from(&m, 2, BOOT_SETTLED, false);
    assert_int_equal(m.durable.state, BOOT_NEW);
    hear_from(&m, 1, BOOT_SETTLED, false);
    assert_int_equal(m.durable.state, BOOT_SETTLED);
}

static void test_known(void **state)
{
    boot_check m = some(3, BOOT_NEW, false);
    (void)state;
    hear_from(&m, 1, BOOT_SETTLED, true);
    assert_int_equal(m.durable.state, BOOT_FORGETFUL);
    hear_from(&m, 2, BOOT_SETTLED, false);
    assert_int_equal(m.durable.state, BOOT_FORGETFUL);
    assert_int_equal(boot_unlisted(&m), 6);
    boot_listed(&m, 1);
    assert_false(boot_rejoined(&m));
    assert_int_equal(boot_missing(&m), 1 << 2);
    boot_listed(&m, 2);
    assert_false(boot_rejoined(&m)); /* one has not heard yet who it is now */
    hear_from(&m, 1, BOOT_SETTLED, false);
    assert_true(boot_rejoined(&m));
    assert_int_equal(m.durable.state, BOOT_SETTLED);
    hear_from(&m, 1, BOOT_SETTLED, true); /* about its life before, and late */
    assert_false(m.durable.outdated);
    boot_message what = answer(1, BOOT_SETTLED, true);
    boot_message back;
    what.known = m.durable.life;
    boot_hear(&m, 1, &what, &back); /* another directory was used since */
    assert_int_equal(m.durable.state, BOOT_SETTLED);
    assert_true(m.durable.outdated);
}

static void test_answer_of_an_earlier_run(void **state)
{
    boot_check m = some(2, BOOT_NEW, false);
    (void)state;
    boot_message what = answer(1, BOOT_SETTLED, false);
    boot_message back;
    what.nonce = 98;
    assert_true(boot_hear(&m, 1, &what, &back)); /* but its boot id is written down */
    assert_int_equal(m.durable.state, BOOT_NEW);
}

/* Whoever has lost its disk goes on from the largest life that others know. */
static void test_life(void **state)
{
    boot_check m = some(3, BOOT_NEW, false);
    boot_message what = answer(1, BOOT_SETTLED, true);
    boot_message back;
    (void)state;
    assert_int_equal(m.durable.life, 1); /* one for each start */
    what.known = 6;
    assert_true(boot_hear(&m, 1, &what, &back));
    assert_int_equal(m.durable.life, 7);
    what = answer(2, BOOT_SETTLED, true);
    what.known = 4;
    assert_true(boot_hear(&m, 2, &what, &back)); /* that boot id is new to this node */
    assert_int_equal(m.durable.life, 7);
    boot_message question;
    boot_tick(&m, &question);
    assert_int_equal(question.life, 7);
}

/* What another says of itself; whether it is refused. */
static bool refuses_run(boot_check *m, boot_message what)
{
    boot_message back;
    what.asks = true;
    what.nonce = what.run;
    boot_hear(m, 1, &what, &back);
    bool refused = (m->outdated & 1 << 1) != 0;
    bool known = m->durable.heard[1] == what.boot && m->durable.runs[1] == what.run;
    assert_int_equal(back.other, !known);
    assert_true(refused ? back.other : known || what.state == BOOT_NEW);
    uint64_t life = m->durable.lives[1];
    assert_int_equal(back.known, back.other && what.life > life ? what.life : life);
    return refused;
}

/* The one run of that life. */
static bool refuses(boot_check *m, uint64_t boot, uint64_t life, boot_state state)
{
    return refuses_run(m, (boot_message){.boot = boot, .life = life, .state = state, .run = life});
}

static void test_outdated(void **state)
{
    boot_check m = some(3, BOOT_SETTLED, false);
    (void)state;
    assert_false(refuses(&m, 20, 3, BOOT_SETTLED));
    assert_false(refuses(&m, 20, 4, BOOT_SETTLED)); /* it has started again */
    assert_true(refuses(&m, 20, 3, BOOT_SETTLED));  /* as a copy that was restored */
    assert_false(refuses(&m, 20, 4, BOOT_SETTLED));
    assert_false(refuses(&m, 21, 1, BOOT_NEW)); /* it does nothing yet */
    assert_true(refuses(&m, 21, 4, BOOT_FORGETFUL));
    assert_false(refuses(&m, 21, 5, BOOT_FORGETFUL)); /* in its next life */
    assert_int_equal(m.durable.heard[1], 21);
    assert_false(refuses(&m, 21, 5, BOOT_SETTLED));
    for (uint64_t life = 4; life < 9; life++) /* the old directory, however often it starts */
        assert_true(refuses(&m, 20, life, BOOT_SETTLED));
    assert_int_equal(m.durable.heard[1], 21);
    boot_message what = answer(1, BOOT_SETTLED, true); /* what it says is of no interest */
    boot_message back;
    what.boot = 20;
    boot_hear(&m, 1, &what, &back);
    assert_false(m.durable.outdated);
    assert_int_equal(m.settled & 1 << 1, 0);
}

/* A copy that was restored, however soon and however often it is started. */
static void test_restored_copy(void **state)
{
    boot_check m = some(3, BOOT_SETTLED, false);
    boot_message run = {.boot = 20, .life = 3, .state = BOOT_SETTLED, .run = 33, .begin = 100};
    boot_message copy = {.boot = 20, .state = BOOT_SETTLED, .begin = 119};
    (void)state;
    assert_false(refuses_run(&m, run));
    boot_hear_turn(&m, 1, 120);
    assert_true(m.unsaved);
    for (copy.life = 3; copy.life < 9; copy.life++, copy.run++)
        assert_true(refuses_run(&m, copy));
    boot_hear_turn(&m, 1, 130); /* which the copy may reach on its own */
    assert_int_equal(m.durable.turns[1], 120);
    assert_int_equal(m.durable.lives[1], 3);
    assert_false(refuses_run(&m, run)); /* the data themselves, */
    run = (boot_message){.boot = 20, .life = 4, .state = BOOT_SETTLED, .run = 34, .begin = 120};
    assert_false(refuses_run(&m, run)); /* and when they are started again */
    copy = run;
    copy.run = 35;
    assert_true(refuses_run(&m, copy)); /* a copy of them, in the same life */
    assert_false(refuses_run(&m, run));
    m.unsaved = false;
    boot_hear_turn(&m, 1, 120);
    assert_false(m.unsaved);
    run = (boot_message){.boot = 20, .life = 5, .state = BOOT_FORGETFUL, .run = 36, .begin = 2};
    assert_false(refuses_run(&m, run)); /* it says that it has lost them */
    run.state = BOOT_SETTLED;
    assert_false(refuses_run(&m, run));
    assert_int_equal(m.durable.turns[1], 2);
}

/* A copy from before the node counted would count as new, and what it had promised be forgotten. */
static void test_copy_of_who_was_new(void **state)
{
    boot_check m = some(3, BOOT_SETTLED, false);
    boot_message run = {.boot = 20, .life = 1, .state = BOOT_NEW, .run = 33, .begin = 1};
    boot_message back;
    (void)state;
    assert_false(refuses_run(&m, run));
    run = (boot_message){.boot = 20, .life = 2, .state = BOOT_NEW, .run = 34, .begin = 2};
    assert_false(refuses_run(&m, run)); /* it was started again, and waits for others */
    assert_int_equal(m.durable.runs[1], 34);
    run.state = BOOT_SETTLED;
    assert_false(refuses_run(&m, run));
    boot_hear_turn(&m, 1, 120);
    boot_message copy = {.boot = 20, .life = 3, .state = BOOT_NEW, .run = 35, .begin = 3};
    copy.asks = true;
    assert_false(boot_hear(&m, 1, &copy, &back));
    assert_true(back.other); /* so it knows that it has forgotten */
    assert_int_equal(m.durable.turns[1], 120);
    copy.asks = false;
    copy.other = true; /* it knows no more of this node than it did then */
    copy.nonce = m.nonce;
    assert_false(boot_hear(&m, 1, &copy, &back));
    assert_false(m.durable.outdated);
}

/* Who has forgotten may begin a later life while it runs: that is no other run of it. */
static void test_later_life_in_a_run(void **state)
{
    boot_check m = some(3, BOOT_SETTLED, false);
    boot_message run = {.boot = 20, .life = 7, .state = BOOT_FORGETFUL, .run = 33, .begin = 2};
    (void)state;
    assert_false(refuses_run(&m, run));
    boot_hear_turn(&m, 1, 120);
    run.life = 9; /* somebody else knew more of them; and by now it has all back */
    run.state = BOOT_SETTLED;
    assert_false(refuses_run(&m, run));
    assert_int_equal(m.durable.lives[1], 9);
    assert_int_equal(m.durable.turns[1], 120);
    run.life = 7; /* said before, and overtaken */
    run.state = BOOT_FORGETFUL;
    assert_false(refuses_run(&m, run));
    assert_int_equal(m.durable.lives[1], 9);
}

/* Who is told that it is one is that copy for good. */
static void test_is_a_copy(void **state)
{
    boot_check m = some(3, BOOT_SETTLED, false);
    boot_message what = answer(1, BOOT_SETTLED, false);
    boot_message back;
    boot_message question;
    (void)state;
    boot_hear(&m, 1, &what, &back);
    assert_false(m.durable.outdated);
    what.other = true;
    what.nonce = 98; /* said to an earlier run, which may be another directory's */
    assert_false(boot_hear(&m, 1, &what, &back));
    what.nonce = 99;
    assert_true(boot_hear(&m, 1, &what, &back));
    assert_true(m.durable.outdated);
    assert_false(boot_hear(&m, 1, &what, &back)); /* written down once */
    assert_int_equal(boot_tick(&m, &question), 0);
    boot_durable kept = m.durable;
    boot_start(&m, 0, 3, &kept, false, 6, 100);
    assert_true(m.durable.outdated);
    assert_int_equal(boot_tick(&m, &question), 0);
    assert_int_equal(question.begin, 6);
    assert_int_equal(question.run, 100);
}

/* The copy is from before the other was emptied: each has data that the other has not heard of. */
static void test_copy_from_before_the_other(void **state)
{
    boot_check m = some(3, BOOT_SETTLED, false);
    boot_message what = answer(1, BOOT_SETTLED, false);
    boot_message back;
    (void)state;
    what.life = 4;
    boot_hear(&m, 1, &what, &back);
    what.other = true;
    what.boot = 20;
    assert_false(boot_hear(&m, 1, &what, &back)); /* the older ones are the other's */
    what.life = 5;
    assert_true(boot_hear(&m, 1, &what, &back));
    assert_true(m.durable.outdated);
    assert_true(back.other);
}

/* What is heard in an answer is in the table with it, even if no heartbeat comes any more. */
static void test_answer_has_a_turn(void **state)
{
    boot_check m = some(3, BOOT_SETTLED, false);
    boot_message what = answer(1, BOOT_SETTLED, false);
    boot_message back;
    (void)state;
    what.begin = 3;
    what.turn = 5;
    assert_true(boot_hear(&m, 1, &what, &back));
    assert_int_equal(m.durable.turns[1], 5);
}

/* Who has forgotten does not judge others by what it knew of them. */
static void test_forgets_the_others(void **state)
{
    boot_durable kept = {.state = BOOT_FORGETFUL, .boot = 7, .life = 3};
    boot_check m;
    (void)state;
    kept.heard[1] = kept.lives[1] = kept.runs[1] = kept.turns[1] = 9;
    boot_start(&m, 0, 3, &kept, false, 6, 99);
    assert_int_equal(m.durable.heard[1] | m.durable.lives[1], 0);
    assert_int_equal(m.durable.runs[1] | m.durable.turns[1], 0);
    assert_int_equal(m.durable.life, 4);
    kept.state = BOOT_SETTLED;
    boot_start(&m, 0, 3, &kept, false, 6, 99);
    assert_int_equal(m.durable.heard[1], 9);
}

/* Who is settled asks until all have heard of this start: one of them may know better. */
static void test_settled_asks(void **state)
{
    boot_check m = some(3, BOOT_SETTLED, false);
    boot_message question;
    (void)state;
    m.durable.heard[1] = 11; /* from an earlier start */
    m.durable.heard[2] = 12;
    assert_int_equal(boot_tick(&m, &question), 6);
    hear_from(&m, 1, BOOT_SETTLED, false);
    assert_int_equal(boot_tick(&m, &question), 1 << 2);
    hear_from(&m, 2, BOOT_SETTLED, false);
    assert_int_equal(boot_tick(&m, &question), 0);
}

/* The first boot id stays, and whoever has another is told so. */
static void test_first_boot_id(void **state)
{
    boot_check m = some(3, BOOT_SETTLED, false);
    (void)state;
    boot_message question = {.asks = true, .nonce = 5, .boot = 20};
    boot_message back;
    assert_true(boot_hear(&m, 1, &question, &back));
    assert_false(back.other);
    assert_false(boot_hear(&m, 1, &question, &back));
    assert_false(back.other);
    assert_int_equal(back.nonce, 5);
    assert_int_equal(back.boot, 7);
    question.boot = 21;
    assert_false(boot_hear(&m, 1, &question, &back));
    assert_true(back.other);
    assert_int_equal(m.durable.heard[1], 20);
}

static void test_lost(void **state)
{
    boot_check m = some(5, BOOT_SETTLED, false);
    boot_message question;
    (void)state;
    hear_from(&m, 1, BOOT_FORGETFUL, false);
    hear_from(&m, 2, BOOT_FORGETFUL, false);
    assert_false(boot_is_lost(&m));
    hear_from(&m, 3, BOOT_FORGETFUL, false);
    assert_true(boot_is_lost(&m));
    hear_from(&m, 3, BOOT_SETTLED, false);
    assert_false(boot_is_lost(&m));
    hear_from(&m, 3, BOOT_FORGETFUL, false);
    for (int i = 0; i < 200; i++) /* nobody says so any more */
        boot_tick(&m, &question);
    assert_false(boot_is_lost(&m));
}

/* A disk is lost before all were there for the first time. */
static void test_stuck(void **state)
{
    boot_check m = some(3, BOOT_NEW, false);
    (void)state;
    hear_from(&m, 1, BOOT_FORGETFUL, false);
    assert_false(boot_is_stuck(&m)); /* the third may be settled */
    hear_from(&m, 2, BOOT_NEW, false);
    assert_true(boot_is_stuck(&m));
    assert_int_equal(m.durable.state, BOOT_NEW);
    hear_from(&m, 2, BOOT_SETTLED, false);
    assert_false(boot_is_stuck(&m));
    m = some(3, BOOT_FORGETFUL, false);
    hear_from(&m, 1, BOOT_NEW, false);
    hear_from(&m, 2, BOOT_NEW, false);
    assert_true(boot_is_stuck(&m));
    m = some(3, BOOT_NEW, false);
    hear_from(&m, 1, BOOT_NEW, false);
    assert_false(boot_is_stuck(&m));
    hear_from(&m, 2, BOOT_NEW, false);
    assert_false(boot_is_stuck(&m));
}

int main(void)
{
    static const uint8_t sizes[] = {2, 3, 4, 5};
    suite s = {0};
    suite_add(&s, test_alone, NULL, "a cluster of one");
    suite_add(&s, test_all_are_new, NULL, "all are new");
    suite_add(&s, test_enough_are_settled, NULL, "enough are settled");
    suite_add(&s, test_forgetful_witness, NULL, "who has forgotten is no witness");
    suite_add(&s, test_known, NULL, "somebody knows another boot id");
    suite_add(&s, test_answer_of_an_earlier_run, NULL, "an answer to an earlier run");
    suite_add(&s, test_first_boot_id, NULL, "the first boot id stays");
    suite_add(&s, test_life, NULL, "who has forgotten begins a later life");
    suite_add(&s, test_outdated, NULL, "data that are older than what was heard");
    suite_add(&s, test_restored_copy, NULL, "a copy that was restored is refused");
    suite_add(&s, test_copy_of_who_was_new, NULL, "and so is one from before it counted");
    suite_add(&s, test_later_life_in_a_run, NULL, "a later life in the same run");
    suite_add(&s, test_is_a_copy, NULL, "and knows it, for good");
    suite_add(&s, test_copy_from_before_the_other, NULL, "a copy from before the other's data");
    suite_add(&s, test_answer_has_a_turn, NULL, "an answer says how far it is");
    suite_add(&s, test_forgets_the_others, NULL, "who has forgotten has forgotten the others");
    suite_add(&s, test_settled_asks, NULL, "who is settled asks until all have heard of it");
    suite_add(&s, test_lost, NULL, "a majority has forgotten");
    suite_add(&s, test_stuck, NULL, "a disk is lost before the cluster has begun");
    for (size_t i = 0; i < sizeof sizes; i++)
        suite_add(&s, test_world, &sizes[i], "%u nodes: %d worlds by chance", sizes[i],
                  BOOT_WORLDS);
    for (size_t i = 0; i < sizeof sizes; i++)
        suite_add(&s, test_copies, &sizes[i], "%u nodes: %d worlds with copies", sizes[i],
                  BOOT_WORLDS);
    return suite_run(&s, "boot_check");
}
