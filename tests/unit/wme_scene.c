#include "wme_scene.h"

#include "wme_sound.h"

#include <stdlib.h>
#include <string.h>

/* ---- operations: a key, and who counts them ---- */

typedef struct keyed {
    scene *world;
    uint32_t key;
} keyed;

static void free_op(wme_op *op)
{
    keyed k;
    memcpy(&k, op->data, sizeof k);
    k.world->live_ops--;
    free(op);
}

wme_op *scene_op(scene *w, uint32_t key)
{
    keyed k = {w, key};
    wme_op *op = calloc(1, sizeof *op + sizeof k);
    assert_non_null(op);
    *op = (wme_op){.free = free_op, .holders = 1, .bytes = sizeof k};
    memcpy(op->data, &k, sizeof k);
    w->live_ops++;
    return op;
}

static uint32_t key_of(const wme_op *op)
{
    keyed k;
    memcpy(&k, op->data, sizeof k);
    return k.key;
}

static void for_each_op(const wme_message *m, void (*what)(wme_op *op))
{
    what(m->op);
    what(m->record.last);
    for (uint8_t i = 0; i < m->count; i++)
        what(m->ops[i]);
}

static void keep(wme_op *op)
{
    wme_op_keep(op);
}

/* ---- what a step wants done ---- */

static void discard(scene_letter *letter)
{
    for_each_op(&letter->message, wme_op_drop);
    free(letter);
}

static void tell(wme_user *user, char what)
{
    scene_user *u = (scene_user *)user;
    size_t length = strlen(u->told);
    assert_true(length + 1 < SCENE_TOLD);
    u->told[length] = what;
}

static void send_to(scene *w, uint8_t from, uint8_t to, const wme_message *m)
{
    w->sent[m->kind]++;
    if (w->node[from].cut || w->node[to].cut)
        return;
    scene_letter *letter = malloc(sizeof *letter);
    assert_non_null(letter);
    assert_true(w->count < SCENE_FLIGHT);
    letter->from = from;
    letter->to = to;
    letter->message = *m;
    for_each_op(m, keep);
    if (m->kind == WME_STATE && m->snapshot) {
        letter->resource = w->node[from].resource;
        assert_int_equal(letter->resource.count, m->executed);
        letter->message.resource = &letter->resource;
        memcpy(letter->message.answered, letter->resource.answered, sizeof m->answered);
    }
    w->flight[w->count++] = letter;
}

static void execute(scene_node *n, const wme_action *a)
{
    scene_resource *r = &n->resource;
    assert_int_equal(a->number, r->count + 1); /* each once, in order */
    assert_true(r->count < SCENE_OPS && a->op->origin < WME_MAX_NODES);
    r->keys[r->count++] = key_of(a->op);
    r->answered[a->op->origin] = a->op->id;
    r->outcome[a->op->origin] = r->count;
}

static void recall(scene_node *n, const wme_action *a)
{
    assert_int_equal(n->resource.answered[n->wme.me], a->op->id);
    ((scene_user *)a->user)->outcome = n->resource.outcome[n->wme.me];
    tell(a->user, 'A');
}

static void persist(scene_node *n)
{
    replica_save(&n->replica, &n->disk.lock);
    n->disk.resource = n->resource;
    n->disk.written = true;
    n->persists++;
}

static void carry_out(scene *w, scene_node *n, const wme_action *a)
{
    switch (a->verb) {
    case WME_SEND:
        for (uint8_t to = 0; to < w->nodes; to++)
            if (a->to >> to & 1)
                send_to(w, n->wme.me, to, &a->message);
        break;
    case WME_PERSIST:
    case WME_INSTALL:
        break; /* was done before */
    case WME_EXECUTE:
        if (a->user != NULL) {
            ((scene_user *)a->user)->outcome = a->number;
            tell(a->user, 'O');
        }
        break;
    case WME_RECALL:
        recall(n, a);
        break;
    case WME_CRIT:
        ((scene_user *)a->user)->token = a->token;
        tell(a->user, 'C');
        break;
    case WME_KEPT:
        ((scene_user *)a->user)->token = a->token;
        break;
    case WME_REM:
        tell(a->user, 'R');
        break;
    case WME_EJECTED:
        tell(a->user, 'E');
        break;
    case WME_SUSPENDED:
    case WME_RESUMED:
        n->suspended = a->verb == WME_SUSPENDED;
        break;
    case WME_PROPOSE:
    case WME_DECISION:
        break;
    }
}

