/* A run of whole nodes: what happens next, chance, bytes on their way, begin and end. */
#include "node_fleet.h"

#include "chance.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void fleet_out_of_order(const char *what)
{
    fprintf(stderr, "baton-sim: %s\n", what);
    abort();
}

void fleet_put(fleet *f, uint64_t at, fleet_event kind, uint8_t from, uint8_t node, uint32_t stamp,
               uint32_t person)
{
    events_put(&f->events, (event){.at = at,
                                   .kind = (uint8_t)kind,
                                   .from = from,
                                   .node = node,
                                   .stamp = stamp,
                                   .person = person});
}

uint64_t fleet_pick(fleet *f, uint64_t least, uint64_t max)
{
    return least + draw(&f->chance) % (max - least + 1);
}

bool fleet_happens(fleet *f, uint32_t percent)
{
    return draw(&f->chance) % 100 < percent;
}

/* Most messages take about as long as the others, some far longer. */
uint64_t fleet_delay(fleet *f)
{
    uint64_t delay = f->settings.delay / 2 + fleet_pick(f, 0, f->settings.delay);
    if (fleet_happens(f, 2))
        delay *= 10;
    return delay + (f->slow > 0 ? fleet_pick(f, 0, f->slow) : 0);
}

void fleet_say(const fleet *f, const char *who, const char *format, ...)
{
    if (f->trace == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(f->trace, "%10.3f  %-9s ", (double)f->now / MILLISECOND, who);
    vfprintf(f->trace, format, arguments);
    fputc('\n', f->trace);
    va_end(arguments);
}

/* ---- bytes on their way ---- */

void conduit_put(conduit *c, const char *bytes, size_t count, uint64_t sent, uint64_t at)
{
    if (count == 0)
        return;
    chunk *k = malloc(sizeof *k + count);
    if (k == NULL)
        fleet_out_of_order("out of memory");
    c->last_at = at > c->last_at ? at : c->last_at; /* in order */
    *k = (chunk){.sent = sent, .at = c->last_at, .bytes = count};
    memcpy(k->data, bytes, count);
    *(c->last != NULL ? &c->last->next : &c->first) = k;
    c->last = k;
}

static void drop_first(conduit *c)
{
    chunk *k = c->first;
    c->first = k->next;
    if (c->first == NULL)
        c->last = NULL;
    free(k);
}

void conduit_take(conduit *c, uint64_t now)
{
    while (c->first != NULL && c->first->at <= now) {
        resp_raw(&c->pending, c->first->data, c->first->bytes);
        c->sent = c->first->sent;
        drop_first(c);
    }
}

void conduit_used(conduit *c, size_t used)
{
    c->pending.bytes -= used;
    if (used > 0 && c->pending.bytes > 0)
        memmove(c->pending.at, c->pending.at + used, c->pending.bytes);
}

void conduit_cut(conduit *c, uint64_t pieces)
{
    chunk *k = c->first;
    while (k != NULL && pieces-- > 0)
        k = k->next;
    if (k == NULL)
        return;
    k->bytes /= 2;
    for (chunk *lost = k->next, *next; lost != NULL; lost = next) {
        next = lost->next;
        free(lost);
    }
    k->next = NULL;
    c->last = k;
}

void conduit_clear(conduit *c)
{
    while (c->first != NULL)
        drop_first(c);
    resp_free(&c->pending);
    *c = (conduit){0};
}

/* ---- events ---- */

/* To a machine, whether its node runs or not. */
static void befall(fleet *f, const event *e)
{
    if (e->kind == FLEET_STARTS)
        host_start(f, e->node);
    else if (e->kind == FLEET_DIES)
        host_died_again(f, e->node);
    else if (e->kind == FLEET_DARKENS)
        host_darkens(f, e->node);
    else if (e->kind == FLEET_RESTORES)
        host_is_restored(f, e->node, e->person);
    else
        host_rolls(f, e->node);
}

static void happen(fleet *f, const event *e)
{
    switch ((fleet_event)e->kind) {
    case FLEET_TICK:
        host_tick(f, e->node);
        break;
    case FLEET_TURN:
        host_turn(f, e->node);
        break;
    case FLEET_DIAL:
        line_dial(f, e->from, e->node, e->stamp);
        break;
    case FLEET_ARRIVES:
        line_arrives(f, e->from, e->node);
        break;
    case FLEET_UNREACHED:
        line_unreached(f, e->from, e->node, e->stamp);
        break;
    case FLEET_HEARD:
        guest_heard(f, f->guests[e->person]);
        break;
    case FLEET_TOLD:
        client_told(f, f->guests[e->person]);
        break;
    case FLEET_GONE:
        guest_gone(f, f->guests[e->person]);
        break;
    case FLEET_LEFT:
        client_left(f, f->guests[e->person]);
        break;
    case FLEET_ACTS:
        client_acts(f, (uint8_t)e->person, e->stamp);
        break;
    case FLEET_KEEPS:
        keeper_looks(f, (uint8_t)e->person, e->stamp);
        break;
    case FLEET_BEGINS:
        mishap_begins(f, e->person);
        break;
    case FLEET_ENDS:
        mishap_ends(f, e->person);
        break;
    case FLEET_STARTS:
    case FLEET_DIES:
    case FLEET_DARKENS:
    case FLEET_RESTORES:
    case FLEET_ROLLS:
        befall(f, e);
        break;
    case FLEET_ASKED:
        outside_hears(f, e->person);
        break;
    case FLEET_DECIDED:
        outside_answers(f, e->person);
        break;
    case FLEET_UNANSWERED:
        outside_does_not(f, e->person);
        break;
    case FLEET_LOOKS:
        fleet_look(f);
        break;
    }
}

/* The node whose process an event needs, or -1; and the start of it that it belongs to. */
static int needs(const fleet *f, const event *e, uint32_t *start)
{
    switch ((fleet_event)e->kind) {
    case FLEET_TICK:
    case FLEET_TURN:
    case FLEET_DECIDED:
    case FLEET_UNANSWERED:
        *start = e->stamp;
        return e->node;
    case FLEET_DIAL:
    case FLEET_UNREACHED:
        *start = f->machines[e->from].start;
        return e->from;
    case FLEET_ARRIVES:
        *start = f->machines[e->node].start;
        return e->node;
    case FLEET_HEARD:
    case FLEET_GONE:
        *start = f->guests[e->person]->start;
        return f->guests[e->person]->machine;
    default:
        return -1;
    }
}

bool fleet_step(fleet *f)
{
    event e;
    uint32_t start = 0;
    if (f->ends || f->judge.trouble.property[0] != '\0' || !events_take(&f->events, &e))
        return false;
    f->now = e.at;
    f->counts.events++;
    int node = needs(f, &e, &start);
    if (node >= 0) {
        const machine *m = &f->machines[node];
        if (!m->up || m->start != start)
            return true; /* nobody is there, or another one */
        uint64_t free_at = host_free_at(f, (uint8_t)node);
        if (free_at > f->now) {
            e.at = free_at; /* what comes over one way stays in order: conduit_take */
            events_put(&f->events, e);
            return true;
        }
        disk_use(f, (uint8_t)node);
    }
    happen(f, &e);
    return true;
}

/* ---- beginning and end ---- */

fleet *fleet_new(const fleet_settings *s, FILE *trace, teller *to)
{
    fleet *f = calloc(1, sizeof *f);
    if (f == NULL)
        fleet_out_of_order("out of memory");
    f->settings = *s;
    f->trace = trace;
    f->teller = to;
    f->chance = s->seed;
    f->now = MILLISECOND;
    for (int i = 0; i < FLEET_NODES; i++)
        f->machines[i].doom_settled = -1;
    for (uint8_t i = 0; i < s->nodes; i++)
        f->machines[i].disk.watched = node_plan_has(&s->plan, DISK_MISHAPS) && !host_forgets(f, i);
    disks_empty();
    for (uint8_t i = 0; i < s->nodes && s->aged; i++)
        disk_age(i, s->locks, s->nodes);
    for (uint8_t i = 0; i < s->nodes; i++)
        host_start(f, i);
    for (int i = 0; i < FLEET_PEOPLE; i++)
        f->clients[i].chance = draw(&f->chance);
    for (int i = 0; i < FLEET_CLIENTS; i++)
        f->clients[i].keeper.acts = (s->keepers >> i & 1) != 0;
    for (uint8_t i = 0; i < s->clients; i++)
        client_next(f, i, 0, 100);
    for (uint32_t i = 0; i < s->plan.count; i++)
        fleet_put(f, s->plan.mishaps[i].at * MILLISECOND + MILLISECOND, FLEET_BEGINS, 0, 0, 0, i);
    fleet_put(f, f->now + s->horizon * (uint64_t)MILLISECOND, FLEET_LOOKS, 0, 0, 0, 0);
    return f;
}

void fleet_free(fleet *f)
{
    for (uint8_t i = 0; i < f->settings.nodes; i++)
        if (f->machines[i].up)
            host_dies(f, i);
    outside_free(f);
    disk_use(NULL, 0);
    for (int i = 0; i < FLEET_NODES; i++)
        disk_free(&f->machines[i].disk);
    for (int i = 0; i < FLEET_NODES; i++)
        for (int k = 0; k < FLEET_NODES; k++)
            conduit_clear(&f->lines[i][k].way);
    for (uint32_t i = 0; i < f->guest_count; i++) {
        conduit_clear(&f->guests[i]->in);
        conduit_clear(&f->guests[i]->out);
        free(f->guests[i]);
    }
    free(f->guests);
    free(f->values);
    events_free(&f->events);
    disks_empty();
    free(f);
}
