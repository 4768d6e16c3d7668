"""The judge of recorded histories: it must find what is wrong, or the tests of clusters show
nothing."""

import pytest

ONE = ["try 0", "crit 0 10", "issue 0 1", "outcome 0 1 1", "exit 0", "rem 0"]
TWO = ["try 1", "crit 1 11", "issue 1 2", "outcome 1 2 2", "exit 1", "rem 1"]
TWO_ALONE = ["outcome 1 2 1" if event == "outcome 1 2 2" else event for event in TWO]
CASES = {  # exit code, words, and events of two users
    "two sections, one after the other": (
        0, "outcomes 2 ejected 0", [*ONE, *TWO, "count 0 2"]),
    "an operation that was acknowledged is gone": (
        1, "lost", [*ONE, *TWO, "count 0 1"]),
    "an operation that counted twice": (
        1, "nobody can have issued it", [*ONE, *TWO, "count 0 3"]),
    "two operations with one result": (
        1, "another operation's too", [*ONE, *TWO_ALONE, "count 0 2"]),
    "one token for two": (
        1, "token", [*ONE, "try 1", "crit 1 10", "exit 1", "rem 1", "count 0 1"]),
    "an operation under a token that was out of date": (
        1, "broken", [*TWO_ALONE, "try 0", "crit 0 10", "issue 0 1", "outcome 0 1 2", "exit 0",
                      "rem 0", "count 0 2"]),
    "one whose user was gone may be executed": (
        0, "outcomes 1", ["try 0", "crit 0 10", "issue 0 1", "gone 0", *TWO, "count 0 2"]),
    "but not after somebody else was inside": (
        1, "nobody can have issued it", [
            *TWO_ALONE, "try 0", "crit 0 10", "issue 0 1", "gone 0", "count 0 2"]),
    "one that was ejected must not be executed": (
        1, "nobody can have issued it", [
            "try 0", "crit 0 10", "issue 0 1", "ejected 0", *TWO, "count 0 2"]),
    "what is no history is refused": (2, "no such word", ["dance 0"]),
    "nor users that there are not": (2, "no such user", ["try 5"]),
}


@pytest.mark.parametrize("case", CASES)
def test_verdict(judge, case):
    """the judge"""
    code, words, events = CASES[case]
    got, said = judge((f"{at} {event}" for at, event in enumerate(events, 1)), users=2)
    assert got == code and words in said, said
