/* Sessions at nodes, as clients see them: commands, answers and pushes, byte by byte. */
#include "commands.h"
#include "node_world.h"
#include "talk.h"

#include <stdio.h>
#include <string.h>

static service at[WORLD_NODES];
static talker a, b, c;

static void come(world *w, talker *t, uint8_t node)
{
    at[node] = (service){.locks = &w->node[node].locks,
                         .limits = {.word_bytes = 4096, .command_bytes = 8192},
                         .max_name = STORE_MAX_NAME,
                         .max_output = 100000,
                         .longest_lease = 86400000,
                         .more = node_commands};
    talk_begin(t, &at[node]);
}

/* A command with a token in it, for %llu. */
static const char *line(const char *format, uint64_t token)
{
    static char texts[2][256]; /* for the command, and for its answer */
    static unsigned calls;
    char *text = texts[calls++ % 2];
    /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): of this file */
    snprintf(text, sizeof texts[0], format, (unsigned long long)token);
    return text;
}

static const char *number(int64_t value)
{
    static char text[32];
    snprintf(text, sizeof text, ":%lld\r\n", (long long)value);
    return text;
}

static const char *push(const char *kind, uint64_t token)
{
    static char text[128];
    snprintf(text, sizeof text, ">3\r\n$%zu\r\n%s\r\n$4\r\nlock\r\n:%llu\r\n", strlen(kind), kind,
             (unsigned long long)token);
    return text;
}

/* ---- words ---- */

void test_node_commands_have_rules(void **state)
{
    static const talk_rule rules[] = {
        {"ISSUE", 4, RESP_MAX_WORDS, NULL},
        {"READ", 3, 3, NULL},
        {"SESSION", 2, 2, NULL},
        {"RESUME", 3, 4, NULL},
        {"STATUS", 1, 1, NULL},
        {"TRY", 2, 3, NULL},
    };
    come(*state, &a, 0);
    talk_rules(&at[0], rules, sizeof rules / sizeof *rules);
    talk_end(&a, 0);
}

void test_operations_of_a_session(void **state)
{
    world *w = *state;
    static const char stale[] =
        "-STALE the section with this token is over, or was never yours\r\n";
    come(w, &a, 0);
    come(w, &b, 0);
    talk(&a, w->now, "READ lock k\r\n", "*4\r\n$-1\r\n:0\r\n:0\r\n:0\r\n");
    talk(&a, w->now, "ISSUE lock 1 GET k\r\n", stale);
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    talk(&a, w->now, line("ISSUE lock %llu SET k v\r\n", token), "");
    world_settle(w);
    talk_hear(&a, w->now, "+OK\r\n");
    talk(&a, w->now, "READ lock k\r\n", "*4\r\n$1\r\nv\r\n:1\r\n:1\r\n:1\r\n");
    talk(&a, w->now, "READ lock none\r\n", "*4\r\n$-1\r\n:1\r\n:1\r\n:1\r\n");
    talk(&a, w->now, line("ISSUE lock %llu GET none\r\n", token), "");
    world_settle(w);
    talk_hear(&a, w->now, "$-1\r\n");
    talk_begins(&a, w->now, "HELLO 3\r\n", "%4\r\n");
    talk(&a, w->now, "READ lock none\r\n", "*4\r\n_\r\n:1\r\n:2\r\n:2\r\n");
    talk(&a, w->now, line("ISSUE lock %llu GET none\r\n", token), "");
    world_settle(w);
    talk_hear(&a, w->now, "_\r\n");
    talk_begins(&a, w->now, line("ISSUE lock %llu NONSENSE k\r\n", token), "-ERR");
    talk(&a, w->now, line("ISSUE lock %llu GET k\r\n", token + 1), stale);
    talk(&b, w->now, line("ISSUE lock %llu GET k\r\n", token), stale);
    talk(&a, w->now, "ISSUE lock 0 GET k\r\n",
         "-ERR a token is the number that TRY or LOCK gave\r\n");
    talk(&a, w->now, line("EXIT lock %llu\r\n", token), ":1\r\n");
    talk(&a, w->now, line("ISSUE lock %llu GET k\r\n", token), stale);
    talk(&a, w->now, "PING\r\n", "+PONG\r\n"); /* it waits for nothing */
    talk_end(&a, w->now);
    talk_end(&b, w->now);
}

