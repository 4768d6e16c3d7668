"""What somebody who looks after a cluster sees: `baton status`, metrics and health."""

import re
import threading

import pytest

from world import ids, metrics, page, wait_for
from world.locks import issue


@pytest.fixture(scope="module", name="shared")
def _shared(sized_world, count):
    """A cluster of so many nodes, with pages."""
    cluster = sized_world.cluster(count, "--http", "0")
    cluster.wait_until_well()
    return cluster


def use(node, lock, times=1):
    """Adds to a counter under that lock, so often."""
    for _ in range(times):
        issue(node, lock, "INCR", "n")


def status(world, nodes, *options):
    """Exit code and text."""
    done = world.baton("status", "--at", ",".join(node.path for node in nodes), *options)
    return done.returncode, done.stdout


def test_all_is_well(shared, count):
    """status: all is well"""
    a, b = shared.some(2)
    use(a, "l", 3)
    use(b, "l", 2)
    wait_for(lambda: all(n["lag"] == 0 and n["operations"] == 5 for n in shared.status()[1]))
    code, nodes = shared.status()
    names = list(ids(count))
    assert code == 0
    assert [n["node"] for n in nodes] == names
    assert all(n["nodes"] == names and n["suspected"] == [] for n in nodes)
    assert sorted(nodes[-1]["reached"]) == names[:-1]
    for node in shared.nodes:
        lock, = node.status("listed")
        assert lock["name"] == "l" and lock["executed"] == 5 and lock["owner"] == b.id, lock
        assert lock["state"] == ("token" if node is b else "idle"), lock


def test_who_holds_and_who_waits(shared, connect):
    """status: who holds and who waits, and where"""
    here, there = shared.nodes[0], shared.nodes[-1]
    holder, waiter = connect(here), connect(there)
    name = "odd\r\n\x1b name"
    token = holder("LOCK", name, 5000)
    waiter.send("LOCK", name, 5000)

    def seen():
        rows = [node.lock("odd??? name") for node in shared.nodes]
        return (all(rows) and [row["held"] for row in rows] == [n is here for n in shared.nodes]
                and [row["waiting"] for row in rows] == [int(n is there) for n in shared.nodes])

    wait_for(seen)
    code, text = status(shared.world, shared.nodes, "--locks")
    assert code == 0 and "odd??? name" in text and "\x1b" not in text
    holder("EXIT", name, token)
    assert waiter.reply() > token


@pytest.mark.nodes(least=3, because="without one of two there is no majority")
def test_dead_node(shared):
    """status: a node is dead"""
    a, b, c = shared.nodes[0], shared.nodes[1], shared.nodes[-1]
    c.kill()
    code, text = status(shared.world, shared.nodes)
    assert code == 1 and "down" in text
    wait_for(lambda: status(shared.world, [a, b])[1].split("\n")[1].split()[4] == c.id)
    assert status(shared.world, [a])[0] == 1
    assert status(shared.world, [c])[0] == 69
    wait_for(lambda: a.status("reached") == [n.id for n in shared.but(a, c)])
    assert metrics(a)["baton_node_peers_reached"] == len(shared.nodes) - 2
    use(a, "l")
    c.start()
    shared.wait_until_well()


def test_wrong_usage(world, server):
    """status: wrong usage, and somebody who is no node"""
    for words in ([], ["--at", ""], ["--at", "a,,b"], ["--at", "x", "y"],
                  ["--at", ",".join(["x:1"] * 17)]):
        done = world.baton("status", *words)
        assert done.returncode == 64 and "--help" in done.stderr, words
    assert status(world, [server()])[0] == 69


def test_long_list_has_an_end(world, node, connect):
    """status: a long list has an end"""
    alone = node("z").start()
    wait_for(alone.ready)
    client = connect(alone)
    for i in range(1005):
        client("TRY", f"many{i}")
    report = alone.status()
    assert report["locks"] >= 1005 and len(report["listed"]) == 1000
    assert "more" in status(world, [alone], "--locks")[1]


