"""Histories that the simulator writes: another checker reads them, and finds what is wrong."""

import json

import pytest
from world import BUILD
from world.jepsen import complaints


@pytest.fixture(name="written")
def _written(world):
    """Runs the simulator; the lines of the history."""
    def write(*words, code=0):
        file = world.path("history.jsonl")
        done = world.run(BUILD / "baton-sim", *words, "--history", file)
        assert done.returncode == code, done.stdout + done.stderr
        with open(file, encoding="utf-8") as lines:
            return lines.read().splitlines()

    return write


def events_of(lines):
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("seed", range(1, 21))
def test_lists_are_right(written, seed):
    """wme: users see one list"""
    lines = written("wme", "--seed", seed)
    assert complaints(lines) == []
    assert any('"ok"' in line for line in lines)


@pytest.mark.parametrize("seed", range(1, 11))
def test_counters_are_right(written, seed):
    """node: clients see one counter"""
    assert complaints(written("node", "--seed", seed, "--locks", 1)) == []


def test_all_fates_are_there(written):
    """wme: operations that were executed, were not, and may have been"""
    types = set()
    for seed in range(1, 101):
        types |= {event["type"] for event in events_of(written("wme", "--seed", seed))}
        if types == {"invoke", "ok", "fail", "info"}:
            return
    assert types == {"invoke", "ok", "fail", "info"}


def test_one_run_only(world):
    """a history is of one run, and goes with nothing else"""
    done = world.run(BUILD / "baton-sim", "wme", "--history", world.path("h"), "--replay")
    assert done.returncode == 64
    done = world.run(BUILD / "baton-sim", "wme", "--history", "/no/such/place")
    assert done.returncode == 74 and "/no/such/place" in done.stderr


# ---- histories made wrong ----


def complaints_of(events):
    return " ".join(complaints(json.dumps(event) for event in events))


def lose_an_element(events):
    """The replicas have forgotten what was acknowledged."""
    for event in events[-2:]:
        if event["type"] == "ok":
            del event["value"][0][2][3]
    return "which was not|appended before"


def swap_two_elements(events):
    seen = events[-1]["value"][0][2]
    seen[2], seen[3] = seen[3], seen[2]
    return "another order"


def execute_twice(events):
    seen = events[-1]["value"][0][2]
    seen.append(seen[0])
    return "twice"


def read_what_failed(events):
    last = next(e for e in reversed(events) if e["type"] == "ok" and len(e["value"]) == 2)
    last["type"] = "fail"
    return "which was not appended"


def read_an_old_state(events):
    events[-1]["value"][0][2] = []
    return "reads less than"


def go_on_after_info(events):
    first = next(e for e in events if e["type"] == "ok")
    first["type"] = "info"
    return "has not ended, or is gone"


WRONG = [lose_an_element, swap_two_elements, execute_twice, read_what_failed, read_an_old_state,
         go_on_after_info]


@pytest.mark.parametrize("make_wrong", WRONG, ids=lambda f: f.__name__)
def test_a_wrong_history_is_found(written, make_wrong):
    """wme: a history that was made wrong"""
    events = events_of(written("wme", "--seed", 1, "--faults", "none"))
    assert complaints_of(events) == ""
    words = make_wrong(events)
    assert any(word in complaints_of(events) for word in words.split("|"))


def test_a_wrong_counter_is_found(written):
    """node: a history that was made wrong"""
    events = events_of(written("node", "--seed", 6, "--locks", 1, "--faults", "none"))
    assert complaints_of(events) == ""
    events[-1]["value"] -= 1
    assert "reads" in complaints_of(events)
