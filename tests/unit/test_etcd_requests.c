/*
 * Requests to an etcd of these tests: what is told of each answer, each refusal, each silence. It
 * is a thread for each connection, and keeps as much of HTTP and of etcd as that takes.
 */
#include "etcd.h"
#include "unit.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BOTH = 2, PATIENCE_MS = 20000 };

/* ---- etcd ---- */

typedef enum manner {
    FINE,
    FULL,    /* refuses, in the words of etcd */
    NO_ETCD, /* is a page of somebody else */
    ENDLESS, /* says more than anybody wants to hear */
    NONSENSE,
    SILENT,
    GONE, /* closes the connection */
} manner;

typedef struct server {
    pthread_t thread;
    int listens;
    uint16_t port;
    atomic_int manner;   /* to requests for locks, */
    atomic_int to_looks; /* and to those that only look */
    atomic_int asked, looked, silent;
    atomic_ullong revision;
    atomic_int calls; /* that are served */
} server;

static server servers[BOTH];

/* What stands behind "key":" in a request. */
static void find_text(const char *request, const char *key, char *to, size_t bytes)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "\"%s\":\"", key);
    const char *at = strstr(request, wanted);
    assert_non_null(at);
    at += strlen(wanted);
    snprintf(to, bytes, "%.*s", (int)strcspn(at, "\""), at);
}

static void write_fine(server *s, const char *request, bool looks, char *to, size_t bytes)
{
    char key[2000], value[200], version[32];
    unsigned long long revision = ++s->revision;
    if (looks) {
        snprintf(to, bytes,
                 "{\"header\":{\"cluster_id\":\"7\",\"revision\":\"%llu\"},"
                 "\"responses\":[{\"response_range\":{}}]}",
                 revision);
        return;
    }
    find_text(request, "key", key, sizeof key);
    find_text(request, "value", value, sizeof value);
    find_text(request, "version", version, sizeof version);
    snprintf(to, bytes,
             "{\"header\":{\"cluster_id\":\"7\",\"revision\":\"%llu\"},\"succeeded\":true,"
             "\"responses\":[{\"response_put\":{}},{\"response_range\":{\"kvs\":[{\"key\":\"%s\","
             "\"version\":\"%llu\",\"value\":\"%s\"}]}}]}",
             revision, key, strtoull(version, NULL, 10) + 1, value);
}

