/* What a node understands besides the commands of the lock service. */
#include "commands.h"
#include "node_lock.h"

#include <stdlib.h>
#include <string.h>

static byte_string bytes_of(resp_word w)
{
    return (byte_string){(const uint8_t *)w.at, w.bytes};
}

/* ISSUE name token OP ...: within the section of that token. */
static void issue(const order *o)
{
    session *me = o->me;
    resp_word name;
    uint64_t token;
    op parsed;
    if (!order_name(o, &name) || !order_token(o, 2, &token))
        return;
    const char *trouble = op_parse(&o->command->word[3], o->command->words - 3, &parsed);
    if (trouble == NULL) {
        me->waits = true; /* before: the outcome may come at once */
        me->wait_until = 0;
        trouble = node_issue(node_of(me->of->locks), &me->who, bytes_of(name), token, &parsed);
    }
    if (trouble == NULL)
        return;
    me->waits = false;
    resp_error(&me->out, "%s", trouble);
}

/* READ name key: what this node has, which may be less than what others have. */
static void read_key(const order *o)
{
    resp_word name;
    resp_word key = o->command->word[2];
    if (!order_name(o, &name))
        return;
    if (!node_takes_part(node_of(o->me->of->locks)))
        resp_error(&o->me->out, "NOTREADY this node is new, and has nothing to be read yet");
    else if (!node_read(node_of(o->me->of->locks), bytes_of(name), bytes_of(key), &o->me->out))
        resp_error(&o->me->out, "ERR this node cannot read that");
}

/* SESSION id: what this connection holds outlives it, until its lease is over. */
static void name_session(const order *o)
{
    enum { MAX = 64 };
    cluster_session *me = kept_of(&o->me->who);
    resp_word id = o->command->word[1];
    bool good = id.bytes >= 1 && id.bytes <= MAX;
    for (size_t i = 0; i < id.bytes && good; i++)
        good = id.at[i] > ' ' && id.at[i] <= '~';
    if (!good) {
        resp_error(&o->me->out, "ERR the id of a session is 1 to %d printable bytes, no space",
                   MAX);
        return;
    }
    free(me->id);
    me->id = strndup(id.at, id.bytes);
    if (me->id != NULL)
        resp_ok(&o->me->out);
    else
        resp_error(&o->me->out, "OOM the node is out of memory");
}

/* RESUME name token [ms]: goes on with a section that was begun over another connection. */
static void resume(const order *o)
{
    session *me = o->me;
    resp_word name;
    uint64_t token;
    if (!order_name(o, &name) || !order_token(o, 2, &token) || !order_wait(o, name, 3))
        return;
    const char *trouble =
        node_resume(node_of(me->of->locks), &me->who, bytes_of(name), token, o->now);
    if (trouble == NULL)
        return;
    session_stop_waiting(me);
    resp_error(&me->out, "%s", trouble);
}

static void status(const order *o)
{
    const cluster_node *n = node_of(o->me->of->locks);
    node_report(n, n->all, &o->me->out);
    session_spend(o->me, NODE_MAX_LISTED); /* rows, some of them from the disk */
}

const session_command node_commands[] = {
    {"ISSUE", 4, RESP_MAX_WORDS, false, issue},
    {"READ", 3, 3, false, read_key},
    {"SESSION", 2, 2, false, name_session},
    {"RESUME", 3, 4, false, resume},
    {"STATUS", 1, 1, false, status},
    {0},
};
