/* Very many locks at a node: who holds them goes, or falls silent, or the node itself ends. */
#include "node_world.h"

#include <stdio.h>

size_t many_name(uint32_t number, char name[32])
{
    return (size_t)snprintf(name, 32, "many/%u", number);
}

lock_verdict many_tell(world *w, uint8_t node, uint32_t number, wdme_kind kind, uint64_t token)
{
    char name[32];
    size_t bytes = many_name(number, name);
    visitor *v = &w->visitor[node];
    if (kind == WDME_LOCK)
        v->place = VISITOR_WAITS;
    return w->node[node].locks.backend->tell(&w->node[node].locks, &v->who, name, bytes,
                                             (wdme_message){.kind = kind, .generation = token},
                                             w->now);
}

void many_hold(world *w, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(many_tell(w, 0, i, WDME_LOCK, 0), LOCK_DONE);
        world_settle(w);
        assert_int_equal(w->visitor[0].place, VISITOR_INSIDE);
    }
    assert_int_equal(w->node[0].counts.held, count);
}

const node_lock *many_find(world *w, uint8_t node, uint32_t number)
{
    char name[32];
    size_t bytes = many_name(number, name);
    return node_lock_find(&w->node[node], name, bytes);
}

/* ---- roles, queues ---- */

/* Each is found, and only where it is. */
void test_many_roles(void **state)
{
    world *w = *state;
    many_hold(w, MANY);
    visitor *v = &w->visitor[0];
    const role *s = role_find(&v->who, many_find(w, 0, MANY / 2));
    assert_non_null(s);
    assert_ptr_equal(s->of, many_find(w, 0, MANY / 2));
    assert_ptr_equal(s->who, &v->who);
    lock_session others[20];
    for (uint32_t i = 0; i < 20; i++) { /* many for one lock: the session has fewer */
        others[i] = (lock_session){.hear = v->who.hear, .post = v->who.post};
        w->node[0].locks.backend->join(&others[i]);
        assert_null(role_find(&others[i], s->of));
        assert_non_null(role_add(&w->node[0], &others[i], (node_lock *)s->of, 1));
    }
    for (uint32_t i = 0; i < 20; i++)
        assert_ptr_equal(role_find(&others[i], s->of)->who, &others[i]);
    assert_null(role_find(&others[0], many_find(w, 0, 1)));
    assert_int_equal(many_tell(w, 0, MANY / 2, WDME_EXIT, s->user.token), LOCK_DONE);
    assert_null(role_find(&v->who, many_find(w, 0, MANY / 2)));
    assert_int_equal(w->node[0].counts.held, MANY - 1);
}

static uint64_t longest_of(world *w, uint32_t count)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < count; i++)
        if (many_find(w, 0, i)->waiters > longest)
            longest = many_find(w, 0, i)->waiters;
    return longest;
}

void test_longest_queue(void **state)
{
    enum { LOCKS = 5 };
    world *w = *state;
    cluster_node *n = &w->node[0];
    uint32_t seed = 1;
    char name[32];
    for (uint32_t i = 0; i < LOCKS; i++)
        assert_non_null(node_lock_get(n, name, many_name(i, name)));
    for (uint32_t i = 0; i < 5000; i++) {
        seed = seed * 1664525 + 1013904223;
        node_lock *p = node_lock_get(n, name, many_name((seed >> 16) % LOCKS, name));
        uint64_t waiting = n->counts.waiting;
        bool grows = (seed >> 24) % 100 < (i < 2500 ? 60U : 40U) || p->waiters == 0;
        if (grows)
            queue_grows(n, p);
        else
            queue_shrinks(n, p);
        assert_int_equal(n->counts.waiting, grows ? waiting + 1 : waiting - 1);
        assert_int_equal(n->counts.longest_queue, longest_of(w, LOCKS));
    }
}

/* ---- many sections end ---- */