static void send_text(int to, int status, const char *text, size_t bytes)
{
    char head[200];
    int length =
        snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n", status, bytes);
    send(to, head, (size_t)length, MSG_NOSIGNAL | MSG_MORE);
    for (size_t done = 0; done < bytes;) {
        ssize_t sent = send(to, text + done, bytes - done, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        done += (size_t)sent;
    }
}

/* False: the connection ends. */
static bool answer(server *s, int to, const char *request)
{
    static const char refusal[] = "{\"error\":\"x\",\"message\":\"no \\\"space\\\"\",\"code\":8}";
    static const char page[] = "<html>somebody else</html>";
    static char endless[ETCD_MAX_ANSWER + 1000];
    char text[4000];
    bool looks = strstr(request, "\"count_only\":true") != NULL;
    int how = looks ? s->to_looks : s->manner;
    *(looks ? &s->looked : &s->asked) += 1;
    switch (how) {
    case FINE:
        write_fine(s, request, looks, text, sizeof text);
        send_text(to, 200, text, strlen(text));
        return true;
    case FULL:
        send_text(to, 503, refusal, strlen(refusal));
        return true;
    case NO_ETCD:
        send_text(to, 404, page, strlen(page));
        return true;
    case ENDLESS:
        memset(endless, ' ', sizeof endless);
        send_text(to, 200, endless, sizeof endless);
        return true;
    case NONSENSE:
        send_text(to, 200, "{}", 2);
        return true;
    case SILENT:
        s->silent++;
        while ((looks ? s->to_looks : s->manner) == SILENT)
            usleep(1000);
        return false;
    default:
        return false;
    }
}

typedef struct call {
    server *of;
    int socket;
} call;

/* The whole of a request: its head, and so many bytes. Returns those; NULL: it is over. */
static char *read_request(int from, char *buffer, size_t room)
{
    size_t bytes = 0;
    for (;;) {
        ssize_t got = recv(from, buffer + bytes, room - 1 - bytes, 0);
        if (got <= 0)
            return NULL;
        bytes += (size_t)got;
        buffer[bytes] = '\0';
        char *body = strstr(buffer, "\r\n\r\n");
        const char *length = strcasestr(buffer, "\r\nContent-Length: ");
        if (body == NULL)
            continue;
        assert_memory_equal(buffer, "POST /v3/kv/txn HTTP/1.1\r\n", 26);
        assert_non_null(strcasestr(buffer, "\r\nContent-Type: application/json\r\n"));
        assert_non_null(length);
        body += 4;
        if (strlen(body) >= strtoul(length + 18, NULL, 10))
            return body;
    }
}

static void *serve_call(void *context)
{
    call mine = *(call *)context;
    char buffer[8192];
    free(context);
    for (char *body; (body = read_request(mine.socket, buffer, sizeof buffer)) != NULL;)
        if (!answer(mine.of, mine.socket, body))
            break;
    close(mine.socket);
    mine.of->calls--;
    return NULL;
}

static void *serve(void *context)
{
    server *s = context;
    for (int at; (at = accept(s->listens, NULL, NULL)) >= 0;) {
        call *c = malloc(sizeof *c);
        pthread_t thread;
        assert_non_null(c);
        *c = (call){s, at};
        s->calls++;
        assert_int_equal(pthread_create(&thread, NULL, serve_call, c), 0);
        pthread_detach(thread);
    }
    return NULL;
}

static void start(server *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t bytes = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *s = (server){.listens = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(s->listens, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->listens, 64), 0);
    assert_int_equal(getsockname(s->listens, (struct sockaddr *)&at, &bytes), 0);
    s->port = ntohs(at.sin_port);
    s->revision = 10;
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop(server *s)
{
    s->manner = s->to_looks = GONE;
    shutdown(s->listens, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listens);
    while (s->calls > 0) /* who has called is closed */
        usleep(1000);
}

/* ---- libcurl, as far as it is watched, or fails ---- */

static bool has_memory = true;
static int errors; /* of sockets, as libcurl was told */

typedef CURLMcode add_handle(CURLM *multi, CURL *one);

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *one)
{
    add_handle *real = (add_handle *)dlsym(RTLD_NEXT, "curl_multi_add_handle");
    return has_memory ? real(multi, one) : CURLM_OUT_OF_MEMORY;
}

typedef CURLMcode socket_action(CURLM *multi, curl_socket_t at, int what, int *running);

CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t at, int what, int *running)
{
    socket_action *real = (socket_action *)dlsym(RTLD_NEXT, "curl_multi_socket_action");
    errors += (what & CURL_CSELECT_ERR) != 0;
    return real(multi, at, what, running);
}

/* ---- who asks ---- */

typedef struct outcome {
    int times;
    bool known;
    uint64_t epoch;
    outside_verdict verdict;
    char value[64];
} outcome;

static struct {
    uv_loop_t loop;
    etcd *etcd;
    int told;
    FILE *log; /* what goes to standard error meanwhile */
    int error;
} scene;

static void be_told(void *context, void *who, uint64_t epoch, const etcd_answer *a)
{
    outcome *o = who;
    assert_ptr_equal(context, &scene);
    scene.told++;
    *o = (outcome){.times = o->times + 1, .known = a != NULL, .epoch = epoch};
    if (a == NULL)
        return;
    o->verdict = a->verdict;
    snprintf(o->value, sizeof o->value, "%.*s", (int)a->value_bytes, (const char *)a->value);
}

/* At the first so many servers. */
static void begin(uint32_t count)
{
    char text[100] = "", words[ETCD_URLS_COMPLAINT];
    etcd_settings settings = {0};
    for (uint32_t i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%shttp://127.0.0.1:%u",
                 i > 0 ? "," : "", servers[i].port);
    assert_true(etcd_urls_parse(&settings.urls, text, words));
    assert_int_equal(uv_loop_init(&scene.loop), 0);
    scene.told = 0;
    scene.log = tmpfile();
    scene.error = dup(STDERR_FILENO);
    dup2(fileno(scene.log), STDERR_FILENO);
    scene.etcd = etcd_open(&scene.loop, &settings, be_told, &scene);
    assert_non_null(scene.etcd);
}

