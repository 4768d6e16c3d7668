/* Command lines: every kind of option, every complaint, and what the help looks like. */
#include "options.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct wish {
    const char *at, *color, *level_name;
    const char *address[2];
    uint32_t addresses;
    uint8_t tiny;
    uint16_t small;
    uint32_t loops, level;
    uint64_t bytes, seed, timeout;
    bool quiet, loud, all;
    int own;
} wish;

static bool take_own(void *into, const char *value)
{
    ((wish *)into)->own = value[0];
    return value[0] != '!';
}

static const option_row rows[] = {
    {"at", 'a', "ADDR", "server to ask", INTO(wish, at), .env = "BATON_TEST_AT"},
    {"listen", 0, "ADDR", "may be repeated", INTO_LIST(wish, address, addresses), .usual = "here"},
    {"loops", 'l', "N", "event loops", INTO(wish, loops), .least = 1, .max = 64, .usual = "2"},
    {"tiny", 0, "N", "of a byte", INTO(wish, tiny)},
    {"small", 0, "N", "of two bytes", INTO(wish, small), .least = 1},
    HELP_TEXT("More of them:"),
    {"bytes", 0, "BYTES", "that it takes", INTO(wish, bytes), .max = 4096, .unit = "bytes"},
    {"seed", 0, "N", "where chance begins", INTO(wish, seed)},
    {"timeout", 't', "S", "to wait", INTO_SECONDS(wish, timeout), .least = 200, .max = 86400000},
    {"level", 0, "LEVEL", "what is logged", INTO(wish, level), .choices = "error|info|debug"},
    {"level-name", 0, "LEVEL", "the same", INTO(wish, level_name), .choices = "error|info"},
    {"ack", 0, "WHO", "who hears of it", INTO(wish, all), .choices = "owner|all"},
    {"own", 0, "X", "anything", .take = take_own, .noun = "good thing", .unit = "good ones"},
    HELP_TEXT(""),
    {"quiet", 'q', NULL, "say nothing", INTO(wish, quiet)},
    {"loud", 'L', NULL, "say more", INTO(wish, loud), .no_setting = true},
    {"color", 0, "COLOR", "of the night", INTO(wish, color), .no_setting = true},
    {0},
};

static command_line line(void)
{
    return (command_line){.program = "baton test",
                          .usage = "[OPTION...] WORD\n--other",
                          .intro = "Tests.",
                          .rows = rows,
                          .end = "Exit code: 0.",
                          .max_words = OPTIONS_ANY};
}

/* ---- what the tests are made of ---- */

enum { MAX_WORDS = 16, TEXT_BYTES = 8192 };

static wish w;
static options_got got;
static char text[TEXT_BYTES]; /* what was written to the stream that is looked at */

/* What is written to that descriptor until uncatch comes into `text`. */
static FILE *caught;
static int before, caught_number;

static void catch_output(int number)
{
    fflush(NULL);
    caught = tmpfile();
    assert_non_null(caught);
    caught_number = number;
    before = dup(number);
    dup2(fileno(caught), number);
}

static void uncatch(void)
{
    fflush(NULL);
    dup2(before, caught_number);
    close(before);
    rewind(caught);
    text[fread(text, 1, sizeof text - 1, caught)] = '\0';
    fclose(caught);
}

/* Reads the words, which have blanks in between. */
static options_verdict reads_line(command_line l, const char *words)
{
    static char copy[256];
    static char *argv[MAX_WORDS + 2];
    size_t count = 1;
    snprintf(copy, sizeof copy, "%s", words);
    argv[0] = (char[]){"test"};
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) != NULL && count <= MAX_WORDS;)
        if (*words != '\0')
            argv[count++] = word;
    argv[count] = NULL;
    w = (wish){0};
    catch_output(STDERR_FILENO);
    options_verdict verdict = options_read(&l, argv, &w, &got);
    uncatch();
    return verdict;
}

static void fine(const char *words)
{
    options_verdict verdict = reads_line(line(), words);
    if (verdict != OPTIONS_FINE || text[0] != '\0')
        fail_msg("'%s' is refused: %s", words, text);
}

/* ---- what is read ---- */

