/*
 * Directories that are not this node's, and files that are damaged: refused in one sentence, or the
 * same as before; never empty, never a crash.
 */
#include "store_scene.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- directories ---- */

static void write_file(const char *directory, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", scene_path(directory), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_file(const char *directory, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", scene_path(directory), name);
    assert_int_equal(unlink(path), 0);
}

#define ZEROS "0 0 0 0 0 0 0 0 0"
#define FILE_OF(state, boot, numbers)                                                  \
    "baton data 4\ncluster test\nnode a\ndurability disk\nstate " state "\nboot " boot \
    "\nlife 0\nwrites 0\noutdated 0\n" numbers
#define GOOD_FILE(state) \
    FILE_OF(state, "1 new", "heard " ZEROS "\nlives " ZEROS "\nruns " ZEROS "\nturns " ZEROS "\n")

static void test_others(void **state)
{
    (void)state;
    store_close(store_at("a"));
    store_options options = options_for("a");
    options.node = "b";
    expect_refusal(&options, "belongs to node 'a', not to 'b'");
    options.cluster = "other";
    expect_refusal(&options, "belongs to cluster 'test', not to 'other'");
    options = options_for("a");
    options.durability = STORE_MEMORY;
    expect_refusal(&options, "was made for durability disk, not memory");
    options = options_for("a");
    options.node = "a b";
    expect_refusal(&options, "is named by 1 to 64 letters");
    options.node = "";
    expect_refusal(&options, "is named by 1 to 64 letters");
    options = options_for("b");
    options.node = "b";
    store_close(store_with(&options));
    scene_copy("b", "mixed"); /* the data of one node, the name of another */
    write_file("mixed", "node", GOOD_FILE("booted"));
    options = options_for("mixed");
    expect_refusal(&options, "data.mdb is damaged: a record has a wrong sum, or cannot be");
    store_close(store_at("a")); /* nothing of all that has changed it */
}

static void test_node_file(void **state)
{
    static const char *const wrong[] = {
        "",
        "hello\n",
        "baton data 4\n",
        "baton data 4\ncluster test\nnode a\ndurability disk\nstate ready\n",
        GOOD_FILE("asleep"),
        GOOD_FILE("ready") "more\n",
        FILE_OF("ready", "0 new",
                "heard " ZEROS "\nlives " ZEROS "\nruns " ZEROS "\nturns " ZEROS "\n"),
        FILE_OF("ready", "1 old",
                "heard " ZEROS "\nlives " ZEROS "\nruns " ZEROS "\nturns " ZEROS "\n"),
        FILE_OF("ready", "1 new",
                "heard " ZEROS "\nlives " ZEROS "\nruns " ZEROS "\nturns 0 0 0 0 0 0 0 0\n"),
        FILE_OF("ready", "1 new",
                "heard " ZEROS "\nlives " ZEROS "\nruns " ZEROS "\nturns " ZEROS " 0\n"),
        FILE_OF("ready", "1 new", "heard " ZEROS "\nlives " ZEROS "\nruns " ZEROS "\nturns " ZEROS),
        FILE_OF("ready", "1 new",
                "lives " ZEROS "\nheard " ZEROS "\nruns " ZEROS "\nturns " ZEROS "\n"),
    };
    (void)state;
    store_close(store_at("a"));
    store_options options = options_for("a");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file("a", "node", wrong[i]);
        expect_refusal(&options, "/node is damaged, or not a file of baton");
    }
    write_file("a", "node", "baton data 5\nwhatever comes\n");
    expect_refusal(&options, "written by another version of baton (format 5, here 4)");
    remove_file("a", "node");
    expect_refusal(&options, "has data, but no file 'node'");
    write_file("a", "node", GOOD_FILE("ready"));
    remove_file("a", "data.mdb");
    expect_refusal(&options, "data.mdb is lost");
    write_file("a", "data.mdb", "");
    expect_refusal(&options, "is damaged: its first pages are not what they should be");
    /* Died while it was made for the first time: begins again. */
    write_file("a", "node", GOOD_FILE("creating"));
    store_close(store_at("a"));
}

