/* Load on ZooKeeper: setData by its C client, all handles in one thread. */
#include "peer_load.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

enum { EVENTS = 64, SESSION_MS = 30000, PATIENCE = 30, PATH_BYTES = 32 };

typedef struct zookeeper_load zookeeper_load;

typedef struct zookeeper_client {
    zookeeper_load *of;
    uint32_t number;
    zhandle_t *handle;
    char path[PATH_BYTES];
    int socket, interest; /* as it is polled for */
    uint64_t begun;
    bool has_begun; /* its session is there, and its node asked for */
} zookeeper_client;

struct zookeeper_load {
    peer_load common;
    zookeeper_client *client;
    int poll;
    uint32_t under_way, ready;
};

/* ---- operations ---- */

static void answered(int code, const struct Stat *stat, const void *context);

static void begin(zookeeper_client *c)
{
    const peer_load *l = &c->of->common;
    c->begun = now_ns();
    c->of->under_way++;
    int size = (int)l->plan.max_bytes;
    if (zoo_aset(c->handle, c->path, l->value, size, -1, answered, c) != ZOK)
        answered(ZSYSTEMERROR, NULL, c);
}

static void answered(int code, const struct Stat *stat, const void *context)
{
    zookeeper_client *c = (zookeeper_client *)context;
    (void)stat;
    c->of->under_way--;
    peer_load_answered(&c->of->common, c->begun, code == ZOK);
    if (code == ZOK && peer_load_goes_on(&c->of->common))
        begin(c);
}

static void made(int code, const char *path, const void *context)
{
    zookeeper_load *l = ((zookeeper_client *)context)->of;
    (void)path;
    if ((code != ZOK && code != ZNODEEXISTS) || ++l->ready < l->common.plan.clients)
        return;
    peer_load_begin(&l->common);
    for (uint32_t i = 0; i < l->common.plan.clients; i++)
        begin(&l->client[i]);
}

static void heard(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    zookeeper_client *c = context;
    (void)path;
    if (type != ZOO_SESSION_EVENT || state != ZOO_CONNECTED_STATE || c->has_begun)
        return;
    c->has_begun = true;
    zoo_acreate(handle, c->path, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, made, c);
}

/* ---- the loop ---- */

static uint32_t events_for(int interest)
{
    return (interest & ZOOKEEPER_READ ? EPOLLIN : 0U) |
           (interest & ZOOKEEPER_WRITE ? EPOLLOUT : 0U);
}

/* Asks the handle what it waits for; it also sees to its session then. */
static void watch(zookeeper_client *c)
{
    int socket, interest;
    struct timeval patience;
    if (zookeeper_interest(c->handle, &socket, &interest, &patience) != ZOK || socket < 0)
        return;
    if (socket == c->socket && interest == c->interest)
        return;
    struct epoll_event event = {.events = events_for(interest), .data.u32 = c->number};
    if (epoll_ctl(c->of->poll, EPOLL_CTL_MOD, socket, &event) != 0)
        epoll_ctl(c->of->poll, EPOLL_CTL_ADD, socket, &event);
    c->socket = socket;
    c->interest = interest;
}

static void turn(zookeeper_load *l)
{
    struct epoll_event event[EVENTS];
    assert(l->client != NULL);
    int count = epoll_wait(l->poll, event, EVENTS, 100);
    for (int i = 0; i < count; i++) {
        zookeeper_client *c = &l->client[event[i].data.u32];
        int what = (event[i].events & EPOLLOUT ? ZOOKEEPER_WRITE : 0) |
                   (event[i].events & ~(uint32_t)EPOLLOUT ? ZOOKEEPER_READ : 0);
        zookeeper_process(c->handle, what);
        watch(c);
    }
    if (l->common.from > 0 && count > 0)
        return;
    for (uint32_t i = 0; i < l->common.plan.clients; i++)
        watch(&l->client[i]);
}

static bool start(zookeeper_load *l)
{
    const load_plan *p = &l->common.plan;
    l->poll = epoll_create1(EPOLL_CLOEXEC);
    l->client = calloc(p->clients, sizeof *l->client);
    if (l->poll < 0 || l->client == NULL)
        return false;
    for (uint32_t i = 0; i < p->clients; i++) {
        zookeeper_client *c = &l->client[i];
        *c = (zookeeper_client){.of = l, .number = i, .socket = -1};
        snprintf(c->path, sizeof c->path, "/bench%u", i);
        c->handle =
            zookeeper_init(p->address[i % p->addresses].text, heard, SESSION_MS, NULL, c, 0);
        if (c->handle == NULL)
            return false;
    }
    return true;
}

static void end(zookeeper_load *l)
{
    for (uint32_t i = 0; l->client != NULL && i < l->common.plan.clients; i++)
        if (l->client[i].handle != NULL)
            zookeeper_close(l->client[i].handle);
    free(l->client);
    if (l->poll >= 0)
        close(l->poll);
}

int main(int argc, char **argv)
{
    static zookeeper_load l = {.poll = -1};
    int code = EXIT_FAILURE;
    (void)argc;
    if (!peer_load_read(&l.common, "peer_zookeeper", argv, &code))
        return code;
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    bool is_started = start(&l);
    uint64_t until = now_ns() + PATIENCE * UINT64_C(1000000000);
    while (is_started && (l.common.from == 0 ? now_ns() < until : l.under_way > 0))
        turn(&l);
    if (l.common.from > 0)
        code = peer_load_print(&l.common);
    else
        fprintf(stderr, "peer_zookeeper: ZooKeeper does not answer at %s\n",
                l.common.plan.address[0].text);
    end(&l);
    return code;
}