void test_ids_of_sessions(void **state)
{
    static const char wrong[] = "-ERR the id of a session is 1 to 64 printable bytes, no space\r\n";
    world *w = *state;
    char id[128];
    come(w, &a, 0);
    talk_words(&a, w->now, "SESSION|", wrong);
    talk_words(&a, w->now, "SESSION|a b", wrong);
    talk_words(&a, w->now, "SESSION|a\x7f", wrong);
    talk_words(&a, w->now, "SESSION|!~", "+OK\r\n");
    snprintf(id, sizeof id, "SESSION|%064d", 1);
    talk_words(&a, w->now, id, "+OK\r\n");
    snprintf(id, sizeof id, "SESSION|%065d", 1);
    talk_words(&a, w->now, id, wrong);
    talk_end(&a, w->now);
}

/* ---- going on ---- */

void test_goes_on_over_another_connection(void **state)
{
    world *w = *state;
    come(w, &a, 0);
    come(w, &b, 0);
    come(w, &c, 0);
    talk(&a, w->now, "SESSION me\r\n", "+OK\r\n");
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    talk(&b, w->now, line("RESUME lock %llu\r\n", token),
         "-ERR say who you are first, with SESSION\r\n");
    talk(&b, w->now, "SESSION me\r\n", "+OK\r\n");
    talk(&a, w->now, line("RESUME lock %llu\r\n", token),
         "-TWICE this session holds the lock already\r\n");
    talk(&b, w->now, line("RESUME lock %llu x\r\n", token),
         "-ERR a timeout is a number of milliseconds, 0 for no end\r\n");
    talk(&b, w->now, line("RESUME lock %llu\r\n", token), number((int64_t)token));
    talk(&b, w->now, "PING\r\n", "+PONG\r\n");
    talk_begins(&a, w->now, line("EXIT lock %llu\r\n", token), "-STALE");
    talk(&b, w->now, line("ISSUE lock %llu INCR n\r\n", token), "");
    talk(&a, w->now, line("RESUME lock %llu\r\n", token), "");
    talk_hear(&b, w->now, "-LOST the session goes on over another connection\r\n");
    talk(&b, w->now, line("RESUME lock %llu 20\r\n", token), "");
    talk_hear(&a, w->now, "-LOST the session goes on over another connection\r\n");
    world_settle(w);
    talk_hear(&a, w->now, "");
    talk_hear(&b, w->now, number((int64_t)token));
    talk(&c, w->now, "SESSION other\r\n", "+OK\r\n");
    talk(&c, w->now, "LOCK lock\r\n", "");
    talk(&b, w->now, line("EXIT lock %llu\r\n", token), ":1\r\n");
    talk_hear(&c, w->now, number((int64_t)token + 1));
    /* Of a section that is not there, and of one of somebody else's. */
    talk(&b, w->now, line("RESUME lock %llu\r\n", token + 1), "");
    talk_hear(&b, w->now, "-EJECTED others may have been inside since; the section is over\r\n");
    talk(&c, w->now, line("RESUME lock %llu\r\n", token),
         "-TWICE this connection holds the lock, or waits for it, already\r\n");
    talk_end(&a, w->now);
    talk_end(&b, w->now);
    talk_end(&c, w->now);
}

