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
    write_file("mixed", "node",
               "baton data 2\ncluster test\nnode a\ndurability disk\nstate booted\n");
    options = options_for("mixed");
    expect_refusal(&options, "data.mdb is damaged: a record has a wrong sum, or cannot be");
    store_close(store_at("a")); /* nothing of all that has changed it */
}

static void test_node_file(void **state)
{
    static const char *const wrong[] = {
        "",
        "hello\n",
        "baton data 2\n",
        "baton data 2\ncluster test\nnode a\ndurability disk\nstate asleep\n",
        "baton data 2\ncluster test\nnode a\ndurability disk\nstate ready",
        "baton data 2\ncluster test\nnode a\ndurability disk\nstate ready\nmore\n",
        "baton data 2\ncluster test\nnode a\ndurability disk\nstate ready\nboot 0\nmuster new\n"
        "heard 0 0 0 0 0 0 0 0 0\n",
        "baton data 2\ncluster test\nnode a\ndurability disk\nstate ready\nboot 1\nmuster new\n"
        "heard 0 0 0 0 0 0 0 0\n",
        "baton data 2\ncluster test\nnode a\ndurability disk\nstate ready\nboot 1\nmuster new\n"
        "heard 0 0 0 0 0 0 0 0 0 0\n",
        "baton data 2\ncluster test\nnode a\ndurability disk\nstate ready\nboot 1\nmuster old\n"
        "heard 0 0 0 0 0 0 0 0 0\n",
    };
    (void)state;
    store_close(store_at("a"));
    store_options options = options_for("a");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file("a", "node", wrong[i]);
        expect_refusal(&options, "/node is damaged, or not a file of baton");
    }
    write_file("a", "node", "baton data 3\nwhatever comes\n");
    expect_refusal(&options, "written by another version of baton (format 3, here 2)");
    remove_file("a", "node");
    expect_refusal(&options, "has data, but no file 'node'");
    write_file("a", "node", "baton data 2\ncluster test\nnode a\ndurability disk\nstate ready\n");
    remove_file("a", "data.mdb");
    expect_refusal(&options, "has lost its data.mdb");
    write_file("a", "data.mdb", "");
    expect_refusal(&options, "is damaged: its first pages are not what they should be");
    /* Died while it was made for the first time: begins again. */
    write_file("a", "node",
               "baton data 2\ncluster test\nnode a\ndurability disk\nstate creating\n");
    store_close(store_at("a"));
}

/* A directory of an earlier version: whoever has run is settled. */
static void test_muster_from_before(void **state)
{
    (void)state;
    store_close(store_at("a"));
    write_file("a", "node", "baton data 2\ncluster test\nnode a\ndurability disk\nstate ready\n");
    store *s = store_at("a");
    assert_int_equal(store_muster(s).state, MUSTER_NEW);
    store_close(s);
    write_file("a", "node", "baton data 2\ncluster test\nnode a\ndurability disk\nstate booted\n");
    s = store_at("a");
    assert_int_equal(store_muster(s).state, MUSTER_SETTLED);
    assert_true(store_muster(s).boot != 0);
    store_close(s);
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
        char complaint[STORE_COMPLAINT] = "";
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

enum { LOCKS = 60, MOST_FILE = 4 << 20 };

typedef struct image {
    uint8_t *at;
    size_t bytes;
} image;

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

/* What a store has after its last turn, and after the one before. */
typedef struct two_turns {
    uint64_t last, before;
} two_turns;

/* A store with branches, long records and free pages. */
static two_turns make_store(const char *directory)
{
    two_turns made = {0};
    static char words[OP_MOST_VALUE + 64];
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
        made.before = made.last;
        made.last = round < LOCKS ? 0 : all_of_it(s);
        assert_true(store_commit(s));
    }
    assert_true(store_mark_booted(s));
    store_close(s);
    assert_true(made.last != made.before && made.before != 0);
    return made;
}

