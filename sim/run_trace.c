/* Tells a run to a reader. */
#include "run_trace.h"

typedef unsigned long long number;

const char *wme_kind_name(wme_kind kind)
{
    static const char *const names[WME_KINDS] = {
        [WME_REQUEST] = "REQUEST", [WME_GRANTED] = "GRANTED",   [WME_INVOKE] = "INVOKE",
        [WME_ACK] = "ACK",         [WME_DOINVOKE] = "DOINVOKE", [WME_NEWEP] = "NEWEP",
        [WME_SYNC] = "SYNC",       [WME_STATE] = "STATE",       [WME_PREPARE] = "PREPARE",
        [WME_PROMISE] = "PROMISE", [WME_ACCEPT] = "ACCEPT",     [WME_ACCEPTED] = "ACCEPTED",
        [WME_REFUSED] = "REFUSED", [WME_DECIDED] = "DECIDED",   [WME_WHERE] = "WHERE",
        [WME_HERE] = "HERE",
    };
    return names[kind];
}

static const char *wme_state_name(wme_state state)
{
    static const char *const names[] = {"IDLE", "REQUESTING", "TOKEN_HELD", "CS_IDLE",
                                        "CS_ISSUING"};
    return names[state];
}

static void set_text(uint64_t nodes, char text[32])
{
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < WME_MAX_NODES; i++)
        if (nodes >> i & 1)
            n += (size_t)snprintf(text + n, 32 - n, "%s%d", n > 0 ? "," : "", i);
    if (n == 0)
        snprintf(text, 32, "nobody");
}

/* ---- messages ---- */

static void tell_record(FILE *out, const wme_record *r)
{
    fprintf(out, " {epoch %llu sn %llu ops %llu", (number)r->epoch, (number)r->sn, (number)r->ops);
    if (r->last != NULL)
        fprintf(out, " last %llx at sn %llu", (number)r->last->id, (number)r->op_sn);
    fprintf(out, " owner %u entry %llu granted", r->owner, (number)r->entry);
    int max = WME_MAX_NODES;
    while (max > 0 && r->granted[max - 1] == 0)
        max--;
    for (int i = 0; i < max; i++)
        fprintf(out, "%c%llu", i == 0 ? ' ' : ',', (number)r->granted[i]);
    if (max == 0)
        fputs(" -", out);
    for (uint8_t i = 0; i < r->queued; i++)
        fprintf(out, "%s%u:%llu", i == 0 ? " asks " : ",", r->queue[i],
                (number)r->asked[r->queue[i]]);
    fputc('}', out);
}

static void tell_message(FILE *out, const wme_message *m)
{
    fprintf(out, "%s epoch %llu", wme_kind_name(m->kind), (number)m->epoch);
    switch (m->kind) {
    case WME_REQUEST:
        fprintf(out, " request %llu", (number)m->request);
        break;
    case WME_GRANTED:
        fprintf(out, " sn %llu to %u request %llu entry %llu", (number)m->sn, m->to,
                (number)m->request, (number)m->entry);
        break;
    case WME_INVOKE:
        fprintf(out, " sn %llu op %llx stable %llu", (number)m->sn, (number)m->op->id,
                (number)m->stable);
        break;
    case WME_ACK:
        fprintf(out, " sn %llu executed %llu%s", (number)m->sn, (number)m->executed,
                m->again ? " again" : "");
        break;
    case WME_DOINVOKE:
        fprintf(out, " sn %llu", (number)m->sn);
        break;
    case WME_SYNC:
        fprintf(out, " sn %llu executed %llu", (number)m->sn, (number)m->executed);
        break;
    case WME_WHERE:
    case WME_HERE:
        fprintf(out, " nonce %llu", (number)m->request);
        break;
    case WME_NEWEP:
        tell_record(out, &m->record);
        break;
    case WME_STATE:
        if (m->snapshot)
            fprintf(out, " with the resource of %llu", (number)m->executed);
        else
            fprintf(out, " with %u operations up to %llu", m->count, (number)m->executed);
        tell_record(out, &m->record);
        break;
    case WME_PROMISE:
        fprintf(out, " ballot %llu accepted %llu", (number)m->ballot, (number)m->accepted);
        if (m->accepted != 0)
            tell_record(out, &m->record);
        break;
    case WME_REFUSED:
        fprintf(out, " ballot %llu promised %llu", (number)m->ballot, (number)m->accepted);
        break;
    case WME_ACCEPT:
    case WME_DECIDED:
        fprintf(out, " ballot %llu", (number)m->ballot);
        tell_record(out, &m->record);
        break;
    default:
        fprintf(out, " ballot %llu", (number)m->ballot);
    }
}

/* ---- lines ---- */

static void tell_action(FILE *out, const note *n)
{
    const wme_action *a = n->action;
    switch (a->verb) {
    case WME_PERSIST:
        fputs("persists", out);
        break;
    case WME_EXECUTE:
        fprintf(out, "executes %llu: op %llx", (number)a->number, (number)a->op->id);
        break;
    case WME_INSTALL:
        fputs("installs the resource that came", out);
        break;
    case WME_RECALL:
        fprintf(out, "recalls op %llx", (number)a->op->id);
        break;
    case WME_CRIT:
        fprintf(out, "lets person %u in, token %llu.%llu", n->person,
                (number)(a->token >> WME_ENTRY_BITS),
                (number)(a->token & ((1ULL << WME_ENTRY_BITS) - 1)));
        break;
    case WME_KEPT:
        fprintf(out, "keeps person %u inside, token %llu.%llu", n->person,
                (number)(a->token >> WME_ENTRY_BITS),
                (number)(a->token & ((1ULL << WME_ENTRY_BITS) - 1)));
        break;
    case WME_REM:
        fprintf(out, "says rem to person %u", n->person);
        break;
    case WME_EJECTED:
        fprintf(out, "ejects person %u", n->person);
        break;
    case WME_SUSPENDED:
        fputs("says suspended", out);
        break;
    case WME_RESUMED:
        fputs("says resumed", out);
        break;
    case WME_PROPOSE:
        fputs("proposes", out);
        tell_record(out, &a->message.record);
        break;
    default:
        fputs("learns the decision", out);
        tell_record(out, &a->message.record);
    }
}

