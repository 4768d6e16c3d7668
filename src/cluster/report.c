/* What a node shows of itself: figures, and the locks that it knows. */
#include "node_lock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- figures ---- */

node_figures node_look(const cluster_node *n)
{
    const wme_node *w = &n->wme;
    node_figures f = {
        .counts = n->counts,
        .store = store_used(n->store),
        .locks = n->loaded.count,
        .resting = n->resting,
        .nodes = w->nodes,
        .suspected = (uint32_t)__builtin_popcount(w->suspected),
        .outside = w->outside,
        .outside_reached = n->outside_reached,
    };
    uint32_t trusted = 1;
    for (uint8_t i = 0; i < w->nodes; i++) {
        f.reached += n->reached[i];
        trusted += n->reached[i] && (w->suspected >> i & 1) == 0;
    }
    f.majority = trusted >= wme_majority(w);
    join_why(n, f.why);
    return f;
}

lock_counts node_lock_counts(const node_figures *f)
{
    const node_counts *c = &f->counts;
    return (lock_counts){
        .locks = f->locks,
        .held = c->held,
        .waiting = c->waiting,
        .longest_queue = c->longest_queue,
        .sections = c->sections,
        .tries = c->tries,
        .failed = c->failed,
        .resets = c->resets,
        .lost = c->lost + c->ejected,
        .stale = c->stale,
        .timeouts = c->timeouts,
        .holds = c->holds,
        .waits = c->waits,
    };
}

/* ---- what every backend shows ---- */

/* Returns how many were looked at: those who wait for a lock may be many. */
static uint64_t show_holders(const node_lock *p, void (*each)(const lock_row *row, void *context),
                             void *context)
{
    uint64_t looked_at = 1;
    LIST_EACH (at, &p->roles) {
        const role *s = OWNER_OF(at, role, in_lock);
        if (role_is_inside(s))
            each(&(lock_row){p->name, p->name_bytes, s->user.token, s->since, s->who, p->waiters},
                 context);
        looked_at++;
    }
    return looked_at;
}

lock_page report_each(locks *all, uint64_t from, uint64_t most,
                      void (*each)(const lock_row *row, void *context), void *context)
{
    const name_table *t = &node_of(all)->loaded;
    lock_page page = {0};
    uint64_t place = from;
    uint64_t buckets = most < UINT64_MAX / 16 ? 16 * most : most; /* it does not shrink */
    for (; place < NAME_PLACES && page.looked_at < most && buckets-- > 0;
         place = name_place_behind(t, place)) {
        name_walk bucket = name_walk_bucket(t, name_bucket_at(t, place));
        for (const node_lock *p; (p = node_lock_next(&bucket)) != NULL;)
            if (name_place(&p->entry) >= place)
                page.looked_at += show_holders(p, each, context);
    }
    page.next = place < NAME_PLACES ? place : 0;
    return page;
}

lock_counts report_count(locks *all)
{
    node_figures f = node_look(node_of(all));
    return node_lock_counts(&f);
}

uint64_t report_count_locks(locks *all)
{
    return node_of(all)->loaded.count;
}

/* ---- STATUS ---- */