static void end(void)
{
    etcd_close(scene.etcd);
    assert_false(etcd_is_ready(scene.etcd));
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    etcd_free(scene.etcd);
    assert_int_equal(uv_loop_close(&scene.loop), 0);
    dup2(scene.error, STDERR_FILENO);
    close(scene.error);
    fclose(scene.log);
}

static void tick(uv_timer_t *timer)
{
    (void)timer;
}

/* Runs the loop until that is so. */
#define RUN_UNTIL(condition)                                     \
    do {                                                         \
        uv_timer_t ticks;                                        \
        uv_timer_init(&scene.loop, &ticks);                      \
        uv_timer_start(&ticks, tick, 1, 1);                      \
        for (int ms = 0; ms < PATIENCE_MS && !(condition); ms++) \
            uv_run(&scene.loop, UV_RUN_ONCE);                    \
        uv_close((uv_handle_t *)&ticks, NULL);                   \
        uv_run(&scene.loop, UV_RUN_NOWAIT);                      \
        assert_true(condition);                                  \
    } while (0)

static bool propose(outcome *o, uint64_t epoch, const char *value)
{
    return etcd_propose(scene.etcd, o, (etcd_bytes){"baton/lock", 10}, epoch,
                        (etcd_bytes){value, strlen(value)});
}

static bool has_said(const char *words)
{
    char text[4096];
    ssize_t bytes = pread(fileno(scene.log), text, sizeof text - 1, 0);
    assert_true(bytes >= 0);
    text[bytes] = '\0';
    return strstr(text, words) != NULL;
}

/* ---- tests ---- */

static void test_decided(void **state)
{
    (void)state;
    outcome one = {0};
    begin(1);
    assert_false(etcd_is_reached(scene.etcd)); /* nobody was asked yet */
    RUN_UNTIL(etcd_is_reached(scene.etcd));
    assert_int_equal(servers[0].looked, 1);
    for (uint64_t epoch = 1; epoch <= 5; epoch++) {
        char value[20];
        snprintf(value, sizeof value, "value %d", (int)epoch);
        assert_true(etcd_is_ready(scene.etcd));
        one = (outcome){0};
        assert_true(propose(&one, epoch, value));
        assert_int_equal(one.times, 0); /* not before it returns */
        RUN_UNTIL(one.times == 1);
        assert_true(one.known);
        assert_int_equal(one.epoch, epoch);
        assert_int_equal(one.verdict, OUTSIDE_THIS);
        assert_string_equal(one.value, value);
    }
    assert_true(etcd_is_reached(scene.etcd));
    assert_int_equal(errors, 0);
    end();
}

/* It can be asked again when there is memory. */
static void test_no_memory(void **state)
{
    (void)state;
    outcome one = {0};
    begin(1);
    RUN_UNTIL(etcd_is_reached(scene.etcd));
    has_memory = false;
    for (int i = 0; i < 2 * ETCD_MAX_AT_ONCE; i++) {
        assert_true(etcd_is_ready(scene.etcd));
        assert_false(propose(&one, 1, "value"));
    }
    has_memory = true;
    assert_int_equal(one.times, 0);
    assert_true(propose(&one, 1, "value"));
    RUN_UNTIL(one.times == 1);
    assert_string_equal(one.value, "value");
    end();
}

/* The descriptor of a connection to that server. */
static int find_connection(const server *s)
{
    for (int at = 3; at < 1000; at++) {
        struct sockaddr_in there;
        socklen_t bytes = sizeof there;
        if (getpeername(at, (struct sockaddr *)&there, &bytes) == 0 &&
            there.sin_family == AF_INET && there.sin_port == htons(s->port))
            return at;
    }
    return -1;
}

static int option_of(int socket, int level, int option)
{
    int value = -1;
    socklen_t bytes = sizeof value;
    assert_int_equal(getsockopt(socket, level, option, &value, &bytes), 0);
    return value;
}