static void kinds(void **state)
{
    (void)state;
    fine("--at one --loops 7 --tiny 255 --small 65535 --bytes 4096 --seed 18446744073709551615 "
         "--level debug --own xy");
    assert_string_equal(w.at, "one");
    assert_int_equal(w.loops, 7);
    assert_int_equal(w.tiny, 255);
    assert_int_equal(w.small, 65535);
    assert_int_equal(w.bytes, 4096);
    assert_true(w.seed == UINT64_MAX);
    assert_int_equal(w.level, 2);
    assert_int_equal(w.own, 'x');
    fine("--timeout 2.5 --level-name info --ack all --quiet");
    assert_int_equal(w.timeout, 2500);
    assert_string_equal(w.level_name, "info");
    assert_true(w.all && w.quiet && !w.loud);
    fine("--ack owner --level error");
    assert_false(w.all);
    assert_int_equal(w.level, 0);
}

static void ways_to_write(void **state)
{
    (void)state;
    fine("--at=one=two --loops=3");
    assert_string_equal(w.at, "one=two");
    assert_int_equal(w.loops, 3);
    fine("--at= --loops 4");
    assert_string_equal(w.at, "");
    fine("-a one -l3 -qLt5");
    assert_string_equal(w.at, "one");
    assert_int_equal(w.loops, 3);
    assert_true(w.quiet && w.loud);
    assert_int_equal(w.timeout, 5000);
    fine("-qa -q --at --loops"); /* whatever follows is the value; the last one counts */
    assert_string_equal(w.at, "--loops");
    fine("--q --loo 3 --level info"); /* a beginning that is the only one; a name that is whole */
    assert_true(w.quiet);
    assert_int_equal(w.loops, 3);
    assert_int_equal(w.level, 1);
}

static void words(void **state)
{
    (void)state;
    fine("a -q b --at x c - -- --loops");
    assert_int_equal(got.words, 5);
    assert_string_equal(got.word[0], "a");
    assert_string_equal(got.word[2], "c");
    assert_string_equal(got.word[3], "-");
    assert_string_equal(got.word[4], "--loops");
    assert_null(got.word[5]);
    fine("");
    assert_int_equal(got.words, 0);
    assert_null(got.word[0]);
}

/* As `baton run NAME [OPTION...] COMMAND...` needs it. */
static void words_that_end_options(void **state)
{
    (void)state;
    command_line l = line();
    l.stop_after = 2;
    assert_int_equal(reads_line(l, "-q name -L command -x -- --loops"), OPTIONS_FINE);
    assert_true(w.quiet && w.loud);
    assert_int_equal(got.words, 5);
    assert_string_equal(got.word[1], "command");
    assert_string_equal(got.word[2], "-x");
    assert_string_equal(got.word[3], "--");
    assert_int_equal(reads_line(l, "name -- -q"), OPTIONS_FINE);
    assert_false(w.quiet);
    assert_string_equal(got.word[1], "-q");
}

static void what_was_given(void **state)
{
    (void)state;
    command_line l = line();
    fine("--seed 0 -q --own x");
    assert_int_equal(options_given(&l, &got, "seed"), 1);
    assert_int_equal(options_given(&l, &got, "own"), 3);
    assert_int_equal(options_given(&l, &got, "loops"), 0);
}

static void defaults(void **state)
{
    (void)state;
    unsetenv("BATON_TEST_AT");
    fine("");
    assert_null(w.at);
    assert_int_equal(w.loops, 2);
    assert_int_equal(w.addresses, 1);
    assert_string_equal(w.address[0], "here");
    setenv("BATON_TEST_AT", "there", 1);
    fine("");
    assert_string_equal(w.at, "there");
    fine("--at one --listen a --listen b"); /* instead of what it would be */
    assert_string_equal(w.at, "one");
    assert_int_equal(w.addresses, 2);
    assert_string_equal(w.address[0], "a");
    unsetenv("BATON_TEST_AT");
}

/* ---- files of settings ---- */

static options_verdict sets(const char *key, const char *value)
{
    command_line l = line();
    wish unused = w;
    catch_output(STDERR_FILENO);
    options_verdict verdict = options_set(&l, key, value, &w, &unused, &got);
    uncatch();
    return verdict;
}

