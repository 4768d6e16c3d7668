/*
 * The people who use the locks. Each tries, issues some operations when inside, and exits; now and
 * then one loses patience, or vanishes wherever it is. What one does is one event each.
 *
 * Now and then one loses its node, which crashes or only seems to, and goes on with its section at
 * another: as another person there, who resumes. While the node runs its section lingers, until the
 * other has given up: a client gives up when its lease is over, and its node keeps it for longer.
 */
#include "cluster.h"

#include "chance.h"

#include <math.h>
#include <string.h>

enum { THINK = 2 * MS, PATIENCE = 150 * MS, MAX_OPERATIONS = 4 };

static bool one_in(cluster *c, uint32_t many)
{
    return draw(&c->people_chance) % many == 0;
}

static uint64_t about(cluster *c, uint32_t mean)
{
    double share = (double)((draw(&c->people_chance) >> 11) + 1) * 0x1p-53;
    return (uint64_t)(-log(share) * mean) + 1;
}

static history *history_of(const cluster *c, const person *p)
{
    return c->histories[p->lock];
}

/* It will act upon this, and upon nothing that it meant to do before. */
static void act_in(cluster *c, person *p, uint64_t us)
{
    p->stamp++;
    if (!c->settings.people_act)
        return;
    events_put(&c->events, (event){.at = c->now + us,
                                   .kind = EVENT_PERSON,
                                   .node = p->node,
                                   .lock = p->lock,
                                   .person = p->index,
                                   .stamp = p->stamp});
}

static void rest(cluster *c, person *p)
{
    p->mood = OUTSIDE;
    if (c->stage < CLOSING)
        act_in(c, p, about(c, c->settings.rest));
    else
        p->stamp++;
}

/* One of two who were one does not matter any more. */
static void part(person *p)
{
    if (p->other != NULL)
        p->other->other = NULL;
    p->other = NULL;
}

/* It has come to nothing: who lingers for it may go. */
static void give_up(cluster *c, person *p)
{
    if (p->other != NULL)
        act_in(c, p->other, about(c, THINK));
    p->resumes = 0;
    part(p);
}

/* Somebody at another node who does nothing else, chosen by chance; NULL if there is none. */
static person *find_other(cluster *c, const person *p)
{
    uint8_t from = (uint8_t)(draw(&c->people_chance) % c->settings.nodes);
    for (uint8_t i = 0; i < c->settings.nodes; i++) {
        uint8_t node = (uint8_t)((from + i) % c->settings.nodes);
        machine *m = &c->machines[node];
        for (uint8_t k = 0; k < c->settings.people && m->runs && node != p->node; k++)
            if (m->locks[p->lock].people[k].mood == OUTSIDE &&
                m->locks[p->lock].people[k].resumes == 0)
                return &m->locks[p->lock].people[k];
    }
    return NULL;
}

/* Whoever goes on for it. Most at once; some when others may have been inside. */
static person *go_on_elsewhere(cluster *c, const person *p)
{
    person *q = c->stage < CLOSING && c->settings.people_act ? find_other(c, p) : NULL;
    if (q == NULL)
        return NULL;
    q->resumes = p->token;
    act_in(c, q, about(c, one_in(c, 4) ? PATIENCE : THINK));
    return q;
}

static void tell(cluster *c, const person *p, note_kind kind)
{
    cluster_tell(
        c,
        (note){
            .kind = kind, .node = p->node, .lock = p->lock, .person = p->number, .value = p->key});
}

/* What the stub says to a wish that is in order. */
static void expect_fine(cluster *c, const person *p, wme_refusal answer, const char *wish)
{
    if (answer == WME_FINE)
        return;
    cluster_wrong(c, "refused", "the %s of person %u at node %u is refused, reason %d", wish,
                  p->number, p->node, answer);
}

/* ---- what it does ---- */

static machine *machine_of(cluster *c, const person *p)
{
    return &c->machines[p->node];
}

static replica *replica_of(cluster *c, const person *p)
{
    return &machine_of(c, p)->locks[p->lock].replica;
}

void person_try(cluster *c, person *p)
{
    tell(c, p, NOTE_TRY);
    if (history_of(c, p) != NULL)
        history_try(history_of(c, p), p->number, p->node, c->now);
    p->mood = WAITING;
    p->patient = !one_in(c, 8);
    if (p->patient)
        p->stamp++;
    else
        act_in(c, p, about(c, PATIENCE));
    memset(&p->user, 0, sizeof p->user);
    wme_refusal answer = replica_try(replica_of(c, p), &machine_of(c, p)->node, &p->user, &c->out);
    expect_fine(c, p, answer, "try");
    carry_out(c, p->node, p->lock);
}

static void person_resume(cluster *c, person *p)
{
    p->key = p->resumes;
    tell(c, p, NOTE_RESUME);
    if (history_of(c, p) != NULL)
        history_resume(history_of(c, p), p->number, p->node, p->resumes, c->now);
    p->mood = WAITING;
    act_in(c, p, about(c, 4 * PATIENCE)); /* a lease */
    memset(&p->user, 0, sizeof p->user);
    wme_refusal answer =
        replica_resume(replica_of(c, p), &machine_of(c, p)->node, &p->user, p->resumes, &c->out);
    expect_fine(c, p, answer, "resume");
    carry_out(c, p->node, p->lock);
}

