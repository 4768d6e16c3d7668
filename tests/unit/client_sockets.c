/* Sockets that take and give one byte at a time, and are not ready or interrupted in between. */
#include "false_nodes.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

static _Thread_local bool is_slow; /* for this thread */

/* One byte, or -1 with errno: one after the other. */
static ssize_t next_outcome(void)
{
    static _Thread_local unsigned calls;
    static const int errors[] = {0, EINTR, EAGAIN};
    errno = errors[++calls % 3];
    return errno == 0 ? 1 : -1;
}

/* In front of the system's. */
ssize_t send(int at, const void *bytes, size_t count, int flags)
{
    typedef ssize_t sends(int, const void *, size_t, int);
    sends *by_the_system = (sends *)dlsym(RTLD_NEXT, "send");
    if (!is_slow)
        return by_the_system(at, bytes, count, flags);
    return next_outcome() > 0 ? by_the_system(at, bytes, 1, flags) : -1;
}

ssize_t recv(int at, void *bytes, size_t count, int flags)
{
    typedef ssize_t receives(int, void *, size_t, int);
    receives *by_the_system = (receives *)dlsym(RTLD_NEXT, "recv");
    if (!is_slow)
        return by_the_system(at, bytes, count, flags);
    return next_outcome() > 0 ? by_the_system(at, bytes, 1, flags) : -1;
}

/* It takes longer, and nothing else. */
void sockets_that_are_slow(void **unused)
{
    (void)unused;
    uint64_t tried;
    is_slow = true;
    baton_client *c = open_at(list, (baton_client_options){.lease_ms = 60000});
    assert_int_equal(baton_client_try(c, "tried", &tried), BATON_OK);
    uint64_t waited = lock(c, "waited");
    for (int i = 0; i < 5; i++)
        assert_int_equal(increment(c, "waited", waited), BATON_OK);
    assert_int_equal(baton_client_exit(c, "waited", waited), BATON_OK);
    assert_int_equal(baton_client_exit(c, "tried", tried), BATON_OK);
    is_slow = false;
    assert_int_equal(connections(), 2);
    assert_true(baton_client_count(c).lost == 0);
    baton_client_close(c);
}