/* Its connection is gone: it is held until the lease is over, and counted as that. */
void test_lingers(void **state)
{
    world *w = *state;
    come(w, &a, 0);
    come(w, &b, 0);
    talk(&a, w->now, "SESSION me\r\n", "+OK\r\n");
    talk(&a, w->now, "RENEW 1000\r\n", ":1000\r\n");
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    talk_end(&a, w->now);
    assert_int_equal(w->node[0].detached_count, 1);
    world_pass(w, 900);
    talk(&b, w->now, "SESSION me\r\n", "+OK\r\n");
    talk(&b, w->now, line("RESUME lock %llu\r\n", token), number((int64_t)token));
    world_pass(w, 50);
    assert_int_equal(w->node[0].detached_count, 0);
    assert_int_equal(w->node[0].counts.held, 1);
    talk(&b, w->now, "RENEW 500\r\n", ":500\r\n");
    talk_end(&b, w->now);
    world_pass(w, 450);
    assert_int_equal(w->node[0].counts.lost, 0);
    world_pass(w, 50);
    assert_int_equal(w->node[0].counts.lost, 1);
    assert_int_equal(w->node[0].counts.held, 0);
}

/* At another node, when its own is dead; and not there while the node is about to end. */
void test_goes_on_elsewhere(void **state)
{
    world *w = *state;
    come(w, &a, 0);
    talk(&a, w->now, "SESSION me\r\n", "+OK\r\n");
    talk(&a, w->now, "RENEW 60000\r\n", ":60000\r\n");
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    talk(&a, w->now, line("ISSUE lock %llu INCR n\r\n", token), "");
    world_settle(w);
    talk_hear(&a, w->now, ":1\r\n");
    talk_end(&a, w->now);
    world_crash(w, 0);
    come(w, &b, 1);
    talk(&b, w->now, "SESSION me\r\n", "+OK\r\n");
    talk(&b, w->now, line("RESUME lock %llu\r\n", token), "");
    talk(&b, w->now, "", "");
    world_pass(w, 5000);
    uint64_t later = world_stub(w, 1)->inside->token;
    assert_int_equal(later >> WME_ENTRY_BITS, 2);
    talk_hear(&b, w->now, number((int64_t)later));
    come(w, &c, 2);
    talk(&c, w->now, "SESSION other\r\n", "+OK\r\n");
    node_hand_over(&w->node[2]);
    talk(&c, w->now, line("RESUME lock %llu\r\n", later),
         "-DRAINING this node is about to end; go to another\r\n");
    talk_end(&b, w->now);
    talk_end(&c, w->now);
}

/* ---- TRY ---- */

/* One that must fetch the token waits for a moment, and no longer. */
void test_patience_of_a_try(void **state)
{
    world *w = *state;
    come(w, &a, 0);
    come(w, &b, 1);
    come(w, &c, 0);
    talk_begins(&b, w->now, "HELLO 3\r\n", "%4\r\n");
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    talk(&c, w->now, "TRY lock\r\n", number(-(int64_t)token)); /* there is no need to ask */
    talk(&c, w->now, "TRY lock\r\n", number(-(int64_t)token));
    talk(&b, w->now, "TRY lock\r\n", "");
    world_pass(w, NODE_TRY_PATIENCE - NODE_TICK);
    talk_hear(&b, w->now, "");
    world_pass(w, NODE_TICK);
    talk_hear(&b, w->now, number(-(int64_t)(token - 1))); /* all that it knows */
    talk(&b, w->now, "PING\r\n", "+PONG\r\n");
    assert_int_equal(w->node[1].counts.failed, 1);
    assert_int_equal(w->node[1].counts.tries, 1);
    assert_int_equal(w->node[0].counts.failed, 2);
    assert_int_equal(w->node[0].counts.tries, 2);
    talk(&c, w->now, "LOCK lock\r\n", "");
    talk(&a, w->now, line("EXIT lock %llu\r\n", token), ":1\r\n");
    world_settle(w);
    talk_hear(&c, w->now, number((int64_t)token + 1));
    assert_int_equal(w->node[1].counts.resets, 0);
    talk(&c, w->now, line("EXIT lock %llu\r\n", token + 1), ":1\r\n");
    world_settle(w);
    talk_hear(&b, w->now, push("reset", token + 2));
    assert_int_equal(w->node[1].counts.resets, 1);
    assert_int_equal(w->node[1].counts.held, 0); /* it was told, and is not inside */
    token = talk_token(&b, w->now, "TRY lock\r\n");
    talk(&b, w->now, line("EXIT lock %llu\r\n", token), ":1\r\n");
    talk(&b, w->now, line("EXIT lock %llu\r\n", token),
         line("-STALE the section with token %llu is over, or was never yours\r\n", token));
    assert_int_equal(w->node[1].counts.stale, 1);
    talk_end(&a, w->now);
    talk_end(&b, w->now);
    talk_end(&c, w->now);
}

