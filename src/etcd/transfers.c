/* See transfers.h. */
#include "transfers.h"

#include <stdlib.h>

/* A socket of libcurl's. */
typedef struct watched {
    uv_poll_t poll;
    curl_socket_t socket;
} watched;

static void take_results(transfers *t)
{
    int left;
    for (CURLMsg *m; !t->closed && (m = curl_multi_info_read(t->multi, &left)) != NULL;) {
        void *owner = NULL;
        CURLcode result = m->data.result;
        CURL *one = m->easy_handle;
        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(one, CURLINFO_PRIVATE, (char **)(void *)&owner);
        curl_multi_remove_handle(t->multi, one);
        t->done(owner, result);
    }
}

static void goes_on(transfers *t, curl_socket_t socket, int what)
{
    int running;
    curl_multi_socket_action(t->multi, socket, what, &running);
    take_results(t);
}

static void have_time(uv_timer_t *timer)
{
    goes_on(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int set_alarm(CURLM *multi, long ms, void *context)
{
    transfers *t = context;
    (void)multi;
    if (t->closed || ms < 0)
        uv_timer_stop(&t->alarm);
    else
        uv_timer_start(&t->alarm, have_time, (uint64_t)ms, 0);
    return 0;
}

static void have_socket(uv_poll_t *poll, int status, int events)
{
    const watched *w = (const watched *)(const void *)poll;
    int what = 0;
    if (status < 0) /* libcurl reads what is left there, and the error behind it */
        what = CURL_CSELECT_IN | CURL_CSELECT_OUT | CURL_CSELECT_ERR;
    if ((events & UV_READABLE) != 0)
        what |= CURL_CSELECT_IN;
    if ((events & UV_WRITABLE) != 0)
        what |= CURL_CSELECT_OUT;
    goes_on(poll->data, w->socket, what);
}

static void free_watched(uv_handle_t *handle)
{
    free(handle);
}

static watched *watch(transfers *t, curl_socket_t socket)
{
    watched *w = calloc(1, sizeof *w);
    if (w == NULL || uv_poll_init_socket(t->loop, &w->poll, socket) != 0) {
        free(w);
        return NULL;
    }
    w->poll.data = t;
    w->socket = socket;
    curl_multi_assign(t->multi, socket, w);
    return w;
}

static int set_socket(CURL *curl, curl_socket_t socket, int what, void *context, void *of_socket)
{
    transfers *t = context;
    watched *w = of_socket;
    (void)curl;
    if (what == CURL_POLL_REMOVE) {
        if (w != NULL)
            uv_close((uv_handle_t *)&w->poll, free_watched);
        curl_multi_assign(t->multi, socket, NULL);
        return 0;
    }
    if (w == NULL && (w = watch(t, socket)) == NULL)
        return -1;
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&w->poll, events, have_socket) == 0 ? 0 : -1;
}

bool transfers_open(transfers *t, uv_loop_t *loop, transfer_done *done)
{
    *t = (transfers){.loop = loop, .multi = curl_multi_init(), .done = done};
    if (t->multi == NULL)
        return false;
    uv_timer_init(loop, &t->alarm);
    t->alarm.data = t;
    curl_multi_setopt(t->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl_multi_setopt(t->multi, CURLMOPT_SOCKETDATA, t);
    curl_multi_setopt(t->multi, CURLMOPT_TIMERFUNCTION, set_alarm);
    curl_multi_setopt(t->multi, CURLMOPT_TIMERDATA, t);
    return true;
}

bool transfers_begin(transfers *t, CURL *one)
{
    return curl_multi_add_handle(t->multi, one) == CURLM_OK;
}

void transfers_end(transfers *t, CURL *one)
{
    curl_multi_remove_handle(t->multi, one);
}

void transfers_close(transfers *t)
{
    t->closed = true;
    curl_multi_cleanup(t->multi);
    uv_close((uv_handle_t *)&t->alarm, NULL);
}
