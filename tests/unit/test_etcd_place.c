/* Which address of etcd is in use, for how long, and what is said about it. */
#include "etcd_place.h"
#include "unit.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In place of the system's: only etcd.home has a name, and two addresses. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **found)
{
    static struct sockaddr_in of4 = {.sin_family = AF_INET};
    static struct sockaddr_in6 of6 = {.sin6_family = AF_INET6};
    static struct addrinfo second = {.ai_addr = (struct sockaddr *)&of6, .ai_addrlen = sizeof of6};
    static struct addrinfo first = {
        .ai_addr = (struct sockaddr *)&of4, .ai_addrlen = sizeof of4, .ai_next = &second};
    (void)port, (void)hints;
    if (strcmp(host, "etcd.home") != 0)
        return EAI_NONAME;
    inet_pton(AF_INET, "10.0.0.7", &of4.sin_addr);
    inet_pton(AF_INET6, "fd00::7", &of6.sin6_addr);
    *found = &first;
    return 0;
}

void freeaddrinfo(struct addrinfo *all)
{
    (void)all;
}

typedef struct scene {
    uv_loop_t loop;
    etcd_place place;
    FILE *log; /* what goes to standard error meanwhile */
    int error;
} scene;

static scene *begin(const char *list)
{
    static scene s;
    etcd_urls urls;
    char words[ETCD_URLS_COMPLAINT];
    s = (scene){.log = tmpfile(), .error = dup(STDERR_FILENO)};
    assert_true(etcd_urls_parse(&urls, list, words));
    assert_int_equal(uv_loop_init(&s.loop), 0);
    assert_true(place_open(&s.place, &s.loop, &urls));
    dup2(fileno(s.log), STDERR_FILENO);
    return &s;
}

static void end(scene *s)
{
    dup2(s->error, STDERR_FILENO);
    close(s->error);
    fclose(s->log);
    place_close(&s->place);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
}

/* Lines in the log. */
static int lines(scene *s)
{
    int count = 0;
    rewind(s->log);
    for (int c; (c = getc(s->log)) != EOF;)
        count += c == '\n';
    return count;
}

/* All addresses fail, so many times. */
static void fail_all(etcd_place *p, uint32_t times)
{
    for (uint32_t i = 0; i < times * p->urls.count; i++) {
        p->rests_until = 0; /* it has rested */
        place_lost(p, p->url, "nobody is there");
    }
}

static void test_in_turn(void **state)
{
    scene *s = begin("http://10.0.0.1:1,http://10.0.0.2:1,http://10.0.0.3:1");
    etcd_place *p = &s->place;
    (void)state;
    place_lost(p, 0, "gone");
    assert_int_equal(p->url, 1);
    assert_false(place_rests(p));
    place_lost(p, 0, "gone"); /* another question to the same */
    assert_int_equal(p->url, 1);
    place_lost(p, 1, "gone");
    place_lost(p, 2, "gone");
    assert_int_equal(p->url, 0);
    assert_true(place_rests(p)); /* all have failed */
    place_lost(p, 0, "gone");
    assert_int_equal(p->url, 0);
    place_reached(p, 2, 5); /* late */
    assert_int_equal(p->url, 2);
    assert_false(place_rests(p));
    end(s);
}

static void test_patience(void **state)
{
    scene *s = begin("http://10.0.0.1:1,http://10.0.0.2:1");
    etcd_place *p = &s->place;
    uint64_t least = place_patience(p);
    (void)state;
    place_lost(p, 0, "gone");
    assert_int_equal(place_patience(p), least); /* the other one has not failed yet */
    place_lost(p, 1, "gone");
    assert_int_equal(place_patience(p), 2 * least);
    fail_all(p, 20);
    assert_int_equal(place_patience(p), 60000);
    place_reached(p, 0, least);
    assert_int_equal(place_patience(p), 2 * least); /* that long it takes, and some more */
    end(s);
}

/* In milliseconds; each address has failed as often as any other. */
static void test_how_long(void **state)
{
    static const struct {
        uint32_t failed;
        uint64_t connecting, patience;
    } rows[] = {{0, 1000, 3000},   {1, 2000, 6000},   {2, 4000, 12000},  {3, 8000, 24000},
                {4, 10000, 48000}, {5, 10000, 60000}, {50, 10000, 60000}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scene *s = begin("http://10.0.0.1:1,http://10.0.0.2:1");
        fail_all(&s->place, rows[i].failed);
        assert_int_equal(place_connecting(&s->place), rows[i].connecting);
        assert_int_equal(place_patience(&s->place), rows[i].patience);
        place_reached(&s->place, 0, 1501); /* so it may take a bit more the next time */
        assert_int_equal(place_connecting(&s->place), 1000);
        assert_int_equal(place_patience(&s->place), 3002);
        end(s);
    }
}