/* ---- waits ---- */

void test_wait_ends(void **state)
{
    world *w = *state;
    come(w, &a, 0);
    come(w, &b, 0);
    w->node[0].max_waiters = 1;
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    talk(&a, w->now, "LOCK lock\r\n", "-TWICE this session holds the lock already\r\n");
    talk(&b, w->now, "LOCK lock 100\r\n", "");
    come(w, &c, 0);
    talk(&c, w->now, "LOCK lock\r\n", "-CROWD too many wait for this lock already\r\n");
    talk_time(&b, w->now + 99, "");
    talk_time(&b, w->now + 100, "$-1\r\n");
    talk(&c, w->now + 100, "LOCK lock\r\n", "");
    talk(&a, w->now + 110, line("EXIT lock %llu\r\n", token), ":1\r\n");
    talk_hear(&b, w->now + 110, "");
    talk_hear(&c, w->now + 110, number((int64_t)token + 1));
    lock_counts n = at[0].locks->backend->count(at[0].locks);
    assert_int_equal(n.timeouts, 1);
    assert_int_equal(n.sections, 2);
    assert_int_equal(n.held, 1);
    assert_int_equal(n.waiting, 0);
    assert_int_equal(n.locks, 1);
    assert_int_equal(at[0].locks->backend->count_locks(at[0].locks), 1);
    assert_int_equal(n.holds.total, 110);
    assert_int_equal(n.waits.total, 10);
    assert_int_equal(n.waits.count[0], 1); /* who got it at once */
    talk_end(&a, w->now);
    talk_end(&b, w->now);
    talk_end(&c, w->now);
}

/* ---- what is taken away ---- */

void test_taken_away(void **state)
{
    static const char lost[] =
        "-LOST the lock was taken away; the operation may be executed nevertheless\r\n";
    world *w = *state;
    char both[256];
    come(w, &a, 0);
    come(w, &b, 0);
    talk_begins(&a, w->now, "HELLO 3\r\n", "%4\r\n");
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    talk(&a, w->now, line("ISSUE lock %llu INCR n\r\n", token), "");
    talk(&b, w->now, line("RELEASE lock %llu\r\n", token + 1), ":0\r\n");
    talk(&b, w->now, line("RELEASE look %llu\r\n", token), ":0\r\n");
    talk(&b, w->now, line("RELEASE lock %llu\r\n", token), ":1\r\n");
    snprintf(both, sizeof both, "%s%s", lost, push("lost", token));
    talk_hear(&a, w->now, both);
    world_settle(w);
    talk_hear(&a, w->now, "");
    token = talk_token(&a, w->now, "LOCK lock\r\n");
    talk(&a, w->now, "RENEW 1000\r\n", ":1000\r\n");
    talk_time(&a, w->now + 1000, "");
    talk_hear(&a, w->now + 1000, push("lost", token));
    assert_int_equal(w->node[0].counts.lost, 2);
    assert_int_equal(w->node[0].counts.held, 0);
    talk_end(&a, w->now);
    talk_end(&b, w->now);
}

