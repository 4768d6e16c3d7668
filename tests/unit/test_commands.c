/*
 * Commands that ask a server, against one that says what the test wants: what they ask, what they
 * print, on which stream, and how they exit.
 */
#include "cli.h"
#include "false_server.h"
#include "status.h"
#include "unit.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/baton-commands-XXXXXX";
static char path[64], other_path[64], secret_path[64];
static false_server *_Atomic server;

/* ---- the server ---- */

enum { ROOM = 4200 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; /* of these: */
static const char *odd_verb;                              /* the command that is answered so; */
static char odd_reply[ROOM];                              /* "": and cut */
static char hears[400];                                   /* commands, with two arguments */

static char heard[400]; /* the same, when the command has ended */

static bool answer(void *context, asked *what)
{
    char reply[ROOM];
    (void)context;
    pthread_mutex_lock(&guard);
    size_t bytes = strlen(hears);
    snprintf(hears + bytes, sizeof hears - bytes, "%s %s %llu|", what->verb, what->name,
             (unsigned long long)what->number);
    bool odd = odd_verb != NULL && strcmp(what->verb, odd_verb) == 0;
    strcpy(reply, odd_reply);
    pthread_mutex_unlock(&guard);
    if (!odd)
        return false;
    what->cuts = reply[0] == '\0';
    false_server_say(server, what->over, reply); /* it may be long */
    return true;
}

/* Commands of that kind are answered so from now on. */
static void answer_to(const char *verb, const char *reply)
{
    pthread_mutex_lock(&guard);
    odd_verb = verb;
    snprintf(odd_reply, sizeof odd_reply, "%s", reply);
    pthread_mutex_unlock(&guard);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/a", directory);
    snprintf(other_path, sizeof other_path, "%s/none", directory);
    snprintf(secret_path, sizeof secret_path, "%s/secret", directory);
    FILE *secret = fopen(secret_path, "we");
    if (secret == NULL || fputs("open sesame\n", secret) < 0 || fclose(secret) != 0)
        return -1;
    chmod(secret_path, 0600);
    server = false_server_start(path, answer, NULL);
    answer_to(NULL, "");
    unsetenv("BATON_AT");
    unsetenv("BATON_PASSWORD_FILE");
    unsetenv("BATON_SESSION");
    unsetenv("BATON_LOCK");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    false_server_end(server);
    unlink(secret_path);
    return rmdir(directory);
}

/* ---- running commands ---- */

static char out[8192], err[8192];

static void take_text(FILE *from, char *text, size_t room)
{
    rewind(from);
    text[fread(text, 1, room - 1, from)] = '\0';
    fclose(from);
}

/* Returns its exit code; what it has printed is in `out` and `err`. */
static int run(int command(char **argv), ...)
{
    char *argv[40] = {"baton"};
    va_list words;
    va_start(words, command);
    for (int i = 1; i < 40 && (argv[i] = va_arg(words, char *)) != NULL; i++)
        ;
    va_end(words);
    FILE *files[2] = {tmpfile(), tmpfile()};
    fflush(stdout);
    int kept[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    dup2(fileno(files[0]), STDOUT_FILENO);
    dup2(fileno(files[1]), STDERR_FILENO);
    pthread_mutex_lock(&guard);
    hears[0] = '\0';
    pthread_mutex_unlock(&guard);
    int code = command(argv);
    pthread_mutex_lock(&guard);
    strcpy(heard, hears);
    pthread_mutex_unlock(&guard);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        dup2(kept[i], STDOUT_FILENO + i);
        close(kept[i]);
    }
    take_text(files[0], out, sizeof out);
    take_text(files[1], err, sizeof err);
    return code;
}

#define END ((char *)NULL)

/* ---- asking, by the example of `baton release` ---- */

static int release(const char *at)
{
    return run(cmd_release, "--at", at, "name", "7", END);
}

static void test_release(void **state)
{
    (void)state;
    answer_to("RELEASE", ":1\r\n");
    assert_int_equal(release(path), EXIT_DONE);
    assert_string_equal(out, "");
    assert_string_equal(err, "");
    assert_string_equal(heard, "HELLO 3 0|RELEASE name 7|");
    answer_to("RELEASE", ":0\r\n");
    assert_int_equal(release(path), EXIT_FAILED);
    assert_string_equal(err, "baton release: name is not held with token 7; see 'baton locks --at "
                             "...'\n");
    answer_to("RELEASE", "+OK\r\n");
    assert_int_equal(release(path), EXIT_FAILED);
    assert_int_equal(run(cmd_release, "--at", path, "name", "0", END), EXIT_USAGE);
    assert_string_equal(heard, "");
    assert_int_equal(run(cmd_release, "--at", path, "name", END), EXIT_USAGE);
}

static void test_answers(void **state)
{
    (void)state;
    answer_to("RELEASE", "-ERR no\r\n");
    assert_int_equal(release(path), EXIT_FAILED);
    assert_string_equal(err, "baton release: the server refuses: ERR no\n");
    answer_to("RELEASE", "!!\r\n");
    assert_int_equal(release(path), EXIT_UNREACHABLE);
    assert_string_equal(err, "baton release: the server gives an answer that is not understood\n");
    answer_to("RELEASE", ">1\r\n:1\r\n"); /* a push: nobody has asked for these */
    assert_int_equal(release(path), EXIT_UNREACHABLE);
    answer_to("RELEASE", "");
    assert_int_equal(release(path), EXIT_UNREACHABLE);
    assert_string_equal(err, "baton release: the server does not answer\n");
    answer_to("HELLO", "-NOAUTH a password is needed\r\n");
    assert_int_equal(release(path), EXIT_FAILED);
    assert_string_equal(err, "baton release: the server refuses: NOAUTH a password is needed\n");
    assert_string_equal(heard, "HELLO 3 0|");
    answer_to("HELLO", "+OK\r\n");
    assert_int_equal(release(path), EXIT_DONE);
}

static void test_addresses(void **state)
{
    (void)state;
    char list[200], longest[300];
    answer_to("RELEASE", ":1\r\n");
    assert_int_equal(release(other_path), EXIT_UNREACHABLE);
    snprintf(list, sizeof list,
             "baton release: cannot reach %s (No such file or directory); start "
             "one with 'baton serve'\n",
             other_path);
    assert_string_equal(err, list);
    snprintf(list, sizeof list, "%s,127.0.0.1:1,%s", other_path, path);
    assert_int_equal(release(list), EXIT_DONE); /* the first that can be reached */
    snprintf(list, sizeof list, ",%s", path);
    assert_int_equal(release(list), EXIT_DONE);
    snprintf(list, sizeof list, "%s,%s", path, other_path);
    assert_int_equal(release(list), EXIT_DONE);
    static const char *const none[] = {"nonsense", ":1", "127.0.0.1:1", "[::1]:1", ",", "a:"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_int_equal(release(none[i]), EXIT_UNREACHABLE);
    assert_int_equal(release("nonsense"), EXIT_UNREACHABLE);
    assert_non_null(strstr(err, "cannot reach nonsense (Invalid argument)"));
    assert_int_equal(release("127.0.0.1:1"), EXIT_UNREACHABLE);
    assert_non_null(strstr(err, "(Connection refused)"));
    memset(longest, 'x', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(release(longest), EXIT_UNREACHABLE);
    assert_non_null(strstr(err, "(File name too long)"));
    setenv("BATON_AT", path, 1);
    assert_int_equal(run(cmd_release, "name", "7", END), EXIT_DONE);
}

static void test_password(void **state)
{
    (void)state;
    const char *const nonce =
        "$64\r\n0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\n";
    answer_to("AUTH", nonce); /* to the proof as well: any answer but an error will do */
    assert_int_equal(
        run(cmd_release, "--at", path, "--password-file", secret_path, "name", "7", END),
        EXIT_DONE);
    assert_memory_equal(heard, "AUTH CHALLENGE 0|AUTH PROOF ", 28);
    assert_non_null(strstr(heard, "|HELLO 3 0|RELEASE name 7|"));
    static const char *const evasions[] = {"+OK\r\n", ":1\r\n", "$3\r\nabc\r\n", "_\r\n"};
    for (size_t i = 0; i < sizeof evasions / sizeof evasions[0]; i++) {
        answer_to("AUTH", evasions[i]);
        assert_int_equal(
            run(cmd_release, "--at", path, "--password-file", secret_path, "name", "7", END),
            EXIT_UNREACHABLE);
        assert_string_equal(err, "baton release: the server does not ask for a proof of the "
                                 "password\n");
        assert_string_equal(heard, "AUTH CHALLENGE 0|");
    }
    answer_to("AUTH", "-ERR no password is set\r\n");
    assert_int_equal(
        run(cmd_release, "--at", path, "--password-file", secret_path, "name", "7", END),
        EXIT_FAILED);
    assert_int_equal(
        run(cmd_release, "--at", path, "--password-file", other_path, "name", "7", END),
        EXIT_FAILED);
    assert_non_null(strstr(err, other_path));
    assert_string_equal(heard, "");
}

/* ---- baton locks --at ---- */

static void test_locks(void **state)
{
    (void)state;
    static const char rows[] = "*2\r\n:0\r\n*2\r\n"
                               "*5\r\n$1\r\na\r\n:7\r\n$4\r\nunix\r\n:1500\r\n:2\r\n"
                               "*6\r\n$4\r\nb\x1b\0c\r\n:9\r\n$11\r\n127.0.0.1:5\r\n:0\r\n:0\r\n:99"
                               "\r\n";
    char text[sizeof rows];
    memcpy(text, rows, sizeof rows);
    *(char *)memchr(text, '\0', sizeof text) = '\x01'; /* what is said here has no zeros in it */
    answer_to("LOCKS", text);
    assert_int_equal(run(cmd_locks, "--at", path, END), EXIT_DONE);
    assert_string_equal(
        out, "NAME                            TOKEN HOLDER                 HELD FOR s  WAITING\n"
             "a                                   7 unix                          1.5        2\n"
             "b??c                                9 127.0.0.1:5                   0.0        0\n");
    assert_string_equal(heard, "HELLO 3 0|LOCKS * 0|");
    assert_int_equal(run(cmd_locks, "--json", "--at", path, "a*", END), EXIT_DONE);
    assert_string_equal(heard, "HELLO 3 0|LOCKS a* 0|");
    assert_string_equal(out, "[\n"
                             "  {\n"
                             "    \"name\": \"a\",\n"
                             "    \"token\": 7,\n"
                             "    \"holder\": \"unix\",\n"
                             "    \"held_for_s\": 1.5,\n"
                             "    \"waiting\": 2\n"
                             "  },\n"
                             "  {\n"
                             "    \"name\": \"b??c\",\n"
                             "    \"token\": 9,\n"
                             "    \"holder\": \"127.0.0.1:5\",\n"
                             "    \"held_for_s\": 0,\n"
                             "    \"waiting\": 0\n"
                             "  }\n"
                             "]\n");
    answer_to("LOCKS", "*2\r\n:0\r\n*0\r\n");
    assert_int_equal(run(cmd_locks, "--json", "--at", path, END), EXIT_DONE);
    assert_string_equal(out, "[]\n");
    for (size_t bytes = strlen(text) - 1; bytes > 0; bytes -= 7) { /* cut anywhere */
        char part[sizeof text];
        snprintf(part, sizeof part, "%.*s!", (int)bytes, text);
        answer_to("LOCKS", part);
        assert_int_not_equal(run(cmd_locks, "--at", path, END), EXIT_DONE);
        if (bytes < 8)
            break;
    }
    answer_to("LOCKS", "-ERR no\r\n");
    assert_int_equal(run(cmd_locks, "--at", path, END), EXIT_FAILED);
    assert_int_equal(run(cmd_locks, "--at", path, "a", "b", END), EXIT_USAGE);
    assert_int_equal(run(cmd_locks, "--space", "--at", path, END), EXIT_USAGE);
}

/* ---- baton read ---- */

static void test_read(void **state)
{
    (void)state;
    answer_to("READ", "*4\r\n$5\r\nva\nue\r\n:3\r\n:4\r\n:5\r\n");
    assert_int_equal(run(cmd_read, "--at", path, "name", "key", END), EXIT_DONE);
    assert_string_equal(out, "va\nue\n");
    assert_string_equal(err, "baton read: as of epoch 3, sn 4 (5 operations)\n");
    assert_string_equal(heard, "HELLO 3 0|READ name 0|");
    assert_int_equal(run(cmd_read, "-q", "--at", path, "name", "key", END), EXIT_DONE);
    assert_string_equal(err, "");
    answer_to("READ", "*4\r\n_\r\n:3\r\n:4\r\n:5\r\n");
    assert_int_equal(run(cmd_read, "--at", path, "name", "key", END), EXIT_FAILED);
    assert_string_equal(out, "");
    assert_string_equal(err, "baton read: no such key, as of epoch 3, sn 4 (5 operations)\n");
    static const char *const wrong[] = {"*3\r\n_\r\n:3\r\n:4\r\n", "+OK\r\n",
                                        "*5\r\n_\r\n:3\r\n:4\r\n:5\r\n:6\r\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        answer_to("READ", wrong[i]);
        assert_int_equal(run(cmd_read, "--at", path, "name", "key", END), EXIT_FAILED);
        assert_string_equal(err, "baton read: the server gives an answer that is not understood\n");
    }
    answer_to("READ", "*4\r\n_\r\n:3\r\n!");
    assert_int_equal(run(cmd_read, "--at", path, "name", "key", END), EXIT_UNREACHABLE);
    answer_to("READ", "*4\r\n!");
    assert_int_equal(run(cmd_read, "--at", path, "name", "key", END), EXIT_UNREACHABLE);
    assert_int_equal(run(cmd_read, "name", "key", END), EXIT_USAGE);
    assert_int_equal(run(cmd_read, "--at", "", "name", "key", END), EXIT_USAGE);
    assert_int_equal(run(cmd_read, "--at", other_path, "name", "key", END), EXIT_UNREACHABLE);
}

/* ---- baton issue ---- */

static void test_issue(void **state)
{
    (void)state;
    static const struct {
        const char *reply, *out, *err;
        int code;
    } rows[] = {
        {"+OK\r\n", "OK\n", "", EXIT_DONE},
        {":7\r\n", "7\n", "", EXIT_DONE},
        {"$3\r\na\nb\r\n", "a\nb\n", "", EXIT_DONE},
        {"_\r\n", "", "", EXIT_DONE},
        {"-ERR no\r\n", "", "baton issue: ERR no\n", EXIT_FAILED},
        {"-LOST it is\r\n", "", "baton issue: LOST it is\n", EXIT_LOST},
        {"-LOSTISH\r\n", "", "baton issue: LOSTISH\n", EXIT_FAILED},
        {"-UNKNOWN outcome\r\n", "", "baton issue: UNKNOWN outcome\n", EXIT_UNREACHABLE},
        {"-UNKNOWNS\r\n", "", "baton issue: UNKNOWNS\n", EXIT_FAILED},
        {"*2\r\n$0\r\n\r\n*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n", "a\t1\nb\t2\n", "",
         EXIT_DONE},
        {"*2\r\n$1\r\nb\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n", "a\t1\n",
         "baton issue: there are more; go on with 'baton issue SCAN b'\n", EXIT_DONE},
        {"*2\r\n_\r\n*0\r\n", "", "", EXIT_DONE},
        {"*2\r\n$1\r\nb\r\n*2\r\n$1\r\na\r\n!", "a\t",
         "baton issue: the server gives an answer that is not understood\n", EXIT_UNREACHABLE},
    };
    setenv("BATON_SESSION", path, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        answer_to("GET", rows[i].reply);
        assert_int_equal(run(cmd_issue, "GET", "key", END), rows[i].code);
        assert_string_equal(out, rows[i].out);
        assert_string_equal(err, rows[i].err);
        assert_string_equal(heard, "GET key 0|"); /* nothing is said first */
    }
}

static void test_issue_nowhere(void **state)
{
    (void)state;
    static char large[60001];
    assert_int_equal(run(cmd_issue, "GET", "key", END), EXIT_USAGE);
    assert_non_null(strstr(err, "there is no 'baton run' around this"));
    setenv("BATON_LOCK", "name", 1);
    setenv("BATON_SESSION", "", 1);
    assert_int_equal(run(cmd_issue, "GET", "key", END), EXIT_USAGE);
    assert_non_null(strstr(err, "is not of a cluster"));
    setenv("BATON_SESSION", other_path, 1);
    assert_int_equal(run(cmd_issue, "GET", "key", END), EXIT_UNREACHABLE);
    assert_non_null(strstr(err, "has ended"));
    setenv("BATON_SESSION", path, 1);
    memset(large, 'x', 60000 - 3);
    answer_to("SET", "+OK\r\n");
    assert_int_equal(run(cmd_issue, "SET", large, END), EXIT_DONE);
    large[60000 - 3] = 'x';
    assert_int_equal(run(cmd_issue, "SET", large, END), EXIT_USAGE);
    assert_non_null(strstr(err, "60000 bytes at most"));
}

/* ---- baton status ---- */

static char status_reply[4000];

/* The answer of a node: lines of text, and rows of locks. */
static void say_status(const char *lines, const char *rows, int count)
{
    snprintf(status_reply, sizeof status_reply, "*%d\r\n$%zu\r\n%s\r\n%s", 1 + count, strlen(lines),
             lines, rows);
    answer_to("STATUS", status_reply);
}

#define NODE_LINES                                                                       \
    "node:a\r\nnodes:a,b,c\r\nreached:b,c\r\nsuspected:\r\nstate:up\r\nwhy:\r\n"         \
    "consensus:paxos\r\nlocks:3\r\nheld:4\r\nwaiting:5\r\noperations:6\r\nejected:7\r\n" \
    "epochs:8\r\ncommits:9\r\nbytes:10\r\nmax_bytes:11\r\nmessages_sent:12\r\n"          \
    "messages_received:13\r\nmessages_dropped:14\r\nnew:99\r\nno colon\r\n"
#define LOCK_ROWS                                                                 \
    "*8\r\n$1\r\nx\r\n:1\r\n:2\r\n$1\r\na\r\n$6\r\nnormal\r\n:30\r\n:1\r\n:4\r\n" \
    "*9\r\n$1\r\ny\r\n:5\r\n:6\r\n$1\r\nb\r\n$7\r\nblocked\r\n:20\r\n:0\r\n:0\r\n:77\r\n"

static void test_status(void **state)
{
    (void)state;
    char expected[1000];
    say_status(NODE_LINES, LOCK_ROWS, 2);
    assert_int_equal(run(cmd_status, "--at", path, END), EXIT_DONE);
    snprintf(expected, sizeof expected,
             "ADDRESS                  NODE     STATE   REACHES      SUSPECTS        LOCKS   HELD  "
             "WAITING  OPERATIONS    LAG CONSENSUS\n"
             "%-24s a        up      b,c          -                   3      4        5           "
             "6      0 paxos\n",
             path);
    assert_string_equal(out, expected);
    assert_string_equal(heard, "HELLO 3 0|STATUS  0|");
    assert_int_equal(run(cmd_status, "--locks", "--at", path, END), EXIT_DONE);
    const char *locks = strstr(out, "\n\n");
    assert_non_null(locks);
    assert_string_equal(
        locks,
        "\n\nNODE       EPOCH        SN OWNER    STATE          EXECUTED  HELD  WAITING LOCK\n"
        "a              1         2 a        normal               30   yes        4 x\n"
        "a              5         6 b        blocked              20     -        0 y\n"
        "a        and 1 more\n");
}

static void test_status_json(void **state)
{
    (void)state;
    say_status(NODE_LINES, LOCK_ROWS, 2);
    assert_int_equal(run(cmd_status, "--json", "--at", path, END), EXIT_DONE);
    static const char *const lines[] = {
        "\"up\": true",
        "\"node\": \"a\"",
        "\"state\": \"up\"",
        "\"why\": \"\"",
        "\"consensus\": \"paxos\"",
        "\"locks\": 3",
        "\"held\": 4",
        "\"waiting\": 5",
        "\"operations\": 6",
        "\"lag\": 0",
        "\"ejected\": 7",
        "\"epochs\": 8",
        "\"messages_sent\": 12",
        "\"messages_received\": 13",
        "\"messages_dropped\": 14",
        "\"commits\": 9",
        "\"bytes\": 10",
        "\"max_bytes\": 11",
        "\"suspected\": []",
        "\"name\": \"x\"",
        "\"epoch\": 1",
        "\"sn\": 2",
        "\"owner\": \"b\"",
        "\"executed\": 20",
        "\"held\": true",
        "\"held\": false",
        "\"state\": \"blocked\"",
        "\"nodes\": [\n      \"a\",\n      \"b\",\n      \"c\"\n    ]",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_non_null(strstr(out, lines[i]));
    assert_null(strstr(out, "etcd"));
    assert_null(strstr(out, "99"));
    say_status("node:a\nconsensus:etcd/x\netcd_reached:1\netcd_asked:2\netcd_unanswered:3\n"
               "etcd_refused:4\n",
               "", 0);
    assert_int_equal(run(cmd_status, "--json", "--at", path, END), EXIT_DONE);
    static const char *const of_etcd[] = {"\"etcd_reached\": true", "\"etcd_asked\": 2",
                                          "\"etcd_unanswered\": 3", "\"etcd_refused\": 4",
                                          "\"listed\": []"};
    for (size_t i = 0; i < sizeof of_etcd / sizeof of_etcd[0]; i++)
        assert_non_null(strstr(out, of_etcd[i]));
}

/* What makes it exit with 1, and 69. */
static void test_status_trouble(void **state)
{
    (void)state;
    char both[200];
    say_status("node:a\nsuspected:b\nconsensus:paxos\n", "", 0);
    assert_int_equal(run(cmd_status, "--at", path, END), EXIT_FAILED);
    say_status("node:a\nstate:rejoins\nwhy:it waits for b\n", "", 0);
    assert_int_equal(run(cmd_status, "--at", path, END), EXIT_FAILED);
    assert_non_null(strstr(out, "\na: it waits for b\n"));
    say_status("node:a\nconsensus:etcd\netcd_reached:0\n", "", 0);
    assert_int_equal(run(cmd_status, "--at", path, END), EXIT_FAILED);
    assert_non_null(strstr(out, " etcd!\n"));
    say_status("node:a\nconsensus:etcd\netcd_reached:1\n", "", 0);
    assert_int_equal(run(cmd_status, "--at", path, END), EXIT_DONE);
    assert_non_null(strstr(out, " etcd\n"));
    snprintf(both, sizeof both, "%s,%s", path, other_path);
    assert_int_equal(run(cmd_status, "--at", both, END), EXIT_FAILED);
    assert_non_null(strstr(out, " -        down\n"));
    assert_non_null(strstr(err, "cannot reach"));
    assert_null(strstr(err, "baton serve"));
    assert_int_equal(run(cmd_status, "--json", "--at", both, END), EXIT_FAILED);
    assert_non_null(strstr(out, "\"up\": false"));
    assert_int_equal(run(cmd_status, "--at", other_path, END), EXIT_UNREACHABLE);
    static const char *const none[] = {"+OK\r\n",
                                       "*0\r\n$1\r\nx\r\n",
                                       "*1\r\n:1\r\n",
                                       "*100001\r\n",
                                       "*2\r\n$1\r\nx\r\n:1\r\n",
                                       "*2\r\n$1\r\nx\r\n*0\r\n",
                                       "*2\r\n$1\r\nx\r\n*2\r\n$1\r\nn\r\n!"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        answer_to("STATUS", none[i]);
        assert_int_equal(run(cmd_status, "--at", path, END), EXIT_UNREACHABLE);
        assert_non_null(strstr(err, "does not answer as a node does"));
    }
    static const char *const wrong[] = {"",   ",",    "a,",
                                        ",a", "a,,b", "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(run(cmd_status, "--at", wrong[i], END), EXIT_USAGE);
    assert_int_equal(run(cmd_status, END), EXIT_USAGE);
}

/* How far behind: of locks that several list, the one that is farthest counts. */
static void test_status_lag(void **state)
{
    (void)state;
    status_lock of_a[] = {{.name = "x", .executed = 7}, {.name = "alone", .executed = 9}};
    status_lock of_b[] = {{.name = "y", .executed = 3}, {.name = "x", .executed = 5}};
    status_lock of_c[] = {{.name = "x", .executed = 4}, {.name = "y", .executed = 4}};
    status_node nodes[] = {
        {.lock = of_a, .listed = 2},
        {.lock = of_b, .listed = 2},
        {.lock = of_c, .listed = 2},
        {.listed = UINT64_MAX >> 8}, /* not asked: more than there is memory for */
    };
    status_compare(nodes, 3);
    const uint64_t expected[] = {0, 3, 3, 0};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(nodes[i].lag, expected[i]);
}

#define with_a_server(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_a_server(test_release),        with_a_server(test_answers),
        with_a_server(test_addresses),      with_a_server(test_password),
        with_a_server(test_locks),          with_a_server(test_read),
        with_a_server(test_issue),          with_a_server(test_issue_nowhere),
        with_a_server(test_status),         with_a_server(test_status_json),
        with_a_server(test_status_trouble), cmocka_unit_test(test_status_lag),
    };
    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
