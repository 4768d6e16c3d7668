/* See etcd.h. */
#include "etcd.h"
#include "etcd_curl.h"
#include "etcd_place.h"
#include "transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In milliseconds. */
enum {
    LOOK = 5000,           /* whether it is there, so often; */
    LOOK_AGAIN = 100,      /* while its name is being looked up, so often */
    SCOUT = 1000,          /* whether it is elsewhere, so often while it is lost; */
    SCOUT_PATIENCE = 3000, /* and for so long */
};

typedef struct request {
    struct etcd *of;
    CURL *curl;
    bool busy;
    bool looks; /* only whether etcd is there */
    uint32_t url;
    uint64_t since;
    uint64_t asked_at; /* the revision of etcd that was known then */
    void *who;
    uint64_t epoch;
    char key[ETCD_MAX_KEY];
    size_t key_bytes;
    char *text;
    char *answer;
    size_t answer_bytes;
    bool too_long; /* the answer was */
    char trouble[CURL_ERROR_SIZE];
    struct curl_slist *hosts; /* what libcurl need not look up */
} request;

/* The last two are for looking: at the address in use, and at the others while etcd is lost. */
enum { LOOKS = ETCD_MAX_AT_ONCE, SCOUTS, REQUESTS };

struct etcd {
    uv_loop_t *loop;
    etcd_place place;
    etcd_told *told;
    void *context;
    transfers transfers;
    struct curl_slist *headers;
    uv_timer_t look, scout;
    bool closed;
    etcd_memory memory;
    request requests[REQUESTS];
};

/* ---- what came of a request ---- */

static void forget(request *r)
{
    free(r->text);
    free(r->answer);
    r->text = r->answer = NULL;
    curl_slist_free_all(r->hosts);
    r->hosts = NULL;
    r->answer_bytes = 0;
    r->too_long = false;
    r->busy = false;
}

/* What etcd says in answer to a request that it has not carried out; or how the page begins. */
static void complain_as_it(etcd_bytes text, long status, char why[ETCD_COMPLAINT])
{
    char *words = etcd_read_error(text);
    if (words != NULL)
        snprintf(why, ETCD_COMPLAINT, "%ld %.120s", status, words);
    else
        snprintf(why, ETCD_COMPLAINT, "%ld and no word of etcd, but '%.*s'", status,
                 text.bytes < 60 ? (int)text.bytes : 60,
                 text.at != NULL ? (const char *)text.at : "");
    free(words);
    for (char *at = why; (at = strchr(at, '"')) != NULL;)
        *at = '\''; /* it goes between quotes */
}

static void complain_as_libcurl(const request *r, CURLcode result, char why[ETCD_COMPLAINT])
{
    const char *words = r->trouble[0] != '\0' ? r->trouble : curl_easy_strerror(result);
    if (r->too_long)
        words = "an answer that is too long";
    bool tls = r->of->place.urls.url[r->url].tls;
    const char *hint = result == CURLE_GOT_NOTHING && !tls ? "; does it want https://?" : "";
    snprintf(why, ETCD_COMPLAINT, "%.*s%s", ETCD_COMPLAINT - 32, words, hint);
}

/* Whether etcd has done what it was asked for; if it was to decide, what it says. */
static bool understand(request *r, CURLcode result, etcd_answer *a, char why[ETCD_COMPLAINT])
{
    etcd_bytes text = {r->answer, r->answer_bytes};
    etcd_bytes key = {r->key, r->key_bytes};
    long status = 0;
    if (result != CURLE_OK) {
        complain_as_libcurl(r, result, why);
        return false;
    }
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        complain_as_it(text, status, why);
        return false;
    }
    return etcd_read(text, key, r->epoch, a, why) &&
           etcd_remember(&r->of->memory, r->asked_at, a, why);
}

/* It is under way, and nobody waits for it any longer. */
static void give_up(request *r)
{
    etcd *e = r->of;
    void *who = r->who;
    uint64_t epoch = r->epoch;
    transfers_end(&e->transfers, r->curl);
    forget(r);
    if (!r->looks)
        e->told(e->context, who, epoch, NULL);
}

