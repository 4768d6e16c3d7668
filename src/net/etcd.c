/* See etcd.h. */
#include "etcd.h"
#include "log.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In milliseconds. */
enum {
    MOST_CONNECTING = 1000,
    MOST_ANSWERING = 3000,
    LEAST_PAUSE = 50,
    MOST_PAUSE = 1000,
    LOOK = 5000, /* whether it is there, so often */
};

typedef struct request {
    struct etcd *of;
    CURL *curl;
    bool busy;
    bool looks; /* only whether etcd is there */
    uint32_t url;
    void *who;
    uint64_t epoch;
    char key[ETCD_MOST_KEY];
    size_t key_bytes;
    void *value;
    size_t value_bytes;
    char *text;
    char *answer;
    size_t answer_bytes;
} request;

/* A socket of libcurl's. */
typedef struct watched {
    uv_poll_t poll;
    curl_socket_t socket;
} watched;

enum { LOOKS = ETCD_MOST_AT_ONCE, REQUESTS }; /* the last one is for looking */

struct etcd {
    uv_loop_t *loop;
    etcd_urls urls;
    uint32_t url; /* in use */
    etcd_told *told;
    void *context;
    CURLM *multi;
    struct curl_slist *headers;
    uv_timer_t alarm; /* libcurl's */
    uv_timer_t look;
    enum { UNKNOWN, REACHED, LOST } state;
    uint32_t failures; /* since it was last reached */
    uint64_t rests_until;
    bool closed;
    request requests[REQUESTS];
};

/* ---- what came of a request ---- */

static void forget(request *r)
{
    free(r->value);
    free(r->text);
    free(r->answer);
    r->value = r->text = r->answer = NULL;
    r->answer_bytes = 0;
    r->busy = false;
}

static void was_reached(etcd *e, const request *r)
{
    if (e->state != REACHED)
        log_line(LOG_INFO, "etcd", "url=%s", e->urls.url[r->url]);
    e->state = REACHED;
    e->failures = 0;
    e->rests_until = 0;
}

/* The next address is tried at once; when all have failed, after a while. */
static void was_lost(etcd *e, const request *r, const char *why)
{
    log_line(e->state == LOST ? LOG_DEBUG : LOG_WARN, "etcd_lost", "url=%s why=\"%s\"",
             e->urls.url[r->url], why);
    e->state = LOST;
    if (r->url != e->url || uv_now(e->loop) < e->rests_until)
        return; /* one of several that have failed together */
    e->url = (e->url + 1) % e->urls.count;
    if (++e->failures % e->urls.count != 0)
        return;
    uint32_t rounds = e->failures / e->urls.count;
    uint64_t pause = (uint64_t)LEAST_PAUSE << (rounds < 6 ? rounds - 1 : 5);
    e->rests_until = uv_now(e->loop) + (pause < MOST_PAUSE ? pause : MOST_PAUSE);
}

/* Whether etcd has done what it was asked for; if it was to decide, what it says. */
static bool understand(request *r, CURLcode result, etcd_answer *a, char why[ETCD_COMPLAINT])
{
    etcd_bytes text = {r->answer, r->answer_bytes};
    etcd_bytes key = {r->key, r->key_bytes};
    long status = 0;
    if (result != CURLE_OK) {
        snprintf(why, ETCD_COMPLAINT, "%s", curl_easy_strerror(result));
        return false;
    }
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        char *words = etcd_read_error(text);
        snprintf(why, ETCD_COMPLAINT, "%ld %.120s", status, words != NULL ? words : "");
        free(words);
        return false;
    }
    if (r->looks)
        return true;
    if (!etcd_read(text, key, r->epoch, a, why))
        return false;
    if (a->verdict == OUTSIDE_MINE) {
        a->value = r->value;
        a->value_bytes = r->value_bytes;
        r->value = NULL;
    }
    return true;
}