/* By the cluster: what was under way is executed nowhere. */
void test_ejected_while_it_issues(void **state)
{
    world *w = *state;
    char all[512];
    come(w, &a, 0);
    come(w, &b, 1);
    talk_begins(&a, w->now, "HELLO 3\r\n", "%4\r\n");
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    world_settle(w);
    talk(&b, w->now, "LOCK lock\r\n", "");
    world_settle(w);
    world_cut(w, 0, true);
    talk(&a, w->now, line("ISSUE lock %llu INCR n\r\n", token), "");
    world_pass(w, 5000);
    talk_hear(&a, w->now, push("suspended", token));
    talk_hear(&b, w->now, number((int64_t)world_stub(w, 1)->inside->token));
    world_cut(w, 0, false);
    world_pass(w, 2000);
    size_t length = (size_t)snprintf(all, sizeof all, "%s", push("resumed", token));
    snprintf(all + length, sizeof all - length,
             "-EJECTED the cluster took the lock away; the operation was executed nowhere\r\n%s",
             push("ejected", token));
    talk_hear(&a, w->now, all);
    assert_int_equal(w->node[0].counts.ejected, 1);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(w->node[i].counts.epochs, world_stub(w, i)->now.epoch - 1);
    assert_int_equal(w->node[0].counts.held, 0);
    assert_int_equal(at[0].locks->backend->count(at[0].locks).lost, 1);
    talk_end(&a, w->now);
    talk_end(&b, w->now);
}

/* Who holds hears when there is no majority, and when there is one again. */
void test_suspended_and_resumed(void **state)
{
    world *w = *state;
    come(w, &a, 0);
    come(w, &b, 0);
    talk_begins(&a, w->now, "HELLO 3\r\n", "%4\r\n");
    talk(&a, w->now, "SESSION me\r\n", "+OK\r\n");
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    w->node[0].detector.suspected = 6;
    node_locks_suspicion(&w->node[0]);
    talk_hear(&a, w->now, push("suspended", token));
    talk(&b, w->now, "SESSION me\r\n", "+OK\r\n");
    talk(&b, w->now, line("RESUME lock %llu\r\n", token),
         "-SUSPENDED this node sees no majority; go to another\r\n");
    w->node[0].detector.suspected = 0;
    node_locks_suspicion(&w->node[0]);
    talk_hear(&a, w->now, push("resumed", token));
    talk_end(&a, w->now);
    talk_end(&b, w->now);
}

/* ---- nodes that begin and end ---- */

void test_draining(void **state)
{
    world *w = *state;
    come(w, &a, 0);
    come(w, &b, 0);
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    assert_true(node_holds(&a.session.who));
    assert_false(node_holds(&b.session.who));
    assert_false(node_hand_over(&w->node[0]));
    talk(&a, w->now, "TRY look\r\n",
         "-DRAINING this node is about to end; finish what you hold\r\n");
    talk(&b, w->now, "TRY look\r\n", "");
    assert_true(b.session.ends && !a.session.ends);
    talk(&a, w->now, line("EXIT lock %llu\r\n", token), ":1\r\n");
    talk_end(&a, w->now);
    talk_end(&b, w->now);
}

void test_new_node_lets_nobody_in(void **state)
{
    world *w = *state;
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        world_crash(w, i);
    world_empty(w, 0);
    world_start(w, 0);
    come(w, &a, 0);
    talk(&a, w->now, "TRY lock\r\n",
         "-NOTREADY this node is new and has not heard from b, c yet\r\n");
    talk(&a, w->now, "READ lock k\r\n",
         "-NOTREADY this node is new, and has nothing to be read yet\r\n");
    talk(&a, w->now, "SESSION me\r\n", "+OK\r\n");
    talk(&a, w->now, "RESUME lock 1\r\n",
         "-SUSPENDED this node does not count yet, or too few do; go to another\r\n");
    talk(&a, w->now, "EXIT lock 1\r\n",
         "-STALE the section with token 1 is over, or was never yours\r\n");
    talk_begins(&a, w->now, "STATUS\r\n",
                "*1\r\n$318\r\nnode:a\r\nnodes:a,b,c\r\nreached:\r\nsuspected:\r\nstate:new\r\n"
                "why:this node is new and has not heard from b, c yet\r\n");
    talk_end(&a, w->now);
}

/* ---- STATUS ---- */

static void use(world *w, talker *t, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "LOCK %s\r\n", name);
    uint64_t token = talk_token(t, w->now, text);
    snprintf(text, sizeof text, "EXIT %s %llu\r\n", name, (unsigned long long)token);
    talk(t, w->now, text, ":1\r\n");
}

