/*
 * What a client does, one step after another: it connects, says who it is, and then takes one
 * operation at a time, each of one to three commands. Pushes are read over: who has lost its lock
 * is told so by the next ISSUE or EXIT.
 */
#include "chance.h"
#include "load_parts.h"
#include "proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
    REST = 20000000, /* ns, after an error */
    NAME_BYTES = LOAD_MAX_PREFIX + 32,
    NUMBER_BYTES = 24,
};

static const char patience[] = "5000"; /* ms, for a lock of its own before anything is measured */

/* ---- errors ---- */

static void rest(load_client *c)
{
    list_remove(&c->link);
    c->step = STEP_RESTS;
    c->wake = c->of->now + REST;
    list_push_back(&c->of->resting, &c->link);
}

static void end_task(load_client *c)
{
    if (c->has_task)
        load_finished(c->of, c);
    c->has_task = false;
}

static void fail_task(load_client *c)
{
    c->has_error = true;
    end_task(c);
    rest(c);
}

/* It will connect again, to the next address. */
static void break_off(load_client *c, const char *kind, const char *sentence)
{
    load_error(c->of, c, kind, strlen(kind), (resp_word){sentence, strlen(sentence)});
    wire_close(c);
    c->own = 0;
    c->address = (c->address + 1) % c->of->plan->addresses;
    fail_task(c);
}

/* ---- commands ---- */

static void put_words(load_client *c, uint32_t count, const char *const *words)
{
    for (uint32_t i = 0; i < count; i++)
        resp_text(&c->out, words[i]);
}

/* Sends what was put together; its answer is what the client waits for. */
static void send_off(load_client *c, load_step step)
{
    c->step = step;
    if (!wire_send(c))
        break_off(c, "connection lost", strerror(errno));
}

static void command(load_client *c, load_step step, uint32_t count, const char *const *words)
{
    resp_array(&c->out, count);
    put_words(c, count, words);
    send_off(c, step);
}

static void shared_name(const load_client *c, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s/%" PRIu32, c->of->plan->prefix, c->lock);
}

static void held_name(const load *l, uint32_t client, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s/held/%" PRIu32, l->plan->prefix, client);
}

static const char *key_of(const load *l)
{
    return l->plan->counts ? "count" : "key";
}

static void enter_own(load_client *c)
{
    char name[NAME_BYTES];
    held_name(c->of, c->number, name);
    command(c, STEP_ENTER_OWN, c->has_task ? 2 : 3, (const char *[]){"LOCK", name, patience});
}

static void leave(load_client *c)
{
    char name[NAME_BYTES], token[NUMBER_BYTES];
    shared_name(c, name);
    snprintf(token, sizeof token, "%" PRIu64, c->token);
    command(c, STEP_EXIT, 3, (const char *[]){"EXIT", name, token});
}

static void issue(load_client *c)
{
    load *l = c->of;
    char name[NAME_BYTES], token[NUMBER_BYTES];
    bool is_own = c->kind == LOAD_ISSUE;
    if (is_own)
        held_name(l, c->number, name);
    else
        shared_name(c, name);
    snprintf(token, sizeof token, "%" PRIu64, is_own ? c->own : c->token);
    if (l->plan->counts) {
        command(c, STEP_ISSUE, 5, (const char *[]){"ISSUE", name, token, "INCR", key_of(l)});
        return;
    }
    uint32_t sizes = l->plan->max_bytes - l->plan->least_bytes + 1;
    resp_array(&c->out, 6);
    put_words(c, 5, (const char *[]){"ISSUE", name, token, "SET", key_of(l)});
    resp_bulk(&c->out, l->value, l->plan->least_bytes + draw(&l->chance) % sizes);
    send_off(c, STEP_ISSUE);
}

/* Of a lock that this mix writes to, if it does. */
static void read_key(load_client *c)
{
    load *l = c->of;
    char name[NAME_BYTES];
    if (l->plan->weight[LOAD_ISSUE] > 0)
        held_name(l, (uint32_t)(draw(&l->chance) % l->plan->clients), name);
    else
        shared_name(c, name);
    command(c, STEP_READ, 3, (const char *[]){"READ", name, key_of(l)});
}

void client_begin(load_client *c, load_kind kind, uint64_t due)
{
    char name[NAME_BYTES];
    c->kind = kind;
    c->due = due;
    c->has_task = true;
    c->has_error = false;
    c->lock = (uint32_t)(draw(&c->of->chance) % c->of->plan->locks);
    shared_name(c, name);
    switch (kind) {
    case LOAD_READ:
        read_key(c);
        break;
    case LOAD_ISSUE:
        if (c->own == 0)
            enter_own(c);
        else
            issue(c);
        break;
    case LOAD_TRY:
        command(c, STEP_TRY, 2, (const char *[]){"TRY", name});
        break;
    default:
        command(c, STEP_ENTER, 2, (const char *[]){"LOCK", name});
    }
}

/* ---- answers ---- */

static void finish(load_client *c)
{
    if (c->has_error) {
        fail_task(c);
        return;
    }
    end_task(c);
    load_give_work(c->of, c);
}

static void be_ready(load_client *c)
{
    if (!c->is_ready)
        load_is_ready(c->of);
    c->is_ready = true;
    load_give_work(c->of, c);
}

