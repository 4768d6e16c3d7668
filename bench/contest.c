/*
 * A contest: every contender at every number of threads, round after round, so that whatever
 * disturbs the machine disturbs all of them alike. Reports medians and ratios within a round.
 */
#include "contest.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* What one contender did in one round. */
typedef struct sample {
    double passages_per_s;
    double fairness;
    double longest_wait_us;
    double switches_per_s;
} sample;

static void sleep_s(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)};
    while (nanosleep(&left, &left) != 0)
        continue;
}

static uint64_t context_switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

/* One thread per processor while there are enough: where a thread runs is not what is measured. */
static void pin(uint32_t index, uint32_t threads)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
        threads > (uint32_t)CPU_COUNT(&allowed))
        return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && index-- == 0) {
            cpu_set_t mine;
            CPU_ZERO(&mine);
            CPU_SET(cpu, &mine);
            pthread_setaffinity_np(pthread_self(), sizeof mine, &mine);
            return;
        }
    }
}

static void *work(void *argument)
{
    worker *me = argument;
    pin(me->index, me->arena->threads);
    while (!atomic_load_explicit(&me->arena->go, memory_order_acquire))
        sched_yield();
    uint64_t before = context_switches();
    me->arena->contender->run(me);
    me->context_switches = context_switches() - before;
    return NULL;
}

static sample sum_up(const arena *in, double seconds)
{
    double passages = 0;
    double squares = 0;
    double longest = 0;
    double switches = 0;
    for (uint32_t i = 0; i < in->threads; i++) {
        const worker *w = &in->worker[i];
        passages += (double)w->passages;
        squares += (double)w->passages * (double)w->passages;
        longest = fmax(longest, (double)w->longest_wait_ns);
        switches += (double)w->context_switches;
    }
    return (sample){
        .passages_per_s = passages / seconds,
        .fairness = squares > 0 ? passages * passages / (in->threads * squares) : 0,
        .longest_wait_us = longest / 1e3,
        .switches_per_s = switches / seconds,
    };
}

/* Starts the workers, which wait for arena.go. Returns how many could be started. */
static uint32_t start_workers(arena *in)
{
    for (uint32_t i = 0; i < in->threads; i++) {
        worker *w = &in->worker[i];
        w->arena = in;
        w->index = i;
        w->random = 0x9e3779b97f4a7c15ULL * (i + 1);
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            return i;
    }
    return in->threads;
}

/* Lets the workers of an open arena run for a while. */
static const char *let_run(arena *in, double seconds, sample *out)
{
    uint32_t started = start_workers(in);
    if (started < in->threads)
        atomic_store(&in->stop, true);
    atomic_store(&in->go, true);
    uint64_t start = now_ns();
    if (started == in->threads)
        sleep_s(seconds);
    atomic_store(&in->stop, true);
    double took = (double)(now_ns() - start) * 1e-9;
    uint64_t passages = 0;
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(in->worker[i].thread, NULL);
        passages += in->worker[i].passages;
    }
    if (started < in->threads)
        return "cannot start that many threads";
    *out = sum_up(in, took);
    return passages == in->count ? NULL
                                 : "a lock let two processes in at a time: updates were lost";
}

static const char *measure(const contest *plan, const contender *who, uint32_t threads,
                           double seconds, bool timed, sample *out)
{
    size_t bytes = sizeof(arena) + threads * sizeof(worker);
    arena *in = aligned_alloc(_Alignof(arena), bytes);
    if (in == NULL)
        return "no memory for the workers";
    memset(in, 0, bytes);
    in->contender = who;
    in->threads = threads;
    in->waiting = plan->waiting;
    in->timed = timed;
    if (threads > 1) { /* alone, only the cost of enter and exit is of interest */
        in->inside = turns_for(plan->inside_ns);
        in->outside = turns_for(plan->outside_ns);
    }
    const char *trouble = who->open(in);
    if (trouble == NULL)
        trouble = let_run(in, seconds, out);
    who->close(in);
    free(in);
    return trouble;
}