static void settings(void **state)
{
    (void)state;
    fine("--loops 3 --listen x --listen y");
    assert_int_equal(sets("bytes", "7"), OPTIONS_FINE);
    assert_int_equal(sets("loops", "4"), OPTIONS_FINE);
    assert_int_equal(sets("listen", "z"), OPTIONS_FINE);
    assert_int_equal(w.bytes, 7);
    assert_int_equal(w.loops, 3); /* the command line wins */
    assert_int_equal(w.addresses, 2);
    assert_int_equal(sets("loops", "65"), OPTIONS_WRONG); /* but the file must make sense */
    assert_string_equal(text, "baton test: '65' is no number from 1 to 64; --loops takes one; see "
                              "'baton test --help'\n");
    fine("");
    assert_int_equal(sets("listen", "a"), OPTIONS_FINE);
    assert_int_equal(sets("listen", "b"), OPTIONS_FINE);
    assert_int_equal(w.addresses, 2);
    assert_string_equal(w.address[0], "a");
    assert_int_equal(sets("listen", "c"), OPTIONS_WRONG);
    const char *const none[] = {"nonsense", "", "loo", "quiet", "help", "color"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(sets(none[i], "red"), OPTIONS_WRONG);
        assert_non_null(strstr(text, "' is no setting; see"));
    }
}

/* ---- what is refused ---- */

typedef struct wrong {
    const char *words, *complaint;
} wrong;

static const wrong wrongs[] = {
    {"--nonsense", "'--nonsense' is no option"},
    {"--nonsense=1", "'--nonsense' is no option"},
    {"--l 1", "'--l' is no option"}, /* which of them? */
    {"-qx", "'-x' is no option"},
    {"--at", "'--at' wants a value"},
    {"-qa", "'-a' wants a value"},
    {"--quiet=1", "'--quiet' takes no value"},
    {"--loops 0", "'0' is no number from 1 to 64; --loops takes one"},
    {"-l 65", "'65' is no number from 1 to 64; --loops takes one"},
    {"--loops 1x", "'1x' is no number"},
    {"--loops -1", "'-1' is no number"},
    {"--loops=", "'' is no number"},
    {"--tiny 256", "'256' is no number; --tiny takes one"},
    {"--small 0", "'0' is no number from 1 on; --small takes one"},
    {"--bytes 4097", "'4097' is no number from 0 to 4096; --bytes takes bytes"},
    {"--seed 18446744073709551616", "is no number; --seed takes one"},
    {"--timeout 0.1", "'0.1' is no number from 0.2 to 86400; --timeout takes seconds"},
    {"--timeout 1.", "'1.' is no number"},
    {"--level loud", "'loud' is neither 'error' nor 'info' nor 'debug'; --level is one of these"},
    {"--level err", "'err' is neither"},
    {"--level-name debug", "'debug' is neither 'error' nor 'info'"},
    {"--own !", "'!' is no good thing; --own takes good ones"},
    {"--listen a --listen b --listen c", "--listen can be given 2 times at most"},
};

static void test_wrong(void **state)
{
    const wrong *one = *state;
    assert_int_equal(reads_line(line(), one->words), OPTIONS_WRONG);
    if (strncmp(text, "baton test: ", 12) != 0 || strstr(text, one->complaint) == NULL ||
        strstr(text, "; see 'baton test --help'\n") == NULL)
        fail_msg("'%s' does not say '%s'", text, one->complaint);
}

static void numbers_of_words(void **state)
{
    (void)state;
    command_line l = line();
    l.max_words = 1;
    assert_int_equal(reads_line(l, "a b"), OPTIONS_WRONG);
    assert_non_null(strstr(text, "unexpected 'b'"));
    l.least_words = 1;
    l.takes = "it takes a word";
    assert_int_equal(reads_line(l, "a b"), OPTIONS_WRONG);
    assert_non_null(strstr(text, "baton test: it takes a word; see"));
    assert_int_equal(reads_line(l, "-q"), OPTIONS_WRONG);
    assert_int_equal(reads_line(l, "a"), OPTIONS_FINE);
}

/* However long a value is, all of it is in the sentence. */
static void long_values(void **state)
{
    (void)state;
    char value[3001];
    char *argv[] = {(char[]){"test"}, (char[]){"--loops"}, value, NULL};
    command_line l = line();
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    catch_output(STDERR_FILENO);
    assert_int_equal(options_read(&l, argv, &w, &got), OPTIONS_WRONG);
    uncatch();
    assert_non_null(strstr(text, value));
    assert_non_null(strstr(text, "--loops takes one"));
}

/* ---- help and completions ---- */

