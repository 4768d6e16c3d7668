/* See daemon.h. */
#include "daemon.h"
#include "../net/log.h"
#include "../net/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static node_daemon *whole(const server *of)
{
    return of->settings->context;
}

node_driver *daemon_of(const server *of)
{
    return &whole(of)->driver;
}

cluster_node *daemon_node(service *s)
{
    return &daemon_of((server *)(void *)s)->node;
}

const peers *daemon_peers(service *s)
{
    return &daemon_of((server *)(void *)s)->peers;
}

static bool remember_lease(service *s, uint64_t lease)
{
    (void)s;
    (void)lease;
    return true; /* a node that crashes is ejected, whatever leases its sessions had */
}

/*
 * The disk failed: nothing that was said since is true. Other nodes have what was acknowledged, so
 * to end is safe, and all that is.
 */
static void give_up(const node_driver *d)
{
    log_line(LOG_ERROR, "disk", "why=\"%s\"", store_why(d->store));
    exit(EXIT_FAILURE);
}

static void turn_ends(service *s)
{
    node_driver *d = daemon_of((server *)(void *)s);
    if (!driver_turn_ends(d))
        give_up(d);
    outside *o = whole((server *)(void *)s)->outside;
    if (o != NULL)
        outside_ask(o);
}

static bool node_open(server *of, char complaint[256])
{
    node_driver *d = daemon_of(of);
    signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error of the disk like any other */
    if (!driver_open(d, &of->loop[0].uv, complaint))
        return false;
    d->node.most_waiters = of->settings->most_waiters;
    of->service.locks = &d->node.registry;
    of->service.more = daemon_commands;
    of->service.turn_ends = turn_ends;
    of->service.remember_lease = remember_lease;
    if (whole(of)->etcd.count > 0) {
        whole(of)->outside = outside_open(&of->loop[0].uv, &d->node, &d->peers, &whole(of)->etcd);
        if (whole(of)->outside == NULL) {
            snprintf(complaint, 256, "out of memory");
            return false;
        }
    }
    return true;
}

static void node_look_after(server *of)
{
    (void)of;
}

/*
 * Who holds nothing is cut off, and so moves on to another node; who holds something is given time.
 * It is over when the other nodes have been told about the last token.
 */
static bool node_drained(server *of)
{
    node_driver *d = daemon_of(of);
    loop *in = &of->loop[0];
    for (connection *c = in->connections, *next; c != NULL; c = next) {
        next = c->next;
        if (c->closing || c->session.ends || node_holds(&c->session.roles))
            continue;
        registry_leave(of->service.locks, &c->session.roles, uv_now(&in->uv));
        c->session.ends = true;
        connection_serve(c);
    }
    return driver_drained(d);
}

static void node_stop(server *of)
{
    driver_stop(daemon_of(of));
    if (whole(of)->outside != NULL)
        outside_close(whole(of)->outside);
}

static void node_close(server *of)
{
    node_driver *d = daemon_of(of);
    if (!driver_last_turn(d))
        give_up(d);
    if (whole(of)->outside != NULL)
        outside_free(whole(of)->outside);
    driver_close(d);
}

const serve_backend serve_node = {
    .open = node_open,
    .look_after = node_look_after,
    .stop = node_stop,
    .close = node_close,
    .drained = node_drained,
    .is_open = daemon_is_open,
    .more_metrics = daemon_metrics,
};