/* etcd was lost, and is here: what waits for an answer elsewhere is asked again. */
static void gather(etcd *e, uint32_t here)
{
    for (uint32_t i = 0; i < REQUESTS; i++)
        if (e->requests[i].busy && e->requests[i].url != here)
            give_up(&e->requests[i]);
}

/* What it says of the address. That a scout was not answered in its short time says nothing. */
static void mark_place(const request *r, bool understood, const char *why)
{
    etcd *e = r->of;
    bool was_lost = !etcd_is_reached(e);
    if (understood)
        place_reached(&e->place, r->url, uv_now(e->loop) - r->since);
    else if (r != &e->requests[SCOUTS])
        place_lost(&e->place, r->url, why);
    if (understood && was_lost)
        gather(e, r->url);
}

/*
 * Too much stands under the key of a lock: no node has written that, and the others can be asked
 * for all the same. If it is no etcd who says so much, look() finds out.
 */
static bool is_foreign(const request *r)
{
    return r->too_long && !r->looks;
}

static void is_done(void *owner, CURLcode result)
{
    request *r = owner;
    etcd *e = r->of;
    etcd_answer a = {0};
    char why[ETCD_COMPLAINT];
    bool understood = understand(r, result, &a, why);
    bool foreign = is_foreign(r);
    if (foreign)
        a.verdict = OUTSIDE_THIS;
    else
        mark_place(r, understood, why);
    void *who = r->who;
    uint64_t epoch = r->epoch;
    bool looks = r->looks;
    forget(r);
    if (!looks)
        e->told(e->context, who, epoch, understood || foreign ? &a : NULL);
    free(a.value);
}

/* ---- asking ---- */

static size_t keep_answer(char *bytes, size_t size, size_t count, void *context)
{
    request *r = context;
    size_t more = size * count;
    r->too_long = more > ETCD_MAX_ANSWER - r->answer_bytes;
    if (r->too_long)
        return 0; /* libcurl gives it up */
    char *grown = realloc(r->answer, r->answer_bytes + more + 1);
    if (grown == NULL)
        return 0;
    memcpy(grown + r->answer_bytes, bytes, more);
    r->answer = grown;
    r->answer_bytes += more;
    return more;
}

static void set_patience(const request *r)
{
    const etcd_place *p = &r->of->place;
    bool scouts = r == &r->of->requests[SCOUTS];
    uint64_t connecting = scouts ? SCOUT_PATIENCE : place_connecting(p);
    uint64_t patience = scouts ? SCOUT_PATIENCE : place_patience(p);
    curl_easy_setopt(r->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)connecting);
    curl_easy_setopt(r->curl, CURLOPT_TIMEOUT_MS, (long)patience);
}

/* Its text is ready, to be sent to that address. False: it is forgotten, for want of memory. */
static bool begin(request *r, uint32_t to)
{
    char url[ETCD_MAX_URL + 32];
    etcd *e = r->of;
    const etcd_place *p = &e->place;
    r->busy = true;
    r->url = to;
    r->since = uv_now(e->loop);
    r->asked_at = e->memory.revision;
    r->trouble[0] = '\0';
    snprintf(url, sizeof url, "%s/v3/kv/txn", p->urls.url[r->url].text);
    if (p->urls.url[r->url].named)
        r->hosts = curl_slist_append(NULL, p->named[r->url].hosts);
    curl_easy_setopt(r->curl, CURLOPT_URL, url);
    curl_easy_setopt(r->curl, CURLOPT_RESOLVE, r->hosts);
    curl_easy_setopt(r->curl, CURLOPT_POSTFIELDS, r->text);
    curl_easy_setopt(r->curl, CURLOPT_POSTFIELDSIZE, (long)strlen(r->text));
    set_patience(r);
    if (transfers_begin(&e->transfers, r->curl))
        return true;
    forget(r);
    return false;
}

/* Takes the text. False: nothing is asked, for want of memory. */
static bool ask(request *r, uint32_t url, etcd_bytes key, uint64_t epoch, char *text)
{
    if (text == NULL)
        return false;
    memcpy(r->key, key.at, key.bytes);
    r->key_bytes = key.bytes;
    r->epoch = epoch;
    r->text = text;
    return begin(r, url);
}

static void look_at(request *r, uint32_t url)
{
    if (!r->busy)
        ask(r, url, (etcd_bytes){"baton/", 6}, ETCD_NEVER, etcd_ask_nothing());
}