__attribute__((format(printf, 2, 3))) static void print(resp_out *text, const char *format, ...)
{
    char line[320];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > 0)
        resp_raw(text, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

/* The ids of those in `set`, a bit for each, with commas between. */
static void print_ids(resp_out *text, const char *key, const peers *all, uint32_t set)
{
    const char *between = "";
    print(text, "%s:", key);
    for (uint8_t i = 0; i < all->nodes; i++)
        if ((set >> i & 1) != 0) {
            print(text, "%s%s", between, all->node[i].id);
            between = ",";
        }
    print(text, "\r\n");
}

static const char *name_state(const wme_stub *s)
{
    static const char *const names[] = {"idle", "requesting", "token", "inside", "issuing"};
    if (s->blocked)
        return s->away != 0 ? "rejoins" : "epoch-change";
    return s->suspended ? "suspended" : names[s->state];
}

/* Rows of a list, as long as they are no more than `most` bytes. */
typedef struct lock_list {
    const peers *all;
    size_t max;
    resp_out rows;
    uint32_t listed;
} lock_list;

static void list_record(lock_list *l, resp_word name, const wme_record *now, const char *state,
                        uint64_t executed)
{
    resp_array(&l->rows, 8);
    resp_bulk(&l->rows, name.at, name.bytes);
    resp_integer(&l->rows, (int64_t)now->epoch);
    resp_integer(&l->rows, (int64_t)now->sn);
    resp_text(&l->rows, l->all->node[now->owner].id);
    resp_text(&l->rows, state);
    resp_integer(&l->rows, (int64_t)executed);
    l->listed++;
}

static void list_node_lock(lock_list *l, const node_lock *p)
{
    const wme_stub *s = &p->replica.stub;
    bool held = s->state == WME_CS_IDLE || s->state == WME_CS_ISSUING;
    list_record(l, (resp_word){p->name, p->name_bytes}, &s->now, name_state(s), s->executed);
    resp_integer(&l->rows, held);
    resp_integer(&l->rows, p->waiters);
}

static void list_resting(void *context, resp_word name, const wme_record *now, uint64_t executed)
{
    lock_list *l = context;
    if (l->rows.bytes > l->max)
        return;
    list_record(l, name, now, "rests", executed);
    resp_integer(&l->rows, 0);
    resp_integer(&l->rows, 0);
}

static void list_locks(const cluster_node *n, lock_list *l)
{
    name_walk loaded = name_walk_all(&n->loaded);
    for (const node_lock *p; (p = node_lock_next(&loaded)) != NULL;) {
        if (l->listed == NODE_MAX_LISTED || l->rows.bytes > l->max)
            return;
        list_node_lock(l, p);
    }
    resting_list(n, NODE_MAX_LISTED - l->listed, list_resting, l);
}

static void print_figures(const cluster_node *n, const peers *all, resp_out *text)
{
    const node_counts *c = &n->counts;
    store_usage used = store_used(n->store);
    uint32_t reached = 0;
    for (uint8_t i = 0; i < n->wme.nodes; i++)
        reached |= (uint32_t)n->reached[i] << i;
    print(text, "node:%s\r\n", all->node[n->wme.me].id);
    print_ids(text, "nodes", all, (1U << all->nodes) - 1);
    print_ids(text, "reached", all, reached);
    print_ids(text, "suspected", all, n->wme.suspected);
    static const char *const states[] = {
        [BOOT_NEW] = "new", [BOOT_FORGETFUL] = "rejoins", [BOOT_SETTLED] = "up"};
    char why[NODE_WHY];
    print(text, "state:%s\r\n", states[n->boot_check.durable.state]);
    if (join_why(n, why) != NULL)
        print(text, "why:%s\r\n", why);
    print(text, "consensus:%s\r\n", all->engine);
    if (n->wme.outside)
        print(text,
              "etcd_reached:%d\r\netcd_asked:%" PRIu64 "\r\netcd_unanswered:%" PRIu64
              "\r\netcd_refused:%" PRIu64 "\r\n",
              n->outside_reached, c->asked, c->unanswered, c->refused);
    print(text, "locks:%zu\r\nresting:%zu\r\nheld:%" PRIu64 "\r\nwaiting:%" PRIu64 "\r\n",
          n->loaded.count, n->resting, c->held, c->waiting);
    print(text, "lingering:%" PRIu32 "\r\n", n->detached_count);
    print(text, "operations:%" PRIu64 "\r\nejected:%" PRIu64 "\r\nepochs:%" PRIu64 "\r\n",
          c->operations, c->ejected, c->epochs);
    print(text, "messages_sent:%" PRIu64 "\r\nmessages_received:%" PRIu64 "\r\n", c->sent,
          c->received);
    print(text, "messages_dropped:%" PRIu64 "\r\nturns:%" PRIu64 "\r\n", c->dropped, c->turns);
    print(text, "commits:%" PRIu64 "\r\nbytes:%" PRIu64 "\r\nmax_bytes:%" PRIu64 "\r\n",
          used.commits, used.bytes, used.max);
}

void node_report(const cluster_node *n, const peers *all, resp_out *out)
{
    resp_out text = {0};
    lock_list l = {
        .all = all, .max = out->max > 0 ? out->max / 2 : SIZE_MAX, .rows = {.third = out->third}};
    print_figures(n, all, &text);
    list_locks(n, &l);
    resp_array(out, 1 + l.listed);
    resp_bulk(out, text.at, text.bytes);
    resp_raw(out, l.rows.at, l.rows.bytes);
    resp_free(&text);
    resp_free(&l.rows);
}
