#include "node_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = "lock";
static char scratch[32];

/* ---- sessions ---- */

static void hear(lock_session *me, wdme_message m, const char *of, size_t bytes)
{
    visitor *v = (visitor *)me;
    (void)of;
    (void)bytes;
    if (m.kind != WDME_OK)
        return;
    assert_int_equal(v->place, VISITOR_WAITS);
    v->place = VISITOR_INSIDE;
    v->token = m.generation;
}

static void post(lock_session *me, notice *n)
{
    visitor *v = (visitor *)me;
    if (n->outcome && v->place == VISITOR_ISSUES) {
        assert_true(n->name_bytes < sizeof v->result);
        memcpy(v->result, n->name, n->name_bytes);
        v->result[n->name_bytes] = '\0';
        v->results += v->result[0] == ':';
        v->place = VISITOR_INSIDE;
    } else if (n->push != NULL && strcmp(n->push, "ejected") == 0) {
        v->place = VISITOR_OUT;
        v->ejected++;
    } else if (n->push == NULL && !n->outcome) {
        hear(me, n->message, n->name, n->name_bytes);
    }
    free(n);
}

void world_lock(world *w, uint8_t node)
{
    visitor *v = &w->visitor[node];
    wdme_message m = {.kind = WDME_LOCK};
    v->place = VISITOR_WAITS;
    assert_int_equal(w->node[node].locks.backend->tell(&w->node[node].locks, &v->who, name,
                                                       strlen(name), m, w->now),
                     LOCK_DONE);
}

void world_exit(world *w, uint8_t node)
{
    visitor *v = &w->visitor[node];
    wdme_message m = {.kind = WDME_EXIT, .generation = v->token};
    v->place = VISITOR_OUT;
    w->node[node].locks.backend->tell(&w->node[node].locks, &v->who, name, strlen(name), m, w->now);
}

bool world_issue(world *w, uint8_t node)
{
    visitor *v = &w->visitor[node];
    op o = {.verb = OP_INCR, .key = {(const uint8_t *)"n", 1}, .by = 1};
    v->place = VISITOR_ISSUES;
    if (node_issue(&w->node[node], &v->who, (byte_string){(const uint8_t *)name, strlen(name)},
                   v->token, &o) == NULL)
        return true;
    v->place = VISITOR_INSIDE;
    return false;
}

const wme_stub *world_stub(world *w, uint8_t node)
{
    const node_lock *p = node_lock_find(&w->node[node], name, strlen(name));
    assert_non_null(p);
    return &p->replica.stub;
}

uint64_t world_value(world *w, uint8_t node)
{
    resp_out out = {0};
    byte_string lock = {(const uint8_t *)name, strlen(name)};
    assert_true(node_read(&w->node[node], lock, (byte_string){(const uint8_t *)"n", 1}, &out));
    resp_raw(&out, "", 1);
    const char *value = strstr(out.at, "\r\n") + 2; /* behind the head of the array */
    uint64_t number = strncmp(value, "$-1", 3) == 0 ? 0 : strtoull(strstr(value, "\r\n"), NULL, 10);
    resp_free(&out);
    return number;
}

/* ---- nodes ---- */

static void reach(world *w, uint8_t a, uint8_t b)
{
    node_reached(&w->node[a], b, true);
    node_reached(&w->node[b], a, true);
}

void world_start(world *w, uint8_t node)
{
    char directory[64];
    char why[COMPLAINT];
    snprintf(directory, sizeof directory, "%s/%u", scratch, node);
    store_options options = {.directory = directory,
                             .cluster = "test",
                             .node = "x",
                             .journal_bytes = 64 << 10,
                             .max_bytes = 16 << 20};
    w->store[node] = store_open(&options, why);
    if (w->store[node] == NULL)
        fail_msg("%s", why);
    bool first_run = !store_booted(w->store[node]);
    assert_true(store_mark_booted(w->store[node]));
    peers *all = &w->all[node];
    *all = (peers){.nodes = WORLD_NODES, .me = node};
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        all->node[i].id[0] = (char)('a' + i);
    assert_true(node_start(&w->node[node], &(node_beginning){.all = all,
                                                             .store = w->store[node],
                                                             .first_run = first_run,
                                                             .chance = ++w->starts * 1000 + w->now,
                                                             .now = w->now}));
    w->visitor[node] = (visitor){.who = {.hear = hear, .post = post}};
    w->node[node].locks.backend->join(&w->visitor[node].who);
    w->up[node] = true;
    for (uint8_t other = 0; other < WORLD_NODES; other++)
        if (other != node && w->up[other] && !w->cut[node] && !w->cut[other])
            reach(w, node, other);
}

void world_cut(world *w, uint8_t node, bool cut)
{
    w->cut[node] = cut;
    for (uint8_t other = 0; other < WORLD_NODES; other++) {
        if (other == node)
            continue;
        w->wire[node][other].bytes = w->wire[other][node].bytes = 0;
        if (!w->up[node] || !w->up[other])
            continue;
        node_reached(&w->node[node], other, !cut);
        node_reached(&w->node[other], node, !cut);
    }
}

void world_crash(world *w, uint8_t node)
{
    node_end(&w->node[node]);
    store_close(w->store[node]);
    w->up[node] = false;
    for (uint8_t other = 0; other < WORLD_NODES; other++) {
        resp_free(&w->wire[other][node]);
        w->wire[other][node] = (resp_out){0};
        if (other != node && w->up[other])
            node_reached(&w->node[other], node, false);
    }
}

