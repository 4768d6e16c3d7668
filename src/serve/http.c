/* Pages over HTTP: finds the page, and hands its text to libmicrohttpd. */
#include "http.h"
#include "list.h"
#include "listen.h"
#include "log.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Who is silent for so long (seconds) is cut off, and no request with its headers is larger than
 * that (bytes).
 */
enum { LONGEST_SILENCE = 10, MAX_REQUEST = 16384, LONGEST_TEXT = 1 << 20 };

/* So many may be on their way out besides. */
enum { LEAVING = 64 };

struct http_pages {
    struct MHD_Daemon *daemon;
    const http_page *page;
    uint32_t count;
    void *context;
    list_head visitors; /* the oldest first; for the thread of the pages */
    uint32_t visitor_count;
};

/* A connection. */
typedef struct visitor {
    list_link link;
    int socket;
} visitor;

/* ---- answers ---- */

static const char plain[] = "text/plain; charset=utf-8";

/* Sends the text, which is taken over. */
static enum MHD_Result answer(struct MHD_Connection *to, int status, const char *type,
                              resp_out *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(text->bytes, text->at, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        resp_free(text);
        return MHD_NO; /* the connection ends */
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result queued = MHD_queue_response(to, (unsigned)status, response);
    MHD_destroy_response(response);
    return queued;
}

static void say(resp_out *text, const char *words)
{
    resp_raw(text, words, strlen(words));
}

static enum MHD_Result refuse_path(const http_pages *all, struct MHD_Connection *to)
{
    resp_out text = {0};
    say(&text, "There is no such page. There are:");
    for (uint32_t i = 0; i < all->count; i++) {
        say(&text, " ");
        say(&text, all->page[i].path);
    }
    say(&text, "\n");
    return answer(to, MHD_HTTP_NOT_FOUND, plain, &text);
}

static enum MHD_Result refuse_method(struct MHD_Connection *to)
{
    resp_out text = {0};
    say(&text, "Pages can be read, by GET or HEAD.\n");
    return answer(to, MHD_HTTP_METHOD_NOT_ALLOWED, plain, &text);
}

static enum MHD_Result show(const http_pages *all, const http_page *page, struct MHD_Connection *to)
{
    resp_out text = {.max = LONGEST_TEXT};
    int status = page->write(all->context, &text);
    if (!text.overflow)
        return answer(to, status, page->type, &text);
    resp_free(&text);
    text = (resp_out){0};
    say(&text, "The page cannot be made; the server is out of memory.\n");
    return answer(to, MHD_HTTP_INTERNAL_SERVER_ERROR, plain, &text);
}

/* The headers of a request have come. A body is of no interest. */
static enum MHD_Result have_request(void *context, struct MHD_Connection *from, const char *path,
                                    const char *method, const char *version, const char *body,
                                    size_t *body_bytes, void **state)
{
    const http_pages *all = context;
    (void)version;
    (void)body;
    (void)body_bytes;
    (void)state;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse_method(from);
    for (uint32_t i = 0; i < all->count; i++)
        if (strcmp(path, all->page[i].path) == 0)
            return show(all, &all->page[i], from);
    return refuse_path(all, from);
}

/* ---- visitors ---- */

static void forget(http_pages *all, visitor *v)
{
    if (!list_is_linked(&v->link))
        return;
    list_remove(&v->link);
    all->visitor_count--;
}

/* Who asks gets its answer at once: so whoever has been there longest does not mean to ask. */
static void turn_out_oldest(http_pages *all)
{
    visitor *oldest = OWNER_OF(list_first(&all->visitors), visitor, link);
    shutdown(oldest->socket, SHUT_RDWR); /* libmicrohttpd sees that, and closes it */
    forget(all, oldest);
}

static void visitor_changes(void *context, struct MHD_Connection *from, void **state,
                            enum MHD_ConnectionNotificationCode what)
{
    http_pages *all = context;
    visitor *v = *state;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(from, MHD_CONNECTION_INFO_CONNECTION_FD);
        v = calloc(1, sizeof *v);
        if (v == NULL || info == NULL) {
            free(v);
            return;
        }
        v->socket = info->connect_fd;
        if (all->visitor_count >= HTTP_MAX_REQUESTS)
            turn_out_oldest(all);
        list_push_back(&all->visitors, &v->link);
        all->visitor_count++;
        *state = v;
    } else if (v != NULL) {
        forget(all, v);
        free(v);
    }
}

/* What libmicrohttpd has to say about requests is the business of who sends them. */
static void ignore_complaint(void *context, const char *format, va_list arguments)
{
    (void)context;
    (void)format;
    (void)arguments;
}

/* ---- begin and end ---- */

static struct MHD_Daemon *start(http_pages *all, int socket)
{
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, NULL, NULL,
                            have_request, all, MHD_OPTION_EXTERNAL_LOGGER, ignore_complaint, NULL,
                            MHD_OPTION_NOTIFY_CONNECTION, visitor_changes, all,
                            MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT,
                            (unsigned)(HTTP_MAX_REQUESTS + LEAVING), MHD_OPTION_CONNECTION_TIMEOUT,
                            (unsigned)LONGEST_SILENCE, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)MAX_REQUEST, MHD_OPTION_END);
}

http_pages *http_open(const char *address, const http_page *pages, uint32_t count, void *context,
                      char complaint[COMPLAINT])
{
    char name[LISTEN_NAME_BYTES];
    http_pages *all = calloc(1, sizeof *all);
    int socket = all != NULL ? listen_socket(address, name) : -1;
    if (socket >= 0) {
        *all = (http_pages){.page = pages, .count = count, .context = context};
        list_start(&all->visitors);
        all->daemon = start(all, socket);
        if (all->daemon != NULL) {
            log_line(LOG_INFO, "http", "at=%s", name);
            return all;
        }
        close(socket);
        errno = ENOMEM;
    }
    snprintf(complaint, COMPLAINT, "cannot serve HTTP at %s: %s", address, strerror(errno));
    free(all);
    return NULL;
}

void http_close(http_pages *all)
{
    if (all == NULL)
        return;
    MHD_stop_daemon(all->daemon);
    free(all);
}