void person_issue(cluster *c, person *p)
{
    p->key = ++c->keys;
    tell(c, p, NOTE_ISSUE);
    if (history_of(c, p) != NULL)
        history_issue(history_of(c, p), p->number, p->key, c->now);
    p->mood = ISSUING;
    p->patient = !one_in(c, 20);
    if (p->patient)
        p->stamp++;
    else
        act_in(c, p, about(c, THINK));
    wme_op *op = cluster_op_new(p->key);
    wme_refusal answer =
        replica_issue(replica_of(c, p), &machine_of(c, p)->node, &p->user, op, &c->out);
    wme_op_drop(op);
    expect_fine(c, p, answer, "operation");
    carry_out(c, p->node, p->lock);
}

void person_exit(cluster *c, person *p)
{
    tell(c, p, NOTE_EXIT);
    if (history_of(c, p) != NULL)
        history_exit(history_of(c, p), p->number, c->now);
    p->mood = LEAVING;
    p->patient = !one_in(c, 20);
    if (p->patient)
        p->stamp++;
    else
        act_in(c, p, about(c, THINK));
    wme_refusal answer = replica_exit(replica_of(c, p), &machine_of(c, p)->node, &p->user, &c->out);
    expect_fine(c, p, answer, "exit");
    carry_out(c, p->node, p->lock);
}

static void person_leave(cluster *c, person *p)
{
    tell(c, p, NOTE_LEAVE);
    if (history_of(c, p) != NULL)
        history_gone(history_of(c, p), p->number, c->now);
    give_up(c, p);
    rest(c, p);
    replica_leave(replica_of(c, p), &machine_of(c, p)->node, &p->user, &c->out);
    memset(&p->user, 0xa5, sizeof p->user); /* nobody may look at it any more */
    carry_out(c, p->node, p->lock);
}

static void linger(cluster *c, person *p)
{
    p->mood = LINGERING;
    p->stamp++;
    p->other = go_on_elsewhere(c, p);
    if (p->other != NULL)
        p->other->other = p;
    else
        act_in(c, p, about(c, THINK));
}

void person_act(cluster *c, person *p)
{
    switch (p->mood) {
    case OUTSIDE:
        if (p->resumes != 0)
            person_resume(c, p);
        else if (c->stage < CLOSING)
            person_try(c, p);
        break;
    case THINKING:
        if (one_in(c, 25))
            person_leave(c, p);
        else if (c->settings.plan.count > 0 && one_in(c, 20))
            linger(c, p);
        else if (p->operations > 0)
            person_issue(c, p);
        else
            person_exit(c, p);
        break;
    default: /* waits for something, and has had enough */
        person_leave(c, p);
    }
}

/* ---- what it hears ---- */

static void think(cluster *c, person *p)
{
    p->mood = THINKING;
    /* Now and then for so long that a false suspicion finds it inside. */
    act_in(c, p, one_in(c, 6) ? about(c, 40 * THINK) : about(c, THINK));
}

static void expect_mood(cluster *c, const person *p, mood expected, const char *told)
{
    if (p->mood != expected)
        cluster_wrong(c, "well-formedness", "person %u at node %u is told '%s' in mood %d",
                      p->number, p->node, told, p->mood);
}

void person_outcome(cluster *c, person *p, uint64_t key, uint64_t result)
{
    cluster_tell(c, (note){.kind = NOTE_OUTCOME,
                           .node = p->node,
                           .lock = p->lock,
                           .person = p->number,
                           .value = key,
                           .until = result});
    if (history_of(c, p) != NULL)
        history_outcome(history_of(c, p), p->number, key, result, c->now);
    expect_mood(c, p, ISSUING, "outcome");
    if (p->operations > 0)
        p->operations--;
    think(c, p);
}

void person_told(cluster *c, person *p, const wme_action *a)
{
    history *h = history_of(c, p);
    switch (a->verb) {
    case WME_CRIT:
        if (h != NULL)
            history_crit(h, p->number, a->token, c->now);
        expect_mood(c, p, WAITING, "crit");
        p->token = a->token;
        p->resumes = 0;
        part(p); /* who lingers will hear of it */
        p->operations = (uint8_t)(draw(&c->people_chance) % (MAX_OPERATIONS + 1));
        think(c, p);
        break;
    case WME_KEPT:
        if (h != NULL)
            history_kept(h, p->number, a->token, c->now);
        if (p->mood == OUTSIDE || p->mood == WAITING)
            expect_mood(c, p, THINKING, "kept");
        p->token = a->token;
        break;
    case WME_REM:
        if (h != NULL)
            history_rem(h, p->number, c->now);
        expect_mood(c, p, LEAVING, "rem");
        rest(c, p);
        break;
    default:
        if (h != NULL)
            history_ejected(h, p->number, c->now);
        if (p->mood == OUTSIDE || (p->mood == WAITING && p->resumes == 0))
            expect_mood(c, p, THINKING, "ejected");
        if (p->mood == LINGERING)
            part(p);
        else
            give_up(c, p);
        rest(c, p);
    }
}

/* ---- their node ---- */

void people_gone(cluster *c, uint8_t node)
{
    for (uint8_t l = 0; l < c->settings.locks; l++)
        for (uint8_t i = 0; i < c->settings.people; i++) {
            person *p = &c->machines[node].locks[l].people[i];
            bool inside = p->mood == THINKING || p->mood == ISSUING;
            if (p->mood != OUTSIDE && history_of(c, p) != NULL)
                history_gone(history_of(c, p), p->number, c->now);
            if (p->mood == LINGERING)
                part(p);
            else
                give_up(c, p);
            p->mood = OUTSIDE;
            p->stamp++;
            if (inside && !one_in(c, 3))
                go_on_elsewhere(c, p);
        }
}

void people_start(cluster *c, uint8_t node)
{
    for (uint8_t l = 0; l < c->settings.locks; l++)
        for (uint8_t i = 0; i < c->settings.people; i++)
            rest(c, &c->machines[node].locks[l].people[i]);
}
