/*
 * Contenders that hand one lock on: acquire, a tiny section, release, again. `handoff HOW HOST:PORT
 * CONTENDERS SECONDS` prints one line of JSON. Each contender is a thread with connections of its
 * own, so none knows of another but through the server. HOW is one of
 *
 *   lock     LOCK and EXIT of `baton serve`, over a plain socket
 *   client   the same through baton/client.h
 *   poll     SET NX PX of Redis; who fails asks again after a millisecond; a script releases
 *   pubsub   the same, but who fails waits until the script that releases publishes that
 *
 * A message is a command, a reply, or something published, as one contender sees it.
 */
#include "baton/client.h"
#include "resp_reply.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CONTENDERS = 256, BUFFER = 65536, POLL_NS = 1000000, TOLD_MS = 100 };

static void give_up(const char *why)
{
    fprintf(stderr, "handoff: %s\n", why);
    exit(1);
}

/* ---- a plain client, the same for both servers ---- */

typedef struct plain {
    int socket;
    uint64_t messages;
    resp_out out;
    size_t bytes, used; /* of the buffer: filled, and read */
    char in[BUFFER];
} plain;

static plain *plain_open(struct sockaddr_in at)
{
    const int on = 1;
    plain *p = calloc(1, sizeof *p);
    if (p == NULL)
        give_up("out of memory");
    p->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(p->socket, (struct sockaddr *)&at, sizeof at) != 0)
        give_up("cannot connect");
    setsockopt(p->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return p;
}

static void plain_close(plain *p)
{
    close(p->socket);
    resp_free(&p->out);
    free(p);
}

static void plain_send(plain *p, uint32_t words, const char *const *word)
{
    resp_array(&p->out, words);
    for (uint32_t i = 0; i < words; i++)
        resp_text(&p->out, word[i]);
    if (send(p->socket, p->out.at, p->out.bytes, MSG_NOSIGNAL) != (ssize_t)p->out.bytes)
        give_up("cannot send");
    p->out.bytes = 0;
    p->messages++;
}

/* The next reply or published message; false if none has come in that time (negative: no end). */
static bool plain_take(plain *p, int ms, resp_reply *reply)
{
    const resp_limits limits = {.word_bytes = BUFFER / 2, .command_bytes = BUFFER - 1};
    for (;;) {
        resp_parsed parsed = resp_reply_parse(p->in + p->used, p->bytes - p->used, &limits, reply);
        if (parsed.verdict == RESP_BAD)
            give_up("the server does not speak RESP");
        if (parsed.verdict == RESP_COMPLETE) {
            p->used += parsed.used;
            p->messages++;
            return true;
        }
        memmove(p->in, p->in + p->used, p->bytes - p->used);
        p->bytes -= p->used;
        p->used = 0;
        struct pollfd one = {.fd = p->socket, .events = POLLIN};
        if (ms >= 0 && poll(&one, 1, ms) == 0)
            return false;
        ssize_t got = recv(p->socket, p->in + p->bytes, sizeof p->in - p->bytes, 0);
        if (got <= 0)
            give_up("the connection is gone");
        p->bytes += (size_t)got;
    }
}

static resp_reply plain_ask(plain *p, uint32_t words, const char *const *word)
{
    resp_reply reply;
    plain_send(p, words, word);
    plain_take(p, -1, &reply);
    if (reply.value.kind == REPLY_ERROR)
        give_up(reply.value.text.at);
    return reply;
}

#define ASK(p, ...)                                                           \
    plain_ask(p, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), \
              (const char *const[]){__VA_ARGS__})

/* ---- ways to hold a lock ---- */

typedef struct contender {
    pthread_t thread;
    const struct way *by;
    plain *asks, *hears;
    baton_client *client;
    char mark[24]; /* its own in Redis, or the token of a section */
    char script[48];
    uint64_t token;
    uint64_t sections, messages, longest; /* longest wait, in nanoseconds */
} contender;

typedef struct way {
    const char *name;
    void (*open)(contender *me);
    void (*acquire)(contender *me);
    void (*release)(contender *me);
    uint64_t (*messages)(const contender *me);
} way;

static struct sockaddr_in server;
static char address[64];

static void open_plain(contender *me)
{
    me->asks = plain_open(server);
}

static uint64_t plain_messages(const contender *me)
{
    return me->asks->messages + (me->hears != NULL ? me->hears->messages : 0);
}

static void lock_acquire(contender *me)
{
    resp_reply got = ASK(me->asks, "LOCK", "handoff");
    snprintf(me->mark, sizeof me->mark, "%" PRId64, got.value.number);
}

static void lock_release(contender *me)
{
    ASK(me->asks, "EXIT", "handoff", me->mark);
}

static void client_start(contender *me)
{
    baton_client_options options = {.address = address, .lease_ms = 30000};
    if (baton_client_open(&options, &me->client) != BATON_OK ||
        baton_client_lock(me->client, me->mark, -1, &me->token) != BATON_OK ||
        baton_client_exit(me->client, me->mark, me->token) != BATON_OK) /* now it has its lines */
        give_up("cannot open a client");
}

static void client_acquire(contender *me)
{
    if (baton_client_lock(me->client, "handoff", -1, &me->token) != BATON_OK)
        give_up("the lock was not granted");
}

static void client_release(contender *me)
{
    if (baton_client_exit(me->client, "handoff", me->token) != BATON_OK)
        give_up("the lock was lost");
}

