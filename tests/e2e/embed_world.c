/* See embed_world.h. */
#include "embed_world.h"
#include "port.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *scratch;
static char peers[256];

/* ---- the resource, and what the program is told ---- */

static void apply(void *context, const void *operation, size_t bytes, baton_replica_result *result)
{
    member *m = context;
    char text[32] = "";
    uint64_t token;
    memcpy(text, operation, bytes < sizeof text ? bytes : sizeof text - 1);
    m->sum += strtoll(text, NULL, 10);
    m->inner = m->replica != NULL ? baton_replica_enter(m->replica, -1, &token) : 0;
    if (text[0] == 'l') { /* as long as it may be */
        result->bytes = BATON_REPLICA_MAX_RESULT;
        memset(result->at, 'x', result->bytes);
    } else if (text[0] != 'e') { /* empty */
        result->bytes = (size_t)snprintf(result->at, 32, "%" PRId64, m->sum + m->error);
    }
}

static void snapshot(void *context, baton_replica_state *to)
{
    const member *m = context;
    baton_replica_put(to, &m->sum, sizeof m->sum);
}

static bool restore(void *context, const void *state, size_t bytes)
{
    member *m = context;
    m->sum = 0;
    if (bytes == sizeof m->sum)
        memcpy(&m->sum, state, bytes);
    return bytes == 0 || (bytes == sizeof m->sum && !(m->is_blind && m->sum >= MILLION));
}

void member_told(void *context, baton_replica_event event, uint64_t token)
{
    member *m = context;
    m->events[event]++;
    if (event == BATON_REPLICA_EJECTED)
        m->ejected = token;
}

/* ---- the world ---- */

#ifdef __SANITIZE_THREAD__
/* libuv closes descriptors behind its back: the next thread with the same number is no race. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:libuv.so.1\n";
}
#endif

member members[NODES];
const baton_replica_resource member_ways = {NULL, apply, snapshot, restore};

void rest(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

void world_begin(const char *directory)
{
    scratch = directory;
    size_t used = 0;
    for (int i = 0; i < NODES; i++)
        used += (size_t)snprintf(peers + used, sizeof peers - used, "%s%c=127.0.0.1:%d",
                                 i > 0 ? "," : "", 'a' + i, take_port());
}

baton_replica_options member_options(int i)
{
    static char ids[NODES][2] = {"a", "b", "c"};
    static char data[NODES][256];
    member *m = &members[i];
    baton_replica_options options = {
        .id = ids[i],
        .peers = peers,
        .data = data[i],
        .secret = "open sesame",
        .resource = member_ways,
        .told = member_told,
        .context = m,
    };
    snprintf(data[i], sizeof data[i], "%s/embed-%s", scratch, ids[i]);
    options.resource.context = m;
    return options;
}

int open_member(int i, char why[BATON_REPLICA_WHY_BYTES])
{
    baton_replica_options options = member_options(i);
    baton_replica *opened = NULL;
    int error = baton_replica_open(&options, &opened, why);
    members[i].replica = opened;
    return error;
}

void start(int i)
{
    char why[BATON_REPLICA_WHY_BYTES] = "?";
    members[i].replica = NULL;
    if (open_member(i, why) != BATON_OK)
        fail_msg("%s", why);
    assert_string_equal(why, "");
}

void stop(int i)
{
    baton_replica *replica = members[i].replica;
    members[i].replica = NULL; /* nobody asks it anything */
    baton_replica_close(replica);
}

uint64_t enter(int i)
{
    uint64_t token = 0;
    assert_int_equal(baton_replica_enter(members[i].replica, PATIENCE, &token), BATON_OK);
    return token;
}

void leave(int i, uint64_t token)
{
    assert_int_equal(baton_replica_exit(members[i].replica, token), BATON_OK);
}

int64_t add(int i, uint64_t token, const char *number)
{
    baton_replica_result result;
    assert_int_equal(
        baton_replica_issue(members[i].replica, token, number, strlen(number), &result), BATON_OK);
    assert_int_equal(result.at[result.bytes], 0);
    return strtoll(result.at, NULL, 10);
}

static void look(void *context, baton_replica_position place)
{
    seen *s = context;
    s->sum = s->of->sum;
    s->place = place;
}

seen look_at(int i)
{
    seen s = {.of = &members[i]};
    assert_int_equal(baton_replica_look(members[i].replica, look, &s), BATON_OK);
    return s;
}

void await_sum(int i, int64_t sum)
{
    for (unsigned ms = 0; look_at(i).sum != sum; ms += 10) {
        assert_true(ms < PATIENCE);
        rest(10);
    }
}

void await_event(const member *m, baton_replica_event event, int count)
{
    for (unsigned ms = 0; m->events[event] < count; ms += 10) {
        assert_true(ms < PATIENCE);
        rest(10);
    }
}