static void test_no_directory(void **state)
{
    (void)state;
    store_options options = options_for("no/such/place");
    expect_refusal(&options, "cannot make");
    write_file("", "file", "x");
    options = options_for("file");
    expect_refusal(&options, "cannot open");
    mkdir(scene_path("closed"), 0500);
    /* Root may write everywhere. */
    pid_t child = fork();
    if (child == 0) {
        char complaint[COMPLAINT] = "";
        if (geteuid() == 0 && (chmod(scene_path(""), 0755) != 0 || setuid(65534) != 0))
            _exit(2);
        options = options_for("closed");
        bool refused = store_open(&options, complaint) == NULL &&
                       strstr(complaint, "ermission denied") != NULL;
        _exit(refused ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- damage ---- */

enum { LOCKS = 60 };

static const char *lock_name(unsigned i)
{
    static char name[32];
    snprintf(name, sizeof name, "lock-%u", i);
    return name;
}

/* All that a store says, as one number. */
static uint64_t all_of_it(store *s)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < LOCKS; i++) {
        store_lock lock;
        replica_durable d;
        char name[32];
        snprintf(name, sizeof name, "%s", lock_name(i));
        if (store_load(s, text_string(name), &lock, &d) != STORE_FOUND)
            return 0;
        store_snapshot taken = snapshot_of(s, &lock);
        sum = sum_bytes(sum, taken.at, taken.bytes) + d.now.ops;
        free(taken.at);
        replica_durable_end(&d);
    }
    return sum;
}

/* A store with branches, long records and free pages, all in LMDB; what it has. */
static uint64_t make_store(const char *directory)
{
    static char words[OP_MAX_VALUE + 64];
    uint64_t seed = 9;
    store *s = store_at(directory);
    for (unsigned round = 0; round < 400; round++) {
        store_lock lock = lock_named(s, lock_name(round % LOCKS));
        size_t length = chance(&seed) % 10 == 0 ? chance(&seed) % 9000 : chance(&seed) % 60;
        snprintf(words, sizeof words, "SET|key%u|%0*d", (unsigned)(chance(&seed) % 20), (int)length,
                 0);
        assert_non_null(run_op(s, &lock, words));
        if (chance(&seed) % 3 == 0)
            assert_non_null(run_op(s, &lock, "DEL|key1"));
        save_lock(s, &lock);
        if (round % 8 != 7)
            continue;
        assert_true(store_commit(s));
        store_close(s);
        s = store_at(directory); /* which brings the turn from the journal to LMDB */
    }
    uint64_t made = all_of_it(s);
    assert_true(store_mark_booted(s));
    store_close(s);
    assert_true(made != 0);
    return made;
}

/*
 * Opens a store that may be damaged: refused, or as it was; then it can also be written, which is
 * tried every now and then; its journal becomes what it was.
 */
static bool is_refused(const char *directory, uint64_t expected)
{
    char complaint[COMPLAINT] = "";
    store_options options = options_for(directory);
    image journal = read_image(directory, "journal");
    store *s = store_open(&options, complaint);
    if (s == NULL) {
        assert_non_null(strstr(complaint, "is damaged: "));
        free(journal.at);
        return true;
    }
    assert_true(all_of_it(s) == expected);
    static unsigned opened;
    if (opened++ % 8 == 0) {
        store_lock lock = lock_named(s, "lock-1");
        for (unsigned i = 0; i < 20; i++)
            assert_non_null(run_op(s, &lock, "INCR|n"));
        save_lock(s, &lock);
        assert_true(store_commit(s));
        store_close(s);
        s = store_at(directory);
    }
    store_close(s);
    write_image(directory, "journal", journal);
    free(journal.at);
    return false;
}

static void put_byte(int file, size_t at, uint8_t byte)
{
    assert_int_equal(pwrite(file, &byte, 1, (off_t)at), 1);
}

static void test_flips(void **state)
{
    enum { META = 160, FLIPS = 1500 };
    uint64_t seed = 2;
    unsigned refused = 0;
    unsigned flips = 0;
    (void)state;
    uint64_t expected = make_store("a");
    image whole = read_image("a", "data.mdb");
    for (unsigned i = 0; i < 2 * META + FLIPS; i++) {
        size_t at = i < META ? i : i < 2 * META ? 4096 + i - META : chance(&seed) % whole.bytes;
        int file = scene_open("a", "data.mdb", O_WRONLY);
        put_byte(file, at, (uint8_t)(whole.at[at] ^ 1 << chance(&seed) % 8));
        close(file);
        flips++;
        if (is_refused("a", expected)) {
            refused++;
            file = scene_open("a", "data.mdb", O_WRONLY);
            put_byte(file, at, whole.at[at]);
            close(file);
        } else {
            write_image("a", "data.mdb", whole);
        }
    }
    print_message("# %zu bytes of data, %u flipped bits: %u refused, %u do not matter\n",
                  whole.bytes, flips, refused, flips - refused);
    assert_true(refused > flips / 4);
    free(whole.at);
}

static void test_pages(void **state)
{
    uint64_t seed = 4;
    unsigned refused = 0;
    (void)state;
    uint64_t expected = make_store("a");
    image whole = read_image("a", "data.mdb");
    size_t pages = whole.bytes / 4096;
    for (size_t page = 0; page < pages; page++) { /* zeroed; and another page in its place */
        image wrong = {malloc(whole.bytes), whole.bytes};
        memcpy(wrong.at, whole.at, whole.bytes);
        if (chance(&seed) % 2 == 0)
            memset(wrong.at + page * 4096, 0, 4096);
        else
            memcpy(wrong.at + page * 4096, whole.at + chance(&seed) % pages * 4096, 4096);
        write_image("a", "data.mdb", wrong);
        refused += is_refused("a", expected);
        free(wrong.at);
    }
    assert_true(refused > pages / 4);
    for (size_t bytes = 0; bytes < whole.bytes; bytes += 4096 * 7 + 13) { /* cut off */
        write_image("a", "data.mdb", (image){whole.at, bytes});
        assert_true(is_refused("a", expected) || bytes > whole.bytes / 2);
    }
    write_image("a", "data.mdb", whole);
    assert_false(is_refused("a", expected));
    free(whole.at);
}

/* ---- writes that never came to the disk ---- */

/* One operation, all of which comes to LMDB. */
static void change_a_little(uint64_t *seed)
{
    char words[64];
    store *s = store_at("a");
    store_lock lock = lock_named(s, lock_name(1));
    snprintf(words, sizeof words, "SET|key%u|%u", (unsigned)(chance(seed) % 3),
             (unsigned)(chance(seed) % 10));
    assert_non_null(run_op(s, &lock, words));
    save_lock(s, &lock);
    assert_true(store_commit(s));
    store_close(s);
    store_close(store_at("a"));
}

static uint64_t total_of(const char *directory)
{
    store *s = store_at(directory);
    uint64_t total = store_total(s);
    store_close(s);
    return total;
}

/* A page is as it was some checkpoints ago: refused, or of no use. */
static void test_stale_pages(void **state)
{
    enum { ROUNDS = 20, AGO = 4 };
    image then[ROUNDS];
    uint64_t seed = 8;
    unsigned stale = 0;
    unsigned refused = 0;
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 2)
            make_store("a");
        change_a_little(&seed);
        uint64_t total = total_of("a");
        then[round] = read_image("a", "data.mdb");
        image now = then[round];
        for (unsigned ago = 1; ago <= AGO && ago <= round; ago++)
            for (size_t at = 2 * (size_t)4096; at < then[round - ago].bytes; at += 4096) {
                const uint8_t *old = then[round - ago].at + at;
                if (memcmp(now.at + at, old, 4096) == 0)
                    continue;
                scene_copy("a", "b");
                image mixed = {malloc(now.bytes), now.bytes};
                memcpy(mixed.at, now.at, now.bytes);
                memcpy(mixed.at + at, old, 4096);
                write_image("b", "data.mdb", mixed);
                free(mixed.at);
                char complaint[COMPLAINT] = "";
                store_options options = options_for("b");
                store *s = store_open(&options, complaint);
                assert_true(s == NULL || store_total(s) == total);
                stale++;
                refused += s == NULL;
                store_close(s);
            }
    }
    for (unsigned round = 0; round < ROUNDS; round++)
        free(then[round].at);
    print_message("# %u stale pages, %u refused\n", stale, refused);
    assert_true(refused > stale / 8);
}

void add_damage_tests(suite *s)
{
    suite_add(s, test_others, NULL, "directories of others");
    suite_add(s, test_node_file, NULL, "the file that says whose directory it is");
    suite_add(s, test_no_directory, NULL, "directories that cannot be used");
    suite_add(s, test_flips, NULL, "flipped bits");
    suite_add(s, test_stale_pages, NULL, "pages of an earlier checkpoint");
    suite_add(s, test_pages, NULL, "lost pages, and a file that is cut off");
}