static uint64_t client_messages(const contender *me)
{
    return baton_client_count(me->client).messages;
}

/* Deletes only what is one's own, as Redis advises; with a channel, says so there. */
static const char *const release_script =
    "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) "
    "if ARGV[2] then redis.call('publish', ARGV[2], '') end return 1 else return 0 end";

static void redis_open(contender *me)
{
    open_plain(me);
    resp_reply got = ASK(me->asks, "SCRIPT", "LOAD", release_script);
    snprintf(me->script, sizeof me->script, "%.*s", (int)got.value.text.bytes, got.value.text.at);
}

static void pubsub_open(contender *me)
{
    redis_open(me);
    me->hears = plain_open(server);
    ASK(me->hears, "SUBSCRIBE", "released");
}

static bool redis_try(contender *me)
{
    resp_reply got = ASK(me->asks, "SET", "handoff", me->mark, "NX", "PX", "30000");
    return got.value.kind == REPLY_SIMPLE;
}

static void poll_acquire(contender *me)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    while (!redis_try(me))
        nanosleep(&pause, NULL);
}

static void poll_release(contender *me)
{
    ASK(me->asks, "EVALSHA", me->script, "1", "handoff", me->mark);
}

static void pubsub_acquire(contender *me)
{
    resp_reply told;
    for (;;) {
        while (plain_take(me->hears, 0, &told)) /* of earlier releases: no news */
            ;
        if (redis_try(me))
            return;
        plain_take(me->hears, TOLD_MS, &told); /* not for ever: the holder may have died */
    }
}

static void pubsub_release(contender *me)
{
    ASK(me->asks, "EVALSHA", me->script, "1", "handoff", me->mark, "released");
}

static const way ways[] = {
    {"lock", open_plain, lock_acquire, lock_release, plain_messages},
    {"client", client_start, client_acquire, client_release, client_messages},
    {"poll", redis_open, poll_acquire, poll_release, plain_messages},
    {"pubsub", pubsub_open, pubsub_acquire, pubsub_release, plain_messages},
};

/* ---- the contest ---- */

static atomic_bool stop;
static pthread_barrier_t begin;
static atomic_int inside;

static uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void *contend(void *argument)
{
    contender *me = argument;
    me->by->open(me);
    uint64_t before = me->by->messages(me);
    pthread_barrier_wait(&begin);
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        uint64_t from = now_ns();
        me->by->acquire(me);
        uint64_t waited = now_ns() - from;
        if (atomic_fetch_add(&inside, 1) != 0)
            give_up("two are inside");
        me->sections++;
        atomic_fetch_sub(&inside, 1);
        me->by->release(me);
        if (waited > me->longest)
            me->longest = waited;
    }
    me->messages = me->by->messages(me) - before;
    return NULL;
}

static void close_contender(contender *me)
{
    if (me->asks != NULL)
        plain_close(me->asks);
    if (me->hears != NULL)
        plain_close(me->hears);
    baton_client_close(me->client);
}

static void run(const way *by, uint32_t count, double seconds)
{
    static contender all[MAX_CONTENDERS];
    uint64_t sections = 0, messages = 0, least = UINT64_MAX, max = 0, longest = 0;
    pthread_barrier_init(&begin, NULL, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        all[i].by = by;
        snprintf(all[i].mark, sizeof all[i].mark, "contender-%u", i);
        if (pthread_create(&all[i].thread, NULL, contend, &all[i]) != 0)
            give_up("cannot start a thread");
    }
    pthread_barrier_wait(&begin);
    uint64_t from = now_ns();
    const struct timespec pause = {(time_t)seconds, (long)((seconds - (long)seconds) * 1e9)};
    nanosleep(&pause, NULL);
    atomic_store(&stop, true);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(all[i].thread, NULL);
    double took = (double)(now_ns() - from) / 1e9;
    for (uint32_t i = 0; i < count; i++) {
        sections += all[i].sections;
        messages += all[i].messages;
        least = all[i].sections < least ? all[i].sections : least;
        max = all[i].sections > max ? all[i].sections : max;
        longest = all[i].longest > longest ? all[i].longest : longest;
        close_contender(&all[i]);
    }
    printf("{\"how\": \"%s\", \"contenders\": %u, \"seconds\": %.3f, \"sections\": %" PRIu64
           ", \"messages\": %" PRIu64 ", \"least\": %" PRIu64 ", \"most\": %" PRIu64
           ", \"longest_wait_ms\": %.3f}\n",
           by->name, count, took, sections, messages, least, max, (double)longest / 1e6);
}

int main(int argc, char **argv)
{
    const way *by = NULL;
    for (size_t i = 0; argc == 5 && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            by = &ways[i];
    int count = argc == 5 ? atoi(argv[3]) : 0;
    double seconds = argc == 5 ? atof(argv[4]) : 0;
    char *colon = argc == 5 ? strrchr(argv[2], ':') : NULL;
    if (by == NULL || colon == NULL || count < 1 || count > MAX_CONTENDERS || seconds <= 0) {
        fputs("usage: handoff lock|client|poll|pubsub 127.0.0.1:PORT CONTENDERS SECONDS\n", stderr);
        return 64;
    }
    snprintf(address, sizeof address, "%s", argv[2]);
    server = (struct sockaddr_in){.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(colon + 1)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    run(by, (uint32_t)count, seconds);
    return 0;
}
