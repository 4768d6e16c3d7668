/* A scene of `baton top`, as text for people and as JSON. */
#include "json.h"
#include "text.h"
#include "top.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

/* ---- lines ---- */

/* One line, cut where the page ends. */
static void put_line(top_page *page, const char *text)
{
    if (page->rows == 0)
        return;
    page->rows--;
    fprintf(page->out, "%.*s%s\n", (int)text_bytes(text, page->columns), text, page->line_end);
}

/* Formats into memory of its own, to be freed; NULL if there is none. */
__attribute__((format(printf, 1, 2))) static char *format(const char *words, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, words);
    int length = vasprintf(&text, words, arguments);
    va_end(arguments);
    return length >= 0 ? text : NULL;
}

/* Puts the text and frees it. */
static void put_and_free(top_page *page, char *text)
{
    put_line(page, text != NULL ? text : "(no memory for this line)");
    free(text);
}

/* In as many lines as it takes, but at most `most`. */
static void put_wrapped(top_page *page, const char *text, uint32_t max)
{
    while (*text != '\0' && max-- > 0) {
        put_line(page, text);
        text += text_bytes(text, page->columns);
    }
}

/* Room for the longest: two numbers of processes and 15 bytes of a command. */
typedef struct name_of_thread {
    char text[64];
} name_of_thread;

static name_of_thread name_thread(const baton_seen *card)
{
    name_of_thread name;
    char thread[16] = "";
    if (card->thread != card->process)
        snprintf(thread, sizeof thread, "/%" PRId32, card->thread);
    snprintf(name.text, sizeof name.text, "%" PRId32 "%s (%s)", card->process, thread,
             card->command);
    return name;
}

typedef struct figure {
    char text[32];
} figure;

static figure show_seconds(double seconds)
{
    figure f = {"?"};
    uint64_t whole = isnan(seconds) ? 0 : (uint64_t)seconds;
    if (isnan(seconds))
        return f;
    if (seconds < 10)
        snprintf(f.text, sizeof f.text, "%.3f s", seconds);
    else if (seconds < 60)
        snprintf(f.text, sizeof f.text, "%.1f s", seconds);
    else if (seconds < 3600)
        snprintf(f.text, sizeof f.text, "%" PRIu64 " min %02" PRIu64 " s", whole / 60, whole % 60);
    else if (seconds < 86400)
        snprintf(f.text, sizeof f.text, "%" PRIu64 " h %02" PRIu64 " min", whole / 3600,
                 whole / 60 % 60);
    else
        snprintf(f.text, sizeof f.text, "%" PRIu64 " d %02" PRIu64 " h", whole / 86400,
                 whole / 3600 % 24);
    return f;
}

static figure show_rate(double per_s)
{
    figure f = {"?"};
    if (!isnan(per_s))
        snprintf(f.text, sizeof f.text, "%.*f", per_s < 100 ? 1 : 0, per_s);
    return f;
}

/* ---- what is wrong ---- */

static void write_deadlock(FILE *out, const top_deadlock *deadlock)
{
    const top_step *first = &deadlock->step[0];
    if (deadlock->steps == 1) {
        fprintf(out, "deadlock: %s waits for %s, which it holds itself",
                name_thread(first->who).text, first->holds->name);
        return;
    }
    fprintf(out, "deadlock: %s holds %s and waits for %s", name_thread(first->who).text,
            first->holds->name, first->waits_for->name);
    for (uint32_t i = 1; i < deadlock->steps; i++)
        fprintf(out, ", held by %s, which waits for %s", name_thread(deadlock->step[i].who).text,
                deadlock->step[i].waits_for->name);
}

static void put_deadlock(top_page *page, const top_deadlock *deadlock, uint32_t max)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return;
    write_deadlock(out, deadlock);
    if (fclose(out) == 0 && text != NULL)
        put_wrapped(page, text, max);
    free(text);
}

