"""The checks of scripts/tidy: bad samples that each must complain about, good ones that pass."""
import pytest

from tidying import Tree, buffering, files, mutants, sources
from tidying.declarations import declared


@pytest.fixture(name="tree")
def a_tree(tmp_path):
    """Makes a tree of files, given as path -> text."""

    def make(texts):
        for name, text in texts.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return Tree(tmp_path, texts)

    return make


def told(check, tree):
    return [str(complaint) for complaint in check(tree)]


# ---- files ----


@pytest.mark.parametrize("name", ["src/a.c.orig", "a.rej", "docs/b.md~", ".a.swp", "x/.#a", "fix.patch"])
def test_stray_files(tree, name):
    (complaint,) = told(files.check_stray_files, tree({name: "", "src/a.c": "", "Makefile": ""}))
    assert complaint.startswith(f"{name}:1: looks like")


LONG = "word " * 20 + "more"  # 104 columns


def test_a_long_line_of_a_document(tree):
    document = f"short\n{LONG}\n- {LONG}\n"
    assert told(files.check_documents, tree({"docs/x.md": document, "docs/man/x.1.scd": LONG})) == [
        "docs/man/x.1.scd:1: 104 columns; fold the line before column 100",
        "docs/x.md:2: 104 columns; fold the line before column 100",
        "docs/x.md:3: 106 columns; fold the line before column 100",
    ]


def test_a_long_paragraph_in_a_list_is_no_code(tree):
    document = f"- item\n\n    {LONG}\n"
    assert len(told(files.check_documents, tree({"x.md": document}))) == 1


@pytest.mark.parametrize(
    "document",
    [
        "x" * 100,
        f"| {LONG} | a cell |",
        f"```\n{LONG}\n```",
        f"text\n\n    {LONG}\n    {LONG}\n\ntext",
        "- https://example.org/" + "x" * 100,
    ],
)
def test_lines_that_cannot_be_folded(tree, document):
    assert not told(files.check_documents, tree({"x.md": document + "\n"}))


def test_a_line_is_folded_before_a_long_address(tree):
    document = "see https://example.org/" + "x" * 100
    assert len(told(files.check_documents, tree({"x.md": document}))) == 1


def test_commands_of_a_manual_are_not_folded(tree):
    document = f"\t$ {LONG}\n{LONG}++\n```\n{LONG}\n```\n[- {LONG}\n:- {LONG}\n|  {LONG}\n"
    assert not told(files.check_documents, tree({"docs/man/x.1.scd": document}))


# ---- includes ----

GOOD = """\
#include "a.h"
#include "baton/lock.h"
#include "room.h"

#include <stdio.h>
#include <string.h>
#ifdef X
#include <errno.h>
#endif
"""


def test_includes_in_order(tree):
    assert not told(sources.check_includes, tree({"src/x/a.c": GOOD}))


@pytest.mark.parametrize(
    "text, complaint",
    [
        ('#include "b.h"\n#include "a.h"\n', '2: include "a.h" before all others, it is its own'),
        ('#include "c.h"\n#include "b.h"\n', "2: include b.h before c.h"),
        ("#include <time.h>\n#include <stdio.h>\n", "2: include stdio.h before time.h"),
        ('#include <time.h>\n\n#include "b.h"\n', '3: include "b.h" before the headers in <>'),
        ('#include "../b.h"\n', '1: include "../b.h" by a path of the build, without ../'),
        ('#include "x/../b.h"\n', '1: include "x/../b.h" by a path of the build, without ../'),
    ],
)
def test_includes_out_of_order(tree, text, complaint):
    assert told(sources.check_includes, tree({"src/x/a.c": text})) == [f"src/x/a.c:{complaint}"]


# ---- functions ----


def function_of(lines, name="f"):
    """A function of that many lines, from its name to its }."""
    return f"int {name}(int a)\n{{\n" + "    a++;\n" * (lines - 4) + "    return a;\n}\n"