static void test_rest(void **state)
{
    static const uint64_t pauses[] = {50, 100, 200, 400, 800, 1000, 1000};
    scene *s = begin("http://10.0.0.1:1,http://10.0.0.2:1");
    etcd_place *p = &s->place;
    (void)state;
    for (size_t i = 0; i < sizeof pauses / sizeof pauses[0]; i++) {
        place_lost(p, 0, "gone");
        assert_int_equal(p->rests_until, uv_now(&s->loop));
        place_lost(p, 1, "gone");
        assert_int_equal(p->rests_until, uv_now(&s->loop) + pauses[i]);
        p->rests_until = 0; /* it has rested */
    }
    end(s);
}

/* While the one in use may be waited for, the others are looked at, each in its turn. */
static void test_scout(void **state)
{
    scene *s = begin("http://10.0.0.1:1,http://10.0.0.2:1,http://10.0.0.3:1");
    etcd_place *p = &s->place;
    uint32_t seen[3] = {0};
    (void)state;
    assert_int_equal(place_scout(p), PLACE_NOWHERE);
    place_lost(p, 0, "gone");
    for (int i = 0; i < 10; i++)
        seen[place_scout(p)]++;
    assert_int_equal(p->url, 1);
    assert_int_equal(seen[1], 0);
    assert_int_equal(seen[0], 5);
    assert_int_equal(seen[2], 5);
    place_reached(p, 2, 5);
    assert_int_equal(place_scout(p), PLACE_NOWHERE);
    end(s);
}

static void test_scout_alone(void **state)
{
    scene *s = begin("http://10.0.0.1:1");
    (void)state;
    place_lost(&s->place, 0, "gone");
    assert_int_equal(place_scout(&s->place), PLACE_NOWHERE);
    end(s);
}

/* Each reason at each address is said once, until etcd was there again. */
static void test_reasons(void **state)
{
    scene *s = begin("http://10.0.0.1:1,http://10.0.0.2:1");
    etcd_place *p = &s->place;
    (void)state;
    fail_all(p, 5);
    assert_int_equal(lines(s), 2);
    place_lost(p, p->url, "timed out after 3001 ms");
    assert_int_equal(lines(s), 3);
    p->url = 0;
    p->rests_until = 0;
    place_lost(p, 0, "timed out after 60 ms"); /* a number makes no other reason */
    assert_int_equal(lines(s), 3);
    place_reached(p, 0, 5);
    assert_int_equal(lines(s), 4);
    place_lost(p, 0, "timed out after 3001 ms");
    assert_int_equal(lines(s), 5);
    end(s);
}

/* The one in use cannot be found: the next is used. */
static void test_no_such_name(void **state)
{
    scene *s = begin("http://etcd.test:1,http://10.0.0.2:1");
    etcd_place *p = &s->place;
    (void)state;
    assert_false(place_is_found(p));
    while (p->url == 0)
        uv_run(&s->loop, UV_RUN_ONCE);
    assert_int_equal(p->url, 1);
    assert_true(place_is_found(p));
    assert_int_equal(lines(s), 1);
    end(s);
}

/* As libcurl wants to have it. */
static void test_known_name(void **state)
{
    scene *s = begin("http://etcd.home:2379");
    etcd_place *p = &s->place;
    (void)state;
    assert_false(place_is_found(p));
    while (!place_is_found(p))
        uv_run(&s->loop, UV_RUN_ONCE);
    assert_string_equal(p->named[0].hosts, "etcd.home:2379:10.0.0.7,[fd00::7]");
    assert_int_equal(lines(s), 0);
    end(s);
}

/* What a scout is to look at must have an address as well. */
static void test_scout_by_name(void **state)
{
    scene *s = begin("http://10.0.0.1:1,http://10.0.0.2:1,http://etcd.home:1");
    etcd_place *p = &s->place;
    (void)state;
    place_lost(p, 0, "gone");
    assert_int_equal(place_scout(p), PLACE_NOWHERE); /* not known yet, but asked for */
    assert_int_equal(place_scout(p), 0);
    while (p->named[2].hosts[0] == '\0')
        uv_run(&s->loop, UV_RUN_ONCE);
    assert_int_equal(place_scout(p), 2);
    end(s);
}

int main(void)
{
    static suite s;
    suite_add(&s, test_in_turn, NULL, "addresses are used in turn");
    suite_add(&s, test_patience, NULL, "patience grows from round to round");
    suite_add(&s, test_how_long, NULL, "how long that is");
    suite_add(&s, test_rest, NULL, "a rest after each round, and each longer than the one before");
    suite_add(&s, test_scout, NULL, "others are looked at while etcd is lost");
    suite_add(&s, test_scout_alone, NULL, "there may be no others");
    suite_add(&s, test_reasons, NULL, "each reason is said once");
    suite_add(&s, test_no_such_name, NULL, "a name that nobody knows");
    suite_add(&s, test_known_name, NULL, "a name, and what it means");
    suite_add(&s, test_scout_by_name, NULL, "others are looked at when they are found");
    return suite_run(&s, "etcd_place");
}
