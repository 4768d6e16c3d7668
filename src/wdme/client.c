/*
 * Automaton A: the client side of one lock. The gate is open as long as the newest generation that
 * it has heard of is later than the newest in which it has failed; so it fails at most once in each
 * generation, however late or out of order messages come (Theorem 1).
 */
#include "wdme.h"

static wdme_step nothing(void)
{
    return (wdme_step){.answer = WDME_NOTHING};
}

static wdme_step answer(wdme_answer what)
{
    return (wdme_step){.answer = what};
}

static wdme_step send(wdme_kind kind, uint32_t request, uint64_t generation)
{
    return (wdme_step){.sends = true, .message = {kind, request, generation}};
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool wdme_gate_is_open(const wdme_client *a)
{
    return a->failed == 0 || a->newest > a->failed; /* G > F */
}

static wdme_step ask(wdme_client *a, wdme_kind kind, wdme_doing doing)
{
    a->doing = doing;
    a->request++;
    return send(kind, a->request, 0);
}

wdme_step wdme_client_try(wdme_client *a)
{
    if (a->doing != WDME_RESTS)
        return answer(WDME_MISUSE);
    /* One try at a time: the answer to one that was given up may close the gate. */
    if (!wdme_gate_is_open(a) || a->given_up != 0)
        return answer(WDME_REFUSED); /* no message */
    return ask(a, WDME_TRY, WDME_TRIES);
}

wdme_step wdme_client_lock(wdme_client *a)
{
    if (a->doing != WDME_RESTS)
        return answer(WDME_MISUSE);
    return ask(a, WDME_LOCK, WDME_WAITS);
}

wdme_step wdme_client_cancel(wdme_client *a)
{
    if (a->doing != WDME_TRIES && a->doing != WDME_WAITS)
        return nothing();
    bool waited = a->doing == WDME_WAITS;
    a->doing = WDME_RESTS; /* a grant that is on its way will be given back */
    if (waited)
        return send(WDME_CANCEL, a->request, 0);
    a->given_up = a->request;
    return nothing();
}

wdme_step wdme_client_exit(wdme_client *a)
{
    if (a->doing != WDME_HOLDS)
        return answer(WDME_MISUSE);
    a->doing = WDME_RESTS;
    return send(WDME_EXIT, 0, a->token);
}

/* Whether the answer is to what the client still wants to know. */
static bool is_current(const wdme_client *a, wdme_message m)
{
    return (a->doing == WDME_TRIES || a->doing == WDME_WAITS) && m.request == a->request;
}

static wdme_step enter(wdme_client *a, wdme_message m)
{
    if (!is_current(a, m))
        return send(WDME_EXIT, 0, m.generation); /* nobody waits for it any more: give it back */
    if (m.generation <= a->lost) {               /* taken away before it was heard of */
        a->doing = WDME_RESTS;
        return answer(WDME_WAS_LOST);
    }
    a->doing = WDME_HOLDS;
    a->token = m.generation;
    return (wdme_step){.answer = WDME_ENTERED, .token = m.generation};
}

static wdme_step fail(wdme_client *a, wdme_message m, wdme_answer what)
{
    if (!is_current(a, m))
        return nothing();
    a->doing = WDME_RESTS;
    return answer(what);
}

wdme_step wdme_client_receive(wdme_client *a, wdme_message m)
{
    if ((m.kind == WDME_OK || m.kind == WDME_FAIL) && m.request == a->given_up)
        a->given_up = 0;
    switch (m.kind) {
    case WDME_OK:
        return enter(a, m);
    case WDME_FAIL:
        a->failed = later(a->failed, m.generation);
        return fail(a, m, WDME_REFUSED);
    case WDME_TIMEOUT:
        return fail(a, m, WDME_TIMED_OUT);
    case WDME_RESET:
        a->newest = later(a->newest, m.generation);
        return nothing();
    case WDME_EXIT_DONE:
        return answer(WDME_LEFT); /* and nothing else: the gate stays as it is (erratum 12) */
    case WDME_STALE:
        return answer(WDME_LEFT_LATE);
    case WDME_LOST:
        a->lost = later(a->lost, m.generation);
        if (a->doing != WDME_HOLDS || a->token != m.generation)
            return nothing(); /* it has left meanwhile; the answer to that will say so */
        a->doing = WDME_RESTS;
        return answer(WDME_WAS_LOST);
    default:
        return nothing(); /* not for a client */
    }
}

wdme_step wdme_client_cut(wdme_client *a)
{
    wdme_doing was = a->doing;
    *a = (wdme_client){.request = a->request};
    if (was == WDME_HOLDS)
        return answer(WDME_WAS_LOST);
    return was == WDME_RESTS ? nothing() : answer(WDME_CUT);
}