/* A host that is gone says nothing: TCP must find out by itself, and soon. */
static void test_gone_host_is_noticed(void **state)
{
    (void)state;
    begin(1);
    RUN_UNTIL(etcd_is_reached(scene.etcd));
    int at = find_connection(&servers[0]);
    assert_true(at >= 0);
    assert_int_equal(option_of(at, IPPROTO_TCP, TCP_USER_TIMEOUT), 3000);
    assert_int_not_equal(option_of(at, SOL_SOCKET, SO_KEEPALIVE), 0);
    assert_int_equal(option_of(at, IPPROTO_TCP, TCP_KEEPIDLE), 1);
    assert_int_equal(option_of(at, IPPROTO_TCP, TCP_KEEPINTVL), 1);
    end();
}

/* Whatever the environment says, no proxy is asked. */
static void test_no_proxy(void **state)
{
    (void)state;
    char proxy[64];
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%u", servers[1].port);
    servers[1].to_looks = GONE;
    setenv("http_proxy", proxy, 1);
    setenv("all_proxy", proxy, 1);
    begin(1);
    RUN_UNTIL(servers[0].looked > 0);
    RUN_UNTIL(etcd_is_reached(scene.etcd));
    end();
    unsetenv("http_proxy");
    unsetenv("all_proxy");
}

/* As many as may be at once; each is told, once. */
static void test_many(void **state)
{
    (void)state;
    outcome all[ETCD_MAX_AT_ONCE + 1] = {0};
    begin(1);
    RUN_UNTIL(etcd_is_reached(scene.etcd));
    servers[0].manner = SILENT;
    for (uint32_t i = 0; i < ETCD_MAX_AT_ONCE; i++) {
        assert_true(etcd_is_ready(scene.etcd));
        assert_true(propose(&all[i], i + 1, "value"));
    }
    assert_false(etcd_is_ready(scene.etcd));
    assert_false(propose(&all[ETCD_MAX_AT_ONCE], 1, "value"));
    RUN_UNTIL(servers[0].silent == ETCD_MAX_AT_ONCE);
    servers[0].manner = FINE; /* the connections end; libcurl asks once more, over new ones */
    RUN_UNTIL(scene.told == ETCD_MAX_AT_ONCE);
    for (uint32_t i = 0; i < ETCD_MAX_AT_ONCE; i++) {
        assert_int_equal(all[i].times, 1);
        assert_int_equal(all[i].epoch, i + 1);
    }
    assert_int_equal(all[ETCD_MAX_AT_ONCE].times, 0);
    end();
}

static void test_long_key(void **state)
{
    (void)state;
    static char key[ETCD_MAX_KEY + 1];
    outcome one = {0};
    memset(key, 'k', sizeof key);
    begin(1);
    RUN_UNTIL(etcd_is_reached(scene.etcd));
    assert_false(etcd_propose(scene.etcd, &one, (etcd_bytes){key, ETCD_MAX_KEY + 1}, 1,
                              (etcd_bytes){"value", 5}));
    assert_true(etcd_is_ready(scene.etcd));
    assert_true(etcd_propose(scene.etcd, &one, (etcd_bytes){key, ETCD_MAX_KEY}, 1,
                             (etcd_bytes){"value", 5}));
    RUN_UNTIL(one.times == 1);
    assert_string_equal(one.value, "value");
    end();
}

static void expect_failure(manner how, const char *words)
{
    outcome one = {0};
    begin(1);
    RUN_UNTIL(etcd_is_reached(scene.etcd));
    servers[0].manner = servers[0].to_looks = (int)how;
    assert_true(propose(&one, 3, "value"));
    RUN_UNTIL(one.times == 1);
    assert_false(one.known);
    assert_int_equal(one.epoch, 3);
    assert_false(etcd_is_reached(scene.etcd));
    assert_true(has_said(words));
    assert_false(etcd_is_ready(scene.etcd)); /* there is no other: it rests */
    servers[0].manner = servers[0].to_looks = FINE;
    RUN_UNTIL(etcd_is_ready(scene.etcd));
    one = (outcome){0};
    assert_true(propose(&one, 3, "value"));
    RUN_UNTIL(one.times == 1);
    assert_true(one.known);
    assert_true(etcd_is_reached(scene.etcd));
    end();
}

static void test_refused(void **state)
{
    (void)state;
    expect_failure(FULL, "why=\"503 no 'space'\"");
}