static void is_done(request *r, CURLcode result)
{
    etcd *e = r->of;
    etcd_answer a = {0};
    char why[ETCD_COMPLAINT];
    curl_multi_remove_handle(e->multi, r->curl);
    bool understood = understand(r, result, &a, why);
    if (understood)
        was_reached(e, r);
    else
        was_lost(e, r, why);
    void *who = r->who;
    uint64_t epoch = r->epoch;
    bool looks = r->looks;
    forget(r);
    if (!looks)
        e->told(e->context, who, epoch, understood ? &a : NULL);
    free(a.value);
}

static void take_results(etcd *e)
{
    int left;
    for (CURLMsg *m; !e->closed && (m = curl_multi_info_read(e->multi, &left)) != NULL;) {
        request *r = NULL;
        CURLcode result = m->data.result;
        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)(void *)&r);
        is_done(r, result);
    }
}

/* ---- libcurl on libuv ---- */

static void goes_on(etcd *e, curl_socket_t socket, int what)
{
    int running;
    curl_multi_socket_action(e->multi, socket, what, &running);
    take_results(e);
}

static void have_time(uv_timer_t *timer)
{
    goes_on(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int set_alarm(CURLM *multi, long ms, void *context)
{
    etcd *e = context;
    (void)multi;
    if (e->closed || ms < 0)
        uv_timer_stop(&e->alarm);
    else
        uv_timer_start(&e->alarm, have_time, (uint64_t)ms, 0);
    return 0;
}

static void have_socket(uv_poll_t *poll, int status, int events)
{
    const watched *w = (const watched *)(const void *)poll;
    int what = 0;
    if (status < 0)
        what = CURL_CSELECT_ERR;
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

static watched *watch(etcd *e, curl_socket_t socket)
{
    watched *w = calloc(1, sizeof *w);
    if (w == NULL || uv_poll_init_socket(e->loop, &w->poll, socket) != 0) {
        free(w);
        return NULL;
    }
    w->poll.data = e;
    w->socket = socket;
    curl_multi_assign(e->multi, socket, w);
    return w;
}

static int set_socket(CURL *curl, curl_socket_t socket, int what, void *context, void *of_socket)
{
    etcd *e = context;
    watched *w = of_socket;
    (void)curl;
    if (what == CURL_POLL_REMOVE) {
        if (w != NULL)
            uv_close((uv_handle_t *)&w->poll, free_watched);
        curl_multi_assign(e->multi, socket, NULL);
        return 0;
    }
    if (w == NULL && (w = watch(e, socket)) == NULL)
        return -1;
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&w->poll, events, have_socket) == 0 ? 0 : -1;
}

/* ---- asking ---- */

static size_t keep_answer(char *bytes, size_t size, size_t count, void *context)
{
    request *r = context;
    size_t more = size * count;
    if (more > ETCD_MOST_ANSWER - r->answer_bytes)
        return 0; /* libcurl gives it up */
    char *grown = realloc(r->answer, r->answer_bytes + more + 1);
    if (grown == NULL)
        return 0;
    memcpy(grown + r->answer_bytes, bytes, more);
    r->answer = grown;
    r->answer_bytes += more;
    return more;
}

/* Its text is ready. False: it is forgotten, for want of memory. */
static bool begin(request *r)
{
    char url[ETCD_MOST_URL + 32];
    etcd *e = r->of;
    r->busy = true;
    r->url = e->url;
    snprintf(url, sizeof url, "%s/v3/kv/txn", e->urls.url[r->url]);
    curl_easy_setopt(r->curl, CURLOPT_URL, url);
    curl_easy_setopt(r->curl, CURLOPT_POSTFIELDS, r->text);
    curl_easy_setopt(r->curl, CURLOPT_POSTFIELDSIZE, (long)strlen(r->text));
    if (curl_multi_add_handle(e->multi, r->curl) == CURLM_OK)
        return true;
    forget(r);
    return false;
}

/* Reads, through the log of etcd, a key that nobody has. */
static void look(uv_timer_t *timer)
{
    etcd *e = timer->data;
    request *r = &e->requests[LOOKS];
    if (r->busy)
        return;
    r->text = strdup("{\"success\":[{\"request_range\":{\"key\":\"YmF0b24=\"}}]}");
    if (r->text != NULL)
        begin(r);
}

static request *find_idle(const etcd *e)
{
    for (uint32_t i = 0; i < ETCD_MOST_AT_ONCE; i++)
        if (!e->requests[i].busy)
            return (request *)&e->requests[i];
    return NULL;
}

bool etcd_is_ready(const etcd *e)
{
    return !e->closed && uv_now(e->loop) >= e->rests_until && find_idle(e) != NULL;
}

bool etcd_is_reached(const etcd *e)
{
    return e->state == REACHED;
}

bool etcd_propose(etcd *e, void *who, etcd_bytes key, uint64_t epoch, etcd_bytes value)
{
    request *r = find_idle(e);
    if (r == NULL || key.bytes > ETCD_MOST_KEY)
        return false;
    r->who = who;
    r->epoch = epoch;
    memcpy(r->key, key.at, key.bytes);
    r->key_bytes = key.bytes;
    r->value_bytes = value.bytes;
    r->value = malloc(value.bytes);
    r->text = etcd_ask(key, epoch, value);
    if (r->value == NULL || r->text == NULL) {
        forget(r);
        return false;
    }
    memcpy(r->value, value.at, value.bytes);
    return begin(r);
}

/* ---- beginning and end ---- */

static bool prepare(etcd *e, request *r)
{
    r->of = e;
    r->looks = r == &e->requests[LOOKS];
    r->curl = curl_easy_init();
    if (r->curl == NULL)
        return false;
    curl_easy_setopt(r->curl, CURLOPT_PRIVATE, r);
    curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, e->headers);
    curl_easy_setopt(r->curl, CURLOPT_WRITEFUNCTION, keep_answer);
    curl_easy_setopt(r->curl, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(r->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)MOST_CONNECTING);
    curl_easy_setopt(r->curl, CURLOPT_TIMEOUT_MS, (long)MOST_ANSWERING);
    curl_easy_setopt(r->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(r->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(r->curl, CURLOPT_PROXY, ""); /* whatever the environment says */
    curl_easy_setopt(r->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(r->curl, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a name to be looked up */
    return true;
}

static bool prepare_all(etcd *e)
{
    e->multi = curl_multi_init();
    e->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (e->multi == NULL || e->headers == NULL)
        return false;
    curl_multi_setopt(e->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl_multi_setopt(e->multi, CURLMOPT_SOCKETDATA, e);
    curl_multi_setopt(e->multi, CURLMOPT_TIMERFUNCTION, set_alarm);
    curl_multi_setopt(e->multi, CURLMOPT_TIMERDATA, e);
    for (uint32_t i = 0; i < REQUESTS; i++)
        if (!prepare(e, &e->requests[i]))
            return false;
    return true;
}

static void end_all(etcd *e)
{
    e->closed = true;
    for (uint32_t i = 0; i < REQUESTS; i++) {
        request *r = &e->requests[i];
        if (r->busy)
            curl_multi_remove_handle(e->multi, r->curl);
        curl_easy_cleanup(r->curl);
        forget(r);
    }
    curl_multi_cleanup(e->multi);
    curl_slist_free_all(e->headers);
}

etcd *etcd_open(uv_loop_t *loop, const etcd_urls *urls, etcd_told *told, void *context)
{
    etcd *e = calloc(1, sizeof *e);
    if (e == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(e);
        return NULL;
    }
    e->loop = loop;
    e->urls = *urls;
    e->told = told;
    e->context = context;
    if (!prepare_all(e)) {
        end_all(e);
        curl_global_cleanup();
        free(e);
        return NULL;
    }
    uv_timer_init(loop, &e->alarm);
    uv_timer_init(loop, &e->look);
    e->alarm.data = e->look.data = e;
    uv_timer_start(&e->look, look, 0, LOOK);
    return e;
}

void etcd_close(etcd *e)
{
    end_all(e);
    uv_close((uv_handle_t *)&e->alarm, NULL);
    uv_close((uv_handle_t *)&e->look, NULL);
}

void etcd_free(etcd *e)
{
    curl_global_cleanup();
    free(e);
}