static void help(void **state)
{
    (void)state;
    static const char expected[] = "Usage: baton test [OPTION...] WORD\n"
                                   "       baton test --other\n"
                                   "Tests.\n"
                                   "\n"
                                   "  -a, --at ADDR           server to ask ($BATON_TEST_AT)\n"
                                   "      --listen ADDR       may be repeated (here)\n"
                                   "  -l, --loops N           event loops (2)\n"
                                   "      --tiny N            of a byte\n"
                                   "      --small N           of two bytes\n"
                                   "\n"
                                   "More of them:\n"
                                   "      --bytes BYTES       that it takes\n"
                                   "      --seed N            where chance begins\n"
                                   "  -t, --timeout S         to wait\n"
                                   "      --level LEVEL       what is logged\n"
                                   "      --level-name LEVEL  the same\n"
                                   "      --ack WHO           who hears of it\n"
                                   "      --own X             anything\n"
                                   "\n"
                                   "  -q, --quiet             say nothing\n"
                                   "  -L, --loud              say more\n"
                                   "      --color COLOR       of the night\n"
                                   "  -h, --help              print this help\n"
                                   "\n"
                                   "Exit code: 0.\n";
    for (int i = 0; i < 3; i++) {
        catch_output(STDOUT_FILENO);
        const char *way = i == 0 ? "--help" : i == 1 ? "-qh" : "--he --nonsense";
        command_line l = line();
        char copy[32];
        snprintf(copy, sizeof copy, "%s", way);
        char *rest = copy;
        char *argv[] = {(char[]){"test"}, strsep(&rest, " "), rest, NULL};
        assert_int_equal(options_read(&l, argv, &w, &got), OPTIONS_HELPED);
        uncatch();
        assert_string_equal(text, expected);
    }
}

static void help_in_lines(void **state)
{
    (void)state;
    static const option_row wide[] = {
        HELP_ARGUMENT("WORD", "an argument"),
        {"with-a-very-long-name", 0, "AND-VALUE", "begins below its name", INTO(wish, at)},
        {"fold", 0, NULL,
         "a sentence that is too long for what is left of the line, so that it goes on below",
         INTO(wish, quiet)},
        HELP_TEXT("A paragraph that is too long for a line, and goes on in the next one, at its "
                  "beginning.\nAnd another."),
        {0},
    };
    const command_line l = {.program = "p", .usage = "", .intro = "Tests.", .rows = wide};
    catch_output(STDOUT_FILENO);
    options_help(&l, stdout);
    uncatch();
    assert_string_equal(
        text, "Usage: p\n"
              "Tests.\n"
              "\n"
              "  WORD        an argument\n"
              "      --with-a-very-long-name AND-VALUE\n"
              "              begins below its name\n"
              "      --fold  a sentence that is too long for what is left of the line, so that\n"
              "              it goes on below\n"
              "\n"
              "A paragraph that is too long for a line, and goes on in the next one, at its\n"
              "beginning.\n"
              "And another.\n"
              "\n"
              "  -h, --help  print this help\n");
}

static void completions(void **state)
{
    (void)state;
    const command_line l = line();
    const option_row *row = NULL;
    size_t count = 0;
    while ((row = options_next(&l, row)) != NULL) {
        assert_non_null(row->name);
        assert_non_null(row->help);
        text[0] = '\0';
        snprintf(text, sizeof text, "%s", row->name);
        count++;
    }
    assert_int_equal(count, 16);
    assert_string_equal(text, "help");
    const command_line bare = {.program = "p", .usage = "", .intro = ""};
    assert_string_equal(options_next(&bare, NULL)->name, "help");
}

int main(void)
{
    suite s = {0};
    suite_add(&s, kinds, NULL, "every kind of value");
    suite_add(&s, ways_to_write, NULL, "ways to write an option");
    suite_add(&s, words, NULL, "words between options");
    suite_add(&s, words_that_end_options, NULL, "words that end the options");
    suite_add(&s, what_was_given, NULL, "what was given, and in which order");
    suite_add(&s, defaults, NULL, "the environment, and defaults");
    suite_add(&s, settings, NULL, "settings of a file");
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++)
        suite_add(&s, test_wrong, &wrongs[i], "refused: %s", wrongs[i].words);
    suite_add(&s, numbers_of_words, NULL, "too many words, and too few");
    suite_add(&s, long_values, NULL, "long values");
    suite_add(&s, help, NULL, "help");
    suite_add(&s, help_in_lines, NULL, "help in lines");
    suite_add(&s, completions, NULL, "rows for completions");
    return suite_run(&s, "options");
}
