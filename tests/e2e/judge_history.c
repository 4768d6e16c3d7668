/*
 * Judges what the clients of a real cluster saw of one lock, with the judge of the simulator.
 *
 *   judge_history USERS < EVENTS
 *
 * An event is a line: TIME WORD USER [NUMBER [NUMBER]], in the order of time, with the words
 *
 *   try | crit TOKEN | issue KEY | outcome KEY RESULT | exit | rem | ejected | gone
 *   count N    at the end: what the counter says
 *
 * Every operation adds one to a counter, so its result is its number among all that were executed.
 * Numbers that nobody was told belong to operations whose users were gone; to which of them, the
 * order of their tokens says. Prints the verdict and figures. Exit codes: 0 fine, 1 broken, 2 no
 * such history.
 */
#include "history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct event {
    uint64_t at;
    char word[12];
    uint32_t user;
    uint64_t a, b;
} event;

typedef struct operation {
    uint64_t key, token, number;
    bool unheard;
} operation;

static event *events;
static size_t event_count;
static operation *operations; /* in the order of their tokens, once sorted */
static size_t operation_count;
static uint64_t *key_of; /* by number */
static uint64_t numbers; /* that were executed */

static void give_up(const char *why, size_t line)
{
    fprintf(stderr, "judge_history: line %zu: %s\n", line, why);
    exit(2);
}

static void *grown(void *array, size_t count, size_t each)
{
    if ((count & (count - 1)) != 0)
        return array; /* room for the next power of two is there */
    void *larger = realloc(array, (count == 0 ? 1 : 2 * count) * each);
    if (larger == NULL)
        abort();
    return larger;
}

static void read_events(uint32_t users)
{
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        event e = {0};
        if (sscanf(line, "%" SCNu64 " %11s %" SCNu32 " %" SCNu64 " %" SCNu64, &e.at, e.word,
                   &e.user, &e.a, &e.b) < 3)
            give_up("no event", event_count + 1);
        if (e.user >= users || (event_count > 0 && e.at < events[event_count - 1].at))
            give_up("no such user, or out of time", event_count + 1);
        events = grown(events, event_count, sizeof *events);
        events[event_count++] = e;
    }
}

/* ---- which operation was which number ---- */

static void gather_operations(uint32_t users)
{
    uint64_t *token = calloc(users, sizeof *token);
    size_t *last = calloc(users, sizeof *last); /* and one: 0 is none in this section */
    if (token == NULL || last == NULL)
        abort();
    for (size_t i = 0; i < event_count; i++) {
        const event *e = &events[i];
        if (strcmp(e->word, "crit") == 0) {
            token[e->user] = e->a;
            last[e->user] = 0;
        } else if (strcmp(e->word, "issue") == 0) {
            operations = grown(operations, operation_count, sizeof *operations);
            operations[operation_count++] =
                (operation){.key = e->a, .token = token[e->user], .unheard = true};
            last[e->user] = operation_count;
        } else if (strcmp(e->word, "outcome") == 0 && last[e->user] > 0) {
            operations[last[e->user] - 1].number = e->b;
            operations[last[e->user] - 1].unheard = false;
        } else if (strcmp(e->word, "ejected") == 0 && last[e->user] > 0) {
            operations[last[e->user] - 1].unheard = false;
        } else if (strcmp(e->word, "count") == 0) {
            numbers = e->a;
        }
    }
    free(token);
    free(last);
}

static int by_token(const void *a, const void *b)
{
    uint64_t one = ((const operation *)a)->token;
    uint64_t other = ((const operation *)b)->token;
    return one < other ? -1 : one > other;
}

/* False, and told, if something was executed that nobody can have issued, or was lost. */
static bool number_operations(void)
{
    operation **of = calloc(numbers + 1, sizeof *of);
    uint64_t lowest = 0;
    size_t next = 0;
    bool fine = true;
    key_of = calloc(numbers + 1, sizeof *key_of);
    if (of == NULL || key_of == NULL)
        abort();
    qsort(operations, operation_count, sizeof *operations, by_token);
    for (size_t i = 0; i < operation_count; i++) {
        operation *o = &operations[i];
        if (o->number > numbers || (o->number != 0 && of[o->number] != NULL)) {
            printf("broken: number %" PRIu64 " was told, and is %s\n", o->number,
                   o->number > numbers ? "lost" : "another operation's too");
            fine = false;
        } else if (o->number != 0) {
            of[o->number] = o;
        }
    }
    for (uint64_t k = 1; k <= numbers && fine; k++) {
        while (of[k] == NULL && next < operation_count &&
               (!operations[next].unheard || operations[next].token < lowest))
            next++;
        if (of[k] == NULL && next < operation_count)
            of[k] = &operations[next++];
        fine = of[k] != NULL;
        if (!fine)
            printf("broken: number %" PRIu64 " was executed, and nobody can have issued it\n", k);
        else {
            key_of[k] = of[k]->key;
            lowest = of[k]->token;
        }
    }
    free(of);
    return fine;
}

/* ---- the judge ---- */

static void execute_until(history *h, uint64_t number, uint64_t at)
{
    static uint64_t executed;
    for (; executed < number && executed < numbers; executed++)
        history_execute(h, 0, executed + 1, key_of[executed + 1], executed + 1, at);
}

static void tell(history *h, const event *e)
{
    if (strcmp(e->word, "try") == 0)
        history_try(h, e->user, 0, e->at);
    else if (strcmp(e->word, "crit") == 0)
        history_crit(h, e->user, e->a, e->at);
    else if (strcmp(e->word, "issue") == 0)
        history_issue(h, e->user, e->a, e->at);
    else if (strcmp(e->word, "outcome") == 0) {
        execute_until(h, e->b, e->at);
        history_outcome(h, e->user, e->a, e->b, e->at);
    } else if (strcmp(e->word, "exit") == 0)
        history_exit(h, e->user, e->at);
    else if (strcmp(e->word, "rem") == 0)
        history_rem(h, e->user, e->at);
    else if (strcmp(e->word, "ejected") == 0)
        history_ejected(h, e->user, e->at);
    else if (strcmp(e->word, "gone") == 0)
        history_gone(h, e->user, e->at);
    else if (strcmp(e->word, "count") == 0)
        execute_until(h, e->a, e->at);
    else
        give_up("no such word", (size_t)(e - events) + 1);
}

int main(int argc, char **argv)
{
    uint32_t users = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    if (users == 0)
        give_up("usage: judge_history USERS < EVENTS", 0);
    read_events(users);
    gather_operations(users);
    if (!number_operations())
        return 1;
    history *h = history_new(1, users);
    for (size_t i = 0; i < event_count; i++)
        tell(h, &events[i]);
    history_end(h, 1, event_count > 0 ? events[event_count - 1].at : 0);
    const history_verdict *wrong = history_wrong(h);
    history_counts c = history_count(h);
    bool fine = wrong->broken == HISTORY_FINE;
    if (!fine)
        printf("broken: %s: %s\n", history_property_name(wrong->broken), wrong->what);
    printf("sections %" PRIu64 " outcomes %" PRIu64 " ejected %" PRIu64 " stale %" PRIu64
           " longest_wait %" PRIu64 " longest_stall %" PRIu64 "\n",
           c.sections, c.outcomes, c.ejected, c.stale, c.longest_wait, c.longest_stall);
    history_free(h);
    free(events);
    free(operations);
    free(key_of);
    return fine ? 0 : 1;
}