/* The first time a client enters its own lock before anything is measured. */
static void introduced(load_client *c)
{
    if (!c->is_ready && c->of->plan->weight[LOAD_ISSUE] > 0)
        enter_own(c);
    else
        be_ready(c);
}

static void entered_own(load_client *c, const reply_value *v)
{
    if (v->kind != REPLY_INTEGER) { /* null: it was not free in time */
        char name[NAME_BYTES], sentence[NAME_BYTES + 80];
        held_name(c->of, c->number, name);
        snprintf(sentence, sizeof sentence,
                 "somebody else holds %s; wait until that ends, or choose another --prefix", name);
        break_off(c, "held", sentence);
        return;
    }
    c->own = (uint64_t)v->number;
    if (c->has_task)
        issue(c);
    else
        be_ready(c);
}

static void entered(load_client *c, const reply_value *v)
{
    bool is_in = v->kind == REPLY_INTEGER && v->number > 0;
    if (!is_in) {
        c->of->result->refused += c->due >= c->of->from;
        finish(c);
        return;
    }
    c->token = (uint64_t)v->number;
    if (c->kind == LOAD_SECTION)
        issue(c);
    else
        leave(c);
}

static void issued(load_client *c)
{
    c->of->result->issued++;
    if (c->kind == LOAD_SECTION)
        leave(c);
    else
        finish(c);
}

static void prove(load_client *c, const reply_value *v)
{
    char hex[PROOF_HEX + 1];
    if (v->kind == REPLY_BULK && proof_answer(c->of->plan->password, v->text, hex))
        command(c, STEP_PROOF, 3, (const char *[]){"AUTH", "PROOF", hex});
    else
        break_off(c, "no challenge", "the server does not ask for a proof of the password");
}

/* The section is over, and an EXIT would be refused. */
static bool is_over(const reply_value *error)
{
    return resp_reply_fails_with(error, "STALE") || resp_reply_fails_with(error, "EJECTED") ||
           resp_reply_fails_with(error, "LOST");
}

static void take_error(load_client *c, const reply_value *v)
{
    const char *space = memchr(v->text.at, ' ', v->text.bytes);
    size_t bytes = space == NULL ? v->text.bytes : (size_t)(space - v->text.at);
    load_error(c->of, c, v->text.at, bytes, v->text);
    if (c->step < STEP_IDLE) {
        wire_close(c);
        fail_task(c);
        return;
    }
    bool over = is_over(v);
    if (over && c->kind == LOAD_ISSUE)
        c->own = 0;
    c->has_error = true;
    if (c->step == STEP_ISSUE && c->kind == LOAD_SECTION && !over)
        leave(c);
    else
        finish(c);
}

static void take_reply(load_client *c, const reply_value *v)
{
    if (v->kind == REPLY_ERROR) {
        take_error(c, v);
        return;
    }
    switch (c->step) {
    case STEP_CHALLENGE:
        prove(c, v);
        break;
    case STEP_PROOF:
        command(c, STEP_HELLO, 2, (const char *[]){"HELLO", "3"});
        break;
    case STEP_HELLO:
        introduced(c);
        break;
    case STEP_ENTER_OWN:
        entered_own(c, v);
        break;
    case STEP_ENTER:
    case STEP_TRY:
        entered(c, v);
        break;
    case STEP_ISSUE:
        issued(c);
        break;
    case STEP_READ:
    case STEP_EXIT:
        finish(c);
        break;
    default:
        break_off(c, "not understood", "the server says something that nobody has asked for");
    }
}

static void take_replies(load_client *c)
{
    const resp_limits limits = {.word_bytes = 1 << 16, .command_bytes = 1 << 16};
    resp_reply reply;
    size_t at = 0;
    while (at < c->in_bytes) {
        resp_parsed p = resp_reply_parse(c->in + at, c->in_bytes - at, &limits, &reply);
        if (p.verdict == RESP_MORE)
            break;
        if (p.verdict == RESP_BAD) {
            break_off(c, "not understood", p.complaint);
            return;
        }
        at += p.used;
        if (reply.value.kind != REPLY_PUSH)
            take_reply(c, &reply.value);
        if (c->socket < 0)
            return;
    }
    c->in_bytes -= at;
    if (at > 0 && c->in_bytes > 0)
        memmove(c->in, c->in + at, c->in_bytes);
}

/* ---- events ---- */

static void connected(load_client *c)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    if (getsockopt(c->socket, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0)
        error = errno;
    if (error != 0)
        break_off(c, "cannot connect", strerror(error));
    else if (c->of->plan->password != NULL)
        command(c, STEP_CHALLENGE, 2, (const char *[]){"AUTH", "CHALLENGE"});
    else
        command(c, STEP_HELLO, 2, (const char *[]){"HELLO", "3"});
}

void client_event(load_client *c)
{
    if (c->step == STEP_CONNECTS)
        connected(c);
    else if (!wire_send(c))
        break_off(c, "connection lost", strerror(errno));
    else if (!wire_receive(c))
        break_off(c, "connection lost", "the server has closed the connection");
    else
        take_replies(c);
}

void client_wake(load_client *c)
{
    if (c->socket >= 0) {
        load_give_work(c->of, c);
        return;
    }
    c->step = STEP_CONNECTS;
    if (!wire_connect(c))
        break_off(c, "cannot connect", strerror(errno));
}
