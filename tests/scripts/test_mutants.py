"""Lists of mutants: what they mean, and what is wrong with bad ones; and building a mutant."""
import pathlib
import subprocess

import pytest

from mutation import Trouble, lists
from mutation.tokens import words_of
from mutation.workshop import Workshop

SOURCE = """\
int first(int *a)
{
    a[0] = 1; /* one */
    if (a[1] == 2 &&
        a[2] == 3)
        return 4;
    return 5;
}

int second(int *a)
{
    a[0] = 1;
    return 5;
}
"""
HEAD = "mutant m\nwhy: because\ncatch: test_x\n"


def parsed(text):
    return list(lists.parse(text, pathlib.Path("x.mutants"), pathlib.Path("src/x.c")))


def mutated(edits):
    (entry,) = parsed(HEAD + edits)
    return lists.apply(entry, SOURCE)


def complaint(call, *arguments):
    with pytest.raises(Trouble) as caught:
        call(*arguments)
    return str(caught.value)


# ---- reading ----


def test_a_list_is_read():
    first, second = parsed(
        "# a remark\n\nmutant a-1\nwhy: a reason: this\ncatch: test_x\ncatch: baton-sim wme -n 2\n"
        "- old\n+ new\n@@\n  here\n+ more\n\n\n# another\nmutant b\nwhy: w\ncatch: c\n- x\n"
    )
    assert (first.name, first.line, first.why) == ("a-1", 3, "a reason: this")
    assert first.checks == ["test_x", "baton-sim wme -n 2"]
    assert first.edits == [[("-", " old"), ("+", " new")], [(" ", " here"), ("+", " more")]]
    assert (second.name, second.line) == ("b", 15)


@pytest.mark.parametrize(
    "text, words",
    [
        ("what is this\n", "x.mutants:1: a mutant begins with"),
        ("mutant two words\n", "a mutant begins with"),
        ("mutant m\ncatch: test_x\n- a\n", "x.mutants:1: m does not say why"),
        ("mutant m\nwhy: w\n- a\n", "does not say what must catch it"),
        (HEAD + "why: twice\n- a\n", "has a line that is no"),
        (HEAD + "catch:\n- a\n", "has a line that is no"),
        (HEAD + "old line\n", "has a line that is no"),
        (HEAD, "has an edit without lines that begin with - or +"),
        (HEAD + "- a\n@@\n", "has an edit without lines that begin with - or +"),
        (HEAD + "  a\n", "has an edit without lines that begin with - or +"),
        (HEAD + "+ a\n", "has an edit that only adds"),
        (HEAD + "- /* words */\n", "has an edit that only adds"),
    ],
)
def test_a_bad_list_is_refused(text, words):
    assert words in complaint(parsed, text)


def test_a_list_without_its_source_is_refused():
    path = lists.LISTS / "no/such.mutants"
    assert "there is no src/no/such.c; move the list" in complaint(lists.source_of, path, lists.TREE)


def test_a_list_may_be_about_a_model_of_the_simulator():
    path = lists.LISTS / "sim/printed.mutants"
    assert str(lists.source_of(path, lists.TREE)) == "sim/printed.c"


def test_two_of_one_name_are_refused():
    entries = parsed(HEAD + "- a\n\n" + HEAD + "- b\n")
    assert "x.mutants:6: m has the name of another" in complaint(lists.require_names, entries)


# ---- applying ----


def test_a_line_is_replaced():
    assert mutated("- return 4;\n+ return 6;\n") == SOURCE.replace("return 4", "return 6")


def test_a_line_is_removed():
    assert mutated("- return 4;\n") == SOURCE.replace("return 4;", "")


def test_part_of_a_line_is_enough():
    assert mutated("- a[1] == 2\n+ a[1] == 9\n") == SOURCE.replace("a[1] == 2", "a[1] == 9")


def test_line_breaks_and_comments_do_not_count():
    text = mutated("- if (a[1] == 2 && a[2] == 3) /* what? */\n+ if (0)\n")
    assert words_of(text) == words_of(SOURCE.replace("a[1] == 2 &&\n        a[2] == 3", "0"))


