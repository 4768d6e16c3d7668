/*
 * The client and nodes that say anything at all: right answers, wrong ones, pushes that nobody
 * expects, nothing, and the end of the connection. Whatever they say, each call returns, nothing is
 * touched that is freed (the sanitizers look), and a client can be closed.
 */
#include "false_nodes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOISY = 3, THREADS = 3, NAMES = 4 };

static atomic_uint_fast64_t chance;
static atomic_uint quiet; /* the larger, the less is wrong */

static unsigned draw(unsigned below)
{
    uint64_t x = atomic_fetch_add(&chance, 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((x ^ (x >> 31)) >> 33) % below;
}

/* ---- what they say ---- */

static void add(asked *what, const char *text)
{
    size_t bytes = strlen(what->reply);
    snprintf(what->reply + bytes, sizeof what->reply - bytes, "%s", text);
}

static void add_any_push(asked *what)
{
    static const char *const words[] = {"ejected", "lost", "kept", "suspended", "resumed", "reset"};
    const char *word = words[draw(sizeof words / sizeof words[0])];
    char text[120];
    snprintf(text, sizeof text, ">3\r\n$%zu\r\n%s\r\n$2\r\nn%u\r\n:%lld\r\n", strlen(word), word,
             draw(NAMES), (long long)token + 2 - (long long)draw(6));
    add(what, text);
}

static void add_anything(asked *what)
{
    static const char *const any[] = {
        ":1\r\n",          ":-5\r\n",
        ":0\r\n",          "_\r\n",
        "+OK\r\n",         "-EJECTED x\r\n",
        "-STALE x\r\n",    "-NOTREADY x\r\n",
        "-DRAINING x\r\n", "-SUSPENDED x\r\n",
        "-LOST x\r\n",     "-NAME x\r\n",
        "*0\r\n",          "*2\r\n:1\r\n:2\r\n",
        ">0\r\n",          ">1\r\n$1\r\nx\r\n",
        "!!\r\n",          "$5\r\nab",
        "$3\r\nabc\r\n",   ":9223372036854775807\r\n",
    };
    add(what, any[draw(sizeof any / sizeof any[0])]);
}

static void add_right(asked *what)
{
    char grant[32];
    bool tries = strcmp(what->verb, "TRY") == 0;
    snprintf(grant, sizeof grant, ":%s%lld\r\n", tries && draw(4) == 0 ? "-" : "", ++token);
    if (tries || strcmp(what->verb, "LOCK") == 0 || strcmp(what->verb, "RESUME") == 0)
        add(what, grant);
    else if (strcmp(what->verb, "HELLO") == 0)
        add(what, "%2\r\n$6\r\nserver\r\n$5\r\nbaton\r\n$4\r\nmode\r\n$7\r\ncluster\r\n");
    else
        add(what, ":1\r\n");
}

static bool make_noise(void *unused, asked *what)
{
    (void)unused;
    if (draw(quiet) == 0)
        add_any_push(what);
    switch (draw(4 * quiet)) {
    case 0:
        add_anything(what);
        break;
    case 1: /* says nothing */
        break;
    case 2:
        what->cuts = true;
        break;
    default:
        add_right(what);
    }
    return true;
}

/* ---- who hears it ---- */

typedef struct user {
    baton_client *client;
    atomic_bool stops;
} user;

static void *use(void *context)
{
    user *u = context;
    char name[8];
    uint64_t mine;
    while (!u->stops) {
        snprintf(name, sizeof name, "n%u", draw(NAMES));
        int result = draw(2) == 0 ? baton_client_try(u->client, name, &mine)
                                  : baton_client_lock(u->client, name, draw(50), &mine);
        for (unsigned i = draw(4); i > 0 && result == BATON_OK; i--)
            increment(u->client, name, mine);
        if (result == BATON_OK && draw(8) > 0)
            baton_client_exit(u->client, name, mine);
    }
    return NULL;
}

/* Calls back in, as far as it may, and further. */
static void hear_of_loss(void *context, const char *name, uint64_t lost)
{
    baton_client *c = ((user *)context)->client;
    uint64_t mine;
    if (c == NULL)
        return;
    assert_false(baton_client_holds(c, name, lost));
    assert_int_equal(baton_client_try(c, name, &mine), BATON_BAD_ARGUMENT);
    assert_int_equal(baton_client_exit(c, name, lost), BATON_BAD_ARGUMENT);
}

static void use_for_a_while(const char *address)
{
    user u = {0};
    pthread_t thread[THREADS];
    const baton_client_options options = {
        .address = address,
        .lease_ms = draw(4) == 0 ? 0 : 200 + draw(300),
        .patience_ms = 100 + draw(200),
        .lost = draw(2) == 0 ? hear_of_loss : NULL,
        .context = &u,
    };
    quiet = 2 + draw(60);
    if (baton_client_open(&options, &u.client) != BATON_OK)
        return;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, use, &u), 0);
    rest(300);
    u.stops = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    baton_client_close(u.client);
}

void anything_is_said(void **unused)
{
    (void)unused;
    char path[NOISY][100], all[400];
    false_server *noisy[NOISY];
    const char *seed = getenv("SEED");
    chance = seed != NULL ? strtoull(seed, NULL, 10) : now_ns();
    printf("# SEED=%llu draws the same numbers again\n", (unsigned long long)chance);
    alarm(3 * PATIENCE_MS / 1000); /* each call returns */
    quiet = 8;
    token = 1000;
    for (int i = 0; i < NOISY; i++) {
        char name[] = {'n', 'o', 'i', 's', 'y', (char)('a' + i), '\0'};
        node_path(name, path[i], sizeof path[i]);
        noisy[i] = false_server_start(path[i], make_noise, NULL);
    }
    snprintf(all, sizeof all, "%s,%s,%s", path[0], path[1], path[2]);
    for (int i = 0; i < 12; i++)
        use_for_a_while(i % 4 == 3 ? path[0] : all);
    for (int i = 0; i < NOISY; i++)
        false_server_end(noisy[i]);
    alarm(0);
}
