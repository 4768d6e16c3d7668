/* The event loop of a load: who gets work when, what is counted, and when it ends. */
#include "chance.h"
#include "load_parts.h"
#include "measure.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    EVENTS = 256,        /* of a turn */
    GETTING_READY = 64,  /* clients at a time: a server's backlog is not without end */
    READY_PATIENCE = 30, /* seconds without one more that is ready */
    DRAIN = 10,          /* seconds for what is under way at the end */
    OTHER_FILES = 32,    /* that a process has open besides its clients */
};

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* ---- work ---- */

void load_is_ready(load *l)
{
    l->ready++;
    l->ready_at = l->now;
}

/* When the n-th operation of an open loop is due, after the first. */
static uint64_t due_after(uint64_t n, uint64_t rate)
{
    return n / rate * LOAD_SECOND + n % rate * LOAD_SECOND / rate;
}

uint64_t load_due_before(uint64_t time, uint64_t rate)
{
    uint64_t rest = time % LOAD_SECOND * rate;
    return time / LOAD_SECOND * rate + (rest + LOAD_SECOND - 1) / LOAD_SECOND;
}

bool load_is_counted(const load *l)
{
    return l->plan->count > 0 && l->result->begun == l->plan->count;
}

/* When the next operation is due; UINT64_MAX: none is any more, or yet. */
static uint64_t next_due(const load *l)
{
    const load_plan *p = l->plan;
    if (l->begin == 0 || l->is_closed || load_is_counted(l))
        return UINT64_MAX;
    uint64_t due = p->rate == 0 ? l->now : l->begin + due_after(l->given, p->rate);
    return due < l->end ? due : UINT64_MAX;
}

static load_kind draw_kind(load *l)
{
    uint64_t at = draw(&l->chance) % l->weights;
    load_kind kind = 0;
    while (at >= l->plan->weight[kind])
        at -= l->plan->weight[kind++];
    return kind;
}

void load_give_work(load *l, load_client *c)
{
    uint64_t due = next_due(l);
    list_remove(&c->link);
    if (due > l->now) {
        c->step = STEP_IDLE;
        list_push_back(&l->idle, &c->link);
        return;
    }
    l->given++;
    l->tasks++;
    l->result->begun += due >= l->from;
    client_begin(c, draw_kind(l), due);
}

static void give_to_idle(load *l)
{
    while (!list_is_empty(&l->idle) && next_due(l) <= l->now)
        load_give_work(l, OWNER_OF(list_first(&l->idle), load_client, link));
}

static void wake_rested(load *l)
{
    for (list_link *first; (first = list_first(&l->resting)) != NULL;) {
        load_client *c = OWNER_OF(first, load_client, link);
        if (c->wake > l->now)
            return;
        list_remove(first);
        client_wake(c);
    }
}

/* ---- from one phase to the next ---- */

static void get_ready(load *l)
{
    while (l->started < l->plan->clients && l->started - l->ready < GETTING_READY)
        client_wake(&l->client[l->started++]);
    if (l->now > l->ready_at + READY_PATIENCE * LOAD_SECOND && l->complaint[0] == '\0')
        snprintf(l->complaint, LOAD_COMPLAINT,
                 "only %" PRIu32 " of %" PRIu32 " clients have been let in so far, and nobody for "
                 "%d s; see 'baton status'",
                 l->ready, l->plan->clients, READY_PATIENCE);
    if (l->ready < l->plan->clients)
        return;
    l->begin = l->now;
    l->from = l->begin + l->plan->warm_up_ms * (LOAD_SECOND / 1000);
    l->end = l->plan->ms == 0 ? UINT64_MAX : l->from + l->plan->ms * (LOAD_SECOND / 1000);
}

static void note_interrupt(load *l)
{
    if (!interrupted || l->result->interrupted)
        return;
    l->result->interrupted = true;
    if (!l->is_measured)
        snprintf(l->complaint, LOAD_COMPLAINT, "interrupted before anything was measured");
    l->end = l->end < l->now ? l->end : l->now;
}

/* What the warm-up has left over is given up: it would only stand before what is measured. */
static void begin_to_measure(load *l)
{
    l->is_measured = true;
    l->processor = load_processor();
    uint64_t before = l->plan->rate == 0 ? 0 : load_due_before(l->from - l->begin, l->plan->rate);
    l->given = l->given < before ? before : l->given;
}

static void change_phase(load *l)
{
    note_interrupt(l);
    if (l->begin == 0) {
        get_ready(l);
        return;
    }
    if (!l->is_measured && l->now >= l->from)
        begin_to_measure(l);
    if (!l->is_closed && (l->now >= l->end || load_is_counted(l))) {
        l->is_closed = true;
        l->drained = l->now + (l->result->interrupted ? 1 : DRAIN) * LOAD_SECOND;
    }
}

static bool is_over(const load *l)
{
    return l->complaint[0] != '\0' || (l->is_closed && (l->tasks == 0 || l->now >= l->drained));
}

