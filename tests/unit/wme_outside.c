/*
 * Consensus outside: what a replica proposes is left to who runs the node, and what comes back is
 * believed if it can be a decision.
 */
#include "out.h"
#include "wme_tests.h"

#include <string.h>

typedef struct one {
    wme_node node;
    replica replica;
    wme_out out;
} one;

/* Node 1 of three, with node 0 as the first owner. */
static one *start(void)
{
    static one o;
    memset(&o, 0, sizeof o);
    o.node = (wme_node){.me = 1, .nodes = 3, .outside = true};
    replica_start(&o.replica, &o.node, 0, 7);
    return &o;
}

static void end(one *o)
{
    wme_out_clear(&o->out);
    replica_end(&o->replica);
}

static uint32_t count(const one *o, wme_verb verb)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < o->out.count; i++)
        found += o->out.actions[i].verb == verb;
    return found;
}

static bool speaks_of_consensus(const one *o)
{
    for (uint32_t i = 0; i < o->out.count; i++)
        if (o->out.actions[i].verb == WME_SEND && o->out.actions[i].message.kind > WME_STATE)
            return true;
    return false;
}

/* Node 0 is suspected here and at node 2. */
static void depose_0(one *o)
{
    wme_message m = {.kind = WME_NEWEP, .epoch = 1, .record = {.epoch = 1, .sn = 4, .owner = 2}};
    o->node.suspected = 1;
    replica_suspicion(&o->replica, &o->node, &o->out);
    assert_int_equal(count(o, WME_PROPOSE), 0);
    replica_receive(&o->replica, &o->node, 2, &m, &o->out);
}

static void test_proposes(void **state)
{
    one *o = start();
    (void)state;
    depose_0(o);
    for (int i = 0; i < 3; i++) { /* and again with every tick, for an answer may be lost */
        assert_int_equal(count(o, WME_PROPOSE), 1);
        const wme_action *last = &o->out.actions[o->out.count - 1];
        assert_int_equal(last->verb, WME_PROPOSE);
        assert_int_equal(last->message.record.sn, 4);
        assert_int_equal(last->message.record.epoch, 1);
        assert_false(speaks_of_consensus(o));
        wme_out_clear(&o->out);
        replica_tick(&o->replica, &o->node, &o->out);
    }
    end(o);
}

static void test_decided(void **state)
{
    one *o = start();
    wme_record decision = {.epoch = 1, .sn = 9, .owner = 1};
    (void)state;
    depose_0(o);
    wme_out_clear(&o->out);
    assert_int_equal(replica_decided(&o->replica, &o->node, &decision, &o->out), WME_FINE);
    assert_int_equal(o->replica.stub.now.epoch, 2);
    assert_int_equal(o->replica.stub.now.owner, 1);
    assert_int_equal(o->replica.stub.now.sn, 0); /* slots are counted anew */
    assert_int_equal(o->replica.decisions, 1);
    assert_int_equal(count(o, WME_PERSIST), 1);
    wme_out_clear(&o->out);
    assert_int_equal(replica_decided(&o->replica, &o->node, &decision, &o->out), WME_FINE);
    replica_tick(&o->replica, &o->node, &o->out);
    assert_int_equal(count(o, WME_PROPOSE), 0);
    assert_int_equal(o->replica.stub.now.epoch, 2);
    assert_int_equal(o->replica.decisions, 1);
    end(o);
}

/* Nobody here has asked, and it is the decision all the same. */
static void test_unasked(void **state)
{
    one *o = start();
    wme_record decision = {.epoch = 1, .owner = 2};
    (void)state;
    replica_decided(&o->replica, &o->node, &decision, &o->out);
    assert_int_equal(o->replica.stub.now.epoch, 2);
    end(o);
}

static void test_no_decision(void **state)
{
    static const struct {
        wme_record record;
        wme_refusal why;
    } wrong[] = {
        {{.epoch = 0}, WME_ABSURD_EPOCH},
        {{.epoch = WME_MAX_EPOCH + 1}, WME_ABSURD_EPOCH},
        {{.epoch = 1, .owner = 3}, WME_MALFORMED},
        {{.epoch = 1, .op_sn = 1}, WME_MALFORMED},
        {{.epoch = 1, .queued = 2, .queue = {1, 1}}, WME_MALFORMED},
        {{.epoch = 2}, WME_FINE}, /* of another epoch: good for nothing, but no lie */
    };
    one *o = start();
    (void)state;
    depose_0(o);
    wme_stub before = o->replica.stub;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        wme_out_clear(&o->out);
        uint64_t refused = o->node.refused[wrong[i].why];
        assert_int_equal(replica_decided(&o->replica, &o->node, &wrong[i].record, &o->out),
                         wrong[i].why);
        assert_int_equal(o->node.refused[wrong[i].why], refused + (wrong[i].why != WME_FINE));
        assert_memory_equal(&o->replica.stub, &before, sizeof before);
        assert_int_equal(count(o, WME_PERSIST), 0);
    }
    end(o);
}

/* No node of this cluster says what paxos says: it is refused, whatever it is. */
static void test_messages(void **state)
{
    one *o = start();
    (void)state;
    depose_0(o);
    wme_out_clear(&o->out);
    wme_stub before = o->replica.stub;
    for (wme_kind kind = WME_PREPARE; kind <= WME_DECIDED; kind++) {
        wme_message m = {.kind = kind, .epoch = 1, .ballot = 3, .record = {.epoch = 1, .owner = 2}};
        replica_receive(&o->replica, &o->node, 2, &m, &o->out);
        assert_int_equal(o->node.refused[WME_OUTSIDE], 1 + kind - WME_PREPARE);
        assert_int_equal(o->out.count, 0);
        assert_memory_equal(&o->replica.stub, &before, sizeof before);
    }
    assert_null(o->replica.consensus); /* nothing was promised */
    end(o);
}

/* A node that is alone in its cluster asks, too: it may not remember all. */
static void test_alone(void **state)
{
    one *o = start();
    replica_durable durable;
    (void)state;
    replica_end(&o->replica);
    o->node = (wme_node){.nodes = 1, .outside = true};
    replica_unsaved(&durable, &o->node, 0);
    replica_restart(&o->replica, &o->node, &durable, 0, 7, &o->out);
    assert_int_equal(count(o, WME_PROPOSE), 1);
    wme_record decision = o->out.actions[o->out.count - 1].message.record;
    replica_decided(&o->replica, &o->node, &decision, &o->out);
    assert_int_equal(o->replica.stub.now.epoch, 2);
    assert_false(o->replica.stub.blocked);
    end(o);
}

void wme_outside_tests(suite *s)
{
    suite_add(s, test_proposes, NULL, "outside: a proposal is left alone, and repeated");
    suite_add(s, test_decided, NULL, "outside: a decision is taken, once");
    suite_add(s, test_unasked, NULL, "outside: whoever has asked");
    suite_add(s, test_no_decision, NULL, "outside: what is no decision");
    suite_add(s, test_messages, NULL, "outside: messages are no part of it");
    suite_add(s, test_alone, NULL, "outside: a cluster of one");
}