static int open_data(const char *directory, int flags)
{
    char path[300];
    snprintf(path, sizeof path, "%s/data.mdb", scene_path(directory));
    int file = open(path, flags);
    assert_true(file >= 0);
    return file;
}

static image read_data(const char *directory)
{
    image i = {.at = malloc(MOST_FILE)};
    int file = open_data(directory, O_RDONLY);
    ssize_t count = read(file, i.at, MOST_FILE);
    assert_true(count > 0 && count < MOST_FILE);
    i.bytes = (size_t)count;
    close(file);
    return i;
}

static unsigned went_back; /* stores that opened without their last turn */

/*
 * Opens a store that may be damaged: refused, or as it was after one of the last two turns; then it
 * can also be written, which is tried every now and then.
 */
static bool is_refused(const char *directory, two_turns expected)
{
    char complaint[STORE_COMPLAINT] = "";
    store_options options = options_for(directory);
    store *s = store_open(&options, complaint);
    if (s == NULL) {
        assert_non_null(strstr(complaint, "data.mdb is damaged: "));
        return true;
    }
    uint64_t all = all_of_it(s);
    assert_true(all == expected.last || all == expected.before);
    went_back += all != expected.last;
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
    return false;
}

static void put_byte(int file, size_t at, uint8_t byte)
{
    assert_int_equal(pwrite(file, &byte, 1, (off_t)at), 1);
}

static void write_image(const char *directory, image i)
{
    int file = open_data(directory, O_WRONLY | O_TRUNC);
    assert_int_equal(write(file, i.at, i.bytes), i.bytes);
    close(file);
}

static void test_flips(void **state)
{
    enum { META = 160, FLIPS = 1500 };
    uint64_t seed = 2;
    unsigned refused = 0;
    unsigned flips = 0;
    (void)state;
    two_turns expected = make_store("a");
    went_back = 0;
    image whole = read_data("a");
    for (unsigned i = 0; i < 2 * META + FLIPS; i++) {
        size_t at = i < META ? i : i < 2 * META ? 4096 + i - META : chance(&seed) % whole.bytes;
        int file = open_data("a", O_WRONLY);
        put_byte(file, at, (uint8_t)(whole.at[at] ^ 1 << chance(&seed) % 8));
        close(file);
        flips++;
        if (is_refused("a", expected)) {
            refused++;
            file = open_data("a", O_WRONLY);
            put_byte(file, at, whole.at[at]);
            close(file);
        } else {
            write_image("a", whole);
        }
    }
    print_message("# %zu bytes of data, %u flipped bits: %u refused, %u last turns taken back, "
                  "%u do not matter\n",
                  whole.bytes, flips, refused, went_back, flips - refused - went_back);
    assert_true(went_back < flips / 10);
    assert_true(refused > flips / 4);
    free(whole.at);
}

static void test_pages(void **state)
{
    uint64_t seed = 4;
    unsigned refused = 0;
    (void)state;
    two_turns expected = make_store("a");
    image whole = read_data("a");
    size_t pages = whole.bytes / 4096;
    for (size_t page = 0; page < pages; page++) { /* zeroed; and another page in its place */
        image wrong = {malloc(whole.bytes), whole.bytes};
        memcpy(wrong.at, whole.at, whole.bytes);
        if (chance(&seed) % 2 == 0)
            memset(wrong.at + page * 4096, 0, 4096);
        else
            memcpy(wrong.at + page * 4096, whole.at + chance(&seed) % pages * 4096, 4096);
        write_image("a", wrong);
        refused += is_refused("a", expected);
        free(wrong.at);
    }
    assert_true(refused > pages / 4);
    for (size_t bytes = 0; bytes < whole.bytes; bytes += 4096 * 7 + 13) { /* cut off */
        write_image("a", (image){whole.at, bytes});
        assert_true(is_refused("a", expected) || bytes > whole.bytes / 2);
    }
    write_image("a", whole);
    assert_false(is_refused("a", expected));
    free(whole.at);
}