/* ---- the loop ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When something is to be done though nobody answers. */
static uint64_t next_time(const load *l)
{
    uint64_t at = (l->plan->progress == NULL ? l->now : l->shown_at) + LOAD_SECOND;
    if (!list_is_empty(&l->resting))
        at = least(at, OWNER_OF(list_first(&l->resting), load_client, link)->wake);
    if (!list_is_empty(&l->idle))
        at = least(at, next_due(l));
    if (l->begin > 0 && !l->is_measured)
        at = least(at, l->from);
    if (l->begin > 0)
        at = least(at, l->is_closed ? l->drained : l->end);
    return at;
}

/* The timer is exact where a time-out of epoll_wait would be of whole milliseconds. */
static void set_timer(load *l, uint64_t at)
{
    const struct itimerspec when = {
        .it_value = {(time_t)(at / LOAD_SECOND), (long)(at % LOAD_SECOND)},
    };
    if (at != l->timer_at)
        timerfd_settime(l->timer, TFD_TIMER_ABSTIME, &when, NULL);
    l->timer_at = at;
}

static void wait_for_events(load *l)
{
    struct epoll_event event[EVENTS];
    uint64_t at = next_time(l);
    if (at > l->now)
        set_timer(l, at);
    int count = epoll_wait(l->poll, event, EVENTS, at > l->now ? -1 : 0);
    l->now = now_ns();
    for (int i = 0; i < count; i++) {
        uint64_t times;
        if (event[i].data.ptr != NULL)
            client_event(event[i].data.ptr);
        else if (read(l->timer, &times, sizeof times) == sizeof times)
            l->timer_at = 0;
    }
}

/* What was due before the end goes to whoever is free before it is closed. */
static void turn(load *l)
{
    wake_rested(l);
    give_to_idle(l);
    change_phase(l);
    load_show(l);
    wait_for_events(l);
}

/* ---- begin and end ---- */

static bool allow_files(load *l)
{
    struct rlimit files;
    rlim_t wanted = l->plan->clients + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted)
        return true;
    if (files.rlim_max < wanted) {
        snprintf(l->complaint, LOAD_COMPLAINT,
                 "%" PRIu32 " clients need %" PRIu64 " open files, and %" PRIu64
                 " are allowed here; see 'ulimit -Hn'",
                 l->plan->clients, (uint64_t)wanted, (uint64_t)files.rlim_max);
        return false;
    }
    files.rlim_cur = wanted;
    return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

static bool start(load *l)
{
    struct epoll_event timer = {.events = EPOLLIN};
    list_start(&l->idle);
    list_start(&l->resting);
    l->poll = epoll_create1(EPOLL_CLOEXEC);
    l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (l->poll < 0 || l->timer < 0 || epoll_ctl(l->poll, EPOLL_CTL_ADD, l->timer, &timer) != 0) {
        snprintf(l->complaint, LOAD_COMPLAINT, "cannot wait for events: %s", strerror(errno));
        return false;
    }
    for (uint32_t i = 0; i < l->plan->clients; i++) {
        load_client *c = &l->client[i];
        *c = (load_client){.of = l, .number = i, .address = i % l->plan->addresses, .socket = -1};
        list_start(&c->link);
    }
    for (load_kind k = 0; k < LOAD_KINDS; k++)
        l->weights += l->plan->weight[k];
    memset(l->value, 'v', sizeof l->value);
    l->now = l->ready_at = l->shown_at = now_ns();
    l->chance = l->now;
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    return allow_files(l);
}

static void free_all(load *l)
{
    for (uint32_t i = 0; l->client != NULL && i < l->started; i++) {
        load_client *c = &l->client[i];
        if (c->socket >= 0)
            wire_close(c);
        resp_free(&c->out);
        free(c->in);
    }
    free(l->client);
    if (l->poll >= 0)
        close(l->poll);
    if (l->timer >= 0)
        close(l->timer);
}

bool load_run(const load_plan *plan, load_result *result, char complaint[LOAD_COMPLAINT])
{
    struct sigaction old[2], action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    load *l = calloc(1, sizeof *l);
    memset(result, 0, sizeof *result);
    snprintf(complaint, LOAD_COMPLAINT, "no memory for that many clients");
    if (l == NULL)
        return false;
    l->plan = plan;
    l->result = result;
    l->poll = l->timer = -1;
    l->complaint = complaint;
    l->client = calloc(plan->clients, sizeof *l->client);
    interrupted = 0;
    sigaction(SIGINT, &action, &old[0]);
    sigaction(SIGTERM, &action, &old[1]);
    if (l->client != NULL) {
        complaint[0] = '\0';
        if (start(l))
            while (!is_over(l))
                turn(l);
        if (complaint[0] == '\0')
            load_sum_up(l);
    }
    sigaction(SIGINT, &old[0], NULL);
    sigaction(SIGTERM, &old[1], NULL);
    free_all(l);
    free(l);
    return complaint[0] == '\0';
}
