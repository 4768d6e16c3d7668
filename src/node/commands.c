/* What a node understands besides the commands of the lock service. */
#include "daemon.h"

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
        trouble = node_issue(daemon_node(me->of), &me->roles, bytes_of(name), token, &parsed);
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
    if (!node_takes_part(daemon_node(o->me->of)))
        resp_error(&o->me->out, "NOTREADY this node is new, and has nothing to be read yet");
    else if (!node_read(daemon_node(o->me->of), bytes_of(name), bytes_of(key), &o->me->out))
        resp_error(&o->me->out, "ERR this node cannot read that");
}

/* SESSION id: what this connection holds outlives it, until its lease is over. */
static void name_session(const order *o)
{
    enum { MOST = 64 };
    session_roles *me = &o->me->roles;
    resp_word id = o->command->word[1];
    bool good = id.bytes >= 1 && id.bytes <= MOST;
    for (size_t i = 0; i < id.bytes && good; i++)
        good = id.at[i] > ' ' && id.at[i] <= '~';
    if (!good) {
        resp_error(&o->me->out, "ERR the id of a session is 1 to %d printable bytes, no space",
                   MOST);
        return;
    }
    free(me->session);
    me->session = strndup(id.at, id.bytes);
    if (me->session != NULL)
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
        node_resume(daemon_node(me->of), &me->roles, bytes_of(name), token, o->now);
    if (trouble == NULL)
        return;
    session_stop_waiting(me);
    resp_error(&me->out, "%s", trouble);
}

static void status(const order *o)
{
    node_report(daemon_node(o->me->of), daemon_peers(o->me->of), &o->me->out);
}

const session_command daemon_commands[] = {
    {"ISSUE", 4, RESP_MOST_WORDS, false, issue},
    {"READ", 3, 3, false, read_key},
    {"SESSION", 2, 2, false, name_session},
    {"RESUME", 3, 4, false, resume},
    {"STATUS", 1, 1, false, status},
    {0},
};