static void tell_state(FILE *out, const wme_stub *s)
{
    fprintf(out, "is now %s%s, epoch %llu sn %llu ops %llu executed %llu, owner %u",
            wme_state_name(s->state), s->blocked ? " (blocked)" : "", (number)s->now.epoch,
            (number)s->now.sn, (number)s->now.ops, (number)s->executed, s->now.owner);
}

static bool is_heading(note_kind kind)
{
    return kind != NOTE_SENT && kind != NOTE_ACTION && kind != NOTE_OUTCOME && kind != NOTE_STATE;
}

static bool is_of_a_lock(note_kind kind)
{
    return kind >= NOTE_TRY && kind <= NOTE_STATE;
}

static void begin_line(trace *t, const note *n)
{
    FILE *out = t->out;
    if (n->kind >= NOTE_QUIET || n->kind == NOTE_FAULT || n->kind == NOTE_HEALED)
        fprintf(out, "%10.3f        ", (double)n->at / 1000);
    else if (!is_heading(n->kind))
        fprintf(out, "%10s           ", "");
    else if (is_of_a_lock(n->kind))
        fprintf(out, "%10.3f  %u.%u  ", (double)n->at / 1000, n->node, n->lock);
    else
        fprintf(out, "%10.3f  %u    ", (double)n->at / 1000, n->node);
}

static void tell_fault(FILE *out, const note *n)
{
    char text[96];
    fault_text(n->fault, text);
    fprintf(out, "%s: %s", n->kind == NOTE_FAULT ? "fault" : "over", text);
}

static void tell_resumption(FILE *out, const note *n)
{
    number epoch = n->value >> WME_ENTRY_BITS;
    number entry = n->value & ((1ULL << WME_ENTRY_BITS) - 1);
    fprintf(out, "person %u resumes %llu.%llu", n->person, epoch, entry);
}

/* Writes a heard or missed message, and from whom. */
static void tell_delivery(FILE *out, const note *n)
{
    const char *how = n->kind == NOTE_ARRIVED ? "hears from" : "is down for";
    fprintf(out, "%s %u #%llu: ", how, n->other, (number)n->value);
    tell_message(out, n->message);
}

static void tell_sending(FILE *out, const note *n)
{
    fprintf(out, "to %u #%llu: ", n->other, (number)n->value);
    tell_message(out, n->message);
    if (n->until == 0)
        fputs(", lost", out);
}

static void tell_line(trace *t, const note *n)
{
    FILE *out = t->out;
    char text[96];
    begin_line(t, n);
    switch (n->kind) {
    case NOTE_START:
        fprintf(out, "starts%s", n->value > 1 ? " again" : "");
        break;
    case NOTE_CRASH:
        fputs("CRASHES", out);
        break;
    case NOTE_EMPTIED:
        fputs("FORGETS all that was on its disk", out);
        break;
    case NOTE_FAULT:
    case NOTE_HEALED:
        tell_fault(out, n);
        break;
    case NOTE_SUSPECTS:
        set_text(n->value, text);
        fprintf(out, "suspects %s", text);
        break;
    case NOTE_TICK:
        fputs("tick", out);
        break;
    case NOTE_RESUME:
        tell_resumption(out, n);
        break;
    case NOTE_TRY:
        fprintf(out, "person %u tries", n->person);
        break;
    case NOTE_EXIT:
        fprintf(out, "person %u exits", n->person);
        break;
    case NOTE_LEAVE:
        fprintf(out, "person %u vanishes", n->person);
        break;
    case NOTE_ISSUE:
        fprintf(out, "person %u issues operation %llu", n->person, (number)n->value);
        break;
    case NOTE_SENT:
        tell_sending(out, n);
        break;
    case NOTE_ARRIVED:
    case NOTE_MISSED:
        tell_delivery(out, n);
        break;
    case NOTE_ACTION:
        tell_action(out, n);
        break;
    case NOTE_OUTCOME:
        fprintf(out, "tells person %u the outcome of operation %llu: %llx", n->person,
                (number)n->value, (number)n->until);
        break;
    case NOTE_STATE:
        tell_state(out, n->stub);
        break;
    case NOTE_EXECUTED: /* for checkers; an action has told it */
    case NOTE_FINAL:
        break;
    case NOTE_QUIET:
        fputs("all has settled; nothing goes wrong from now on", out);
        break;
    case NOTE_WRONG:
        fprintf(out, "!! %s", n->words);
        break;
    }
    fputc('\n', out);
}

static void tell(teller *to, const note *n)
{
    trace *t = (trace *)to;
    if (n->kind != NOTE_WRONG && (n->at < t->from || n->at > t->to))
        return;
    if (n->kind == NOTE_EXECUTED || n->kind == NOTE_FINAL)
        return;
    if (n->kind == NOTE_TICK) {
        t->heading = *n;
        t->heading_due = true;
        return;
    }
    if (t->heading_due && !is_heading(n->kind))
        tell_line(t, &t->heading);
    t->heading_due = false;
    tell_line(t, n);
}

trace trace_start(FILE *out, uint64_t from, uint64_t to)
{
    return (trace){.teller = {tell}, .out = out, .from = from, .to = to};
}
