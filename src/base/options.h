/*
 * Command lines. A table has a row for each option; parsing, --help, settings in files, and shell
 * completions follow from it. A row tells what the option is called, what it means, and which field
 * of a struct it sets:
 *
 *     typedef struct wish { const char *at; uint32_t loops; bool quiet; } wish;
 *
 *     static const option_row rows[] = {
 *         {"at", 0, "ADDR", "server to ask", INTO(wish, at), .env = "BATON_AT"},
 *         {"loops", 'l', "N", "event loops", INTO(wish, loops), .max = 64, .usual = "2"},
 *         {"quiet", 'q', NULL, "print only the value", INTO(wish, quiet)},
 *         {0},
 *     };
 *     const command_line ask_line = {.program = "baton ask", .usage = "[OPTION...]", .rows = rows};
 *
 * -h and --help need no row. Needs libc only, keeps nothing, and never exits by itself.
 */
#ifndef BATON_BASE_OPTIONS_H
#define BATON_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OPTIONS_EXIT_USAGE = 64, OPTIONS_MAX_ROWS = 48, OPTIONS_ANY = -1 };

typedef enum option_kind {
    OPTION_FLAG,    /* a bool that becomes true */
    OPTION_TEXT,    /* a pointer to the value as it was given */
    OPTION_NUMBER,  /* a whole number from `least` to `max` */
    OPTION_SECONDS, /* seconds with up to three decimals; kept, and limited, in milliseconds */
    OPTION_LIST,    /* texts: the option may be repeated, `max` times */
} option_kind;

/*
 * An option, if it has a name; otherwise only for the help: an argument, or a paragraph. What a
 * value is follows from the field that it goes to, unless `choices` or `take` say it.
 */
typedef struct option_row {
    const char *name;  /* without dashes */
    char letter;       /* 0: none */
    const char *value; /* the word for it in the help; NULL: the option takes none */
    const char *help;
    option_kind kind;
    size_t at, bytes;    /* of the field; see INTO */
    size_t count_at;     /* of a list: where the count is, a uint32_t */
    uint64_t least, max; /* max = 0: whatever the field can hold */
    const char *choices; /* "disk|memory": a number or a bool becomes the place, from 0 */
    const char *noun;    /* for "'x' is no NOUN", if it is more than a number */
    const char *unit;    /* "bytes": for "--name takes UNIT" */
    const char *env;     /* variable that is taken if the option is not given */
    const char *usual;   /* value that is taken if there is none of these; shown in the help */
    bool no_setting;     /* not to be set by a file of settings */
    bool (*take)(void *into, const char *value); /* false: the value makes no sense */
} option_row;

/* The field that a row sets. The compiler refuses a type that no kind of option fits. */
/* clang-format off */
#define INTO(type, member)                                                                     \
    .kind = _Generic(((type *)0)->member, bool: OPTION_FLAG, const char *: OPTION_TEXT,        \
                     uint8_t: OPTION_NUMBER, uint16_t: OPTION_NUMBER, uint32_t: OPTION_NUMBER, \
                     uint64_t: OPTION_NUMBER),                                                 \
    .at = offsetof(type, member), .bytes = sizeof(((type *)0)->member)
#define INTO_SECONDS(type, member)                                                             \
    .kind = _Generic(((type *)0)->member, uint64_t: OPTION_SECONDS),                           \
    .at = offsetof(type, member), .bytes = sizeof(uint64_t), .unit = "seconds"
#define INTO_LIST(type, member, count)                                                         \
    .kind = _Generic(((type *)0)->count, uint32_t: OPTION_LIST), .at = offsetof(type, member), \
    .count_at = offsetof(type, count),                                                         \
    .max = sizeof(((type *)0)->member) / sizeof(((type *)0)->member[0])
/* clang-format on */

/* Rows for the help: what an argument means, and text between groups of options. */
#define HELP_ARGUMENT(word, text)       \
    {                                   \
        .value = (word), .help = (text) \
    }
#define HELP_TEXT(text) \
    {                   \
        .help = (text)  \
    }

typedef struct command_line {
    const char *program;        /* "baton run" */
    const char *usage;          /* what follows the program; a line for each way to call it */
    const char *intro;          /* one sentence or some */
    const option_row *rows;     /* the last one is empty; NULL: no option but --help */
    const char *end;            /* of the help: exit codes */
    int least_words, max_words; /* that are no options; OPTIONS_ANY: no limit */
    const char *takes;          /* what to say of another number of them; NULL: "unexpected 'x'" */
    int stop_after;             /* after so many of them, whatever follows is no option; 0: never */
} command_line;

/* What was on the command line besides values. */
typedef struct options_got {
    char **word; /* those that are no options; NULL behind the last */
    int words;
    int order;
    int given[OPTIONS_MAX_ROWS]; /* by row: 0 no, -1 in a file, else its place among the options */
} options_got;

typedef enum options_verdict {
    OPTIONS_FINE,
    OPTIONS_HELPED, /* the help was printed on standard output */
    OPTIONS_WRONG,  /* a sentence on standard error says what: exit with OPTIONS_EXIT_USAGE */
} options_verdict;

/*
 * Sets the fields of `into` as the rows say. The first word of argv is not looked at, and NULL ends
 * it. Words that are no options move to its front, past options that stand between them.
 */
options_verdict options_read(const command_line *line, char **argv, void *into, options_got *got);
/*
 * Sets the field of the option that is called `key`, for files of settings, after options_read.
 * Flags are no settings. What the command line gives wins: then the value is judged all the same,
 * and goes to `unused`, a copy of `into`.
 */
options_verdict options_set(const command_line *line, const char *key, const char *value,
                            void *into, void *unused, options_got *got);
/* Whether an option was given: greater if later. The row must be there. */
int options_given(const command_line *line, const options_got *got, const char *name);

/* "PROGRAM: SENTENCE; see 'PROGRAM --help'" on standard error. Returns OPTIONS_EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int options_wrong(const command_line *line,
                                                        const char *format, ...);
void options_help(const command_line *line, FILE *out);
/*
 * One value, or NULL for a flag. The first one of its source empties a list: what the command line
 * lists stands instead of what a file or the default lists.
 */
options_verdict option_take(const command_line *line, const option_row *row, const char *value,
                            void *into, bool is_first);

/* For completions: the option behind that one, or the first (NULL). --help is last; then NULL. */
const option_row *options_next(const command_line *line, const option_row *before);

#endif