/* At most half of the page: the locks themselves are to be seen too. */
static void put_troubles(top_page *page, const top_scene *scene)
{
    uint32_t keep = page->rows / 2;
    for (uint32_t i = 0; i < scene->deadlocks && page->rows > keep; i++)
        put_deadlock(page, &scene->deadlock[i], page->rows - keep);
    for (uint32_t i = 0; i < scene->locks && page->rows > keep; i++) {
        const top_lock *lock = &scene->lock[i];
        if (lock->stuck > 0)
            put_and_free(page, format("stuck: %s is held by %s, which is dead; %" PRIu32 " wait%s",
                                      lock->seen->name, name_thread(lock->holder).text, lock->stuck,
                                      lock->stuck == 1 ? "s" : ""));
    }
}

static void put_dead(top_page *page, const top_scene *scene)
{
    for (uint32_t i = 0; i < scene->dead_cards; i++) {
        const baton_seen *card = scene->dead[i];
        const char *did = card->doing == BATON_HOLDS   ? "held "
                          : card->doing == BATON_WAITS ? "waited for "
                                                       : "did nothing";
        const char *lock = card->doing != BATON_RESTS ? scene->look->lock[card->lock].name : "";
        put_and_free(page, format("dead: %s %s%s", name_thread(card).text, did, lock));
    }
}

/* ---- locks ---- */

enum { LEAST_NAME = 4 };

static uint32_t name_columns(const top_page *page, const top_scene *scene)
{
    uint32_t max = page->columns / 3 > LEAST_NAME ? page->columns / 3 : LEAST_NAME;
    size_t columns = LEAST_NAME;
    for (uint32_t i = 0; i < scene->locks; i++) {
        size_t here = text_columns(scene->lock[i].seen->name);
        columns = here > columns ? here : columns;
    }
    return columns < max ? (uint32_t)columns : max;
}

/* A row of the table; the columns before the time are empty for those who wait. */
static void put_row(top_page *page, uint32_t columns, const char *name, const char *passages,
                    const char *rate, const char *time, const char *who)
{
    size_t shown = text_columns(name) < columns ? text_columns(name) : columns;
    put_and_free(page, format("%.*s%*s  %12s  %10s  %12s  %s", (int)text_bytes(name, columns), name,
                              (int)(columns - shown), "", passages, rate, time, who));
}

static void put_card(top_page *page, const top_scene *scene, uint32_t columns, const top_lock *lock,
                     const baton_seen *card)
{
    bool is_holder = card->doing == BATON_HOLDS;
    figure passages;
    snprintf(passages.text, sizeof passages.text, "%" PRIu64, lock->seen->passages);
    char *who = format("%s %s%s", is_holder ? "holds" : "waits", name_thread(card).text,
                       card->dead ? ", dead" : "");
    put_row(page, columns, is_holder ? lock->seen->name : "", is_holder ? passages.text : "",
            is_holder ? show_rate(lock->per_s).text : "",
            show_seconds(top_seconds_since(scene->look, card->since_ns)).text,
            who != NULL ? who : "?");
    free(who);
}

static void put_free_lock(top_page *page, uint32_t columns, const top_lock *lock)
{
    figure passages;
    snprintf(passages.text, sizeof passages.text, "%" PRIu64, lock->seen->passages);
    put_row(page, columns, lock->seen->name, passages.text, show_rate(lock->per_s).text, "",
            "free");
}

/* The lock, its holder and who waits, within that many rows. */
static void put_lock(top_page *page, const top_scene *scene, uint32_t columns, const top_lock *lock,
                     uint32_t rows)
{
    uint32_t room = rows - 1;
    uint32_t shown = lock->waiters <= room ? lock->waiters : room > 0 ? room - 1 : 0;
    if (lock->holder != NULL)
        put_card(page, scene, columns, lock, lock->holder);
    else
        put_free_lock(page, columns, lock);
    for (uint32_t i = 0; i < shown; i++)
        put_card(page, scene, columns, lock, lock->waiter[i]);
    if (shown < lock->waiters && room > 0)
        put_and_free(page, format("... and %" PRIu32 " more wait", lock->waiters - shown));
}

