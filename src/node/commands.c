/* What a node understands besides the commands of the lock service: ISSUE, READ and STATUS. */
#include "daemon.h"

#include <string.h>

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
        trouble = node_issue(daemon_node(me->of), &me->roles,
                             (byte_string){(const uint8_t *)name.at, name.bytes}, token, &parsed);
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
    else if (!node_read(daemon_node(o->me->of), (byte_string){(const uint8_t *)name.at, name.bytes},
                        (byte_string){(const uint8_t *)key.at, key.bytes}, &o->me->out))
        resp_error(&o->me->out, "ERR this node cannot read that");
}

static void status(const order *o)
{
    node_report(daemon_node(o->me->of), daemon_peers(o->me->of), &o->me->out);
}

const session_command daemon_commands[] = {
    {"ISSUE", 4, RESP_MOST_WORDS, false, issue},
    {"READ", 3, 3, false, read_key},
    {"STATUS", 1, 1, false, status},
    {0},
};
