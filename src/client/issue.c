/* Operations on what a lock of a cluster guards, from within a section. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_WORDS = 29, MAX_BYTES = 60000 }; /* of an operation: a command has 32, with 65536 */

static bool is_operation(const baton_client_word *words, size_t count)
{
    size_t bytes = 0;
    if (words == NULL || count == 0 || count > MAX_WORDS)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (words[i].at == NULL || words[i].bytes > MAX_BYTES - bytes)
            return false;
        bytes += words[i].bytes;
    }
    return true;
}

int baton_client_issue(baton_client *client, const char *name, uint64_t token,
                       const baton_client_word *words, size_t count, baton_client_reply *reply)
{
    baton_client *c = client;
    lock_wanted w;
    int result = call_check(c, name, &w);
    if (result != BATON_OK || !is_operation(words, count) || reply == NULL)
        return result != BATON_OK ? result : BATON_BAD_ARGUMENT;
    *reply = (baton_client_reply){0};
    pthread_mutex_lock(&c->mutex);
    lock_name *n = names_find(&c->names, w.name, w.bytes, w.hash);
    const hold *h = n != NULL ? move_await(c, n, token) : NULL;
    if (h == NULL)
        return call_end(c, BATON_LOST, 0);
    if (watch_is_over(&h->over->watch, clock_now())) {
        line_cut(c, h->over, ETIMEDOUT);
        return call_end(c, BATON_LOST, 0);
    }
    request r = {.kind = ASK_ISSUE, .words = words, .word_count = count};
    line *k = h->over;
    call_ask(c, k, &r, &w, h->server_token, c->patience);
    line_rest(c, k); /* if the section was taken away meanwhile */
    *reply = (baton_client_reply){r.reply, r.reply_bytes};
    return call_end(c, r.result, r.error);
}