/* Executes, then writes, once. */
static void change_and_persist(scene *w, scene_node *n)
{
    bool write = false;
    for (uint32_t i = 0; i < w->out.count; i++) {
        const wme_action *a = &w->out.actions[i];
        if (a->verb == WME_EXECUTE)
            execute(n, a);
        else if (a->verb == WME_INSTALL)
            n->resource = *(const scene_resource *)a->message.resource;
        write = write || a->verb == WME_PERSIST;
    }
    if (write)
        persist(n);
}

/* After every event. */
void scene_finish(scene *w, uint8_t node)
{
    scene_node *n = &w->node[node];
    for (uint32_t i = 0; i < w->out.count; i++)
        if (w->out.actions[i].early)
            carry_out(w, n, &w->out.actions[i]);
    if (n->dies_unwritten) {
        wme_out_clear(&w->out);
        scene_crash(w, node);
        return;
    }
    change_and_persist(w, n);
    for (uint32_t i = 0; i < w->out.count && !n->dies; i++)
        if (!w->out.actions[i].early)
            carry_out(w, n, &w->out.actions[i]);
    wme_out_clear(&w->out);
    const char *why = wme_unsound(&n->replica.stub, &n->wme);
    if (why != NULL)
        fail_msg("node %u: %s", node, why);
    assert_int_equal(n->resource.count, n->replica.stub.executed);
    if (n->dies)
        scene_crash(w, node);
}

/* ---- nodes ---- */

scene *scene_open(uint8_t nodes, bool ack_all)
{
    scene *w = calloc(1, sizeof *w);
    assert_non_null(w);
    assert_true(nodes <= SCENE_NODES);
    w->nodes = nodes;
    for (uint8_t i = 0; i < nodes; i++) {
        w->node[i].wme = (wme_node){.me = i, .nodes = nodes, .ack_all = ack_all};
        w->node[i].up = true;
        replica_start(&w->node[i].replica, &w->node[i].wme, 0, i + 1);
    }
    return w;
}

void scene_close(scene *w)
{
    scene_drop(w, ANY, ANY, ANY);
    while (w->delivered_count > 0)
        discard(w->delivered[--w->delivered_count]);
    for (uint8_t i = 0; i < w->nodes; i++) {
        if (w->node[i].up)
            replica_end(&w->node[i].replica);
        replica_durable_end(&w->node[i].disk.lock);
    }
    assert_int_equal(w->live_ops, 0);
    free(w);
}

void scene_suspect(scene *w, uint8_t node, uint8_t whom)
{
    w->node[node].wme.suspected |= (uint16_t)(1U << whom);
    replica_suspicion(&w->node[node].replica, &w->node[node].wme, &w->out);
    scene_finish(w, node);
}

void scene_trust(scene *w, uint8_t node, uint8_t whom)
{
    w->node[node].wme.suspected &= (uint16_t) ~(1U << whom);
    replica_suspicion(&w->node[node].replica, &w->node[node].wme, &w->out);
    scene_finish(w, node);
}

void scene_tick(scene *w, uint8_t node)
{
    replica_tick(&w->node[node].replica, &w->node[node].wme, &w->out);
    scene_finish(w, node);
}

void scene_tick_all(scene *w)
{
    for (uint8_t i = 0; i < w->nodes; i++)
        if (w->node[i].up)
            scene_tick(w, i);
    scene_settle(w);
}

void scene_crash(scene *w, uint8_t node)
{
    scene_node *n = &w->node[node];
    assert_true(n->up);
    replica_end(&n->replica);
    n->up = n->dies = n->dies_unwritten = false;
    memset(n->user, 0, sizeof n->user);
}

void scene_restart(scene *w, uint8_t node)
{
    scene_node *n = &w->node[node];
    assert_true(!n->up);
    n->up = true;
    n->wme.suspected = 0;
    n->resource = n->disk.resource;
    bool away = n->emptied && !n->disk.written;
    if (!away && !n->disk.written)
        replica_unsaved(&n->disk.lock, &n->wme, 0);
    if (away)
        replica_rejoin(&n->replica, &n->wme, ++w->next_nonce, node + 1U, &w->out);
    else
        replica_restart(&n->replica, &n->wme, &n->disk.lock, n->resource.count, node + 1U, &w->out);
    scene_finish(w, node);
}

void scene_forget(scene *w, uint8_t node)
{
    scene_node *n = &w->node[node];
    if (n->up)
        scene_crash(w, node);
    replica_durable_end(&n->disk.lock);
    memset(&n->disk, 0, sizeof n->disk);
    n->emptied = true;
}

