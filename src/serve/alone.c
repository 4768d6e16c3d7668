/* A server alone: its registers, the file of tokens, and who is held back after a crash. */
#include "log.h"
#include "registry.h"
#include "server.h"

#include <inttypes.h>

static bool alone_open(server *of, char complaint[COMPLAINT])
{
    uint64_t first;
    if (!tokens_open(&of->tokens, of->settings->state, &first, complaint))
        return false;
    of->service.change_lease = hold_back_change_lease;
    of->service.locks = registry_new(first, of->settings->max_waiters);
    if (of->service.locks == NULL) {
        snprintf(complaint, COMPLAINT, "out of memory");
        return false;
    }
    hold_back_begin(of);
    return true;
}

static void alone_look_after(server *of)
{
    hold_back_look(of);
    uint64_t next = registry_next_generation(of->service.locks);
    bool reserved = tokens_reserve(&of->tokens, next);
    atomic_store_explicit(&of->service.closed, tokens_are_short(&of->tokens, next),
                          memory_order_relaxed);
    if (!reserved)
        log_line(LOG_ERROR, "tokens", "why=\"cannot write %s\"", of->tokens.file);
}

static void alone_close(server *of)
{
    uint64_t lease_left = hold_back_left(of);
    for (uint32_t i = 0; i < of->loops; i++)
        if (of->loop[i].lease_left > lease_left)
            lease_left = of->loop[i].lease_left;
    registry_free(of->service.locks);
    if (!tokens_close(&of->tokens, lease_left))
        log_line(LOG_WARN, "tokens", "why=\"cannot write %s\"", of->tokens.file);
    log_line(LOG_INFO, "tokens", "reserved=%" PRIu64, of->tokens.reserved);
}

static lock_counts alone_count(server *of)
{
    return of->service.locks->backend->count(of->service.locks);
}

const serve_backend serve_alone = {
    .open = alone_open,
    .look_after = alone_look_after,
    .close = alone_close,
    .count = alone_count,
};
