/* Locks that are lost: by force, with the server, by the client's own clock; leases that hold. */
#include "client_world.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a thread that waited has found. */
static struct {
    int result, held, left;
} found;

static atomic_ullong told_token;

static void note_loss(void *context, const char *name, uint64_t token)
{
    assert_string_equal(name, context);
    told_token = token;
}

void lost_by_release(void **unused)
{
    (void)unused;
    char forced[] = "forced";
    baton_client *c = open_with((baton_client_options){.lost = note_loss, .context = forced});
    uint64_t token;
    assert_int_equal(baton_client_try(c, "forced", &token), BATON_OK);
    release("forced", token);
    await_lost(c, "forced", token);
    assert_true(told_token == token);
    token = lock(c, "forced"); /* over a connection of its own */
    release("forced", token);
    await_lost(c, "forced", token);
    assert_true(told_token == token);
    token = lock(c, "forced");
    assert_int_equal(baton_client_exit(c, "forced", token), BATON_OK);
    assert_true(baton_client_count(c).lost == 2);
    baton_client_close(c);
}

static void *wait_in_vain(void *argument)
{
    uint64_t token;
    found.result = baton_client_lock(argument, "dead", -1, &token);
    return NULL;
}

void lost_by_death_of_the_server(void **unused)
{
    (void)unused;
    stop_server(SIGTERM); /* one that knows of no longer lease */
    start_server(NULL);
    baton_client *c = open_with((baton_client_options){.lease_ms = 3000});
    uint64_t token = lock(c, "dead"), again;
    pthread_t waiting;
    assert_int_equal(pthread_create(&waiting, NULL, wait_in_vain, c), 0);
    rest(100);
    stop_server(SIGKILL);
    pthread_join(waiting, NULL);
    assert_int_equal(found.result, BATON_UNREACHABLE);
    await_lost(c, "dead", token);
    assert_int_equal(baton_client_try(c, "dead", &again), BATON_UNREACHABLE);
    assert_true(errno == ECONNREFUSED || errno == ENOENT);
    assert_int_equal(baton_client_lock(c, "dead", 100, &again), BATON_UNREACHABLE);
    start_server(NULL); /* it lets nobody in before the lease must be over */
    assert_int_equal(baton_client_try(c, "dead", &again), BATON_BUSY);
    again = lock(c, "dead");
    assert_true(again > token);
    assert_int_equal(baton_client_exit(c, "dead", again), BATON_OK);
    token = again;
    again = try_until_free(c, "dead");
    assert_true(again > token);
    assert_int_equal(baton_client_exit(c, "dead", again), BATON_OK);
    token = lock(c, "dead");
    assert_true(token > again);
    baton_client_close(c);
}

void lost_by_own_clock(void **unused)
{
    (void)unused;
    baton_client *c = open_with((baton_client_options){.lease_ms = 600, .patience_ms = 1000});
    uint64_t tried, waited, begin;
    assert_int_equal(baton_client_try(c, "tried", &tried), BATON_OK);
    rest(1500); /* longer than the lease: it is renewed */
    assert_true(baton_client_holds(c, "tried", tried));
    int64_t left = baton_client_lease_left_ms(c, "tried", tried);
    assert_true(left > 0 && left < 600);
    begin = now_ns();
    kill(server, SIGSTOP);
    await_lost(c, "tried", tried);
    assert_int_equal(baton_client_lease_left_ms(c, "tried", tried), 0);
    uint64_t took = (now_ns() - begin) / 1000000;
    assert_true(took < 5000);
    assert_int_equal(baton_client_try(c, "tried", &waited), BATON_UNREACHABLE);
    kill(server, SIGCONT);
    tried = try_until_free(c, "tried");
    waited = lock(c, "waited");
    kill(server, SIGSTOP);
    rest(700);
    assert_false(baton_client_holds(c, "waited", waited));
    assert_false(baton_client_holds(c, "tried", tried));
    assert_int_equal(baton_client_exit(c, "waited", waited), BATON_LOST);
    kill(server, SIGCONT);
    baton_client_close(c);
}