static void look(uv_timer_t *timer)
{
    etcd *e = timer->data;
    bool found = place_is_found(&e->place);
    if (found)
        look_at(&e->requests[LOOKS], e->place.url);
    uv_timer_start(timer, look, found ? LOOK : LOOK_AGAIN, 0);
}

/* The address in use may be silent for a minute while etcd is back at another one. */
static void scout(uv_timer_t *timer)
{
    etcd *e = timer->data;
    request *r = &e->requests[SCOUTS];
    uint32_t url = r->busy ? PLACE_NOWHERE : place_scout(&e->place);
    if (url != PLACE_NOWHERE)
        look_at(r, url);
}

static request *find_idle(const etcd *e)
{
    for (uint32_t i = 0; i < ETCD_MAX_AT_ONCE; i++)
        if (!e->requests[i].busy)
            return (request *)&e->requests[i];
    return NULL;
}

bool etcd_is_ready(const etcd *e)
{
    return !e->closed && !place_rests(&e->place) && place_is_found(&e->place) &&
           find_idle(e) != NULL;
}

bool etcd_is_reached(const etcd *e)
{
    return e->place.state == PLACE_REACHED;
}

bool etcd_propose(etcd *e, void *who, etcd_bytes key, uint64_t epoch, etcd_bytes value)
{
    request *r = find_idle(e);
    if (r == NULL || key.bytes > ETCD_MAX_KEY)
        return false;
    r->who = who;
    return ask(r, e->place.url, key, epoch, etcd_ask(key, epoch, value));
}

/* ---- beginning and end ---- */

static bool prepare(etcd *e, request *r, const etcd_settings *settings)
{
    r->of = e;
    r->looks = r >= &e->requests[LOOKS];
    r->curl = etcd_curl(settings);
    if (r->curl == NULL)
        return false;
    curl_easy_setopt(r->curl, CURLOPT_PRIVATE, r);
    curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, e->headers);
    curl_easy_setopt(r->curl, CURLOPT_WRITEFUNCTION, keep_answer);
    curl_easy_setopt(r->curl, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(r->curl, CURLOPT_ERRORBUFFER, r->trouble);
    return true;
}

static bool prepare_all(etcd *e, const etcd_settings *settings)
{
    e->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (e->headers == NULL)
        return false;
    for (uint32_t i = 0; i < REQUESTS; i++)
        if (!prepare(e, &e->requests[i], settings))
            return false;
    return true;
}

static void end_all(etcd *e)
{
    for (uint32_t i = 0; i < REQUESTS; i++) {
        request *r = &e->requests[i];
        if (r->busy)
            transfers_end(&e->transfers, r->curl);
        curl_easy_cleanup(r->curl);
        forget(r);
    }
    curl_slist_free_all(e->headers);
}

static bool set_up(etcd *e, const etcd_settings *settings)
{
    return prepare_all(e, settings) && place_open(&e->place, e->loop, &settings->urls) &&
           transfers_open(&e->transfers, e->loop, is_done);
}

etcd *etcd_open(uv_loop_t *loop, const etcd_settings *settings, etcd_told *told, void *context)
{
    etcd *e = calloc(1, sizeof *e);
    if (e == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(e);
        return NULL;
    }
    e->loop = loop;
    e->told = told;
    e->context = context;
    if (!set_up(e, settings)) {
        end_all(e);
        place_close(&e->place); /* the loop has still to do with it, so it is not freed */
        curl_global_cleanup();
        return NULL;
    }
    uv_timer_init(loop, &e->look);
    uv_timer_init(loop, &e->scout);
    e->look.data = e->scout.data = e;
    uv_timer_start(&e->look, look, 0, 0);
    uv_timer_start(&e->scout, scout, SCOUT, SCOUT);
    return e;
}

void etcd_close(etcd *e)
{
    e->closed = true;
    end_all(e);
    place_close(&e->place);
    transfers_close(&e->transfers);
    uv_close((uv_handle_t *)&e->look, NULL);
    uv_close((uv_handle_t *)&e->scout, NULL);
}

void etcd_free(etcd *e)
{
    curl_global_cleanup();
    free(e);
}
