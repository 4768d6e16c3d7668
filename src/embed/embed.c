/* What the threads of the program do: open and close, queue calls, wait for answers. */
#include "internal.h"
#include "log.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAX_NAME = 64,
    MAX_BYTES = 256 << 20, /* of the data file: many times a state and its log */
};
_Static_assert(BATON_REPLICA_MAX_OPERATION == STORE_OWN_OPERATION &&
                   BATON_REPLICA_MAX_RESULT == STORE_OWN_RESULT &&
                   BATON_REPLICA_MAX_STATE == STORE_OWN_STATE &&
                   BATON_REPLICA_WHY_BYTES == COMPLAINT,
               "the store keeps what the header promises");

/* ---- the resource, as the store sees it ---- */

struct baton_replica_state {
    resp_out *out;
};

void baton_replica_put(baton_replica_state *to, const void *bytes, size_t count)
{
    resp_raw(to->out, bytes, count);
}

static size_t apply(void *context, byte_string operation, uint8_t result[STORE_OWN_RESULT])
{
    const baton_replica_resource *its = context;
    baton_replica_result made = {0};
    its->apply(its->context, operation.at, operation.bytes, &made);
    if (made.bytes <= STORE_OWN_RESULT)
        memcpy(result, made.at, made.bytes);
    return made.bytes;
}

static void snapshot(void *context, resp_out *state)
{
    const baton_replica_resource *its = context;
    its->snapshot(its->context, &(baton_replica_state){state});
}

static bool restore(void *context, byte_string state)
{
    const baton_replica_resource *its = context;
    return its->restore(its->context, state.at, state.bytes);
}

/* ---- opening ---- */

static int complain(char *why, int error, const char *words)
{
    if (why != NULL)
        snprintf(why, BATON_REPLICA_WHY_BYTES, "%s", words);
    return error;
}

static bool is_whole(const baton_replica_options *o)
{
    return o->id != NULL && o->peers != NULL && o->data != NULL && o->resource.apply != NULL &&
           o->resource.snapshot != NULL && o->resource.restore != NULL;
}

/* Only replicas of the same name talk to each other, and no `baton node` with any. */
static void bind_name(baton_replica *r)
{
    char word[MAX_NAME + 16];
    snprintf(word, sizeof word, "resource %s", r->name);
    peers_bind(&r->driver.peers, word);
}

static int read_options(baton_replica *r, const baton_replica_options *o, char *why)
{
    char words[PEERS_COMPLAINT];
    const char *name = o->name != NULL ? o->name : "replica";
    if (*name == '\0' || strlen(name) > MAX_NAME)
        return complain(why, BATON_BAD_ARGUMENT, "a name has 1 to 64 bytes");
    if (!peers_parse(&r->driver.peers, o->peers, o->id, words))
        return complain(why, BATON_BAD_ARGUMENT, words);
    if (words[0] != '\0')
        log_line(LOG_WARN, "peers", "why=\"%s\"", words);
    if (o->secret == NULL && !driver_is_local(&r->driver))
        return complain(why, BATON_BAD_ARGUMENT, "an address beyond this machine needs a secret");
    r->resource = o->resource;
    r->told = o->told;
    r->context = o->context;
    r->name = strdup(name);
    r->data = strdup(o->data);
    r->secret = o->secret != NULL ? strdup(o->secret) : NULL;
    if (r->name == NULL || r->data == NULL || (o->secret != NULL && r->secret == NULL))
        return complain(why, BATON_SYSTEM, "out of memory");
    bind_name(r);
    r->own = (store_own){&r->resource, apply, snapshot, restore};
    r->driver.data = r->data;
    r->driver.max_bytes = MAX_BYTES;
    r->driver.credentials.secret =
        (proof_secret){r->secret, r->secret != NULL ? strlen(r->secret) : 0};
    r->driver.own = &r->own;
    r->driver.only = r->name;
    return BATON_OK;
}

/* The program's signals are for its own threads; a connection that breaks is no signal at all. */
static bool start_thread(baton_replica *r)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&r->thread, NULL, replica_live, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

/* The resource is brought back here, so that who opens hears whether that works. */
static bool begin(baton_replica *r, char *why)
{
    r->node_lock = node_lock_get(&r->driver.node, r->name, strlen(r->name));
    if (r->node_lock == NULL || !driver_last_turn(&r->driver) ||
        !store_checkpoint(r->driver.store)) { /* it is another thread's from now on */
        const char *words = store_why(r->driver.store);
        complain(why, 0, *words != '\0' ? words : "out of memory");
    } else if (start_thread(r)) {
        return true;
    } else {
        complain(why, 0, "cannot start a thread");
    }
    return false;
}

static int open_all(baton_replica *r, const baton_replica_options *options, char *why)
{
    char complaint[COMPLAINT];
    int error = read_options(r, options, why);
    if (error != BATON_OK)
        return error;
    if (uv_loop_init(&r->loop) != 0)
        return complain(why, BATON_SYSTEM, "the system has no event loop to give");
    if (!driver_open(&r->driver, &r->loop, complaint)) {
        uv_run(&r->loop, UV_RUN_DEFAULT); /* what was opened in part is closed */
        uv_loop_close(&r->loop);
        return complain(why, BATON_SYSTEM, complaint);
    }
    replica_prepare(r);
    if (begin(r, why))
        return BATON_OK;
    replica_abandon(r);
    return BATON_SYSTEM;
}

static void release(baton_replica *r)
{
    pthread_cond_destroy(&r->nobody_calls);
    pthread_mutex_destroy(&r->mutex);
    if (r->secret != NULL)
        explicit_bzero(r->secret, strlen(r->secret));
    free(r->secret);
    free(r->data);
    free(r->name);
    free(r);
}

