/*
 * The server: accepts connections on the first loop, and deals them out to all.
 */
#include "serve.h"
#include "listen.h"
#include "log.h"
#include "server.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- loops ---- */

static void wake_all(server *of, bool closes)
{
    for (uint32_t i = 0; i < of->loops; i++) {
        baton_tas_enter(&of->loop[i].box);
        of->loop[i].stops = true;
        of->loop[i].closes = closes;
        baton_tas_exit(&of->loop[i].box);
        uv_async_send(&of->loop[i].wake);
    }
}

/*
 * Who holds something may go on for a while, though its connection is closed: so nobody else may
 * get it in the last moment. Nothing is let go before nobody waits any more, on any loop.
 */
static void stop_loop(loop *in)
{
    server *of = (server *)(void *)in->service;
    in->stopping = true;
    LIST_EACH (at, &in->connections)
        connection_stop(OWNER_OF(at, connection, in_connections));
    if (atomic_fetch_add_explicit(&of->stopped, 1, memory_order_acq_rel) + 1 == of->loops)
        wake_all(of, true);
}

static void close_loop(loop *in)
{
    LIST_EACH (at, &in->connections)
        connection_finish(OWNER_OF(at, connection, in_connections));
    if (!uv_is_closing((uv_handle_t *)&in->wake)) {
        uv_close((uv_handle_t *)&in->wake, NULL);
        uv_close((uv_handle_t *)&in->before_sleep, NULL);
        uv_close((uv_handle_t *)&in->backlog_waits, NULL);
    }
}

void loop_deliver(loop *in)
{
    in->has_own_notices = false;
    baton_tas_enter(&in->box);
    notice *notices = in->first_notice;
    in->first_notice = in->last_notice = NULL;
    baton_tas_exit(&in->box);
    while (notices != NULL) {
        notice *n = notices;
        notices = n->next;
        connection *c = (connection *)(void *)n->to;
        session_notice(n, uv_now(&in->uv));
        if (!list_is_linked(&c->in_dirty))
            list_push_front(&in->dirty, &c->in_dirty);
    }
    for (connection *c; (c = OWNER_OF(list_pop(&in->dirty), connection, in_dirty)) != NULL;)
        connection_serve(c);
}

static void about_to_sleep(uv_prepare_t *before_sleep)
{
    loop *in = before_sleep->data;
    if (in->has_own_notices)
        loop_deliver(in);
    if (in->has_own_notices) /* what they brought brought more; others may speak in between */
        uv_async_send(&in->wake);
    if (in->service->turn_ends != NULL) {
        in->service->turn_ends(in->service);
        loop_send(in);
        in->service->turn_told(in->service);
    }
}

static void woken(uv_async_t *wake)
{
    loop *in = wake->data;
    loop_deliver(in);
    baton_tas_enter(&in->box);
    newcomer *newcomers = in->first_newcomer;
    bool stops = in->stops;
    bool closes = in->closes;
    in->first_newcomer = in->last_newcomer = NULL;
    baton_tas_exit(&in->box);
    while (newcomers != NULL) {
        newcomer *who = newcomers;
        newcomers = who->next;
        connection_welcome(in, who);
        free(who);
    }
    if (stops && !in->stopping)
        stop_loop(in);
    if (closes)
        close_loop(in);
}

static void *run_loop(void *context)
{
    loop *in = context;
    loop_running = in;
    uv_run(&in->uv, UV_RUN_DEFAULT);
    return NULL;
}

/* A socket that was accepted, on the first loop. */
static void deal_out(void *context, int socket, address_kind kind)
{
    server *of = context;
    atomic_fetch_add_explicit(&of->accepted, 1, memory_order_relaxed);
    newcomer *who = malloc(sizeof *who);
    if (who == NULL || of->connections >= of->max_connections) {
        static const char full[] = "-ERR max number of clients reached\r\n";
        ssize_t told = kind != ADDRESS_TLS ? write(socket, full, sizeof full - 1) : 0;
        (void)told; /* it is turned away either way */
        close(socket);
        free(who);
        log_summed(&of->turned_away, uv_now(&of->loop[0].uv), "connections=%" PRIu64,
                   (uint64_t)of->connections);
        return;
    }
    loop *in = &of->loop[of->next_loop++ % of->loops];
    *who = (newcomer){.socket = socket, .kind = kind};
    baton_tas_enter(&in->box);
    if (in->last_newcomer != NULL)
        in->last_newcomer->next = who;
    else
        in->first_newcomer = who;
    in->last_newcomer = who;
    baton_tas_exit(&in->box);
    uv_async_send(&in->wake);
}

/* ---- the whole ---- */

static void stop_all(server *of)
{
    atomic_store_explicit(&of->ending, true, memory_order_relaxed);
    listen_close(of->listening);
    if (of->settings->backend->stop != NULL)
        of->settings->backend->stop(of);
    uv_close((uv_handle_t *)&of->care, NULL);
    for (size_t i = 0; i < sizeof of->signals / sizeof of->signals[0]; i++)
        uv_close((uv_handle_t *)&of->signals[i], NULL);
    wake_all(of, false);
}

