/*
 * Servers that are known by name, and a service of names that does not answer. That of these tests
 * is below, in front of the system's: a.test, b.test and c.test are this machine.
 */
#include "client_world.h"

#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static atomic_bool is_away;
static atomic_int waiting, answered;

static bool is_ours(const char *host, const struct addrinfo *want)
{
    size_t length = host != NULL ? strlen(host) : 0;
    return length > 5 && strcmp(host + length - 5, ".test") == 0 &&
           (want->ai_flags & AI_NUMERICHOST) == 0;
}

/* Seen by the library, too. */
__attribute__((visibility("default"))) int getaddrinfo(const char *host, const char *port,
                                                       const struct addrinfo *want,
                                                       struct addrinfo **all)
{
    typedef int find(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    find *by_the_system = (find *)dlsym(RTLD_NEXT, "getaddrinfo");
    if (!is_ours(host, want))
        return by_the_system(host, port, want, all);
    waiting++;
    for (int i = 0; i < PATIENCE_MS && is_away; i++)
        rest(1);
    waiting--;
    if (is_away)
        return EAI_AGAIN;
    int result = by_the_system("127.0.0.1", port, want, all);
    answered++;
    return result;
}

/* Who looks names up when there is no answer does not take longer than its patience for that. */
void names_are_away(void **unused)
{
    (void)unused;
    char address[64];
    baton_client *c = NULL;
    snprintf(address, sizeof address, "a.test:%d", node_port(0));
    const baton_client_options options = {.address = address, .patience_ms = 300};
    is_away = true;
    int result = baton_client_open(&options, &c);
    bool still_waits = waiting > 0;
    is_away = false;
    assert_int_equal(result, BATON_UNREACHABLE);
    assert_true(still_waits);
    for (int i = 0; i < PATIENCE_MS && waiting > 0; i++)
        rest(1);
    baton_client_close(open_at(address, (baton_client_options){0}));
}

/* A section goes on at another node, though nobody says any more where that is. */
void names_are_away_when_a_node_dies(void **unused)
{
    (void)unused;
    char address[200];
    snprintf(address, sizeof address, "a.test:%d,b.test:%d,c.test:%d", node_port(0), node_port(1),
             node_port(2));
    answered = 0;
    baton_client *c = open_at(address, (baton_client_options){.lease_ms = 6000});
    for (int i = 0; i < 2000 && answered < NODES; i++)
        rest(1);
    uint64_t token = lock(c, "by name");
    is_away = true;
    kill(node[0], SIGKILL);
    waitpid(node[0], NULL, 0);
    rest(100);
    int result = increment(c, "by name", token);
    is_away = false;
    assert_int_equal(result, BATON_OK);
    assert_true(baton_client_count(c).lost == 0);
    baton_client_close(c);
}
