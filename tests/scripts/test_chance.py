"""Mutants by chance: what is proposed for a source, and that a seed always draws the same."""
import collections
import pathlib
import random

from mutation import rooms
from mutation.chance import KINDS, changes_of, in_random_order

SOURCE = """\
#include "a.h"
#define LIMIT(x) ((x) < 7)

static int count(const int *of, int n)
{
    assert(n == 9 && of != NULL);
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (of[i] > 0x1f || !of)
            continue;
        else if (of[i] != 1u)
            sum += of[i];
        (void)sum;
    }
    struct pair p = {.a = 3, .b = {true}};
    switch (sum) {
    case 5:
        call("7 == 8", (struct pair){.a = p.a});
    }
    return sum;
}

void nothing(void)
{
    call();
}
"""


def proposed(kind):
    path = pathlib.Path("src/x/a.c")
    changes = [c for c in changes_of(SOURCE, path) if c.kind == kind]
    return [(SOURCE[c.start : c.end], c.new, SOURCE.count("\n", 0, c.start) + 1) for c in changes]


def test_negated():
    assert proposed("negated") == [
        ("(of[i] > 0x1f || !of)", "(!(of[i] > 0x1f || !of))", 9),
        ("(of[i] != 1u)", "(!(of[i] != 1u))", 11),
        ("!=", "==", 11),
    ]


def test_bounds_and_connectives():
    assert proposed("bound") == [("<", "<=", 8), (">", ">=", 9)]
    assert proposed("connective") == [("||", "&&", 9)]


def test_constants():
    assert proposed("constant") == [
        ("0", "1", 7),
        ("0", "1", 8),
        ("0x1f", "0x1e", 9),
        ("0x1f", "0x20", 9),
        ("1u", "0u", 11),
        ("1u", "2u", 11),
        ("3", "2", 15),
        ("3", "4", 15),
        ("true", "false", 15),
        ("5", "4", 17),
        ("5", "6", 17),
    ]


def test_dropped():
    assert proposed("dropped") == [
        ("continue;", ";", 10),
        ("sum += of[i];", ";", 12),
        ('call("7 == 8", (struct pair){.a = p.a});', ";", 18),
        ("call();", ";", 25),
    ]


def test_early_return():
    lines = [(new, line) for _, new, line in proposed("early return")]
    assert lines == [("return 0; ", n) for n in (7, 8, 9, 13, 15, 16, 20)] + [("return; ", 25)]


def test_a_change_is_told_as_a_line():
    path = pathlib.Path("src/x/a.c")
    change = next(c for c in changes_of(SOURCE, path) if c.kind == "connective")
    assert change.told(SOURCE) == (
        "src/x/a.c:9: if (of[i] > 0x1f || !of)  ->  if (of[i] > 0x1f && !of)"
    )


def test_a_seed_draws_the_same():
    changes = changes_of(SOURCE, pathlib.Path("src/x/a.c"))
    first, again, other = (
        list(in_random_order(changes, random.Random(seed))) for seed in (1, 1, 2)
    )
    assert first == again and first != other
    assert sorted(first, key=str) == sorted(changes, key=str)
    kinds = collections.Counter(change.kind for change in first[:12])
    assert len(kinds) >= len(KINDS) - 2


def test_the_first_row_that_fits_counts():
    assert rooms.row_of(pathlib.Path("src/cli/top_scene.c")) == "cli/top* cli/text.c"
    assert rooms.row_of(pathlib.Path("src/cli/main.c")) == "cli"
    assert rooms.room_of(pathlib.Path("src/cli/main.c")) == "cli"
    quick, *_, slow = rooms.tests_of(pathlib.Path("src/client/line.c"))
    assert not quick.is_script and quick.programs == ("test_client_memory",)
    assert slow.is_script and slow.programs == ("baton", "client_live")
