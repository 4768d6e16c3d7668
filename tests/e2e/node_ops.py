"""Looking after a cluster: `node_ops.py BATON [--sanitized]`. Prints one line of TAP for each test."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from cluster import Cluster
from service import BATON, PATIENCE, SCRATCH, Client, Failure, finish, test, wait_for

cluster = Cluster()
cluster.ready()
AT = [node.path for node in cluster.nodes]


def status(*options, at=None):
    """Exit code and text."""
    done = subprocess.run([BATON, "status", "--at", ",".join(at or AT), *options], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout.decode()


def all_well():
    return status()[0] == 0 and all(len(n["reached"]) == 2 for n in json.loads(status("--json")[1]))


def use(node, lock, times=1):
    """Adds to a counter under that lock, until it has worked so often."""
    while times > 0:
        client = Client(node)
        try:
            token = client("LOCK", lock, 5000)
            client("ISSUE", lock, token, "INCR", "n")
            client("EXIT", lock, token)
            times -= 1
        except Failure:
            pass
        client.close()


wait_for(all_well)


@test("status: all is well")
def _():
    use(cluster.nodes[0], "l", 3)
    use(cluster.nodes[1], "l", 2)
    wait_for(lambda: all(n["lag"] == 0 and n["operations"] == 5 for n in json.loads(status("--json")[1])))
    code, text = status("--json")
    nodes = json.loads(text)
    assert code == 0
    assert [n["node"] for n in nodes] == ["a", "b", "c"]
    assert all(n["nodes"] == ["a", "b", "c"] and n["suspected"] == [] for n in nodes)
    assert sorted(nodes[2]["reached"]) == ["a", "b"]
    for node in nodes:
        lock, = node["listed"]
        assert lock["name"] == "l" and lock["executed"] == 5 and lock["owner"] == "b", lock
        assert lock["state"] == ("token" if node["node"] == "b" else "idle"), lock


@test("status: who holds and who waits, and where")
def _():
    holder, waiter = Client(cluster.nodes[0]), Client(cluster.nodes[2])
    token = holder("LOCK", "odd\r\n\x1b name", 5000)
    waiter.send("LOCK", "odd\r\n\x1b name", 5000)

    def seen():
        rows = [next(l for l in n["listed"] if l["name"] == "odd??? name") for n in json.loads(status("--json")[1])]
        return [l["held"] for l in rows] == [True, False, False] and [l["waiting"] for l in rows] == [0, 0, 1]

    wait_for(seen)
    code, text = status("--locks")
    assert code == 0 and "odd??? name" in text and "\x1b" not in text
    holder("EXIT", "odd\r\n\x1b name", token)
    assert waiter.reply() > token
    holder.close()
    waiter.close()


@test("status: a long list has an end")
def _():
    client = Client(cluster.nodes[0])
    for i in range(1005):
        client("READ", f"many{i}", "k")
    nodes = json.loads(status("--json")[1])
    assert nodes[0]["locks"] >= 1005 and len(nodes[0]["listed"]) == 1000
    assert "more" in status("--locks")[1]
    client.close()


@test("status: a node is dead")
def _():
    cluster.nodes[2].kill()
    code, text = status()
    assert code == 1 and "down" in text
    wait_for(lambda: status(at=AT[:2])[1].split("\n")[1].split()[4] == "c")
    assert status(at=AT[:1])[0] == 1
    assert status(at=AT[2:])[0] == 69
    use(cluster.nodes[0], "l")
    cluster.nodes[2].start()
    wait_for(all_well)


@test("status: wrong usage, and somebody who is no node")
def _():
    for words in ([], ["--at", ""], ["--at", "a,,b"], ["--at", "x", "y"], ["--at", ",".join(["x:1"] * 17)]):
        environment = {k: v for k, v in os.environ.items() if k != "BATON_AT"}
        done = subprocess.run([BATON, "status", *words], stderr=subprocess.PIPE, env=environment, check=False)
        assert done.returncode == 64 and b"--help" in done.stderr, words
    path = os.path.join(SCRATCH, "alone")
    alone = subprocess.Popen([BATON, "serve", "--listen", path, "--state", path + ".state"], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: os.path.exists(path))
        assert status(at=[path])[0] == 69
    finally:
        alone.terminate()
        alone.wait(PATIENCE)


finish()
