/* Lists: what is in them, from both ends. */
#include "list.h"
#include "unit.h"

typedef struct letter {
    char name;
    list_link link;
} letter;

enum { LETTERS = 5 };

/* a, b, c, ...: in no list yet. */
static void make_letters(letter made[LETTERS])
{
    for (int i = 0; i < LETTERS; i++) {
        made[i].name = (char)('a' + i);
        list_start(&made[i].link);
    }
}

/* Forth, and back again. */
static void expect(const list_head *of, const char *names)
{
    const list_link *back = of;
    size_t count = 0;
    LIST_EACH (at, of) {
        assert_int_equal(OWNER_OF(at, letter, link)->name, names[count++]);
        assert_ptr_equal(at->previous, back);
        back = at;
    }
    assert_int_equal(names[count], 0);
    assert_ptr_equal(of->previous, back);
    assert_int_equal(list_is_empty(of), count == 0);
}

static void test_both_ends(void **state)
{
    letter l[LETTERS];
    list_head all;
    (void)state;
    make_letters(l);
    list_start(&all);
    expect(&all, "");
    assert_null(list_first(&all));
    assert_null(list_pop(&all));
    list_push_back(&all, &l[1].link);
    list_push_front(&all, &l[0].link);
    list_push_back(&all, &l[2].link);
    expect(&all, "abc");
    assert_ptr_equal(list_first(&all), &l[0].link);
    assert_ptr_equal(list_pop(&all), &l[0].link);
    expect(&all, "bc");
    assert_ptr_equal(list_pop(&all), &l[1].link);
    assert_ptr_equal(list_pop(&all), &l[2].link);
    expect(&all, "");
}

static void test_remove(void **state)
{
    letter l[LETTERS];
    list_head all;
    (void)state;
    make_letters(l);
    list_start(&all);
    for (int i = 0; i < LETTERS; i++) {
        assert_false(list_is_linked(&l[i].link));
        list_push_back(&all, &l[i].link);
        assert_true(list_is_linked(&l[i].link));
    }
    list_remove(&l[2].link);
    assert_false(list_is_linked(&l[2].link));
    expect(&all, "abde");
    list_remove(&l[2].link); /* it is in none */
    list_remove(&l[0].link);
    list_remove(&l[4].link);
    expect(&all, "bd");
    list_push_front(&all, &l[2].link);
    expect(&all, "cbd");
}

/* Every subset goes, while somebody looks at each. */
static void test_remove_while_walking(void **state)
{
    (void)state;
    for (unsigned gone = 0; gone < 1U << LETTERS; gone++) {
        letter l[LETTERS];
        list_head all;
        char rest[LETTERS + 1] = "";
        int seen = 0, stay = 0;
        make_letters(l);
        list_start(&all);
        for (int i = 0; i < LETTERS; i++)
            list_push_back(&all, &l[i].link);
        LIST_EACH (at, &all) {
            assert_ptr_equal(at, &l[seen].link);
            if ((gone >> seen++ & 1) != 0)
                list_remove(at);
            else
                rest[stay++] = OWNER_OF(at, letter, link)->name;
        }
        assert_int_equal(seen, LETTERS);
        expect(&all, rest);
    }
}

static void test_move_all(void **state)
{
    letter l[LETTERS];
    list_head from, to;
    (void)state;
    make_letters(l);
    list_start(&from);
    list_start(&to);
    list_move_all(&from, &to);
    expect(&to, "");
    list_push_back(&from, &l[0].link);
    list_push_back(&from, &l[1].link);
    list_move_all(&from, &to);
    expect(&from, "");
    expect(&to, "ab");
    list_push_back(&from, &l[2].link);
    list_move_all(&from, &to);
    expect(&from, "");
    expect(&to, "abc");
    list_move_all(&from, &to);
    expect(&to, "abc");
    list_push_back(&from, &l[3].link);
    expect(&from, "d");
}

static void test_owner(void **state)
{
    letter l;
    (void)state;
    assert_ptr_equal(OWNER_OF(&l.link, letter, link), &l);
    assert_null(OWNER_OF(NULL, letter, link));
}

int main(void)
{
    suite s = {0};
    suite_add(&s, test_both_ends, NULL, "from both ends");
    suite_add(&s, test_remove, NULL, "from the middle, and what is in no list");
    suite_add(&s, test_remove_while_walking, NULL, "while somebody looks at each");
    suite_add(&s, test_move_all, NULL, "all of a list behind another");
    suite_add(&s, test_owner, NULL, "what a link lies in");
    return suite_run(&s, "list");
}