static void be_quiet(void)
{
    log_set_level(LOG_WARN);
}

/* A file at its limit is an error like any other here, and not the end of the program. */
static int open_without_signals(baton_replica *r, const baton_replica_options *options, char *why)
{
    sigset_t at_limit;
    sigset_t before;
    sigemptyset(&at_limit);
    sigaddset(&at_limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &at_limit, &before);
    int error = open_all(r, options, why);
    while (sigismember(&before, SIGXFSZ) == 0 &&
           sigtimedwait(&at_limit, NULL, &(struct timespec){0}) > 0)
        continue; /* it has been answered by the error */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int baton_replica_open(const baton_replica_options *options, baton_replica **opened, char *why)
{
    if (options == NULL || opened == NULL || !is_whole(options))
        return complain(why, BATON_BAD_ARGUMENT,
                        "id, peers, data and the three functions of the resource must be given");
    static pthread_once_t quiet = PTHREAD_ONCE_INIT;
    baton_replica *r = calloc(1, sizeof *r);
    if (r == NULL)
        return complain(why, BATON_SYSTEM, "out of memory");
    pthread_once(&quiet, be_quiet);
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->nobody_calls, NULL);
    list_start(&r->kin);
    list_start(&r->queued);
    list_start(&r->stays);
    list_start(&r->looks);
    list_start(&r->answers);
    int error = open_without_signals(r, options, why);
    if (error == BATON_OK) {
        complain(why, error, "");
        *opened = r;
    } else {
        release(r);
    }
    return error;
}

void baton_replica_close(baton_replica *r)
{
    if (r == NULL || !kin_is_own(r))
        return;
    pthread_mutex_lock(&r->mutex);
    r->closes = true;
    if (!r->deaf)
        uv_async_send(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    pthread_join(r->thread, NULL);
    pthread_mutex_lock(&r->mutex);
    while (r->callers > 0)
        pthread_cond_wait(&r->nobody_calls, &r->mutex);
    pthread_mutex_unlock(&r->mutex);
    release(r);
}

const char *baton_replica_why(baton_replica *r)
{
    if (!kin_is_own(r))
        return "it is of the process that this one was forked from; open one here";
    pthread_mutex_lock(&r->mutex);
    const char *why = r->failed ? r->why : ""; /* written once */
    pthread_mutex_unlock(&r->mutex);
    return why;
}

/* ---- calls ---- */

/* Both by who has the mutex. */
static void queue(baton_replica *r, call *c)
{
    list_push_back(&r->queued, &c->link);
    uv_async_send(&r->wake);
}

static void await(baton_replica *r, call *c)
{
    while (!c->answered)
        pthread_cond_wait(&c->told, &r->mutex);
}

static struct timespec time_after(int64_t milliseconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += milliseconds / 1000;
    at.tv_nsec += milliseconds % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/* Whatever comes of it, the call that is given up is answered. */
static void give_up(baton_replica *r, call *about)
{
    call c = {.carry_out = call_give_up, .told = PTHREAD_COND_INITIALIZER, .about = about};
    if (r->deaf)
        return;
    queue(r, &c);
    await(r, &c);
    pthread_cond_destroy(&c.told);
}

/* For so many milliseconds; negative: without end. */
static int ask(baton_replica *r, call *c, int64_t patience)
{
    enum { WEEK = 7 * 24 * 3600 * 1000 };
    if (r == NULL || replica_living == r || !kin_is_own(r))
        return BATON_BAD_ARGUMENT;
    pthread_mutex_lock(&r->mutex);
    if (r->deaf) {
        int verdict = r->failed ? BATON_SYSTEM : BATON_UNREACHABLE;
        pthread_mutex_unlock(&r->mutex);
        return verdict;
    }
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&c->told, &steady);
    pthread_condattr_destroy(&steady);
    r->callers++;
    queue(r, c);
    if (patience > 0) {
        struct timespec until = time_after(patience < WEEK ? patience : WEEK);
        int error = 0;
        while (!c->answered && error == 0)
            error = pthread_cond_timedwait(&c->told, &r->mutex, &until);
        if (!c->answered)
            give_up(r, c);
    }
    await(r, c);
    if (--r->callers == 0)
        pthread_cond_signal(&r->nobody_calls);
    pthread_mutex_unlock(&r->mutex);
    pthread_cond_destroy(&c->told);
    return c->verdict;
}

int baton_replica_enter(baton_replica *r, int64_t timeout_ms, uint64_t *token)
{
    call c = {.carry_out = call_enter, .only_tries = timeout_ms == 0};
    if (token == NULL)
        return BATON_BAD_ARGUMENT;
    int verdict = ask(r, &c, timeout_ms);
    if (verdict == BATON_OK)
        *token = c.token;
    return verdict;
}

int baton_replica_issue(baton_replica *r, uint64_t token, const void *operation, size_t bytes,
                        baton_replica_result *result)
{
    call c = {.carry_out = call_issue, .token = token, .result = result};
    if (operation == NULL || bytes < 1 || bytes > BATON_REPLICA_MAX_OPERATION)
        return BATON_BAD_ARGUMENT;
    c.operation = (byte_string){operation, bytes};
    return ask(r, &c, -1);
}

int baton_replica_exit(baton_replica *r, uint64_t token)
{
    call c = {.carry_out = call_exit, .token = token};
    return ask(r, &c, -1);
}

int baton_replica_look(baton_replica *r, void (*look)(void *context, baton_replica_position place),
                       void *context)
{
    call c = {.carry_out = call_look, .look = look, .context = context};
    return look == NULL ? BATON_BAD_ARGUMENT : ask(r, &c, -1);
}