static void put_locks(top_page *page, const top_scene *scene)
{
    uint32_t columns = name_columns(page, scene);
    put_row(page, columns, "LOCK", "PASSAGES", "PER S", "FOR", "WHO");
    for (uint32_t i = 0; i < scene->locks; i++) {
        uint32_t more = scene->locks - i;
        uint32_t kept = more > 1 ? 1 : 0; /* for how many more there are */
        if (page->rows <= kept) {
            put_and_free(page, format("... and %" PRIu32 " more locks", more));
            return; /* of a single one there is room for its row */
        }
        put_lock(page, scene, columns, &scene->lock[i], page->rows - kept);
    }
}

void top_print_text(const top_scene *scene, const char *board, top_page page)
{
    put_and_free(&page,
                 format("Board %s: %" PRIu32 " of %" PRIu32 " participants, %" PRIu32 " lock%s%s",
                        board, scene->cards, scene->participants, scene->locks,
                        scene->locks == 1 ? "" : "s", page.hint));
    put_troubles(&page, scene);
    if (scene->locks > 0)
        put_locks(&page, scene);
    put_dead(&page, scene);
}

/* ---- JSON ---- */

static void write_thread(json *j, const baton_seen *card)
{
    json_integer(j, "process", (uint64_t)card->process);
    json_integer(j, "thread", (uint64_t)card->thread);
    json_string(j, "command", card->command);
}

static void write_card(json *j, const char *key, const top_scene *scene, const baton_seen *card)
{
    json_open(j, key, '{');
    write_thread(j, card);
    json_bool(j, "dead", card->dead);
    json_real(j, card->doing == BATON_HOLDS ? "held_s" : "waiting_s",
              top_seconds_since(scene->look, card->since_ns));
    json_close(j, '}');
}

static void write_lock(json *j, const top_scene *scene, const top_lock *lock)
{
    json_open(j, NULL, '{');
    json_string(j, "name", lock->seen->name);
    json_integer(j, "passages", lock->seen->passages);
    json_real(j, "passages_per_s", lock->per_s);
    if (lock->holder != NULL)
        write_card(j, "holder", scene, lock->holder);
    else
        json_null(j, "holder");
    json_open(j, "waiters", '[');
    for (uint32_t i = 0; i < lock->waiters; i++)
        write_card(j, NULL, scene, lock->waiter[i]);
    json_close(j, ']');
    json_close(j, '}');
}

static void write_circle(json *j, const top_deadlock *deadlock)
{
    json_open(j, NULL, '[');
    for (uint32_t i = 0; i < deadlock->steps; i++) {
        json_open(j, NULL, '{');
        write_thread(j, deadlock->step[i].who);
        json_string(j, "holds", deadlock->step[i].holds->name);
        json_string(j, "waits_for", deadlock->step[i].waits_for->name);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_dead(json *j, const top_scene *scene, const baton_seen *card)
{
    static const char *const words[] = {"rests", "waits", "holds"};
    json_open(j, NULL, '{');
    write_thread(j, card);
    json_string(j, "doing", words[card->doing]);
    if (card->doing != BATON_RESTS)
        json_string(j, "lock", scene->look->lock[card->lock].name);
    else
        json_null(j, "lock");
    json_close(j, '}');
}

void top_print_json(const top_scene *scene, const char *board)
{
    json j = json_start(stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "version", baton_version());
    json_string(&j, "board", board);
    json_integer(&j, "participants", scene->participants);
    json_integer(&j, "cards", scene->cards);
    json_open(&j, "locks", '[');
    for (uint32_t i = 0; i < scene->locks; i++)
        write_lock(&j, scene, &scene->lock[i]);
    json_close(&j, ']');
    json_open(&j, "deadlocks", '[');
    for (uint32_t i = 0; i < scene->deadlocks; i++)
        write_circle(&j, &scene->deadlock[i]);
    json_close(&j, ']');
    json_open(&j, "dead", '[');
    for (uint32_t i = 0; i < scene->dead_cards; i++)
        write_dead(&j, scene, scene->dead[i]);
    json_close(&j, ']');
    json_close(&j, '}');
}
