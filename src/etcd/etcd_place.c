/* See etcd_place.h. */
#include "etcd_place.h"
#include "log.h"

#include <stdio.h>
#include <string.h>

/*
 * In milliseconds. Whoever is silent is waited for longer with each round through all addresses: an
 * etcd that takes four seconds for each answer would never decide anything if it got three.
 */
enum {
    LEAST_CONNECTING = 1000,
    MAX_CONNECTING = 10000,
    LEAST_PATIENCE = 3000,
    MAX_PATIENCE = 60000,
    LEAST_PAUSE = 50,
    MAX_PAUSE = 1000,
};

/* ---- how long ---- */

/* `least`, and twice as much after each round in which every address has failed. */
static uint64_t grown(const etcd_place *p, uint64_t least, uint64_t max)
{
    uint32_t rounds = p->failures / p->urls.count;
    uint64_t now = least << (rounds < 6 ? rounds : 6);
    return now < max ? now : max;
}

uint64_t place_connecting(const etcd_place *p)
{
    return grown(p, LEAST_CONNECTING, MAX_CONNECTING);
}

/* It may take twice as long as the last time, at any rate. */
uint64_t place_patience(const etcd_place *p)
{
    uint64_t least = p->took * 2 > LEAST_PATIENCE ? p->took * 2 : LEAST_PATIENCE;
    return grown(p, least, MAX_PATIENCE);
}

/* ---- reached, and lost ---- */

bool place_rests(const etcd_place *p)
{
    return uv_now(p->loop) < p->rests_until;
}

void place_reached(etcd_place *p, uint32_t url, uint64_t took)
{
    if (p->state != PLACE_REACHED) {
        log_line(LOG_INFO, "etcd", "url=%s", p->urls.url[url].text);
        p->url = url; /* a late answer, maybe: then this one is good after all */
    }
    p->state = PLACE_REACHED;
    p->failures = 0;
    memset(p->said, 0, sizeof p->said);
    p->took = took;
    p->rests_until = 0;
}

/* To the address that is in use from now on; its name may mean another host than the last time. */
static void move(uv_timer_t *timer)
{
    etcd_place *p = timer->data;
    if (p->urls.url[p->url].named)
        lookup_ask(&p->named[p->url].name);
}

/* But for numbers: how long somebody was silent is no other reason. */
static bool is_same_reason(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    for (;; a++, b++) {
        a += strspn(a, digits);
        b += strspn(b, digits);
        if (*a != *b)
            return false;
        if (*a == '\0')
            return true;
    }
}

/* Once for each address and reason: the first that failed need not be the one to be mended. */
static void complain(etcd_place *p, uint32_t url, const char *why)
{
    bool is_new = url == p->url && !is_same_reason(p->said[url], why);
    log_line(is_new ? LOG_WARN : LOG_DEBUG, "etcd_lost", "url=%s why=%s", p->urls.url[url].text,
             log_quote_text(why).text);
    if (is_new)
        snprintf(p->said[url], PLACE_REASON, "%s", why);
}

/* The next address is tried at once; when all have failed, after a while. */
void place_lost(etcd_place *p, uint32_t url, const char *why)
{
    complain(p, url, why);
    if (url != p->url)
        return;
    p->state = PLACE_LOST;
    if (place_rests(p))
        return; /* one of several that have failed together */
    uint64_t pause = grown(p, LEAST_PAUSE, MAX_PAUSE);
    p->url = (p->url + 1) % p->urls.count;
    if (++p->failures % p->urls.count != 0)
        pause = 0;
    p->rests_until = uv_now(p->loop) + pause;
    uv_timer_start(&p->move, move, pause, 0);
}

/* ---- names ---- */

static bool is_found(const etcd_place *p, uint32_t url)
{
    return !p->urls.url[url].named || p->named[url].hosts[0] != '\0';
}

bool place_is_found(const etcd_place *p)
{
    return is_found(p, p->url);
}

uint32_t place_scout(etcd_place *p)
{
    if (p->state != PLACE_LOST || p->urls.count == 1)
        return PLACE_NOWHERE;
    p->scouted = (p->scouted + 1) % p->urls.count;
    if (p->scouted == p->url)
        p->scouted = (p->scouted + 1) % p->urls.count;
    if (p->urls.url[p->scouted].named)
        lookup_ask(&p->named[p->scouted].name);
    return is_found(p, p->scouted) ? p->scouted : PLACE_NOWHERE;
}

/* As libcurl wants to have it. */
static void write_hosts(place_name *n, const lookup_answer *a)
{
    char number[INET6_ADDRSTRLEN];
    int length = snprintf(n->hosts, PLACE_HOSTS, "%s:%u", n->name.host, n->name.port);
    for (uint32_t i = 0; i < a->count; i++) {
        const struct sockaddr *one = (const struct sockaddr *)&a->address[i];
        if (uv_ip_name(one, number, sizeof number) != 0)
            continue;
        const char *form = one->sa_family == AF_INET6 ? "%c[%s]" : "%c%s";
        length += snprintf(n->hosts + length, PLACE_HOSTS - (size_t)length, form,
                           i == 0 ? ':' : ',', number);
    }
}

static void was_looked_up(void *context, const lookup_answer *a, const char *why)
{
    place_name *n = context;
    if (a->count > 0)
        write_hosts(n, a);
    else
        place_lost(n->of, (uint32_t)(n - n->of->named), why);
}

/* ---- beginning and end ---- */

bool place_open(etcd_place *p, uv_loop_t *loop, const etcd_urls *urls)
{
    p->loop = loop;
    p->urls = *urls;
    uv_timer_init(loop, &p->move);
    p->move.data = p;
    for (uint32_t i = 0; i < p->urls.count; i++) {
        const etcd_url *u = &p->urls.url[i];
        place_name *n = &p->named[i];
        if (!u->named)
            continue;
        n->of = p;
        if (!lookup_open(&n->name, loop, u->host, u->port, was_looked_up, n))
            return false;
    }
    uv_timer_start(&p->move, move, 0, 0);
    return true;
}

void place_close(etcd_place *p)
{
    if (p->loop == NULL)
        return; /* it was never opened */
    uv_close((uv_handle_t *)&p->move, NULL);
    for (uint32_t i = 0; i < p->urls.count; i++)
        if (p->named[i].name.host != NULL)
            lookup_close(&p->named[i].name);
}