static void drain(uv_timer_t *timer)
{
    server *of = timer->data;
    bool drained = of->settings->backend->drained(of);
    if (!drained && uv_now(timer->loop) < of->drains_until)
        return;
    log_line(drained ? LOG_INFO : LOG_WARN, "drained", "complete=%d", drained);
    stop_all(of);
}

/* A second signal does not wait. */
static void stop(uv_signal_t *signal, int number)
{
    enum { OFTEN = 20 };
    server *of = signal->data;
    uint64_t patience = of->settings->backend->drained != NULL ? of->settings->drain : 0;
    log_line(LOG_INFO, "ending", "signal=%d", number);
    if (patience == 0 || of->drains_until != 0) {
        stop_all(of);
        return;
    }
    atomic_store_explicit(&of->ending, true, memory_order_relaxed);
    listen_close(of->listening);
    of->drains_until = uv_now(signal->loop) + patience;
    uv_timer_start(&of->care, drain, 0, OFTEN);
}

/* A server that was started for one user's commands need not stay when they are done. */
static void end_if_idle(server *of)
{
    uint64_t now = uv_now(&of->loop[0].uv);
    if (of->connections + of->staying > 0)
        of->idle_since = now;
    if (of->settings->idle_exit == 0 || now - of->idle_since < of->settings->idle_exit)
        return;
    log_line(LOG_INFO, "ending", "why=idle");
    stop_all(of);
}

/* After a rush: what malloc keeps for the next one would stay with it for ever. */
static void give_back_memory(server *of)
{
    enum { RUSH = 1024 };
    uint64_t kept = of->service.locks->backend->count_locks(of->service.locks) + of->connections;
    if (kept > of->max_kept)
        of->max_kept = kept;
    if (of->max_kept < RUSH || kept > of->max_kept / 4)
        return;
    of->max_kept = kept;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Summed up: whoever guesses must not fill the log. */
static void tell_guesses(server *of)
{
    enum { OFTEN = 1000 };
    uint64_t now = uv_now(&of->loop[0].uv);
    uint64_t wrong = guesses_count(&of->guesses);
    if (wrong == of->guesses_told || now - of->guesses_told_at < OFTEN)
        return;
    log_line(LOG_WARN, "audit", "what=\"wrong password\" times=%" PRIu64, wrong - of->guesses_told);
    of->guesses_told = wrong;
    of->guesses_told_at = now;
}

static void tell_refusals(server *of)
{
    uint64_t now = uv_now(&of->loop[0].uv);
    log_sum_tell(&of->turned_away, now);
    log_sum_tell(&of->cut_off, now);
    log_sum_tell(&of->http_refused, now);
    listen_tell_failures(of->listening);
}

static void look_after(uv_timer_t *timer)
{
    server *of = timer->data;
    of->settings->backend->look_after(of);
    tell_guesses(of);
    tell_refusals(of);
    give_back_memory(of);
    end_if_idle(of);
}

static void audit(service *s, const char *from, const char *what, resp_word lock)
{
    server *of = (server *)(void *)s;
    if (lock.bytes == 0)
        log_summed(&of->http_refused, uv_now(&loop_running->uv), "from=%s what=\"%s\"", from, what);
    else
        log_line(LOG_WARN, "audit", "from=%s what=\"%s\" lock=%s", from, what,
                 log_quote(lock.at, lock.bytes).text);
}

/* ---- begin and end ---- */

static size_t longest_word(const serve_settings *settings)
{
    enum { USUAL = 512 };
    size_t max = settings->max_name > settings->max_word ? settings->max_name : settings->max_word;
    return max > USUAL ? max : USUAL;
}

static void init_loop(server *of, uint32_t which)
{
    enum { LEAST = 8 }; /* strangers, however few connections there may be */
    loop *in = &of->loop[which];
    in->service = &of->service;
    in->settings = of->settings;
    in->connections_of_all = &of->connections;
    in->strangers_of_all = &of->strangers;
    in->max_strangers = of->max_connections / 4 < LEAST ? LEAST : of->max_connections / 4;
    in->staying_of_all = &of->staying;
    in->cut_off_of_all = &of->cut_off;
    list_start(&in->connections);
    list_start(&in->dirty);
    list_start(&in->unsent);
    list_start(&in->backlog);
    list_start(&in->strangers);
    baton_tas_init(&in->box, BATON_PARK);
    uv_loop_init(&in->uv);
    uv_async_init(&in->uv, &in->wake, woken);
    uv_prepare_init(&in->uv, &in->before_sleep);
    uv_prepare_start(&in->before_sleep, about_to_sleep);
    uv_idle_init(&in->uv, &in->backlog_waits);
    in->wake.data = in->before_sleep.data = in->backlog_waits.data = in;
}

static bool is_ignored(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void init_signals(server *of)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uv_signal_init(&of->loop[0].uv, &of->signals[i]);
        of->signals[i].data = of;
        if (numbers[i] != SIGHUP || !is_ignored(SIGHUP)) /* nohup wants it to stay */
            uv_signal_start(&of->signals[i], stop, numbers[i]);
    }
    uv_timer_init(&of->loop[0].uv, &of->care);
    of->care.data = of;
    of->idle_since = uv_now(&of->loop[0].uv);
    uv_timer_start(&of->care, look_after, 100, 100);
}