void test_status(void **state)
{
    world *w = *state;
    char figures[1024];
    char text[2048];
    cluster_node *n = &w->node[0];
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        strcpy(w->all[i].engine, "paxos");
    come(w, &a, 0);
    come(w, &b, 0);
    use(w, &a, "lock");
    world_rest(w);
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    talk(&b, w->now, "LOCK lock\r\n", "");
    talk(&a, w->now, line("ISSUE lock %llu INCR n\r\n", token), "");
    world_settle(w);
    talk_hear(&a, w->now, ":1\r\n");
    world_cut(w, 2, true);
    n->detector.suspected = 4;
    node_locks_suspicion(n);
    node_figures f = node_look(n);
    assert_int_equal(f.nodes, 3);
    assert_int_equal(f.reached, 1);
    assert_int_equal(f.suspected, 1);
    assert_int_equal(f.locks, 1);
    assert_int_equal(f.resting, 0);
    assert_true(f.majority);
    assert_string_equal(f.why, "");
    n->reached[1] = false;
    assert_false(node_look(n).majority); /* it alone is none */
    n->reached[2] = true;
    assert_false(node_look(n).majority); /* nor with one that it takes for dead */
    n->reached[1] = true;
    n->reached[2] = false;
    assert_int_equal(n->counts.epochs + n->counts.ejected + n->counts.dropped, 0);
    n->detached_count = 7;
    n->counts.epochs = 8;
    n->counts.ejected = 9;
    n->counts.dropped = 10;
    int length = snprintf(
        figures, sizeof figures,
        "node:a\r\nnodes:a,b,c\r\nreached:b\r\nsuspected:c\r\nstate:up\r\n"
        "consensus:paxos\r\nlocks:1\r\nresting:0\r\nheld:1\r\nwaiting:1\r\nlingering:7\r\n"
        "operations:1\r\nejected:9\r\nepochs:8\r\nmessages_sent:%llu\r\n"
        "messages_received:%llu\r\nmessages_dropped:10\r\nturns:%llu\r\ncommits:%llu\r\n"
        "bytes:%llu\r\nmax_bytes:%d\r\n",
        (unsigned long long)n->counts.sent, (unsigned long long)n->counts.received,
        (unsigned long long)n->counts.turns, (unsigned long long)store_used(w->store[0]).commits,
        (unsigned long long)store_used(w->store[0]).bytes, 16 << 20);
    snprintf(text, sizeof text,
             "*2\r\n$%d\r\n%s\r\n*8\r\n$4\r\nlock\r\n:1\r\n:1\r\n$1\r\na\r\n$6\r\ninside\r\n:1\r\n"
             ":1\r\n:1\r\n",
             length, figures);
    talk(&a, w->now, "STATUS\r\n", text);
    n->detached_count = 0;
    talk_end(&a, w->now);
    talk_end(&b, w->now);
}

/* What a lock is said to do, from when it is used until it rests. */
void test_states_of_a_lock(void **state)
{
    world *w = *state;
    resp_out out = {0};
    static const char *const states[] = {"inside", "issuing", "token", "idle", "rests"};
    come(w, &a, 0);
    uint64_t token = 0;
    for (int i = 0; i < 5; i++) {
        if (i == 0)
            token = talk_token(&a, w->now, "LOCK lock\r\n");
        else if (i == 1)
            talk(&a, w->now, line("ISSUE lock %llu INCR n\r\n", token), "");
        else if (i == 2) {
            world_settle(w);
            talk_hear(&a, w->now, ":1\r\n");
            talk(&a, w->now, line("EXIT lock %llu\r\n", token), ":1\r\n");
        } else if (i == 4)
            world_rest(w);
        node_report(&w->node[i == 3 ? 1 : 0], &w->all[0], &out);
        char row[128];
        snprintf(row, sizeof row,
                 "*8\r\n$4\r\nlock\r\n:1\r\n:%d\r\n$1\r\na\r\n$%zu\r\n%s\r\n:%d\r\n:%d\r\n:0\r\n",
                 i > 0, strlen(states[i]), states[i], i > 1, i < 2);
        assert_true(out.bytes > strlen(row));
        assert_memory_equal(out.at + out.bytes - strlen(row), row, strlen(row));
        resp_free(&out);
    }
    talk_end(&a, w->now);
}

