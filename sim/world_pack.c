/* Worlds as bytes: what matters for the future, and no more. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

/* Goes through a world field by field, writing or reading, so that both ways are one. */
typedef struct stream {
    uint8_t *to;
    const uint8_t *from; /* NULL while writing */
} stream;

static void pass(stream *s, void *field, size_t bytes)
{
    if (s->from != NULL) {
        memcpy(field, s->from, bytes);
        s->from += bytes;
    } else if (s->to != NULL) {
        memcpy(s->to, field, bytes);
        s->to += bytes;
    }
}

#define PASS(field) pass(s, &(field), sizeof(field))

static void pass_letter(stream *s, letter *l)
{
    uint8_t kind = (uint8_t)l->message.kind;
    PASS(kind);
    l->message.kind = kind;
    PASS(l->message.request);
    PASS(l->message.generation);
    PASS(l->member);
    PASS(l->to_register);
    PASS(l->gone);
}

static void pass_person(stream *s, person *who)
{
    uint8_t doing = (uint8_t)who->client.doing;
    PASS(doing);
    who->client.doing = doing;
    PASS(who->client.request);
    PASS(who->client.given_up);
    PASS(who->client.newest);
    PASS(who->client.failed);
    PASS(who->client.lost);
    PASS(who->client.token);
    PASS(who->tries);
    PASS(who->locks);
    PASS(who->connected);
    PASS(who->second);
    PASS(who->believes);
    PASS(who->doubtful);
    PASS(who->token);
    PASS(who->failed_in);
    PASS(who->told_lost);
}

static void pass_member(stream *s, wdme_member *m)
{
    PASS(m->waits);
    PASS(m->before);
    PASS(m->after);
    PASS(m->request);
    PASS(m->loses);
    PASS(m->next_loser);
}

static void pass_world(stream *s, const limits *of, world *w)
{
    PASS(w->reg.generation);
    PASS(w->reg.holder);
    PASS(w->reg.first);
    PASS(w->reg.last);
    PASS(w->reg.losers);
    PASS(w->reg.waiting);
    for (uint32_t i = 0; i < 2 * of->clients; i++)
        pass_member(s, &w->member[i]);
    for (uint32_t i = 0; i < of->clients; i++)
        pass_person(s, &w->person[i]);
    PASS(w->next_generation);
    PASS(w->last_token);
    PASS(w->cancels);
    PASS(w->cuts);
    PASS(w->leases);
    PASS(w->restarts);
    PASS(w->polls);
    PASS(w->letters);
    for (uint32_t i = 0; i < w->letters; i++)
        pass_letter(s, &w->letter[i]);
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int letter_order(const void *one, const void *other)
{
    const letter *a = one;
    const letter *b = other;
    int order = compare(a->member, b->member);
    order = order != 0 ? order : compare(a->to_register, b->to_register);
    order = order != 0 ? order : compare(a->gone, b->gone);
    order = order != 0 ? order : compare(a->message.kind, b->message.kind);
    order = order != 0 ? order : compare(a->message.request, b->message.request);
    return order != 0 ? order : compare(a->message.generation, b->message.generation);
}

/* Letters may overtake each other, so their order does not matter, and they are put into one. */
size_t world_pack(const void *at, const limits *of, uint8_t *bytes)
{
    world w = *(const world *)at;
    stream s = {.to = bytes};
    qsort(w.letter, w.letters, sizeof w.letter[0], letter_order);
    pass_world(&s, of, &w);
    return (size_t)(s.to - bytes);
}

void world_unpack(const uint8_t *bytes, const limits *of, void *at)
{
    stream s = {.from = bytes};
    memset(at, 0, sizeof(world));
    pass_world(&s, of, at);
}