static void *wait_long(void *argument)
{
    uint64_t token = 0;
    found.result = baton_client_lock(argument, "long", -1, &token);
    rest(900); /* a lease and a half */
    found.held = baton_client_holds(argument, "long", token);
    found.left = baton_client_exit(argument, "long", token);
    return NULL;
}

/* The lease must be as good after a wait that took longer. */
void wait_longer_than_the_lease(void **unused)
{
    (void)unused;
    baton_client *a = open_plain();
    baton_client *b = open_with((baton_client_options){.lease_ms = 600});
    uint64_t token = lock(a, "long");
    pthread_t waiting;
    assert_int_equal(pthread_create(&waiting, NULL, wait_long, b), 0);
    rest(1700);
    assert_int_equal(baton_client_exit(a, "long", token), BATON_OK);
    pthread_join(waiting, NULL);
    assert_int_equal(found.result, BATON_OK);
    assert_true(found.held);
    assert_int_equal(found.left, BATON_OK);
    assert_true(baton_client_count(b).lost == 0);
    baton_client_close(a);
    baton_client_close(b);
}

static atomic_bool hears, may_return;

static void hear_slowly(void *context, const char *name, uint64_t token)
{
    (void)context, (void)name, (void)token;
    hears = true;
    for (int i = 0; i < PATIENCE_MS && !may_return; i++)
        rest(1);
}

/* The process is told of one loss, and takes its time; what else it holds is renewed meanwhile. */
void slow_to_hear_of_a_loss(void **unused)
{
    (void)unused;
    baton_client *c = open_with((baton_client_options){.lease_ms = 600, .lost = hear_slowly});
    uint64_t gone = lock(c, "gone"), kept = lock(c, "kept"), tried;
    assert_int_equal(baton_client_try(c, "tried", &tried), BATON_OK);
    hears = may_return = false;
    release("gone", gone);
    for (int i = 0; i < PATIENCE_MS && !hears; i++)
        rest(1);
    assert_true(hears);
    rest(1800); /* three leases */
    bool held = baton_client_holds(c, "kept", kept) && baton_client_holds(c, "tried", tried);
    may_return = true;
    assert_true(held);
    assert_int_equal(baton_client_exit(c, "kept", kept), BATON_OK);
    assert_int_equal(baton_client_exit(c, "tried", tried), BATON_OK);
    assert_true(baton_client_count(c).lost == 1);
    baton_client_close(c);
}

/* What a child finds of its parent's client: how many things are wrong. */
static int be_a_child(baton_client *c, uint64_t token)
{
    char name[BATON_CLIENT_NAME_BYTES];
    uint64_t other;
    alarm(PATIENCE_MS / 1000); /* lest it wait for ever */
    int wrong = baton_client_holds(c, "family", token);
    wrong += baton_client_lease_left_ms(c, "family", token) != 0;
    wrong += baton_client_try(c, "else", &other) != BATON_BAD_ARGUMENT;
    wrong += baton_client_lock(c, "else", 1000, &other) != BATON_BAD_ARGUMENT;
    wrong += baton_client_exit(c, "family", token) != BATON_BAD_ARGUMENT;
    wrong += baton_client_lost(c, name, &other) != BATON_BAD_ARGUMENT;
    baton_client_close(c);
    return wrong;
}

/* A child closes the client; its parent holds what it held, and goes on renewing it. */
void child_that_closes(void **unused)
{
    (void)unused;
    int status;
    baton_client *c = open_with((baton_client_options){.lease_ms = 600}), *other = open_plain();
    uint64_t token = lock(c, "family"), tried, ignored;
    assert_int_equal(baton_client_try(c, "tried", &tried), BATON_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(be_a_child(c, token));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    rest(1200);
    assert_int_equal(baton_client_try(other, "family", &ignored), BATON_BUSY);
    assert_true(baton_client_holds(c, "tried", tried));
    assert_int_equal(baton_client_exit(c, "tried", tried), BATON_OK);
    assert_int_equal(baton_client_exit(c, "family", token), BATON_OK);
    baton_client_close(c);
    baton_client_close(other);
}
