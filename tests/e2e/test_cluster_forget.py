"""Nodes that lose what they knew: directories that are emptied, and data kept in memory only."""

import pytest

from world import Client, Failure, page, refused, wait_for
from world.load import Load
from world.locks import issue

NAMES = [f"shop/{i:02}" for i in range(60)]  # more than are told at once
LOST = ("a majority of the nodes has lost what it knew; empty the data directories of all to begin"
        " anew, tokens too")
SAMPLE = (3, 5)
pytestmark = pytest.mark.nodes(least=3, because="who forgets needs a majority that does not")


@pytest.fixture(scope="module", name="shared")
def _shared(sized_world, count):
    """A cluster that nobody has started yet; it ends as the last test leaves it."""
    return sized_world.cluster(count, "--http", "0", start=False)


@pytest.fixture(scope="module", name="expected")
def _expected(count):
    """What all nodes should have: of each lock, the value of its key n."""
    assert count > 0
    return {name: name.encode() for name in NAMES}


@pytest.fixture(scope="module", name="in_memory")
def _in_memory(sized_world, count):
    return sized_world.cluster(count, "--http", "0", "--durability", "memory")


def names_of(nodes):
    return ", ".join(node.id for node in nodes)


def those_up(cluster):
    return [node for node in cluster.status()[1] if node["up"]]


def all_say(cluster, words, count):
    """Whether so many run, and all of them say just that."""
    up = those_up(cluster)
    return len(up) == count and all(node["why"] == words for node in up)


def empty(*nodes):
    for node in nodes:
        node.kill()
        node.empty()


def has_all(node, values):
    """Whether that node's own copy has these, and can be read."""
    with Client(node, version=2) as client:
        try:
            return all(client("READ", name, "n")[0] == value for name, value in values.items())
        except Failure as failure:
            assert str(failure).startswith("NOTREADY this node is new"), failure
            return False


def test_first_start_waits_for_all(shared, connect):
    """the first time: a node waits until it has heard from all, and says for whom"""
    first, last = shared.nodes[0], shared.nodes[-1]
    first.start()
    words = f"this node is new and has not heard from {names_of(shared.nodes[1:])} yet"
    wait_for(lambda: all_say(shared, words, 1))
    most = shared.but(last)
    for node in most[1:]:
        node.start()
    words = f"this node is new and has not heard from {last.id} yet"
    wait_for(lambda: all_say(shared, words, len(most)))
    for node in most:
        assert page(node, "health") == (503, words + "\n")
        assert refused(connect(node), "NOTREADY", "LOCK", "l", 100) == "NOTREADY " + words
        refused(connect(node), "NOTREADY", "TRY", "l")
        refused(connect(node), "NOTREADY", "READ", "l", "n")
        wait_for(lambda node=node: f'event=waits why="{words}"' in node.text())
    run = shared.world.baton("run", "l", "--at", first.path, "--", "true")
    assert run.returncode == 69 and "temporarily unavailable" in run.stderr, run
    last.start()
    shared.wait_until_well()
    assert page(first, "health") == (200, "ok\n")


def test_emptied_node_rejoins(shared, expected):
    """a directory that was emptied: the node rejoins, and has all again"""
    first, last = shared.nodes[0], shared.nodes[-1]
    for name, value in expected.items():
        assert issue(first, name, "SET", "n", value) == "OK"
    empty(last)
    last.start()
    shared.wait_until_well()
    assert "was=new is=forgetful" in last.text() and "was=forgetful is=settled" in last.text()
    wait_for(lambda: has_all(last, expected))


def test_rejoined_node_counts(shared, expected):
    """and counts: with it and a bare majority nothing is missing"""
    last = shared.nodes[-1]
    absent = shared.nodes[1:1 + len(shared.nodes) - shared.majority]
    for node in absent:
        node.kill()
    for name, value in expected.items():
        assert issue(last, name, "GET", "n") == value
    for name in NAMES[::7]:
        expected[name] = b"without b"
        assert issue(last, name, "SET", "n", "without b") == "OK"
    for node in absent:
        node.start()
    shared.wait_until_well()
    for node in absent:
        wait_for(lambda node=node: has_all(node, expected))


def test_others_in_their_turn(shared, expected):
    """the others in their turn; one is killed while it rejoins"""
    for node in shared.nodes[:-1]:
        before = len(node.text())
        empty(node)
        node.start()
        wait_for(lambda node=node, at=before: "is=forgetful" in node.text()[at:])
        node.kill()
        node.start()
        shared.wait_until_well()
        wait_for(lambda node=node: has_all(node, expected))
    for node in shared.nodes:
        assert issue(node, "new since " + node.id, "INCR", "n") == 1


def test_emptied_while_another_restarts(shared, expected):
    """a node that was emptied and one that is restarted at the same time"""
    a, b = shared.some(2)
    empty(a)
    b.kill()
    a.start()
    words = f"this node has lost what it knew, and has not heard from {b.id} yet"
    wait_for(lambda: shared.status()[1][0].get("why") == words)
    assert page(a, "health") == (503, words + "\n")
    b.start()
    shared.wait_until_well()
    wait_for(lambda: has_all(a, expected))


def test_majority_is_emptied(shared, expected, connect):
    """a majority is emptied: nothing is let in, nothing is invented, and what is left can be
    read"""
    emptied = shared.nodes[:shared.majority]
    empty(*emptied)
    for node in emptied:
        node.start()
    wait_for(lambda: all_say(shared, LOST, len(shared.nodes)))
    for node in shared.nodes:
        assert page(node, "health") == (503, LOST + "\n")
        answer = refused(connect(node), "NOTREADY", "LOCK", NAMES[0], 100)
        assert answer == "NOTREADY " + LOST
    assert all(has_all(node, expected) for node in shared.but(*emptied))
    assert not any(has_all(node, expected) for node in emptied)


def test_all_are_emptied(shared):
    """all of them: a new cluster"""
    empty(*shared.nodes)
    for node in shared.nodes:
        node.start()
    shared.wait_until_well()
    assert issue(shared.nodes[0], NAMES[0], "GET", "n") is None
    empty(*shared.nodes)


def test_in_memory_killed_in_turn(in_memory):
    """in memory: each is killed in its turn, while clients work"""
    in_memory.wait_until_well()
    load = Load(in_memory, 7)
    for _ in range(2):
        for node in in_memory.nodes:
            node.kill()
            node.start()
            in_memory.wait_until_well()
    verdict = load.finish()
    print(verdict.figures())
    verdict.check_all()
    assert issue(in_memory.nodes[0], "new at last", "INCR", "n") == 1


def test_in_memory_all_killed(in_memory, connect):
    """in memory: all at once, and that is said"""
    for node in in_memory.nodes:
        node.kill()
    for node in in_memory.nodes:
        node.start()
    wait_for(lambda: all_say(in_memory, LOST, len(in_memory.nodes)))
    refused(connect(in_memory.nodes[1]), "NOTREADY", "LOCK", "one", 100)


def test_directory_keeps_its_durability(in_memory):
    """a directory stays what it was made for"""
    node = in_memory.nodes[0]
    node.kill()
    done = in_memory.world.run(*node.command, "--durability", "disk")
    words = "was made for durability memory, not disk"
    assert done.returncode == 1 and words in done.stderr, done.stderr
