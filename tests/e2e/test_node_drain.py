"""Nodes that end in order: what they hand over, who may finish, and rolling restarts."""

import signal

import pytest

from world import metrics, page, refused, wait_for
from world.counter import count_during, final_counts
from world.locks import issue

need_majority = pytest.mark.nodes(least=3, because="a majority must remain while a node is away")


@pytest.fixture(scope="module", name="shared")
def _shared(sized_world, count):
    """A cluster of so many nodes, with pages."""
    cluster = sized_world.cluster(count, "--http", "0")
    cluster.wait_until_well()
    return cluster


@need_majority
def test_tokens_go_to_others(shared):
    """drain: tokens go to others, so nobody misses the node"""
    node = shared.nodes[0]
    issue(node, "handed", "INCR", "n")
    assert node.lock("handed")["state"] == "token"
    assert node.stop() == 0
    assert "event=drained complete=1" in node.text()
    heir, = [n for n in shared.but(node) if n.lock("handed")["state"] == "token"]
    before = heir.lock("handed")
    issue(heir, "handed", "INCR", "n")
    after = heir.lock("handed")
    assert after["epoch"] == before["epoch"] and after["executed"] == before["executed"] + 1
    node.start()
    shared.wait_until_well()


def test_holder_may_finish(shared, connect):
    """drain: who holds may finish; who waits, or wants more, is sent away"""
    node = shared.nodes[0]
    drained = node.text().count("event=drained complete=1")
    holder, waiter, idle = connect(node), connect(node), connect(node)
    token = holder("LOCK", "kept", 5000)
    waiter.send("LOCK", "kept", 0)
    wait_for(lambda: node.lock("kept")["waiting"] == 1)
    node.send(signal.SIGTERM)
    for client in (waiter, idle):
        with pytest.raises((EOFError, ConnectionError)):
            client.reply()
    refused(holder, "DRAINING", "LOCK", "another", 0)
    assert holder("ISSUE", "kept", token, "SET", "k", "v") is not None
    assert page(node, "health")[0] == 503
    assert holder("EXIT", "kept", token) == 1
    assert node.wait() == 0
    assert node.text().count("event=drained complete=1") == drained + 1
    if len(shared.nodes) >= 3:
        assert connect(shared.nodes[1])("LOCK", "kept", 5000) > token
    node.start()
    shared.wait_until_well()


def test_drain_has_an_end(shared, connect):
    """drain: it has an end, and a second signal does not wait for that"""
    node = shared.nodes[-1]
    assert connect(node)("LOCK", "long", 5000) > 0
    assert node.stop() == 0 and "event=drained complete=0" in node.text()
    node.command += ["--drain", "3600000"]
    node.start()
    shared.wait_until_well()
    ending = node.text().count("event=ending")
    assert connect(node)("LOCK", "long", 10000) > 0
    node.send(signal.SIGTERM)
    wait_for(lambda: node.text().count("event=ending") == ending + 1)
    assert node.stop() == 0
    del node.command[-2:]
    node.start()
    shared.wait_until_well()


def restart_all_twice(cluster):
    """One after the other; each when all are well."""
    for node in [*reversed(cluster.nodes)] * 2:
        assert node.restart() == 0
        cluster.wait_until_well()


@need_majority
def test_rolling_restart_under_load(shared):
    """rolling restart under load: no operation fails"""
    before = 0
    # On a busy machine nodes may be suspected, and sections ejected, for no fault of the drain.
    for _ in range(3):
        tally = count_during(shared, lambda: restart_all_twice(shared))
        count, = set(final_counts(shared))
        assert sorted(tally.answers) == list(range(before + 1, count + 1)) != [] or tally.unknown
        print(f"{2 * len(shared.nodes)} restarts, {count - before} operations,"
              f" {tally.ejected} ejected, {tally.unknown} unknown")
        before = count
        if tally.ejected == tally.unknown == 0:
            return
    raise AssertionError("each time something failed")


def test_suspects_nobody_in_the_end(shared):
    """after all this all are well, and end at the same time"""
    assert all(metrics(node)["baton_node_peers_suspected"] == 0 for node in shared.nodes)
    assert shared.stop() == [0] * len(shared.nodes)
