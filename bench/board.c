/* Measuring the board. Off and on take turns, so that whatever disturbs one disturbs the other. */
#include "board.h"
#include "baton/board.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 4096 };

/* One lock with a participant and its card. */
typedef struct booth {
    void *memory;
    baton_participant me;
    baton_card card;
    uint32_t shown_as[1];
} booth;

static int open_booth(booth *b, baton_board *board, const char *algorithm)
{
    size_t bytes;
    baton_locks *locks;
    /* For two: alone is not without competition. */
    baton_locks_spec spec = {.algorithm = algorithm, .locks = 1, .participants = 2};
    int error = baton_locks_size(&spec, &bytes);
    if (error != BATON_OK)
        return error;
    b->memory = aligned_alloc(BATON_CACHE_LINE, bytes);
    if (b->memory == NULL)
        return BATON_TOO_SMALL;
    error = baton_locks_create(&spec, b->memory, bytes, &locks);
    if (error == BATON_OK)
        error = baton_join(locks, &b->me);
    if (error == BATON_OK)
        error = baton_card_pin(board, &b->card);
    if (error == BATON_OK)
        error = baton_board_lock(board, algorithm, &b->shown_as[0]);
    return error;
}

static void close_booth(booth *b)
{
    baton_card_take_down(&b->card);
    baton_leave(&b->me);
    free(b->memory);
}

/* Nanoseconds per passage, from as many as fit into the time. */
static double passages_for(booth *b, double seconds, const uint32_t *shown_as)
{
    uint64_t passages = 0;
    baton_card_watch(&b->card, &b->me, shown_as);
    uint64_t start = now_ns();
    uint64_t took;
    do {
        for (int i = 0; i < BATCH; i++) {
            baton_enter(&b->me, 0);
            baton_exit(&b->me, 0);
        }
        passages += BATCH;
        took = now_ns() - start;
    } while ((double)took < seconds * 1e9);
    return (double)took / (double)passages;
}

static void measure_round(const board_plan *plan, booth *booths, uint32_t round,
                          double ns[][2][MAX_ROUNDS])
{
    double each = plan->seconds / (2.0 * (double)plan->locks * plan->rounds);
    for (size_t l = 0; l < plan->locks; l++) {
        if (plan->progress != NULL)
            plan->progress((double)(round * plan->locks + l) / (double)(plan->rounds * plan->locks),
                           plan->lock[l]->name);
        for (uint32_t turn = 0; turn < 2; turn++) {
            bool on = (turn + round) % 2 != 0; /* neither is always first */
            ns[l][on][round] = passages_for(&booths[l], each, on ? booths[l].shown_as : NULL);
        }
    }
}

static board_outcome conclude(const board_plan *plan, double ns[2][MAX_ROUNDS])
{
    double cost[MAX_ROUNDS];
    for (uint32_t r = 0; r < plan->rounds; r++)
        cost[r] = ns[1][r] - ns[0][r];
    return (board_outcome){
        .off_ns = median(ns[0], plan->rounds),
        .on_ns = median(ns[1], plan->rounds),
        .cost_ns = median(cost, plan->rounds),
    };
}

static int measure_on(const board_plan *plan, baton_board *board, board_outcome *outcomes)
{
    static double ns[MAX_BOARD_LOCKS][2][MAX_ROUNDS];
    static booth booths[MAX_BOARD_LOCKS];
    int error = BATON_OK;
    size_t open = 0;
    while (open < plan->locks && error == BATON_OK) {
        booths[open] = (booth){0};
        error = open_booth(&booths[open], board, plan->lock[open]->name);
        open++;
    }
    for (uint32_t r = 0; r < plan->rounds && error == BATON_OK; r++)
        measure_round(plan, booths, r, ns);
    for (size_t l = 0; l < plan->locks && error == BATON_OK; l++)
        outcomes[l] = conclude(plan, ns[l]);
    while (open > 0)
        close_booth(&booths[--open]);
    return error;
}

const char *board_measure(const board_plan *plan, board_outcome outcomes[MAX_BOARD_LOCKS])
{
    char name[BATON_BOARD_NAME_BYTES];
    baton_board *board;
    snprintf(name, sizeof name, "bench.%" PRIdMAX, (intmax_t)getpid());
    int error = baton_board_open(name, NULL, &board);
    if (error != BATON_OK)
        return baton_strerror(error);
    baton_board_remove(name); /* nobody else needs its name, and so it goes with the process */
    error = measure_on(plan, board, outcomes);
    baton_board_close(board);
    return error == BATON_OK ? NULL : baton_strerror(error);
}
