/* What the tests of the store share: directories that vanish, stores, and operations as text. */
#ifndef BATON_STORE_SCENE_H
#define BATON_STORE_SCENE_H

#include "store.h"
#include "unit.h"

enum { PLENTY = 256 << 20 };

/* A fresh directory below which stores are made; setup and teardown of each test. */
int scene_begin(void **state);
int scene_end(void **state);
/* The name of a directory or file in it; good until the next four calls. */
const char *scene_path(const char *name);
/* Copies a store's directory. */
void scene_copy(const char *from, const char *to);

/* A file of such a directory. */
int scene_open(const char *directory, const char *name, int flags);

typedef struct image {
    uint8_t *at;
    size_t bytes;
} image;
/* All of a file, to be freed; and the file becomes that. */
image read_image(const char *directory, const char *name);
void write_image(const char *directory, const char *name, image i);

store_options options_for(const char *directory);
/* Opens; fails the test if that does not work. */
store *store_at(const char *directory);
store *store_with(const store_options *options);
/* Must not open; the complaint has this text in it. */
void expect_refusal(const store_options *options, const char *text);

byte_string text_string(const char *text);
store_lock lock_named(store *s, const char *name);
/* An operation from words with '|' between them, as it would come from that node. */
wme_op *op_from(const char *words, uint8_t origin, uint64_t id);
/* Executes it as the next; the result, good until the next call. */
const char *run_op(store *s, store_lock *lock, const char *words);
void expect_result(store *s, store_lock *lock, const char *words, const char *result);
/* Reads a key outside of any critical section. */
void expect_read(store *s, const store_lock *lock, const char *key, const char *result);
/* Saves a state that fits what the lock has executed. */
void save_lock(store *s, store_lock *lock);
store_snapshot snapshot_of(store *s, const store_lock *lock);
void expect_same_snapshot(store_snapshot a, store_snapshot b);

uint64_t chance(uint64_t *seed);

/* ---- the tests ---- */
void add_lock_tests(suite *s);
void add_crash_tests(suite *s);
void add_damage_tests(suite *s);
void add_journal_tests(suite *s);
void add_snapshot_tests(suite *s);
void add_limit_tests(suite *s);
void add_record_tests(suite *s);
void add_own_tests(suite *s);

#endif