def test_a_line_that_stays_says_where():
    text = mutated("- a[0] = 1;\n  return 5;\n")
    assert text.count("a[0] = 1;") == 1 and text.index("a[0] = 1;") < text.index("second")


def test_a_line_is_added_before_and_behind():
    assert "return 4;\na[3] = 7;\n" in mutated("  return 4;\n+ a[3] = 7;\n")
    assert "a[3] = 7;\nreturn 4;\n" in mutated("+ a[3] = 7;\n  return 4;\n")


def test_edits_in_any_order():
    text = mutated("- return 4;\n+ return 8;\n@@\n- a[1] == 2\n+ a[1] == 9\n")
    assert text == SOURCE.replace("return 4", "return 8").replace("a[1] == 2", "a[1] == 9")


@pytest.mark.parametrize(
    "edits, words",
    [
        ("- return 7;\n", "src/x.c has 'return 7;' nowhere, not once"),
        ("- a[0] = 1;\n", "has 'a[0] = 1;' 2 times, not once"),
        ("- return 45;\n", "nowhere"),
        ("- return 4;\n+ return   4; /* same */\n", "changes nothing"),
        ("- return 4;\n  return 5;\n@@\n- if (a[1] == 2 && a[2] == 3) return 4;\n", "overlap"),
    ],
)
def test_what_does_not_apply_is_refused(edits, words):
    assert words in complaint(mutated, edits)


def test_operators_are_whole_tokens():
    assert "nowhere" in complaint(mutated, "- a[1] =\n+ a[9] =\n")
    assert words_of("a->b>>=1") == ["a", "->", "b", ">>=", "1"]


# ---- the lists of this tree ----


def test_the_lists_of_this_tree_apply():
    entries = lists.read_lists()
    assert len(entries) > 300
    for entry in entries:
        lists.apply(entry, (lists.TREE / entry.source).read_text())


# ---- building ----

MESON = """
project('x', 'c', default_options: ['werror=true', 'warning_level=2'])
room = static_library('room', 'src/answer.c', 'src/other.c')
executable('tell', 'tell.c', link_with: room)
executable('alone', 'alone.c')
"""
FILES = {
    "meson.build": MESON,
    "tell.c": "int answer(void);\nint main(void)\n{\n    return answer();\n}\n",
    "alone.c": "int main(void)\n{\n    return 0;\n}\n",
    "src/answer.h": "#define ANSWER 42\n",
    "src/answer.c": '#include "answer.h"\nint answer(void);\nint answer(void)\n'
    "{\n    return ANSWER;\n}\n",
    "src/other.c": "int other(void);\nint other(void)\n{\n    return 0;\n}\n",
}


@pytest.fixture(name="workshop")
def a_workshop(tmp_path):
    tree = tmp_path / "original"
    for name, text in FILES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    (tmp_path / "scratch").mkdir()
    return Workshop(tmp_path / "scratch", ["tell"], tree)


def test_a_mutant_in_a_library_gets_into_the_program(workshop):
    # A variable that is not used: a warning, and so an error but in a mutant.
    text = FILES["src/answer.c"].replace("return ANSWER", "int unused; return ANSWER + 1")
    programs = workshop.make(pathlib.Path("src/answer.c"), text, ["tell"])
    assert subprocess.run([programs / "tell"], check=False).returncode == 43
    assert subprocess.run([workshop.build / "tell"], check=False).returncode == 42
    assert sorted(path.name for path in (workshop.tree / "src").iterdir()) == [
        "answer.c",
        "answer.h",
        "other.c",
    ]


def test_a_mutant_that_is_not_in_the_program_is_refused(workshop):
    make = workshop.make
    assert "is not in alone" in complaint(make, pathlib.Path("src/answer.c"), "", ["alone"])
    assert "0 programs called nobody" in complaint(make, pathlib.Path("src/answer.c"), "", ["nobody"])
    assert not list(workshop.build.glob("mutant.*"))


def test_a_mutant_that_does_not_compile_is_refused(workshop):
    assert "error" in complaint(workshop.make, pathlib.Path("src/answer.c"), "int (", ["tell"])
