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
    for (connection *c = in->connections; c != NULL; c = c->next)
        connection_stop(c);
    if (atomic_fetch_add_explicit(&of->stopped, 1, memory_order_acq_rel) + 1 == of->loops)
        wake_all(of, true);
}

static void close_loop(loop *in)
{
    for (connection *c = in->connections, *next; c != NULL; c = next) {
        next = c->next;
        connection_finish(c);
    }
    if (!uv_is_closing((uv_handle_t *)&in->wake)) {
        uv_close((uv_handle_t *)&in->wake, NULL);
        uv_close((uv_handle_t *)&in->before_sleep, NULL);
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
        if (!c->dirty) {
            c->dirty = true;
            c->next_dirty = in->dirty;
            in->dirty = c;
        }
    }
    while (in->dirty != NULL) {
        connection *c = in->dirty;
        in->dirty = c->next_dirty;
        c->dirty = false;
        connection_serve(c);
    }
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
    }
}

static void woken(uv_async_t *wake)
{
    loop *in = wake->data;
    loop_deliver(in);
    baton_tas_enter(&in->box);
    newcomer *newcomers = in->newcomers;
    bool stops = in->stops;
    bool closes = in->closes;
    in->newcomers = NULL;
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
static void deal_out(void *context, int socket, bool is_unix)
{
    server *of = context;
    atomic_fetch_add_explicit(&of->accepted, 1, memory_order_relaxed);
    newcomer *who = malloc(sizeof *who);
    if (who == NULL || of->connections >= of->most_connections) {
        static const char full[] = "-ERR max number of clients reached\r\n";
        ssize_t told = write(socket, full, sizeof full - 1);
        (void)told; /* it is turned away either way */
        close(socket);
        free(who);
        log_line(LOG_WARN, "turned_away", "connections=%" PRIu64, (uint64_t)of->connections);
        return;
    }
    loop *in = &of->loop[of->next_loop++ % of->loops];
    *who = (newcomer){.socket = socket, .is_unix = is_unix};
    baton_tas_enter(&in->box);
    who->next = in->newcomers;
    in->newcomers = who;
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
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&of->signals[i], NULL);
    wake_all(of, false);
}

static void stop(uv_signal_t *signal, int number)
{
    log_line(LOG_INFO, "ending", "signal=%d", number);
    stop_all(signal->data);
}

/* A server that was started for one user's commands need not stay when they are done. */
static void end_if_idle(server *of)
{
    uint64_t now = uv_now(&of->loop[0].uv);
    if (of->connections > 0)
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
    uint64_t kept = registry_locks(of->service.locks) + of->connections;
    if (kept > of->most_kept)
        of->most_kept = kept;
    if (of->most_kept < RUSH || kept > of->most_kept / 4)
        return;
    of->most_kept = kept;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void look_after(uv_timer_t *timer)
{
    server *of = timer->data;
    of->settings->backend->look_after(of);
    give_back_memory(of);
    end_if_idle(of);
}

static void audit(service *s, const char *from, const char *what)
{
    (void)s;
    log_line(LOG_WARN, "audit", "from=%s what=\"%s\"", from, what);
}

/* ---- begin and end ---- */

static void init_loop(server *of, uint32_t which)
{
    loop *in = &of->loop[which];
    in->service = &of->service;
    in->settings = of->settings;
    in->connections_of_all = &of->connections;
    baton_tas_init(&in->box, BATON_PARK);
    uv_loop_init(&in->uv);
    uv_async_init(&in->uv, &in->wake, woken);
    uv_prepare_init(&in->uv, &in->before_sleep);
    uv_prepare_start(&in->before_sleep, about_to_sleep);
    in->wake.data = in->before_sleep.data = in;
}

static void init_signals(server *of)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        uv_signal_init(&of->loop[0].uv, &of->signals[i]);
        of->signals[i].data = of;
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
    const rlim_t pages = settings->http != NULL ? HTTP_MOST_REQUESTS : 0;
    const rlim_t others = 64 + 8 * (rlim_t)settings->loops + pages; /* that are no connections */
    const rlim_t wanted = others + settings->most_connections;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return settings->most_connections;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return settings->most_connections;
    uint32_t room = limit.rlim_cur > others ? (uint32_t)(limit.rlim_cur - others) : 1;
    log_line(LOG_WARN, "descriptors",
             "open_files=%" PRIu64 " connections=%" PRIu32 " why=\"%" PRIu32
             " connections need a limit (ulimit -Hn) of %" PRIu64 "\"",
             (uint64_t)limit.rlim_cur, room, settings->most_connections, (uint64_t)wanted);
    return room;
}

/* Passwords need some, too. */
static size_t most_word(const serve_settings *settings)
{
    size_t most = settings->most_word > 512 ? settings->most_word : 512;
    return settings->most_name > most ? settings->most_name : most;
}

const char *serve(const serve_settings *settings)
{
    static char complaint[256];
    static server of;
    of = (server){
        .settings = settings,
        .loops = settings->loops,
        .service = {.limits = {.word_bytes = most_word(settings), .command_bytes = CHUNK},
                    .most_output = settings->most_output,
                    .most_name = settings->most_name,
                    .longest_lease = LONGEST_LEASE,
                    .secret = settings->secret,
                    .info = pages_info,
                    .audit = audit},
    };
    log_set_level(settings->level);
    of.most_connections = get_descriptors(settings);
    of.loop = calloc(settings->loops, sizeof(loop));
    if (of.loop == NULL)
        return "out of memory";
    for (uint32_t i = 0; i < of.loops; i++)
        init_loop(&of, i);
    if (!settings->backend->open(&of, complaint))
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
    free(of.loop);
    log_line(LOG_INFO, "ended", "accepted=%" PRIu64, (uint64_t)of.accepted);
    return NULL;
}