static void test_no_etcd(void **state)
{
    (void)state;
    expect_failure(NO_ETCD, "why=\"404 and no word of etcd, but '<html>somebody else</html>'\"");
}

static void test_nonsense(void **state)
{
    (void)state;
    expect_failure(NONSENSE, "why=\"an answer ");
}

static void test_gone(void **state)
{
    (void)state;
    expect_failure(GONE, "does it want https://?");
}

/* Something else stands under the key of that lock; others can be asked for. */
static void test_foreign(void **state)
{
    (void)state;
    outcome one = {0};
    begin(1);
    RUN_UNTIL(etcd_is_reached(scene.etcd));
    servers[0].manner = ENDLESS;
    assert_true(propose(&one, 3, "value"));
    RUN_UNTIL(one.times == 1);
    assert_true(one.known);
    assert_int_equal(one.verdict, OUTSIDE_THIS);
    assert_string_equal(one.value, "");
    assert_true(etcd_is_reached(scene.etcd));
    end();
}

/* But one that is no etcd at all is found out by who looks. */
static void test_endless(void **state)
{
    (void)state;
    servers[0].to_looks = ENDLESS;
    begin(1);
    RUN_UNTIL(has_said("an answer that is too long"));
    assert_false(etcd_is_reached(scene.etcd));
    end();
}

static void test_next_address(void **state)
{
    (void)state;
    outcome one = {0};
    servers[0].to_looks = servers[0].manner = GONE;
    begin(BOTH);
    RUN_UNTIL(servers[0].looked > 0);
    RUN_UNTIL(etcd_is_ready(scene.etcd));
    for (int i = 0; i < 2 && !one.known; i++) { /* the first may have gone to the first still */
        one.times = 0;
        assert_true(propose(&one, 1, "value"));
        RUN_UNTIL(one.times == 1);
    }
    assert_true(one.known);
    assert_true(servers[1].asked > 0);
    assert_true(etcd_is_reached(scene.etcd));
    end();
}

/* It was lost, and is found elsewhere: what waits where it was is to be asked again. */
static void test_found_elsewhere(void **state)
{
    (void)state;
    outcome one = {0};
    servers[0].to_looks = GONE;
    servers[1].manner = servers[1].to_looks = SILENT;
    begin(BOTH);
    RUN_UNTIL(servers[0].looked > 0);
    RUN_UNTIL(etcd_is_ready(scene.etcd));
    assert_true(propose(&one, 1, "value"));
    RUN_UNTIL(servers[1].silent > 0);
    servers[0].to_looks = FINE;
    RUN_UNTIL(one.times == 1);
    assert_false(one.known);
    assert_true(etcd_is_reached(scene.etcd));
    one = (outcome){0};
    assert_true(propose(&one, 1, "value"));
    RUN_UNTIL(one.times == 1);
    assert_true(one.known);
    assert_true(servers[0].asked > 0);
    end();
}

/* Nobody is told any more. */
static void test_closed(void **state)
{
    (void)state;
    outcome one = {0};
    begin(1);
    RUN_UNTIL(etcd_is_reached(scene.etcd));
    servers[0].manner = SILENT;
    assert_true(propose(&one, 1, "value"));
    RUN_UNTIL(servers[0].silent == 1);
    end();
    assert_int_equal(one.times, 0);
}

static int set_up(void **state)
{
    (void)state;
    alarm(3 * PATIENCE_MS / 1000); /* lest it wait for ever */
    errors = 0;
    for (int i = 0; i < BOTH; i++)
        start(&servers[i]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < BOTH; i++)
        stop(&servers[i]);
    alarm(0);
    return 0;
}

#define at_servers(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        at_servers(test_decided),
        at_servers(test_no_memory),
        at_servers(test_gone_host_is_noticed),
        at_servers(test_no_proxy),
        at_servers(test_many),
        at_servers(test_long_key),
        at_servers(test_refused),
        at_servers(test_no_etcd),
        at_servers(test_nonsense),
        at_servers(test_gone),
        at_servers(test_foreign),
        at_servers(test_endless),
        at_servers(test_next_address),
        at_servers(test_found_elsewhere),
        at_servers(test_closed),
    };
    return cmocka_run_group_tests_name("etcd requests", tests, NULL, NULL);
}