def test_what_a_node_counts(shared, count):
    """metrics: what a node counts"""
    a, b = shared.some(2)
    before = metrics(b)
    use(a, "counted", 4)
    wait_for(lambda: metrics(b)["baton_node_operations_total"]
             == before["baton_node_operations_total"] + 4)
    now = metrics(b)
    for name in ("messages_sent_total", "messages_received_total", "turns_total", "commits_total"):
        if count > 1 or "messages" not in name:
            assert now["baton_node_" + name] > before["baton_node_" + name], name
    assert now["baton_node_peers"] == now["baton_node_peers_reached"] == count - 1
    assert now["baton_node_peers_suspected"] == 0
    assert now["baton_node_majority"] == 1 == now["baton_open"]
    assert 0 < now["baton_node_store_bytes"] <= now["baton_node_store_max_bytes"]
    assert metrics(a)["baton_grants_total"] >= 4
    text = page(b, "metrics")[1]
    families = re.findall(r"^# HELP (\S+) ", text, re.M)
    assert len(families) == len(set(families)) == len(re.findall("^# TYPE ", text, re.M))


def test_who_holds_and_waits_while_others_look(shared, connect):
    """metrics: who holds and waits, while others look"""
    node = shared.nodes[0]
    stop = threading.Event()

    def look():
        while not stop.is_set():
            metrics(node)
            page(node, "health")

    threads = [threading.Thread(target=look, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        use(node, "watched", 100)
        holder, waiter = connect(node), connect(node)
        token = holder("LOCK", "watched", 5000)
        waiter.send("LOCK", "watched", 0)
        wait_for(lambda: metrics(node)["baton_longest_queue_length"] == 1)
        now = metrics(node)
        assert now["baton_locks_held"] == 1 == now["baton_queue_length"]
        waiter.close()
        holder("EXIT", "watched", token)
        wait_for(lambda: metrics(node)["baton_queue_length"] == 0)
        assert metrics(node)["baton_locks_held"] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.nodes(least=3, because="first a minority must die, and then a majority")
def test_health_without_a_majority(shared):
    """health: without a majority nobody is let in, and it says so"""
    first, minority = shared.nodes[0], len(shared.nodes) - shared.majority
    assert page(first, "health") == (200, "ok\n")
    for node in shared.nodes[1:1 + minority]:
        node.kill()
    wait_for(lambda: metrics(first)["baton_node_peers_suspected"] == minority)
    assert page(first, "health")[0] == 200
    shared.nodes[-1].kill()
    wait_for(lambda: page(first, "health")[0] == 503)
    assert "majority" in page(first, "health")[1]
    for node in shared.nodes:
        if node.has_ended():
            node.start()
    shared.wait_until_well()
    assert page(first, "health")[0] == 200


def test_try_keeps_its_place(shared, connect):
    """a TRY that takes a moment keeps its place among the answers"""
    a, b = shared.some(2)
    holder, other = connect(a), connect(b)
    token = holder("LOCK", "order", 5000)
    other.send("TRY", "order")
    other.send("PING")
    assert other.reply() <= 0 and other.reply() == "PONG"
    holder("EXIT", "order", token)


@pytest.mark.nodes(least=2, because="there are no others to be paused")
def test_client_is_gone_during_an_operation(shared, connect):
    """who is gone in the middle of an operation harms nobody"""
    node = shared.nodes[0]
    client = connect(node)
    token = client("LOCK", "gone", 5000)
    with shared.paused(shared.but(node)):
        client.send("ISSUE", "gone", token, "INCR", "n")
        wait_for(lambda: node.lock("gone")["state"] != "inside")
        client.close()
        wait_for(lambda: node.status("held") == 0)
    shared.wait_until_well()


@pytest.mark.nodes(least=3, because="without one of two there is no majority")
def test_node_that_hangs_gets_whole_messages(shared, connect):
    """a node that hangs for a moment gets more than fits into a socket, and all of it whole"""
    first, last = shared.nodes[0], shared.nodes[-1]
    client = connect(first)
    token = client("LOCK", "slow", 5000)
    with shared.paused([last]):
        for i in range(250):
            client("ISSUE", "slow", token, "SET", f"k{i % 4}", "v" * 32000)
    wait_for(lambda: (last.lock("slow") or {}).get("executed") == 250)
    assert "peer_garbage" not in last.text()
    client("EXIT", "slow", token)
    shared.wait_until_well()


def test_all_end_at_the_same_time(shared):
    """all nodes end at the same time"""
    assert shared.stop() == [0] * len(shared.nodes)
