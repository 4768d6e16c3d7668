/* See outside.h. What an answer means is said in consensus/outside.h; nothing is decided here. */
#include "engine.h"
#include "log.h"
#include "node_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLUSTER_DIGITS = 32,
    REFUSED_PAUSE = 1000, /* milliseconds until a lock whose key makes no sense asks again */
    MAX_COMPLAINTS = 10,  /* in so many */
};

struct outside {
    uv_loop_t *loop;
    cluster_node *node;
    etcd *etcd;
    char cluster[PROOF_HEX + 1];
    uint64_t complaints_since; /* of: */
    uint32_t complaints;
};

static_assert(CLUSTER_DIGITS + STORE_MAX_NAME + 16 <= ETCD_MAX_KEY, "every lock has a key");

static etcd_bytes make_key(const outside *o, const node_lock *p, char key[ETCD_MAX_KEY])
{
    int length = snprintf(key, ETCD_MAX_KEY, "baton/%s/", o->cluster);
    memcpy(key + length, p->name, p->name_bytes);
    return (etcd_bytes){key, (size_t)length + p->name_bytes};
}

/* ---- what etcd says ---- */

/* What is wrong with a key, some times in a second. The lock asks again after a while. */
static void complain(outside *o, node_lock *p, log_level level, const char *event, const char *why)
{
    cluster_node *n = o->node;
    p->ask_after = n->now + REFUSED_PAUSE;
    if (n->now >= o->complaints_since + REFUSED_PAUSE) {
        o->complaints_since = n->now;
        o->complaints = 0;
    }
    if (++o->complaints > MAX_COMPLAINTS)
        return;
    char text[ETCD_MAX_KEY];
    etcd_bytes key = make_key(o, p, text);
    log_line(level, event, "key=%s epoch=%llu why=\"%s\"", log_quote(key.at, key.bytes).text,
             (unsigned long long)p->replica.stub.now.epoch, why);
}

/*
 * A decision that was taken is gone, or something else stands in its place: to go on could give the
 * lock to two. So nothing is written, and this lock waits for who looks after etcd.
 */
static void refuse(outside *o, node_lock *p, const char *why)
{
    o->node->counts.refused++;
    complain(o, p, LOG_ERROR, "etcd_refused", why);
}

/* The others know more, and will say so; unless it is not them who have written that. */
static void wait_for_state(outside *o, node_lock *p, uint64_t epoch)
{
    if (p->replica.stub.now.epoch == epoch)
        complain(o, p, LOG_WARN, "etcd_ahead",
                 "later epochs have ended, as others should know; if this does not end, somebody "
                 "else writes this key");
}

/* Whether it is the decision on how that epoch of this lock ends. */
static bool is_about(const peer_said *said, const node_lock *p, uint64_t epoch)
{
    return said->verb == PEER_MESSAGE && said->message.kind == WME_DECIDED &&
           said->message.epoch == epoch && said->words.bytes == p->name_bytes &&
           memcmp(said->words.at, p->name, p->name_bytes) == 0;
}

static void decide(outside *o, node_lock *p, uint64_t epoch, const etcd_answer *a)
{
    static peer_said said; /* large, and used up before the next */
    resp_parsed read = peer_read(a->value, a->value_bytes, o->node->wme.nodes, &said);
    bool whole = read.verdict == RESP_COMPLETE && read.used == a->value_bytes;
    if (!whole || !is_about(&said, p, epoch) ||
        node_lock_decided(o->node, p, &said.message.record) != WME_FINE)
        refuse(o, p, "its value is no decision on this epoch; somebody else has written it");
    if (read.verdict == RESP_COMPLETE)
        peer_said_drop(&said);
}

static void told(void *context, void *who, uint64_t epoch, const etcd_answer *a)
{
    outside *o = context;
    node_lock *p = who;
    cluster_node *n = o->node;
    n->now = uv_now(o->loop);
    p->asks = false;
    if (a == NULL) {
        n->counts.unanswered++;
        return;
    }
    if (a->verdict == OUTSIDE_FORGOTTEN)
        refuse(o, p, "its version is too low; it was deleted, or etcd is not as it was");
    else if (a->verdict == OUTSIDE_LATER)
        wait_for_state(o, p, epoch);
    else
        decide(o, p, epoch, a);
}

/* ---- what is asked ---- */

/* As the nodes would tell each other the decision. */
static bool ask(outside *o, node_lock *p)
{
    const wme_stub *s = &p->replica.stub;
    wme_message m = {.kind = WME_DECIDED, .epoch = s->best->epoch, .record = *s->best};
    resp_word name = {p->name, p->name_bytes};
    resp_out value = {.max = ETCD_MAX_VALUE};
    char key[ETCD_MAX_KEY];
    bool asked = peer_say(&value, o->node->wme.nodes, name, &m) == NULL &&
                 etcd_propose(o->etcd, p, make_key(o, p, key), s->best->epoch,
                              (etcd_bytes){value.at, value.bytes});
    resp_free(&value);
    return asked;
}

void outside_ask(outside *o)
{
    cluster_node *n = o->node;
    n->outside_reached = etcd_is_reached(o->etcd);
    while (!list_is_empty(&n->asking) && etcd_is_ready(o->etcd)) {
        node_lock *p = node_lock_next_asking(n);
        p->asks = p->replica.stub.proposed && ask(o, p);
        n->counts.asked += p->asks;
    }
}

/* ---- beginning and end ---- */

outside *outside_open(uv_loop_t *loop, cluster_node *node, const peers *all,
                      const etcd_settings *settings)
{
    outside *o = calloc(1, sizeof *o);
    if (o == NULL)
        return NULL;
    o->loop = loop;
    o->node = node;
    proof_to_hex(all->digest, o->cluster);
    o->cluster[CLUSTER_DIGITS] = '\0';
    o->etcd = etcd_open(loop, settings, told, o);
    if (o->etcd == NULL) {
        free(o);
        return NULL;
    }
    node->wme.outside = true;
    return o;
}

void outside_close(outside *o)
{
    etcd_close(o->etcd);
}

void outside_free(outside *o)
{
    etcd_free(o->etcd);
    free(o);
}