/* Descriptors for so many connections, as far as they can be had. Returns for how many they are. */
static uint32_t get_descriptors(const serve_settings *settings)
{
    const rlim_t pages = settings->http != NULL ? HTTP_MAX_REQUESTS : 0;
    const rlim_t others = 64 + 8 * (rlim_t)settings->loops + pages; /* that are no connections */
    const rlim_t wanted = others + settings->max_connections;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return settings->max_connections;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return settings->max_connections;
    uint32_t capacity = limit.rlim_cur > others ? (uint32_t)(limit.rlim_cur - others) : 1;
    log_line(LOG_WARN, "descriptors",
             "open_files=%" PRIu64 " connections=%" PRIu32 " why=\"%" PRIu32
             " connections need a limit (ulimit -Hn) of %" PRIu64 "\"",
             (uint64_t)limit.rlim_cur, capacity, settings->max_connections, (uint64_t)wanted);
    return capacity;
}

/* The key that a client makes of the password, too: whoever shakes hands by it has given that. */
static bool find_key(void *context, const char *identity, uint8_t key[TLS_KEY_BYTES])
{
    const server *of = context;
    if (of->settings->secret == NULL || strcmp(identity, PROOF_TLS_IDENTITY) != 0)
        return false;
    proof_of_tls(of->settings->secret, key);
    return true;
}

/* If an address asks for it. */
static bool open_tls(server *of, char complaint[COMPLAINT])
{
    const serve_settings *s = of->settings;
    bool wanted = false;
    for (uint32_t i = 0; i < s->addresses; i++)
        wanted = wanted || address_read(s->address[i]).kind == ADDRESS_TLS;
    if (!wanted)
        return true;
    tls_settings how = s->tls;
    how.asks_for_cert = how.ca != NULL;
    how.takes_tls12 = true;
    how.find_key = s->secret != NULL && s->tls.ca == NULL ? find_key : NULL;
    how.context = of;
    of->tls = tls_open(&how, complaint);
    for (uint32_t i = 0; i < of->loops; i++)
        of->loop[i].tls = of->tls;
    return of->tls != NULL;
}

const char *serve(const serve_settings *settings)
{
    static char complaint[COMPLAINT];
    static server of;
    of = (server){
        .settings = settings,
        .loops = settings->loops,
        .service = {.limits = {.word_bytes = longest_word(settings), .command_bytes = CHUNK},
                    .max_output = settings->max_output,
                    .max_name = settings->max_name,
                    .longest_lease = LONGEST_LEASE,
                    .secret = settings->secret,
                    .info = pages_info,
                    .audit = audit},
        .turned_away = {.level = LOG_WARN, .event = "turned_away"},
        .cut_off = {.level = LOG_WARN, .event = "cut_off"},
        .http_refused = {.level = LOG_WARN, .event = "audit"},
    };
    of.service.guesses = &of.guesses;
    guesses_start(&of.guesses);
    log_set_level(settings->level);
    of.max_connections = get_descriptors(settings);
    of.loop = calloc(settings->loops, sizeof(loop));
    if (of.loop == NULL)
        return "out of memory";
    for (uint32_t i = 0; i < of.loops; i++)
        init_loop(&of, i);
    if (!open_tls(&of, complaint) || !settings->backend->open(&of, complaint))
        return complaint;
    of.listening = listen_open(&of.loop[0].uv, settings->address, settings->addresses, deal_out,
                               &of, complaint);
    if (of.listening == NULL)
        return complaint;
    if (settings->http != NULL && !pages_open(&of, complaint))
        return complaint;
    init_signals(&of);
    for (uint32_t i = 1; i < of.loops; i++)
        if (pthread_create(&of.loop[i].thread, NULL, run_loop, &of.loop[i]) != 0)
            return "cannot start so many threads";
    run_loop(&of.loop[0]);
    for (uint32_t i = 1; i < of.loops; i++)
        pthread_join(of.loop[i].thread, NULL);
    http_close(of.pages);
    for (uint32_t i = 0; i < of.loops; i++)
        uv_loop_close(&of.loop[i].uv);
    listen_free(of.listening);
    settings->backend->close(&of);
    tls_close(of.tls);
    free(of.loop);
    log_line(LOG_INFO, "ended", "accepted=%" PRIu64, (uint64_t)of.accepted);
    return NULL;
}
