"""Nodes that lose what they knew: `cluster_forget.py BATON`. Prints one line of TAP for each test."""

import json
import subprocess
import sys

sys.dont_write_bytecode = True
from cluster_work import Load
from cluster_world import IDS, Node, free_ports, page
from service import BATON, PATIENCE, Client, Failure, finish, refused, test, wait_for

NAMES = [f"shop/{i:02}" for i in range(60)]  # more than are told at once
LOST = "a majority of the nodes has lost what it knew; empty the data directories of all to begin anew, tokens too"


class World:
    """Three nodes, of which none runs yet."""

    def __init__(self, *options):
        self.peers = ",".join(f"{i}=127.0.0.1:{p}" for i, p in zip(IDS, free_ports(len(IDS))))
        self.nodes = [Node(i, self.peers, "--http", "0", *options) for i in IDS]

    def status(self):
        at = ",".join(node.path for node in self.nodes)
        done = subprocess.run([BATON, "status", "--json", "--at", at], capture_output=True, timeout=PATIENCE, check=False)
        return done.returncode, json.loads(done.stdout or "[]")

    def all_well(self):
        code, nodes = self.status()
        return code == 0 and all(n["state"] == "up" and len(n["reached"]) == 2 for n in nodes)

    def say(self, words):
        """Whether all that run say just that."""
        return all(n["why"] == words for n in self.status()[1] if n["up"])


def empty(*nodes):
    for node in nodes:
        if node.process.poll() is None:
            node.kill()
        node.empty()


def issue(node, lock, *words):
    """Within a section of its own; again, if that is taken away."""
    while True:
        client = Client(node)
        try:
            token = client("LOCK", lock, 10000)
            return client("ISSUE", lock, token, *words)
        except Failure as failure:
            assert str(failure).startswith(("EJECTED ", "LOST ", "STALE ")), failure
        finally:
            client.close()


def has_all(node, values):
    """Whether that node's own copy has these."""
    client = Client(node, version=2)
    good = all(client("READ", name, "n")[0] == value for name, value in values.items())
    client.close()
    return good


world = World()
a, b, c = world.nodes
expected = {name: name.encode() for name in NAMES}


@test("the first time: a node waits until it has heard from all, and says for whom")
def _():
    a.start()
    wait_for(lambda: world.say("this node is new and has not heard from b, c yet") and world.status()[1][0]["up"])
    b.start()
    words = "this node is new and has not heard from c yet"
    wait_for(lambda: len([n for n in world.status()[1] if n["up"]]) == 2 and world.say(words))
    for node in (a, b):
        assert page(node, "health") == (503, words + "\n")
        assert refused(Client(node), "NOTREADY", "LOCK", "l", 100) == "NOTREADY " + words
        refused(Client(node), "NOTREADY", "TRY", "l")
        refused(Client(node), "NOTREADY", "READ", "l", "n")
        wait_for(lambda node=node: f'event=waits why="{words}"' in node.text())
    run = subprocess.run([BATON, "run", "l", "--at", a.path, "--", "true"], capture_output=True, timeout=PATIENCE, check=False)
    assert run.returncode == 69 and b"temporarily unavailable" in run.stderr, run
    c.start()
    wait_for(world.all_well)
    assert page(a, "health") == (200, "ok\n")


@test("a directory that was emptied: the node rejoins, and has all again")
def _():
    for name, value in expected.items():
        assert issue(a, name, "SET", "n", value) == "OK"
    empty(c)
    c.start()
    wait_for(world.all_well)
    assert "was=new is=forgetful" in c.text() and "was=forgetful is=settled" in c.text()
    wait_for(lambda: has_all(c, expected))


@test("and counts: with it and another one nothing is missing")
def _():
    b.kill()
    for name, value in expected.items():
        assert issue(c, name, "GET", "n") == value
    for name in NAMES[::7]:
        expected[name] = b"without b"
        assert issue(c, name, "SET", "n", "without b") == "OK"
    b.start()
    wait_for(world.all_well)
    wait_for(lambda: has_all(b, expected))


@test("the others in their turn; one is killed while it rejoins")
def _():
    for node in (a, b):
        empty(node)
        node.start()
        wait_for(lambda node=node: "is=forgetful" in node.text())
        node.kill()
        node.start()
        wait_for(world.all_well)
        wait_for(lambda node=node: has_all(node, expected))
    for node in world.nodes:
        assert issue(node, "new since " + node.name, "INCR", "n") == 1


@test("a node that was emptied and one that is restarted at the same time")
def _():
    empty(a)
    b.kill()
    a.start()
    words = "this node has lost what it knew, and has not heard from b yet"
    wait_for(lambda: world.status()[1][0].get("why") == words)
    assert page(a, "health") == (503, words + "\n")
    b.start()
    wait_for(world.all_well)
    wait_for(lambda: has_all(a, expected))


@test("two of three: nothing is let in, nothing is invented, and what is left can be read")
def _():
    empty(a, b)
    a.start()
    b.start()
    wait_for(lambda: world.say(LOST) and len([n for n in world.status()[1] if n["up"]]) == 3)
    for node in world.nodes:
        assert page(node, "health") == (503, LOST + "\n")
        assert refused(Client(node), "NOTREADY", "LOCK", NAMES[0], 100) == "NOTREADY " + LOST
        assert not node.crashed()
    assert has_all(c, expected)
    assert not has_all(a, expected) and not has_all(b, expected)


@test("all three: a new cluster")
def _():
    empty(a, b, c)
    for node in world.nodes:
        node.start()
    wait_for(world.all_well)
    assert issue(a, NAMES[0], "GET", "n") is None
    empty(a, b, c)


memory = World("--durability", "memory")


@test("in memory: each is killed in its turn, while clients work")
def _():
    for node in memory.nodes:
        node.start()
    wait_for(memory.all_well)
    load = Load(memory, 7)
    for _ in range(2):
        for node in memory.nodes:
            node.kill()
            node.start()
            wait_for(memory.all_well)
    load.judge("in memory")
    assert issue(memory.nodes[0], "new at last", "INCR", "n") == 1


@test("in memory: all at once, and that is said")
def _():
    for node in memory.nodes:
        node.kill()
    for node in memory.nodes:
        node.start()
    wait_for(lambda: memory.say(LOST) and all(n["up"] for n in memory.status()[1]))
    refused(Client(memory.nodes[1]), "NOTREADY", "LOCK", "one", 100)


@test("a directory stays what it was made for")
def _():
    node = memory.nodes[0]
    node.kill()
    done = subprocess.run([*node.command, "--durability", "disk"], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1 and b"was made for durability memory, not disk" in done.stderr, done.stderr


finish()