def test_a_long_function(tree):
    text = "/* { */\n#define X {\n" + function_of(70) + "\nstruct s {\n    int x;\n};\n\n" + function_of(71, "g")
    assert told(sources.check_functions, tree({"src/a.c": text})) == [
        "src/a.c:78: g has 71 lines; split it, 70 are enough"
    ]


# ---- declarations ----

HEADER = """\
#ifndef BATON_X_H
#define BATON_X_H
#define take baton_take
#define again again_and_again
#define acquire memory_order_acquire
#ifdef __cplusplus
extern "C" {
#endif
typedef struct lock lock;
typedef struct baton_node {
    int field;
    int (*call)(int);
} baton_node;
typedef int (*call_me)(int a, int b);
enum { BATON_A = 1 + (2), B, C = sizeof(int) };
enum colour { BATON_RED };
struct tag {
    int x;
};
struct baton_forward;
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);
BATON_API int baton_fine(struct other *a);
static inline int helper(void)
{
    int local = 1;
    return local;
}
extern const int table[3];
_Static_assert(sizeof(int) == 4, "x");
#ifdef __cplusplus
}
#endif
#endif
"""


def test_public_names_need_the_prefix(tree):
    tree = tree({"include/baton/x.h": HEADER, "src/x.h": "int anything(void);\n"})
    assert sorted(told(sources.check_public_names, tree), key=lambda c: int(c.split(":")[1])) == [
        f"include/baton/x.h:{where} is public; let its name begin with baton_"
        for where in [
            "4: the macro again",
            "9: the type lock",
            "14: the type call_me",
            "15: the constant B",
            "15: the constant C",
            "16: the type colour",
            "17: the type tag",
            "21: the function complain",
            "23: the function helper",
            "28: the variable table",
        ]
    ]


def test_what_a_header_declares():
    names = {(item.name, item.kind) for item in declared(HEADER)}
    assert ("baton_node", "type") in names and ("baton_fine", "function") in names
    assert ("baton_forward", "type") in names and ("BATON_RED", "constant") in names
    assert not {"field", "local", "other", "x"} & {name for name, _ in names}


def test_dead_declarations(tree):
    header = (
        "int used(void);\nint own(void);\nint nobodys(void);\nstatic inline int small(void)\n{\n"
        "    return 1;\n}\nint by_macro(void);\n#define call() by_macro()\n"
    )
    texts = {
        "src/a/a.h": header,
        "src/a/a.c": "int used(void)\n{\n    return own() + small();\n}\nint by_macro(void);\n",
        "src/b/b.c": "int b(void)\n{\n    return used();\n}\n",
    }
    assert told(sources.check_dead_declarations, tree(texts)) == [
        "src/a/a.h:2: only src/a/a.c uses own; make it static there",
        "src/a/a.h:3: nobody uses nobodys; delete it",
    ]


# ---- mutants ----

SOURCE = "int f(void)\n{\n    return 4;\n}\n"


def list_of(name, edit):
    return f"mutant {name}\nwhy: w\ncatch: test_x\n{edit}\n\n"


def test_mutants_that_do_not_apply(tree):
    texts = {
        "src/a/x.c": SOURCE,
        "src/a/y.c": SOURCE,
        "tests/mutants/a/x.mutants": list_of("one", "- return 4;") + list_of("two", "- return 5;"),
        "tests/mutants/a/y.mutants": list_of("one", "- return 4;\n+ return 5;"),
        "tests/mutants/a/z.mutants": list_of("three", "- return 4;"),
        "tests/mutants/a/w.mutants": "nonsense\n",
        "src/a/w.c": SOURCE,
    }
    assert told(mutants.check_lists, tree(texts)) == [
        "tests/mutants/a/w.mutants:1: a mutant begins with a line 'mutant NAME', not: nonsense",
        "tests/mutants/a/z.mutants:1: there is no src/a/z.c; move the list to where its source went",
        "tests/mutants/a/x.mutants:6: two does not apply: src/a/x.c has 'return 5;' nowhere, not once",
        "tests/mutants/a/y.mutants:1: one has the name of another, in tests/mutants/a/x.mutants;"
        " rename one",
    ]


