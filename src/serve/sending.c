/*
 * What connections send, plain or by TLS: at once as far as the socket takes it, the rest by libuv.
 */
#include "log.h"
#include "loop.h"

/* What an idle connection may keep for output. */
enum { IDLE_OUTPUT = 4096 };

static void flush(connection *c);

void connection_send(connection *c)
{
    if (c->in->service->turn_ends == NULL) {
        flush(c);
    } else if (!list_is_linked(&c->in_unsent) && !c->closing) {
        list_push_front(&c->in->unsent, &c->in_unsent);
    }
}

void loop_send(loop *in)
{
    for (connection *c; (c = OWNER_OF(list_pop(&in->unsent), connection, in_unsent)) != NULL;)
        flush(c);
}

static void written(uv_write_t *write, int status)
{
    connection *c = write->data;
    c->writes = false;
    c->sending.bytes = 0;
    if (status < 0)
        connection_close(c, uv_strerror(status));
    else
        connection_send(c);
}

/* Gives back what a large reply needed. */
static void shrink(resp_out *out)
{
    out->bytes = 0;
    if (out->capacity > IDLE_OUTPUT)
        resp_free(out);
}

/* What libuv has not taken at once it gets to keep; nothing else is sent before that is done. */
static void write_rest(connection *c, resp_out rest, size_t done)
{
    uv_buf_t bytes = uv_buf_init(rest.at + done, (unsigned)(rest.bytes - done));
    resp_free(&c->sending);
    c->sending = rest;
    c->writes = true;
    int error =
        rest.overflow ? UV_ENOMEM : uv_write(&c->write, &c->socket.stream, &bytes, 1, written);
    if (error != 0) {
        c->writes = false;
        connection_close(c, uv_strerror(error));
    }
}

/* So many of the bytes have left; less than 0: an error. */
static int write_now(connection *c, const char *at, size_t count)
{
    uv_buf_t bytes = uv_buf_init((char *)at, (unsigned)count);
    int sent = uv_try_write(&c->socket.stream, &bytes, 1);
    if (sent >= 0 || sent == UV_EAGAIN)
        return sent > 0 ? sent : 0;
    connection_close(c, uv_strerror(sent));
    return sent;
}

static void flush_plain(connection *c, resp_out *out)
{
    int sent = out->bytes > 0 ? write_now(c, out->at, out->bytes) : 0;
    if (sent < 0)
        return;
    if ((size_t)sent == out->bytes) {
        shrink(out);
        return;
    }
    resp_out rest = *out; /* the session goes on with an empty one */
    *out = (resp_out){.max = rest.max, .third = rest.third};
    write_rest(c, rest, (size_t)sent);
}

static void flush_tls(connection *c, resp_out *out)
{
    const char *at;
    if (out->bytes > 0 && !tls_write(c->tls, out->at, out->bytes)) {
        connection_close(c, tls_failed(c->tls) ? tls_why(c->tls) : "TLS is not ready");
        return;
    }
    shrink(out);
    size_t count = tls_unsent(c->tls, &at);
    int sent = count > 0 ? write_now(c, at, count) : 0;
    if (sent < 0)
        return;
    resp_out rest = {0};
    if ((size_t)sent < count)
        resp_raw(&rest, at + sent, count - (size_t)sent);
    tls_sent(c->tls, count);
    if ((size_t)sent < count)
        write_rest(c, rest, 0);
}

bool connection_owes_too_much(const connection *c)
{
    const char *at;
    return c->writes && tls_unsent(c->tls, &at) > c->session.out.max;
}

void connection_fail(connection *c, const char *why)
{
    const char *at;
    size_t count = c->writes ? 0 : tls_unsent(c->tls, &at);
    if (count > 0)
        write_now(c, at, count);
    connection_close(c, why);
}

static void flush(connection *c)
{
    resp_out *out = &c->session.out;
    if (c->closing || c->in->stopping)
        return;
    if (out->overflow) { /* also while a write is under way: it may be so for ever */
        log_summed(c->in->cut_off_of_all, uv_now(&c->in->uv),
                   "from=%s why=\"does not read what it gets\"", c->session.who.from);
        connection_close(c, "does not read what it gets");
        return;
    }
    if (c->writes)
        return;
    if (c->tls != NULL)
        flush_tls(c, out);
    else
        flush_plain(c, out);
    if (c->session.ends && !c->writes && !c->closing)
        connection_close(c, "ended");
}
