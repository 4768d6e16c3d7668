/* How a node reaches its peers: again and again, wherever their names say they are. */
#include "log.h"
#include "peer_connection.h"

#include <assert.h>

static void connected(uv_connect_t *connecting, int status)
{
    peer_connection *l = connecting->data;
    if (l->closing)
        return;
    if (status < 0)
        link_hang_up(l, uv_strerror(status));
    else
        link_begin(l, peer_tls_dial(&l->of->tls, l->peer));
}

/* One after the other, a new one each time. */
static const struct sockaddr *next_address(peer_connection *l, const lookup_answer *a)
{
    assert(a->count > 0);
    return (const struct sockaddr *)&a->address[l->tried++ % a->count];
}

/* An old answer is as good as a new one: who is there must prove who it is. */
static void looked_up(void *context, const lookup_answer *a, const char *why)
{
    peer_connection *l = context;
    if (why != NULL && a->count == 0) {
        log_line(l->unknown ? LOG_DEBUG : LOG_WARN, "peer_unknown", "host=%s why=\"%s\"",
                 l->name.host, why);
        l->unknown = true;
        link_dial_after(l, LINK_MAX_PAUSE);
        return;
    }
    l->unknown = false;
    uv_tcp_init(l->of->loop, &l->socket);
    l->socket.data = l;
    l->open = true;
    l->doubted = false;
    uv_timer_start(&l->again, link_look_at_clock, LINK_MAX_GREETING, 0);
    int error = uv_tcp_connect(&l->connecting, &l->socket, next_address(l, a), connected);
    if (error != 0)
        link_hang_up(l, uv_strerror(error));
}

static void dial(uv_timer_t *timer)
{
    peer_connection *l = timer->data;
    l->pauses = false;
    peer_hello_listen(&l->hello, l->of->all); /* nobody, until there is somebody to say it to */
    l->hello.other = l->peer;
    lookup_ask(&l->name);
}

void link_dial_after(peer_connection *l, uint32_t pause)
{
    l->pauses = true;
    uv_timer_start(&l->again, dial, pause, 0);
}

bool link_dials(peer_connection *l)
{
    const peers_node *to = &l->of->all->node[l->peer];
    if (!lookup_open(&l->name, l->of->loop, to->host, to->port, looked_up, l))
        return false;
    uv_timer_init(l->of->loop, &l->again);
    l->again.data = l->connecting.data = l->write.data = l;
    link_dial_after(l, 0);
    return true;
}

void link_dials_no_more(peer_connection *l)
{
    lookup_close(&l->name);
    uv_close((uv_handle_t *)&l->again, NULL);
}
