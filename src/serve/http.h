/*
 * A few pages over HTTP, to be looked at by programs: GET and HEAD, nothing else. Answers come from
 * a thread of its own (libmicrohttpd), so that no request can delay an event loop. Nobody is asked
 * for a password: pages must not tell secrets.
 */
#ifndef BATON_SERVE_HTTP_H
#define BATON_SERVE_HTTP_H

#include "complaint.h"
#include "resp.h"

enum { HTTP_FINE = 200, HTTP_UNAVAILABLE = 503 };
enum { HTTP_MAX_REQUESTS = 256 }; /* at a time; if one more comes, the oldest is turned out */

/* A page. */
typedef struct http_page {
    const char *path;
    const char *type; /* of its text */
    /* Writes the text and returns the status. Called by the thread of the pages. */
    int (*write)(void *context, resp_out *text);
} http_page;

typedef struct http_pages http_pages;

/*
 * Serves them at HOST:PORT, until they are closed; the array must stay until then. NULL if that is
 * not possible, and why.
 */
http_pages *http_open(const char *address, const http_page *pages, uint32_t count, void *context,
                      char complaint[COMPLAINT]);
/* Nothing is called any more when it returns. NULL: there is nothing to close. */
void http_close(http_pages *all);

#endif
