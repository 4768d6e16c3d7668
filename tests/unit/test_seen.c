/* Byte strings that were seen, each once; and memory that is there or ends the program. */
#include "chance.h"
#include "seen.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STRINGS = 60000, LONGEST = 40 };

/* The same for the same number; no two are alike. */
static size_t make_string(uint32_t number, uint8_t bytes[LONGEST])
{
    uint64_t chance = number % 1000; /* many begin alike */
    size_t count = sizeof number + number % (LONGEST - sizeof number + 1);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)draw(&chance);
    memcpy(bytes + count - sizeof number, &number, sizeof number);
    return count;
}

static void test_each_once(void **state)
{
    (void)state;
    uint8_t bytes[LONGEST];
    seen_set *s = seen_new();
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < STRINGS; i++) {
            bool fresh = round != 0;
            size_t count = make_string(i, bytes);
            assert_int_equal(seen_add(s, bytes, count, &fresh), i);
            assert_int_equal(fresh, round == 0);
        }
        assert_int_equal(seen_count(s), STRINGS);
    }
    for (uint32_t i = 0; i < STRINGS; i++) {
        size_t count = make_string(i, bytes);
        assert_memory_equal(seen_get(s, i), bytes, count);
    }
    seen_free(s);
}

static void test_alike(void **state)
{
    (void)state;
    static const uint8_t zeros[16];
    bool fresh;
    seen_set *s = seen_new();
    for (uint32_t i = 0; i <= 16; i++) { /* only their lengths differ */
        assert_int_equal(seen_add(s, zeros, i, &fresh), i);
        assert_true(fresh);
    }
    assert_int_equal(seen_add(s, zeros, 3, &fresh), 3);
    assert_false(fresh);
    seen_free(s);
}

static void fill_chunks(uint32_t strings)
{
    enum { EACH = 65535 };
    static uint8_t bytes[EACH];
    bool fresh;
    seen_set *s = seen_new();
    for (uint32_t i = 0; i < strings; i++) {
        memcpy(bytes, &i, sizeof i);
        memcpy(bytes + EACH - sizeof i, &i, sizeof i);
        assert_int_equal(seen_add(s, bytes, EACH, &fresh), i);
        assert_true(fresh);
    }
    for (uint32_t i = 0; i < strings; i++) {
        memcpy(bytes, &i, sizeof i);
        memcpy(bytes + EACH - sizeof i, &i, sizeof i);
        assert_memory_equal(seen_get(s, i), bytes, EACH);
    }
    seen_free(s);
}

/* More bytes than one chunk has; and all of them are freed. */
static void test_chunks(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        fill_chunks(3); /* what malloc keeps for the next time, it keeps from here on */
    size_t before = heap_bytes();
    fill_chunks(600);
    assert_int_equal(heap_bytes(), before);
}

static void test_memory(void **state)
{
    (void)state;
    uint8_t *zeros = must_zero(7, 9);
    for (int i = 0; i < 7 * 9; i++)
        assert_int_equal(zeros[i], 0);
    memset(zeros, 1, 63);
    zeros = must_alloc(zeros, 2000);
    assert_int_equal(zeros[62], 1);
    void *aligned = must_align(4096, 8192);
    assert_int_equal((uintptr_t)aligned % 4096, 0);
    free(aligned);
    free(zeros);
}

static void test_no_memory(void **state)
{
    (void)state;
    char said[4096] = ""; /* also what a sanitizer has to say of it */
    size_t bytes = 0;
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        must_alloc(NULL, SIZE_MAX / 2);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    for (ssize_t got; (got = read(ends[0], said + bytes, sizeof said - 1 - bytes)) > 0;)
        bytes += (size_t)got;
    close(ends[0]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_non_null(strstr(said, "out of memory"));
}

int main(void)
{
    static suite s;
    suite_add(&s, test_each_once, NULL, "many strings, each once");
    suite_add(&s, test_alike, NULL, "strings that differ in length only");
    suite_add(&s, test_chunks, NULL, "more than a chunk");
    suite_add(&s, test_memory, NULL, "memory");
    suite_add(&s, test_no_memory, NULL, "no memory: a word, and the end");
    return suite_run(&s, "seen");
}
