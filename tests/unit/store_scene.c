/* What the tests of the store share. */
#include "store_scene.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- directories ---- */

static char root[128];

int scene_begin(void **state)
{
    const char *temporary = getenv("TMPDIR");
    (void)state;
    snprintf(root, sizeof root, "%.96s/baton-store.XXXXXX", temporary != NULL ? temporary : "/tmp");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

int scene_end(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *scene_path(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static void copy_file(const char *from, const char *to, const char *name)
{
    char path[512];
    char bytes[65536];
    snprintf(path, sizeof path, "%s/%s", from, name);
    int in = open(path, O_RDONLY);
    assert_true(in >= 0);
    snprintf(path, sizeof path, "%s/%s", to, name);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(out >= 0);
    for (ssize_t count; (count = read(in, bytes, sizeof bytes)) > 0;)
        assert_int_equal(write(out, bytes, (size_t)count), count);
    close(in);
    close(out);
}

void scene_copy(const char *from, const char *to)
{
    const char *source = scene_path(from);
    const char *target = scene_path(to);
    mkdir(target, 0700);
    copy_file(source, target, "node");
    copy_file(source, target, "data.mdb");
    copy_file(source, target, "journal");
}

int scene_open(const char *directory, const char *name, int flags)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", scene_path(directory), name);
    int file = open(path, flags);
    assert_true(file >= 0);
    return file;
}

image read_image(const char *directory, const char *name)
{
    enum { MOST = 8 << 20 };
    image i = {.at = malloc(MOST)};
    int file = scene_open(directory, name, O_RDONLY);
    ssize_t count = read(file, i.at, MOST);
    assert_true(count > 0 && count < MOST);
    i.bytes = (size_t)count;
    close(file);
    return i;
}

void write_image(const char *directory, const char *name, image i)
{
    int file = scene_open(directory, name, O_WRONLY | O_TRUNC);
    assert_int_equal(write(file, i.at, i.bytes), i.bytes);
    close(file);
}

/* ---- stores ---- */

store_options options_for(const char *directory)
{
    return (store_options){.directory = scene_path(directory),
                           .cluster = "test",
                           .node = "a",
                           .durability = STORE_DISK,
                           .max_bytes = PLENTY};
}

store *store_with(const store_options *options)
{
    char complaint[COMPLAINT] = "";
    store *s = store_open(options, complaint);
    if (s == NULL)
        fail_msg("%s", complaint);
    return s;
}

store *store_at(const char *directory)
{
    store_options options = options_for(directory);
    return store_with(&options);
}

void expect_refusal(const store_options *options, const char *text)
{
    char complaint[COMPLAINT] = "";
    store *s = store_open(options, complaint);
    if (s != NULL || strstr(complaint, text) == NULL)
        fail_msg("expected '%s', got '%s'", text, s != NULL ? "a store" : complaint);
}

/* ---- locks and operations ---- */

byte_string text_string(const char *text)
{
    return (byte_string){(const uint8_t *)text, strlen(text)};
}

store_lock lock_named(store *s, const char *name)
{
    store_lock lock;
    replica_durable durable;
    if (store_load(s, text_string(name), &lock, &durable) == STORE_FAILED)
        fail_msg("%s", store_why(s));
    replica_durable_end(&durable);
    return lock;
}

wme_op *op_from(const char *words, uint8_t origin, uint64_t id)
{
    resp_word word[8];
    uint32_t count = 0;
    op parsed;
    for (const char *at = words;; at++) {
        size_t length = strcspn(at, "|");
        word[count++] = (resp_word){at, length};
        at += length;
        if (*at == '\0')
            break;
    }
    const char *wrong = op_parse(word, count, &parsed);
    if (wrong != NULL)
        fail_msg("%s: %s", words, wrong);
    wme_op *made = op_encode(&parsed);
    made->origin = origin;
    made->id = id;
    return made;
}

const char *run_op(store *s, store_lock *lock, const char *words)
{
    static resp_out result;
    wme_op *o = op_from(words, (uint8_t)(lock->executed % 3), wme_op_id(1, lock->executed + 1));
    result.bytes = 0;
    bool fine = store_execute(s, lock, o, lock->executed + 1, &result);
    wme_op_drop(o);
    if (!fine)
        return NULL;
    resp_raw(&result, "", 1);
    assert_false(result.overflow);
    return result.at;
}

void expect_result(store *s, store_lock *lock, const char *words, const char *result)
{
    const char *got = run_op(s, lock, words);
    if (got == NULL)
        fail_msg("%s: %s", words, store_why(s));
    if (strcmp(got, result) != 0)
        fail_msg("%s: expected %s, got %s", words, result, got);
}

void expect_read(store *s, const store_lock *lock, const char *key, const char *result)
{
    resp_out out = {0};
    assert_true(store_read(s, lock, text_string(key), &out));
    assert_int_equal(out.bytes, strlen(result));
    assert_memory_equal(out.at, result, out.bytes);
    resp_free(&out);
}

void save_lock(store *s, store_lock *lock)
{
    replica_durable durable = {.now = {.epoch = 1, .ops = lock->executed}};
    assert_true(store_save(s, lock, &durable));
}

store_snapshot snapshot_of(store *s, const store_lock *lock)
{
    store_snapshot taken;
    if (!store_take_snapshot(s, lock, &taken))
        fail_msg("%s", store_why(s));
    return taken;
}

void expect_same_snapshot(store_snapshot a, store_snapshot b)
{
    assert_int_equal(a.bytes, b.bytes);
    assert_memory_equal(a.at, b.at, a.bytes);
}

uint64_t chance(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return *seed >> 33;
}