/* Medians of one contender; samples[round * stride] is what it did in that round. */
static outcome conclude(const sample *samples, size_t stride, uint32_t rounds)
{
    double rate[MAX_ROUNDS];
    double fairness[MAX_ROUNDS];
    double switches[MAX_ROUNDS];
    for (uint32_t r = 0; r < rounds; r++) {
        const sample *s = &samples[r * stride];
        rate[r] = s->passages_per_s;
        fairness[r] = s->fairness;
        switches[r] = s->switches_per_s;
    }
    outcome o = {
        .measured = true,
        .passages_per_s = median(rate, rounds),
        .fairness = median(fairness, rounds),
        .longest_wait_us = samples[rounds * stride].longest_wait_us, /* the clocked round */
        .switches_per_s = median(switches, rounds),
    };
    o.ns_per_passage = 1e9 / o.passages_per_s;
    return o;
}

/* Median of the ratios of throughput within each round; 0 if the peer was not there. */
static double ratio(const sample *samples, const sample *peer, size_t stride, uint32_t rounds)
{
    double ratios[MAX_ROUNDS];
    if (peer == NULL)
        return 0;
    for (uint32_t r = 0; r < rounds; r++)
        ratios[r] = samples[r * stride].passages_per_s / peer[r * stride].passages_per_s;
    return median(ratios, rounds);
}

/* The samples of the contender of that name, or NULL if it does not take part. */
static const sample *samples_of(const contest *plan, const sample *samples, const char *name)
{
    for (size_t c = 0; c < plan->contenders; c++)
        if (strcmp(plan->contender[c]->name, name) == 0)
            return &samples[c * plan->counts];
    return NULL;
}

static bool takes(const contender *who, uint32_t threads)
{
    return who->max_threads == 0 || threads <= who->max_threads;
}

/* Rounds 0 to rounds-1 measure throughput; one more, in which every entry is clocked, waits. */
static const char *run_rounds(const contest *plan, sample *samples)
{
    size_t stride = plan->contenders * plan->counts;
    size_t runs = (plan->rounds + 1) * stride;
    double each = plan->seconds / (double)runs;
    for (uint32_t round = 0; round <= plan->rounds; round++) {
        for (size_t k = 0; k < stride; k++) {
            size_t t = k / plan->contenders;
            size_t c = (k + round) % plan->contenders; /* nobody is always first */
            const contender *who = plan->contender[c];
            uint32_t threads = plan->threads[t];
            if (plan->progress != NULL)
                plan->progress((double)(round * stride + k) / (double)runs, who->name, threads);
            if (!takes(who, threads))
                continue;
            const char *trouble = measure(plan, who, threads, each, round == plan->rounds,
                                          &samples[round * stride + c * plan->counts + t]);
            if (trouble != NULL)
                return trouble;
        }
    }
    return NULL;
}

const char *contest_run(const contest *plan, outcome *outcomes)
{
    size_t stride = plan->contenders * plan->counts;
    sample *samples = calloc((plan->rounds + 1) * stride, sizeof *samples);
    if (samples == NULL)
        return "no memory for the samples";
    const char *trouble = run_rounds(plan, samples);
    if (trouble == NULL) {
        const sample *pthread = samples_of(plan, samples, "pthread");
        const sample *ck = samples_of(plan, samples, "ck-mcs");
        for (size_t k = 0; k < stride; k++) {
            size_t t = k % plan->counts;
            outcomes[k] = (outcome){.measured = false};
            if (!takes(plan->contender[k / plan->counts], plan->threads[t]))
                continue;
            outcomes[k] = conclude(&samples[k], stride, plan->rounds);
            outcomes[k].ratio_to_pthread =
                ratio(&samples[k], pthread != NULL ? &pthread[t] : NULL, stride, plan->rounds);
            outcomes[k].ratio_to_ck =
                ratio(&samples[k], ck != NULL ? &ck[t] : NULL, stride, plan->rounds);
        }
    }
    free(samples);
    return trouble;
}