bool scene_rest(scene *w, uint8_t node)
{
    scene_node *n = &w->node[node];
    replica_durable saved = {0};
    if (!replica_may_rest(&n->replica, &n->wme))
        return false;
    replica_save(&n->replica, &saved);
    replica_end(&n->replica);
    replica_wake(&n->replica, &n->wme, &saved, n->resource.count, node + 1U);
    replica_durable_end(&saved);
    replica_suspicion(&n->replica, &n->wme, &w->out);
    scene_finish(w, node);
    return true;
}

void scene_cut(scene *w, uint8_t node, bool cut)
{
    w->node[node].cut = cut;
    if (cut) {
        scene_drop(w, ANY, node, ANY);
        scene_drop(w, ANY, ANY, node);
    }
}

wme_stub *scene_stub(scene *w, uint8_t node)
{
    return &w->node[node].replica.stub;
}

void scene_expect_executed(const scene *w, uint8_t node, const uint32_t *keys)
{
    const scene_resource *r = &w->node[node].resource;
    uint64_t count = 0;
    while (keys[count] != 0) {
        if (count < r->count)
            assert_int_equal(r->keys[count], keys[count]);
        count++;
    }
    assert_int_equal(r->count, count);
}

/* ---- messages ---- */

static bool matches(const scene_letter *l, uint8_t kind, uint8_t from, uint8_t to)
{
    return (kind == ANY || l->message.kind == kind) && (from == ANY || l->from == from) &&
           (to == ANY || l->to == to);
}

static uint32_t find(const scene *w, uint8_t kind, uint8_t from, uint8_t to)
{
    uint32_t at = 0;
    while (at < w->count && !matches(w->flight[at], kind, from, to))
        at++;
    return at;
}

static scene_letter *take(scene *w, uint32_t at)
{
    scene_letter *letter = w->flight[at];
    w->count--;
    memmove(&w->flight[at], &w->flight[at + 1], (w->count - at) * sizeof *w->flight);
    return letter;
}

static void hand_over(scene *w, const scene_letter *l)
{
    scene_node *n = &w->node[l->to];
    if (!n->up)
        return;
    replica_receive(&n->replica, &n->wme, l->from, &l->message, &w->out);
    scene_finish(w, l->to);
}

uint32_t scene_in_flight(const scene *w, uint8_t kind, uint8_t from, uint8_t to)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->count; i++)
        count += matches(w->flight[i], kind, from, to);
    return count;
}

const wme_message *scene_look(const scene *w, uint8_t kind, uint8_t from, uint8_t to)
{
    uint32_t at = find(w, kind, from, to);
    if (at == w->count)
        fail_msg("no message of kind %u is on its way from %u to %u", kind, from, to);
    return &w->flight[at]->message;
}

void scene_deliver(scene *w, uint8_t kind, uint8_t from, uint8_t to)
{
    scene_look(w, kind, from, to);
    scene_letter *letter = take(w, find(w, kind, from, to));
    hand_over(w, letter);
    if (!w->keeps) {
        discard(letter);
        return;
    }
    assert_true(w->delivered_count < SCENE_FLIGHT);
    w->delivered[w->delivered_count++] = letter;
}

void scene_replay(scene *w)
{
    w->keeps = false;
    for (uint32_t i = 0; i < w->delivered_count; i++) {
        hand_over(w, w->delivered[i]);
        scene_drop(w, ANY, ANY, ANY);
    }
}

void scene_deliver_copy(scene *w, uint8_t kind, uint8_t from, uint8_t to)
{
    scene_look(w, kind, from, to);
    hand_over(w, w->flight[find(w, kind, from, to)]);
}

void scene_deliver_every(scene *w, uint8_t kind, uint8_t from, uint8_t to)
{
    uint32_t max = 5000; /* more than that is for ever */
    for (; find(w, kind, from, to) < w->count; max--) {
        assert_true(max > 0);
        scene_deliver(w, kind, from, to);
    }
}

void scene_settle(scene *w)
{
    scene_deliver_every(w, ANY, ANY, ANY);
}

void scene_drop(scene *w, uint8_t kind, uint8_t from, uint8_t to)
{
    for (uint32_t at; (at = find(w, kind, from, to)) < w->count;)
        discard(take(w, at));
}

void scene_lose(scene *w)
{
    discard(take(w, 0));
}

void scene_forge(scene *w, uint8_t from, uint8_t to, const wme_message *m)
{
    scene_node *n = &w->node[to];
    replica_receive(&n->replica, &n->wme, from, m, &w->out);
    scene_finish(w, to);
}

void scene_forget_counts(scene *w)
{
    memset(w->sent, 0, sizeof w->sent);
}

uint32_t scene_sent(const scene *w)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < WME_KINDS; i++)
        sum += w->sent[i];
    return sum;
}