/* ---- power failures ---- */

enum { SECTOR = 512 };

/* What a disk has that has written only some sectors of the last turn. */
static void expect_one_of_two(image mixed, two_turns expected, unsigned seen[2])
{
    write_image("a", mixed);
    store *s = store_at("a");
    uint64_t all = all_of_it(s);
    assert_true(all == expected.last || all == expected.before);
    seen[all == expected.last]++;
    if (seen[all == expected.last] % 16 == 1) {
        store_lock lock = lock_named(s, "lock-1");
        assert_non_null(run_op(s, &lock, "INCR|n"));
        save_lock(s, &lock);
        assert_true(store_commit(s));
        uint64_t newer = all_of_it(s);
        store_close(s);
        s = store_at("a");
        assert_true(all_of_it(s) == newer);
        assert_false(store_took_back(s));
    }
    store_close(s);
}

/* One turn more, on keys that are there already: pages look like those that they replace. */
static two_turns one_more_turn(uint64_t *seed, two_turns turns)
{
    store *s = store_at("a");
    for (unsigned i = 0; i < 5; i++) {
        char words[64];
        store_lock lock = lock_named(s, lock_name((unsigned)(chance(seed) % LOCKS)));
        snprintf(words, sizeof words, "SET|key%u|%u", (unsigned)(chance(seed) % 20),
                 (unsigned)(chance(seed) % 10));
        assert_non_null(run_op(s, &lock, words));
        save_lock(s, &lock);
    }
    turns = (two_turns){.last = all_of_it(s), .before = turns.last};
    assert_true(store_commit(s));
    store_close(s);
    return turns;
}

static void test_power_failure(void **state)
{
    uint64_t seed = 6;
    unsigned seen[2] = {0};
    (void)state;
    two_turns turns = make_store("a");
    for (unsigned round = 0; round < 60; round++) {
        image old = read_data("a");
        turns = one_more_turn(&seed, turns);
        image new = read_data("a");
        image mixed = {calloc(1, new.bytes), new.bytes};
        uint64_t lost = 1 + chance(&seed) % (round % 2 == 0 ? 2 : 12); /* of 12 sectors */
        for (size_t at = 0; at < new.bytes; at += SECTOR) {
            bool there = chance(&seed) % 12 >= lost;
            if (there)
                memcpy(mixed.at + at, new.at + at, SECTOR);
            else if (at < old.bytes)
                memcpy(mixed.at + at, old.at + at, SECTOR);
        }
        expect_one_of_two(mixed, turns, seen);
        /* All but one sector, each in turn. */
        memcpy(mixed.at, new.at, new.bytes);
        for (size_t at = 0; at + SECTOR <= old.bytes && round % 6 == 0; at += SECTOR) {
            if (memcmp(old.at + at, new.at + at, SECTOR) == 0)
                continue;
            memcpy(mixed.at + at, old.at + at, SECTOR);
            expect_one_of_two(mixed, turns, seen);
            memcpy(mixed.at + at, new.at + at, SECTOR);
        }
        write_image("a", new);
        free(old.at);
        free(new.at);
        free(mixed.at);
    }
    print_message("# power failed in %u commits: %u turns were there, %u taken back\n",
                  seen[0] + seen[1], seen[1], seen[0]);
    assert_true(seen[0] > 20 && seen[1] > 20);
}

void add_damage_tests(suite *s)
{
    suite_add(s, test_others, NULL, "directories of others");
    suite_add(s, test_node_file, NULL, "the file that says whose directory it is");
    suite_add(s, test_muster_from_before, NULL, "a directory of an earlier version");
    suite_add(s, test_no_directory, NULL, "directories that cannot be used");
    suite_add(s, test_flips, NULL, "flipped bits");
    suite_add(s, test_power_failure, NULL, "a commit that comes to the disk in part");
    suite_add(s, test_pages, NULL, "lost pages, and a file that is cut off");
}
