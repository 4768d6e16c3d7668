/* What the server shows of itself: INFO, and over HTTP health and metrics. */
#include "metrics.h"
#include "server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Whether somebody can be let in; if not, why. */
static bool is_open(server *of, char why[SERVE_WHY])
{
    const serve_backend *behind = of->settings->backend;
    uint64_t left = hold_back_left(of);
    if (atomic_load_explicit(&of->ending, memory_order_relaxed))
        snprintf(why, SERVE_WHY, "the server is ending");
    else if (atomic_load_explicit(&of->service.closed, memory_order_relaxed))
        snprintf(why, SERVE_WHY, "the file of tokens cannot be written");
    else if (left > 0)
        snprintf(why, SERVE_WHY,
                 "held back for %" PRIu64 " s: leases of an earlier server may still run",
                 (left + 999) / 1000);
    else
        return behind->is_open == NULL || behind->is_open(of, why);
    return false;
}

/* All but what the locks count. */
static metrics gather(server *of)
{
    char why[SERVE_WHY];
    metrics m = {
        .connections = traffic_read(&of->connections),
        .accepted = traffic_read(&of->accepted),
        .open = is_open(of, why),
        .held_back = hold_back_left(of),
    };
    for (uint32_t i = 0; i < of->loops; i++) {
        m.received += traffic_read(&of->loop[i].traffic.received);
        m.sent += traffic_read(&of->loop[i].traffic.sent);
        m.refused_by_clients += traffic_read(&of->loop[i].traffic.refused);
    }
    return m;
}

void pages_info(service *s, resp_out *out)
{
    server *of = (server *)(void *)s;
    char lines[256];
    metrics m = gather(of);
    int length = snprintf(lines, sizeof lines,
                          "connections:%" PRIu64 "\r\naccepted:%" PRIu64 "\r\nreceived:%" PRIu64
                          "\r\nsent:%" PRIu64 "\r\nrefused_by_clients:%" PRIu64
                          "\r\nheld_back_ms:%" PRIu64 "\r\nloops:%" PRIu32 "\r\n",
                          m.connections, m.accepted, m.received, m.sent, m.refused_by_clients,
                          m.held_back, of->loops);
    resp_raw(out, lines, (size_t)length);
}

static int write_health(void *context, resp_out *text)
{
    char why[SERVE_WHY];
    if (is_open(context, why)) {
        resp_raw(text, "ok\n", 3);
        return HTTP_FINE;
    }
    resp_raw(text, why, strlen(why));
    resp_raw(text, "\n", 1);
    return HTTP_UNAVAILABLE;
}

static int write_metrics(void *context, resp_out *text)
{
    server *of = context;
    metrics m = gather(of);
    m.locks = of->settings->backend->count(of);
    metrics_write(&m, text);
    if (of->settings->backend->more_metrics != NULL)
        of->settings->backend->more_metrics(of, text);
    return HTTP_FINE;
}

static const http_page pages[] = {
    {"/health", "text/plain; charset=utf-8", write_health},
    {"/metrics", METRICS_TYPE, write_metrics},
};

bool pages_open(server *of, char complaint[COMPLAINT])
{
    of->pages = http_open(of->settings->http, pages, sizeof pages / sizeof pages[0], of, complaint);
    return of->pages != NULL;
}
