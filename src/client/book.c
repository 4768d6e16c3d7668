/* See book.h. */
#include "book.h"
#include "internal.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND ((uint64_t)1000000000)
enum { OLD = 60, SOON = 1 }; /* seconds: when a name is looked up again; and if it is in doubt */

typedef struct server_name {
    char *host, *port; /* NULL: a path, or no address at all */
    bool is_number;
    bool is_sought;     /* a thread looks it up */
    uint64_t sought_at; /* last */
    uint64_t answers;   /* how often it was looked up */
    int error;          /* errno of the last time; 0: found */
    book_entry known;
} server_name;

struct address_book {
    pthread_mutex_t mutex;
    pthread_cond_t answered; /* by the monotonic clock */
    uint32_t users;          /* who has opened it, and those who look something up */
    uint32_t count;
    server_name name[];
};

/* ---- looking up ---- */

static int error_of(int code)
{
    return code == EAI_SYSTEM ? errno : code == EAI_MEMORY ? ENOMEM : EHOSTUNREACH;
}

/* 0, or an errno. */
static int look_up(const char *host, const char *port, int flags, book_entry *found)
{
    const struct addrinfo want = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *all;
    int code = getaddrinfo(host, port, &want, &all);
    if (code != 0)
        return error_of(code);
    found->count = 0;
    const struct addrinfo *one = all; /* there is at least one */
    for (; one != NULL && found->count < BOOK_ADDRESSES; one = one->ai_next) {
        book_address *to = &found->address[found->count++];
        memcpy(&to->at, one->ai_addr, one->ai_addrlen);
        to->bytes = one->ai_addrlen;
    }
    freeaddrinfo(all);
    return 0;
}

/* By who has the mutex; frees it with the last one. */
static void release(address_book *b)
{
    bool last = --b->users == 0;
    pthread_mutex_unlock(&b->mutex);
    if (!last)
        return;
    for (uint32_t i = 0; i < b->count; i++) {
        free(b->name[i].host);
        free(b->name[i].port);
    }
    pthread_cond_destroy(&b->answered);
    pthread_mutex_destroy(&b->mutex);
    free(b);
}

typedef struct errand {
    address_book *book;
    uint32_t which;
} errand;

static void *run_errand(void *context)
{
    errand mine = *(errand *)context;
    free(context);
    address_book *b = mine.book;
    server_name *n = &b->name[mine.which]; /* host and port do not change */
    book_entry found = {0};
    int error = look_up(n->host, n->port, 0, &found);
    pthread_mutex_lock(&b->mutex);
    n->error = error;
    if (error == 0)
        n->known = found; /* else what is known may still be true */
    n->is_sought = false;
    n->answers++;
    pthread_cond_broadcast(&b->answered);
    release(b);
    return NULL;
}

/* A thread that nobody waits for: nothing can end a look-up before its time. False, with errno. */
static bool start_errand(address_book *b, uint32_t which)
{
    errand *e = malloc(sizeof *e);
    pthread_attr_t alone;
    pthread_t thread;
    sigset_t all, before;
    if (e == NULL)
        return false;
    *e = (errand){b, which};
    sigfillset(&all);
    pthread_attr_init(&alone);
    pthread_attr_setdetachstate(&alone, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &alone, run_errand, e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&alone);
    if (error == 0)
        return true;
    free(e);
    errno = error;
    return false;
}

/* One look-up at a time, and none again before so many seconds. False, with errno, if none can. */
static bool seek(address_book *b, uint32_t which, uint64_t seconds)
{
    server_name *n = &b->name[which];
    uint64_t now = clock_now();
    if (n->is_number || n->is_sought || (n->answers > 0 && now < n->sought_at + seconds * SECOND))
        return true;
    n->sought_at = now;
    b->users++;
    n->is_sought = start_errand(b, which);
    b->users -= !n->is_sought;
    return n->is_sought;
}

/* ---- opening ---- */

/* False, with errno, if there is no memory. */
static bool read_address(server_name *n, const char *address)
{
    char host[ADDRESS_HOST_BYTES];
    const char *port = strchr(address, '/') == NULL ? address_host(address, host) : NULL;
    if (port == NULL)
        return true;
    n->host = strdup(host);
    n->port = strdup(port);
    if (n->host == NULL || n->port == NULL)
        return false;
    n->is_number = look_up(n->host, n->port, AI_NUMERICHOST | AI_NUMERICSERV, &n->known) == 0;
    return true;
}

static void start_sync(address_book *b)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&b->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&b->answered, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

address_book *book_open(const char *const *addresses, uint32_t count)
{
    address_book *b = calloc(1, sizeof *b + count * sizeof b->name[0]);
    if (b == NULL)
        return NULL;
    start_sync(b);
    b->users = 1;
    b->count = count;
    bool fine = true;
    for (uint32_t i = 0; i < count && fine; i++)
        fine = read_address(&b->name[i], addresses[i]);
    pthread_mutex_lock(&b->mutex);
    for (uint32_t i = 0; i < count && fine; i++)
        if (b->name[i].host != NULL)
            seek(b, i, OLD); /* if it fails, so it will when it is needed */
    if (fine) {
        pthread_mutex_unlock(&b->mutex);
        return b;
    }
    release(b);
    errno = ENOMEM;
    return NULL;
}

void book_close(address_book *b)
{
    if (b == NULL)
        return;
    pthread_mutex_lock(&b->mutex);
    release(b);
}

/* ---- questions ---- */

static void await_answer(address_book *b, uint64_t max)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t until = (uint64_t)at.tv_nsec + max;
    at.tv_sec += (time_t)(until / SECOND);
    at.tv_nsec = (long)(until % SECOND);
    pthread_cond_timedwait(&b->answered, &b->mutex, &at);
}

/* 0, or an errno. */
static int find(address_book *b, uint32_t which, uint64_t until)
{
    const server_name *n = &b->name[which];
    uint64_t answers = n->answers;
    if (n->host == NULL)
        return EINVAL;
    bool sought = seek(b, which, n->known.count > 0 ? OLD : SOON);
    if (n->known.count > 0)
        return 0;
    if (!sought)
        return errno;
    for (uint64_t now; n->is_sought && n->answers == answers; await_answer(b, until - now)) {
        now = clock_now();
        if (now >= until)
            return ETIMEDOUT;
    }
    return n->known.count > 0 ? 0 : n->error;
}

bool book_find(address_book *b, uint32_t which, uint64_t until, book_entry *found)
{
    pthread_mutex_lock(&b->mutex);
    int error = find(b, which, until);
    *found = b->name[which].known;
    pthread_mutex_unlock(&b->mutex);
    errno = error;
    return error == 0;
}

void book_doubt(address_book *b, uint32_t which)
{
    pthread_mutex_lock(&b->mutex);
    if (b->name[which].host != NULL)
        seek(b, which, SOON);
    pthread_mutex_unlock(&b->mutex);
}
