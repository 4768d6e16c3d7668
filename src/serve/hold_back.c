/*
 * After a crash. Whoever held something under a lease when the server before died may believe that
 * it holds it until that lease is over, and nobody knows what that was. So every lock counts as
 * held by a session that is not there, until the longest lease that may still run is over: who
 * tries is refused and told when it is free, who waits waits in order, as with any other holder.
 */
#include "log.h"
#include "registry.h"
#include "server.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t milliseconds(void)
{
    return uv_hrtime() / 1000000;
}

uint64_t hold_back_left(const server *of)
{
    uint64_t until = traffic_read(&of->held_back_until);
    uint64_t now = milliseconds();
    return until > now ? until - now : until != 0;
}

void hold_back_begin(server *of)
{
    uint64_t lease = of->tokens.inherited;
    if (lease == 0)
        return;
    if (of->settings->at_once) {
        tokens_settle(&of->tokens, 0);
        return;
    }
    session_start(&of->before, &of->service, &of->loop[0].traffic, NULL);
    of->before.who.hear = NULL;
    snprintf(of->before.who.from, sizeof of->before.who.from, "before-the-restart");
    registry_hold_back(of->service.locks, &of->before.who);
    of->held_back_until = milliseconds() + lease;
    log_line(LOG_WARN, "held_back", "ms=%" PRIu64 " why=\"leases of an earlier server may run\"",
             lease);
}

static void settle(server *of)
{
    if (!tokens_settle(&of->tokens, hold_back_left(of)))
        log_line(LOG_WARN, "tokens", "why=\"cannot write %s\"", of->tokens.file);
}

void hold_back_look(server *of)
{
    if (tokens_say_too_much(&of->tokens, hold_back_left(of)))
        settle(of);
    if (of->held_back_until == 0 || milliseconds() < of->held_back_until)
        return;
    registry_open(of->service.locks, &of->before.who, uv_now(&of->loop[0].uv));
    of->held_back_until = 0;
    settle(of);
    log_line(LOG_INFO, "open", "why=\"leases of an earlier server are over\"");
}

bool hold_back_change_lease(service *s, uint64_t from, uint64_t to)
{
    server *of = (server *)(void *)s;
    if (tokens_change_lease(&of->tokens, from, to))
        return true;
    log_line(LOG_ERROR, "tokens", "why=\"cannot write %s\"", of->tokens.file);
    return false;
}