/* Locks that are held, as LOCKS shows them; those who wait are not inside. */
void test_locks_of_a_node(void **state)
{
    world *w = *state;
    char row[128];
    come(w, &a, 0);
    come(w, &b, 0);
    strcpy(a.session.who.from, "here");
    uint64_t token = talk_token(&a, w->now, "LOCK lock\r\n");
    talk(&b, w->now, "LOCK lock\r\n", "");
    snprintf(row, sizeof row, "*1\r\n*5\r\n$4\r\nlock\r\n:%llu\r\n$4\r\nhere\r\n:40\r\n:1\r\n",
             (unsigned long long)token);
    talk(&b, w->now, "", "");
    talk(&a, w->now + 40, "LOCKS\r\n", row);
    talk(&a, w->now + 40, line("ISSUE lock %llu INCR n\r\n", token), "");
    come(w, &c, 0);
    talk(&c, w->now + 40, "LOCKS\r\n", row); /* also while it issues */
    char part[160];
    snprintf(part, sizeof part, "*2\r\n:0\r\n%s", row);
    talk(&c, w->now + 40, "LOCKS * CURSOR 0\r\n", part);
    talk(&c, w->now + 40, "LOCKS * CURSOR 4294967296\r\n", "*2\r\n:0\r\n*0\r\n");
    static const char status[] = "STATUS\r\n", both[] = "STATUS\r\nPING\r\n";
    assert_int_equal(session_feed(&c.session, both, strlen(both), w->now + 40), strlen(status));
    assert_true(c.session.unfinished); /* others have their turn before the PING */
    talk_end(&a, w->now);
    talk_end(&b, w->now);
    talk_end(&c, w->now);
}

/* No more of them than half of what may be said; they are as long as each other. */
void test_status_has_an_end(void **state)
{
    world *w = *state;
    char its[32];
    resp_out all = {0};
    resp_out few = {0};
    for (uint32_t i = 10; i < 30; i++)
        node_lock_get(&w->node[1], its, many_name(i, its));
    node_report(&w->node[1], &w->all[1], &all);
    assert_memory_equal(all.at, "*21\r\n", 5);
    const char *rows = memmem(all.at, all.bytes, "\r\n\r\n*8", 6);
    assert_non_null(rows);
    size_t row = (all.bytes - (size_t)(rows + 4 - all.at)) / 20;
    few.max = 2 * 5 * row;
    node_report(&w->node[1], &w->all[1], &few);
    assert_memory_equal(few.at, "*7\r\n", 4);
    resp_free(&few);
    few = (resp_out){.max = 2 * 5 * row - 2};
    node_report(&w->node[1], &w->all[1], &few);
    assert_memory_equal(few.at, "*6\r\n", 4);
    resp_free(&all);
    resp_free(&few);
}

/* The longest name is one everywhere, and a longer one nowhere. */
void test_longest_name(void **state)
{
    world *w = *state;
    char command[STORE_MAX_NAME + 32] = "LOCK|";
    char name[STORE_MAX_NAME + 1];
    memset(name, 'n', sizeof name);
    memcpy(command + 5, name, STORE_MAX_NAME);
    for (uint8_t i = 0; i < WORLD_NODES; i++) {
        uint64_t sections = w->node[i].counts.sections;
        come(w, &a, i);
        w->visitor[i].token = 0;
        talk_say(&a, w->now, command);
        world_pass(w, 200);
        assert_int_equal(w->node[i].counts.sections, sections + 1);
        talk_end(&a, w->now);
        world_settle(w);
    }
    strcat(command, "n");
    come(w, &a, 0);
    at[0].max_name++;
    talk_words(&a, w->now, command, "-OOM the server is out of memory\r\n");
    at[0].max_name--;
    talk_end(&a, w->now);
}