def test_a_source_without_tests(tree):
    assert told(mutants.check_rooms, tree({"src/nowhere/a.c": "", "src/lock/dt1.c": ""})) == [
        "src/nowhere/a.c:1: no row is for src/nowhere/a.c: add one to TESTS of"
        " scripts/mutation/rooms.py"
    ]


def test_a_room_whose_script_is_gone(tree):
    (complaint,) = told(mutants.check_rooms, tree({"src/client/a.c": "", "src/client/b.c": ""}))
    assert "there is no tests/e2e/with_scratch.sh client_live baton: correct TESTS" in complaint


def test_what_justified_says_must_fit(tree):
    rooms = "reg lock collect wdme wme consensus replica"
    texts = {f"src/{room}/.keep": "" for room in rooms.split()}
    texts["src/lock/tas.c"] = "void f(lock *l)\n{\n    reg_write(&l->taken, 0, release);\n}\n"
    line = "tas.c:f reg_write(&l->taken, 0, release):release->relaxed: reason\n"
    texts["tests/mutants/justified.txt"] = "# remark\n" + line
    assert not told(mutants.check_justified, tree(texts))
    texts["tests/mutants/justified.txt"] = line.replace("taken", "gone")
    (complaint,) = told(mutants.check_justified, tree(texts))
    assert "justified.txt: fits 0 mutants instead of one" in complaint


# ---- load buffering ----

READS = """\
void enter(lock *l)
{
    while (reg_swap(&l->taken, 1, acquire) != 0)
        reg_await(reg_read(&l->taken, relaxed) == 0);
}

void leave(lock *l)
{
    expect(reg_read(&l->taken, relaxed) == 1, "words");
    if (reg_cas(&l->tail, 1, 0, release))
        return;
    reg_fence(seq_cst);
    reg_read(&l->next, acquire); /* reg_read(&l->next, relaxed) */
    reg_write(&l->taken, 0, relaxed);
}
"""
LOOK = "tas.c | `reg_read(&l->taken, relaxed)`"
CAS = "tas.c | `reg_cas(&l->tail, 1, 0, release)`"


@pytest.mark.parametrize(
    "rows, complaints",
    [
        ([f"{LOOK} | again | why", f"{CAS} | fence | why"], []),
        ([f"{LOOK} | argued | why", f"{CAS} | argued | why"], []),
        (
            [f"{LOOK} | again | why"],
            [
                "src/lock/tas.c:10: reg_cas(&l->tail, 1, 0, release) does not acquire; say in"
                " docs/check.md why that is harmless"
            ],
        ),
        (
            [f"{LOOK} | fence | why", f"{CAS} | again | why"],
            [
                "docs/check.md:3: 'fence' is no reason for src/lock/tas.c:4,"
                " reg_read(&l->taken, relaxed)",
                "docs/check.md:4: 'again' is no reason for src/lock/tas.c:10,"
                " reg_cas(&l->tail, 1, 0, release)",
            ],
        ),
        (
            [f"{LOOK} | argued |", f"{CAS} | fence | why", "tas.c | `reg_read(&gone, relaxed)` | again | w"],
            [
                "docs/check.md:3: 'argued' is no reason for src/lock/tas.c:4,"
                " reg_read(&l->taken, relaxed)",
                "docs/check.md:5: src/lock/tas.c has no reg_read(&gone, relaxed) any more",
            ],
        ),
    ],
)
def test_reads_that_do_not_acquire(tree, rows, complaints):
    table = "\n".join([buffering.HEAD, "|---|---|---|---|", *(f"| {row} |" for row in rows), ""])
    texts = {"src/lock/tas.c": READS, "docs/check.md": table, "src/lock/set.c": READS}
    assert told(buffering.check_load_buffering, tree(texts)) == complaints
