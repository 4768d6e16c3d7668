/*
 * Reads command lines; see options.h. What values mean is in options_value.c, what is printed in
 * options_help.c.
 */
#include "options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

static const option_row help_row = {.name = "help", .letter = 'h', .help = "print this help"};

static bool is_last(const option_row *row)
{
    return row->name == NULL && row->value == NULL && row->help == NULL;
}

const option_row *options_next(const command_line *line, const option_row *before)
{
    if (before == &help_row)
        return NULL;
    const option_row *row = before == NULL ? line->rows : before + 1;
    while (row != NULL && !is_last(row) && row->name == NULL)
        row++;
    return row == NULL || is_last(row) ? &help_row : row;
}

static const option_row *find_letter(const command_line *line, char letter)
{
    const option_row *row = NULL;
    while ((row = options_next(line, row)) != NULL)
        if (row->letter == letter)
            return row;
    return NULL;
}

/* By its name, or by the beginning of its name if no other option begins so. */
static const option_row *find_name(const command_line *line, const char *name, size_t bytes)
{
    const option_row *found = NULL;
    bool ambiguous = false;
    const option_row *row = NULL;
    while ((row = options_next(line, row)) != NULL) {
        if (strncmp(row->name, name, bytes) != 0)
            continue;
        if (row->name[bytes] == '\0')
            return row;
        ambiguous = found != NULL;
        found = row;
    }
    return ambiguous ? NULL : found;
}

static int *given(const command_line *line, options_got *got, const option_row *row)
{
    ptrdiff_t place = row - line->rows;
    assert(place >= 0 && place < OPTIONS_MAX_ROWS);
    return &got->given[place];
}

int options_given(const command_line *line, const options_got *got, const char *name)
{
    const option_row *row = find_name(line, name, strlen(name));
    assert(row != NULL && row != &help_row && strcmp(row->name, name) == 0);
    return got->given[row - line->rows];
}

/* ---- complaints ---- */

static options_verdict refuse_option(const command_line *line, const char *dashes, const char *name,
                                     size_t bytes, const char *complaint)
{
    options_wrong(line, "'%s%.*s' %s", dashes, (int)bytes, name, complaint);
    return OPTIONS_WRONG;
}

/* ---- values that come from elsewhere ---- */

/* The variable of the environment, or the usual value, until something else is given. */
static options_verdict take_defaults(const command_line *line, void *into)
{
    options_verdict verdict = OPTIONS_FINE;
    const option_row *row = NULL;
    while ((row = options_next(line, row)) != NULL && verdict == OPTIONS_FINE) {
        const char *value = row->env != NULL ? getenv(row->env) : NULL;
        value = value != NULL ? value : row->usual;
        if (value != NULL)
            verdict = option_take(line, row, value, into, true);
    }
    return verdict;
}

options_verdict options_set(const command_line *line, const char *key, const char *value,
                            void *into, void *unused, options_got *got)
{
    const option_row *row = find_name(line, key, strlen(key));
    if (row == NULL || strcmp(row->name, key) != 0 || row->value == NULL || row->no_setting) {
        options_wrong(line, "'%s' is no setting", key);
        return OPTIONS_WRONG;
    }
    int *before = given(line, got, row);
    if (*before > 0)
        return option_take(line, row, value, unused, true);
    bool is_first = *before == 0;
    *before = -1;
    return option_take(line, row, value, into, is_first);
}

/* ---- the command line ---- */

typedef struct reader {
    const command_line *line;
    char **next; /* word to be read */
    void *into;
    options_got *got;
} reader;

/* NULL: there is no more. */
static char *next_word(reader *r)
{
    return *r->next != NULL ? *r->next++ : NULL;
}

static options_verdict take_option(reader *r, const option_row *row, const char *value)
{
    if (row == &help_row) {
        options_help(r->line, stdout);
        return OPTIONS_HELPED;
    }
    int *place = given(r->line, r->got, row);
    bool is_first = *place == 0;
    *place = ++r->got->order;
    return option_take(r->line, row, value, r->into, is_first);
}

/* "name" or "name=value". */
static options_verdict read_long(reader *r, const char *word)
{
    size_t bytes = strcspn(word, "=");
    const char *value = word[bytes] == '=' ? word + bytes + 1 : NULL;
    const option_row *row = find_name(r->line, word, bytes);
    if (row == NULL)
        return refuse_option(r->line, "--", word, bytes, "is no option");
    if (row->value == NULL && value != NULL)
        return refuse_option(r->line, "--", word, bytes, "takes no value");
    if (row->value != NULL && value == NULL)
        value = next_word(r);
    if (row->value != NULL && value == NULL)
        return refuse_option(r->line, "--", word, bytes, "wants a value");
    return take_option(r, row, value);
}

/* Letters of flags; the last may be one with a value, which follows it or is the next word. */
static options_verdict read_letters(reader *r, const char *letters)
{
    options_verdict verdict = OPTIONS_FINE;
    for (; *letters != '\0' && verdict == OPTIONS_FINE; letters++) {
        const option_row *row = find_letter(r->line, *letters);
        if (row == NULL)
            return refuse_option(r->line, "-", letters, 1, "is no option");
        if (row->value != NULL) {
            const char *value = letters[1] != '\0' ? letters + 1 : next_word(r);
            return value != NULL ? take_option(r, row, value)
                                 : refuse_option(r->line, "-", letters, 1, "wants a value");
        }
        verdict = take_option(r, row, NULL);
    }
    return verdict;
}

static options_verdict check_words(const command_line *line, const options_got *got)
{
    bool too_many = line->max_words != OPTIONS_ANY && got->words > line->max_words;
    if (!too_many && got->words >= line->least_words)
        return OPTIONS_FINE;
    if (line->takes != NULL)
        options_wrong(line, "%s", line->takes);
    else
        options_wrong(line, "unexpected '%s'", got->word[line->max_words]);
    return OPTIONS_WRONG;
}

options_verdict options_read(const command_line *line, char **argv, void *into, options_got *got)
{
    reader r = {line, argv + 1, into, got};
    *got = (options_got){.word = argv + 1};
    bool only_words = false;
    options_verdict verdict = take_defaults(line, into);
    for (char *word; verdict == OPTIONS_FINE && (word = next_word(&r)) != NULL;) {
        if (only_words || word[0] != '-' || word[1] == '\0') {
            got->word[got->words++] = word;
            only_words = only_words || got->words == line->stop_after;
        } else if (strcmp(word, "--") == 0) {
            only_words = true;
        } else {
            verdict = word[1] == '-' ? read_long(&r, word + 2) : read_letters(&r, word + 1);
        }
    }
    if (verdict != OPTIONS_FINE)
        return verdict;
    got->word[got->words] = NULL;
    return check_words(line, got);
}
