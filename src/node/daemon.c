/* See daemon.h. */
#include "daemon.h"
#include "commands.h"
#include "log.h"
#include "server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static node_daemon *daemon_of_server(const server *of)
{
    return of->settings->context;
}

static node_driver *driver_of(const server *of)
{
    return &daemon_of_server(of)->driver;
}

/* ---- figures for other threads ---- */

static void show(node_daemon *d)
{
    node_figures now = node_look(&d->driver.node);
    pthread_mutex_lock(&d->guards_shown);
    d->shown = now;
    pthread_mutex_unlock(&d->guards_shown);
}

node_figures daemon_look(const server *of)
{
    node_daemon *d = daemon_of_server(of);
    pthread_mutex_lock(&d->guards_shown);
    node_figures shown = d->shown;
    pthread_mutex_unlock(&d->guards_shown);
    return shown;
}

/* ---- the node behind the sessions ---- */

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
    node_daemon *d = daemon_of_server((server *)(void *)s);
    if (!driver_turn_ends(&d->driver))
        give_up(&d->driver);
}

static void turn_told(service *s)
{
    node_daemon *d = daemon_of_server((server *)(void *)s);
    driver_turn_told(&d->driver);
    show(d);
    if (d->outside != NULL)
        outside_ask(d->outside);
}

static bool node_open(server *of, char complaint[COMPLAINT])
{
    node_driver *d = driver_of(of);
    signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error of the disk like any other */
    if (!driver_open(d, &of->loop[0].uv, complaint))
        return false;
    pthread_mutex_init(&daemon_of_server(of)->guards_shown, NULL);
    show(daemon_of_server(of));
    d->node.max_waiters = of->settings->max_waiters;
    of->service.locks = &d->node.locks;
    of->service.more = node_commands;
    of->service.turn_ends = turn_ends;
    of->service.turn_told = turn_told;
    if (daemon_of_server(of)->etcd.urls.count > 0) {
        daemon_of_server(of)->outside =
            outside_open(&of->loop[0].uv, &d->node, &d->peers, &daemon_of_server(of)->etcd);
        if (daemon_of_server(of)->outside == NULL) {
            snprintf(complaint, COMPLAINT, "out of memory");
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
    node_driver *d = driver_of(of);
    locks *all = of->service.locks;
    loop *in = &of->loop[0];
    LIST_EACH (at, &in->connections) {
        connection *c = OWNER_OF(at, connection, in_connections);
        if (c->closing || c->session.ends || node_holds(&c->session.who))
            continue;
        all->backend->leave(all, &c->session.who, 0, false, uv_now(&in->uv));
        c->session.ends = true;
        connection_serve(c);
    }
    return driver_drained(d);
}

static void node_stop(server *of)
{
    driver_stop(driver_of(of));
    if (daemon_of_server(of)->outside != NULL)
        outside_close(daemon_of_server(of)->outside);
}

static void node_close(server *of)
{
    node_driver *d = driver_of(of);
    if (!driver_last_turn(d))
        give_up(d);
    if (daemon_of_server(of)->outside != NULL)
        outside_free(daemon_of_server(of)->outside);
    driver_close(d);
    pthread_mutex_destroy(&daemon_of_server(of)->guards_shown);
}

const serve_backend serve_node = {
    .open = node_open,
    .look_after = node_look_after,
    .stop = node_stop,
    .close = node_close,
    .drained = node_drained,
    .count = daemon_count,
    .is_open = daemon_is_open,
    .more_metrics = daemon_metrics,
};