void world_empty(const world *w, uint8_t node)
{
    char command[64];
    assert_false(w->up[node]);
    snprintf(command, sizeof command, "rm -r %s/%u", scratch, node);
    assert_int_equal(system(command), 0);
}

static void copy_file(uint8_t node, const char *file)
{
    char path[80];
    char bytes[4096];
    size_t count;
    snprintf(path, sizeof path, "%s/%u/%s", scratch, node, file);
    FILE *from = fopen(path, "rb");
    snprintf(path, sizeof path, "%s/%u.aside/%s", scratch, node, file);
    FILE *to = fopen(path, "wb");
    assert_true(from != NULL && to != NULL);
    while ((count = fread(bytes, 1, sizeof bytes, from)) > 0)
        assert_int_equal(fwrite(bytes, 1, count, to), count);
    fclose(from);
    assert_int_equal(fclose(to), 0);
}

void world_copy(const world *w, uint8_t node)
{
    char aside[64];
    (void)w;
    snprintf(aside, sizeof aside, "%s/%u.aside", scratch, node);
    assert_int_equal(mkdir(aside, 0700), 0);
    copy_file(node, "node");
    copy_file(node, "data.mdb");
    copy_file(node, "journal");
}

void world_set_aside(const world *w, uint8_t node, bool back)
{
    char here[64];
    char aside[64];
    assert_false(w->up[node]);
    snprintf(here, sizeof here, "%s/%u", scratch, node);
    snprintf(aside, sizeof aside, "%s/%u.aside", scratch, node);
    if (back)
        world_empty(w, node);
    assert_int_equal(rename(back ? aside : here, back ? here : aside), 0);
}

int world_open(void **state)
{
    static world w;
    /* In memory where that is possible: nobody here looks at what a sync is for. */
    snprintf(scratch, sizeof scratch, "%s/baton-node-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(scratch));
    w = (world){.now = 1000};
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        world_start(&w, i);
    world_settle(&w); /* until they know that they are new */
    *state = &w;
    return 0;
}

int world_close(void **state)
{
    world *w = *state;
    char command[64];
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        if (w->up[i])
            world_crash(w, i);
    for (uint8_t from = 0; from < WORLD_NODES; from++)
        for (uint8_t to = 0; to < WORLD_NODES; to++)
            resp_free(&w->wire[from][to]);
    snprintf(command, sizeof command, "rm -r %s", scratch);
    return system(command);
}

/* ---- messages ---- */

static void put_under_way(world *w, uint8_t from, resp_out said[WME_MAX_NODES])
{
    for (uint8_t to = 0; to < WORLD_NODES; to++) {
        if (w->up[to])
            resp_raw(&w->wire[from][to], said[to].at, said[to].bytes);
        said[to].bytes = 0;
    }
}

void world_send_early(world *w, uint8_t node)
{
    put_under_way(w, node, w->node[node].early);
}

void world_end_turn(world *w, uint8_t node)
{
    world_send_early(w, node);
    assert_true(node_turn_ends(&w->node[node]));
    put_under_way(w, node, w->node[node].to_peer);
}

bool world_deliver(world *w, uint8_t from, uint8_t to)
{
    resp_out *wire = &w->wire[from][to];
    peer_said said;
    if (wire->bytes == 0 || !w->up[to])
        return false;
    resp_parsed parsed = peer_read(wire->at, wire->bytes, WORLD_NODES, &said);
    assert_int_equal(parsed.verdict, RESP_COMPLETE);
    node_receive(&w->node[to], from, &said, w->now);
    peer_said_drop(&said);
    wire->bytes -= parsed.used;
    memmove(wire->at, wire->at + parsed.used, wire->bytes);
    return true;
}

void world_settle(world *w)
{
    bool more = true;
    for (int round = 0; more; round++) {
        assert_true(round < 10000); /* else they talk for ever */
        more = false;
        for (uint8_t i = 0; i < WORLD_NODES; i++)
            if (w->up[i])
                world_end_turn(w, i);
        for (uint8_t to = 0; to < WORLD_NODES; to++)
            for (uint8_t from = 0; from < WORLD_NODES; from++)
                while (world_deliver(w, from, to))
                    more = true;
    }
}

void world_pass(world *w, uint32_t ms)
{
    for (uint32_t gone = 0; gone < ms; gone += NODE_TICK) {
        w->now += NODE_TICK;
        for (uint8_t i = 0; i < WORLD_NODES; i++)
            if (w->up[i])
                node_tick(&w->node[i], w->now);
        world_settle(w);
    }
}

bool world_says(const resp_out *bytes, const char *kind)
{
    return bytes->bytes > 0 && memmem(bytes->at, bytes->bytes, kind, strlen(kind)) != NULL;
}

boot_state world_boot_state(const world *w, uint8_t node)
{
    return w->node[node].boot_check.durable.state;
}

uint8_t world_enter(world *w)
{
    world_lock(w, 0);
    world_settle(w);
    assert_int_equal(w->visitor[0].place, VISITOR_INSIDE);
    assert_int_equal(world_stub(w, 0)->now.owner, 0);
    return 0;
}

static bool is_any_loaded(const world *w)
{
    size_t loaded = 0;
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        loaded += w->node[i].loaded.count;
    return loaded > 0;
}

void world_rest(world *w)
{
    for (int i = 0; i < 40 && is_any_loaded(w); i++)
        world_pass(w, NODE_REST_AFTER / 10);
    for (uint8_t i = 0; i < WORLD_NODES; i++)
        assert_int_equal(w->node[i].loaded.count, 0);
    assert_int_equal(w->node[0].resting, 1); /* others may not even have heard of it */
}