/* In slices, all of it, though nobody asks. */
void test_holder_of_many_goes(void **state)
{
    enum { LOCKS = 2 * NODE_REVOKED_AT_ONCE + 100 };
    world *w = *state;
    cluster_node *n = &w->node[0];
    many_hold(w, LOCKS);
    assert_int_equal(n->locks.backend->leave(&n->locks, &w->visitor[0].who, 0, false, w->now),
                     LOCKS);
    assert_int_equal(n->counts.held, LOCKS - NODE_REVOKED_AT_ONCE);
    world_pass(w, NODE_TICK);
    assert_int_equal(n->counts.held, 100);
    world_pass(w, NODE_TICK);
    assert_int_equal(n->counts.held, 0);
    assert_int_equal(n->detached_count, 0);
    w->visitor[1].place = VISITOR_OUT;
    assert_int_equal(many_tell(w, 1, LOCKS - 1, WDME_LOCK, 0), LOCK_DONE);
    world_settle(w);
    assert_int_equal(w->visitor[1].place, VISITOR_INSIDE);
}

/* As of many sessions of one machine that is gone: the limit is the node's, not each session's. */
void test_lease_of_many_ends(void **state)
{
    enum { LOCKS = 2 * NODE_REVOKED_AT_ONCE + 100 };
    world *w = *state;
    cluster_node *n = &w->node[0];
    lock_session *who = &w->visitor[0].who;
    many_hold(w, LOCKS);
    assert_false(n->locks.backend->lease_over(&n->locks, who, w->now));
    assert_int_equal(n->counts.held, LOCKS - NODE_REVOKED_AT_ONCE);
    assert_false(n->locks.backend->lease_over(&n->locks, who, w->now));
    assert_int_equal(n->counts.held, LOCKS - NODE_REVOKED_AT_ONCE);
    world_pass(w, NODE_TICK);
    assert_false(n->locks.backend->lease_over(&n->locks, who, w->now));
    world_pass(w, NODE_TICK);
    assert_true(n->locks.backend->lease_over(&n->locks, who, w->now));
    assert_int_equal(n->counts.held, 0);
    assert_int_equal(n->counts.lost, LOCKS);
}

/* ---- many tokens are given away ---- */

static uint32_t count_owned(world *w, uint8_t node, uint32_t count)
{
    uint32_t owned = 0;
    for (uint32_t i = 0; i < count; i++)
        owned += many_find(w, node, i)->replica.stub.now.owner == node;
    return owned;
}

static bool hand_over(cluster_node *n)
{
    bool all = node_hand_over(n);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        n->to_peer[i].bytes = 0; /* it is sent, and there is room again */
    return all;
}

/* Who ends with very many tokens gives them away in slices, and each once. */
void test_many_are_handed_over(void **state)
{
    enum { LOCKS = 3 * NODE_HANDED_AT_ONCE };
    world *w = *state;
    cluster_node *n = &w->node[0];
    char name[32];
    for (uint32_t i = 0; i < LOCKS; i++)
        assert_non_null(node_lock_get(n, name, many_name(i, name)));
    uint32_t owned = count_owned(w, 0, LOCKS);
    assert_true(owned > LOCKS / 5);
    int calls = 1;
    assert_false(hand_over(n));
    uint32_t left = count_owned(w, 0, LOCKS);
    assert_true(left > owned / 4 && left < owned);
    for (; !hand_over(n); calls++)
        assert_true(calls < 20);
    assert_int_equal(count_owned(w, 0, LOCKS), 0);
}

/* One that cannot go yet is looked at again, also if it lies in the part that comes first. */
void test_holder_is_waited_for(void **state)
{
    enum { LOCKS = 3 * NODE_HANDED_AT_ONCE };
    world *w = *state;
    cluster_node *n = &w->node[0];
    char name[32];
    for (uint32_t i = 0; i < LOCKS; i++)
        assert_non_null(node_lock_get(n, name, many_name(i, name)));
    const node_lock *first = NULL;
    name_walk loaded = name_walk_all(&n->loaded);
    while ((first = node_lock_next(&loaded))->replica.stub.now.owner != 0)
        continue;
    w->visitor[0].place = VISITOR_WAITS;
    n->locks.backend->tell(&n->locks, &w->visitor[0].who, first->name, first->name_bytes,
                           (wdme_message){.kind = WDME_LOCK}, w->now);
    assert_int_equal(w->visitor[0].place, VISITOR_INSIDE);
    for (int i = 0; i < 20; i++)
        assert_false(hand_over(n));
    n->locks.backend->tell(&n->locks, &w->visitor[0].who, first->name, first->name_bytes,
                           (wdme_message){.kind = WDME_EXIT, .generation = w->visitor[0].token},
                           w->now);
    for (int calls = 0; !hand_over(n); calls++)
        assert_true(calls < 20);
    assert_int_not_equal(first->replica.stub.now.owner, 0);
}
