"""Looking after a cluster: `node_ops.py BATON [--sanitized]`. Prints one line of TAP for each test."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from cluster_counter import final_count, run
from cluster_world import Cluster, Node, free_ports, metrics, page
from service import BATON, PATIENCE, SCRATCH, Client, Failure, finish, refused, test, wait_for

cluster = Cluster("--http", "0")
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


@test("metrics: what a node counts")
def _():
    before = metrics(cluster.nodes[1])
    use(cluster.nodes[0], "counted", 4)
    wait_for(lambda: metrics(cluster.nodes[1])["baton_node_operations_total"]
             == before["baton_node_operations_total"] + 4)
    now = metrics(cluster.nodes[1])
    for name in ("messages_sent_total", "messages_received_total", "turns_total", "commits_total"):
        assert now["baton_node_" + name] > before["baton_node_" + name], name
    assert now["baton_node_peers"] == now["baton_node_peers_reached"] == 2
    assert now["baton_node_peers_suspected"] == 0 and now["baton_node_majority"] == 1 == now["baton_open"]
    assert 0 < now["baton_node_store_bytes"] <= now["baton_node_store_most_bytes"]
    assert metrics(cluster.nodes[0])["baton_grants_total"] >= 4
    text = page(cluster.nodes[1], "metrics")[1]
    families = re.findall(r"^# HELP (\S+) ", text, re.M)
    assert len(families) == len(set(families)) == len(re.findall("^# TYPE ", text, re.M))


@test("metrics: who holds and waits, while others look")
def _():
    stop = threading.Event()

    def look():
        while not stop.is_set():
            metrics(cluster.nodes[0])
            page(cluster.nodes[0], "health")

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    use(cluster.nodes[0], "watched", 100)
    holder, waiter = Client(cluster.nodes[0]), Client(cluster.nodes[0])
    token = holder("LOCK", "watched", 5000)
    waiter.send("LOCK", "watched", 0)
    wait_for(lambda: metrics(cluster.nodes[0])["baton_longest_queue_length"] == 1)
    now = metrics(cluster.nodes[0])
    assert now["baton_locks_held"] == 1 == now["baton_queue_length"]
    waiter.close()
    holder("EXIT", "watched", token)
    wait_for(lambda: metrics(cluster.nodes[0])["baton_queue_length"] == 0)
    assert metrics(cluster.nodes[0])["baton_locks_held"] == 0
    stop.set()
    for thread in threads:
        thread.join()
    holder.close()


@test("health: without a majority nobody is let in, and it says so")
def _():
    assert page(cluster.nodes[0], "health") == (200, "ok\n")
    cluster.nodes[1].kill()
    wait_for(lambda: metrics(cluster.nodes[0])["baton_node_peers_suspected"] == 1)
    assert page(cluster.nodes[0], "health")[0] == 200
    cluster.nodes[2].kill()
    wait_for(lambda: page(cluster.nodes[0], "health")[0] == 503)
    assert "majority" in page(cluster.nodes[0], "health")[1]
    for node in cluster.nodes[1:]:
        node.start()
    wait_for(all_well)
    assert page(cluster.nodes[0], "health")[0] == 200


def states(node, lock):
    return [l for l in json.loads(status("--json", at=[node.path])[1])[0]["listed"] if l["name"] == lock]


def restart(node, number=signal.SIGTERM):
    node.process.send_signal(number)
    code = node.process.wait(PATIENCE)
    node.start()
    return code


@test("drain: tokens go to others, so nobody misses the node")
def _():
    use(cluster.nodes[0], "handed")
    assert states(cluster.nodes[0], "handed")[0]["state"] == "token"
    cluster.nodes[0].process.send_signal(signal.SIGTERM)
    assert cluster.nodes[0].process.wait(PATIENCE) == 0
    assert "event=drained complete=1" in cluster.nodes[0].text()
    heir, = [n for n in cluster.nodes[1:] if states(n, "handed")[0]["state"] == "token"]
    before = states(heir, "handed")[0]
    use(heir, "handed")
    after = states(heir, "handed")[0]
    assert after["epoch"] == before["epoch"] and after["executed"] == before["executed"] + 1
    cluster.nodes[0].start()
    wait_for(all_well)


@test("drain: who holds may finish; who waits, or wants more, is sent away")
def _():
    node = cluster.nodes[0]
    holder, waiter, idle = Client(node), Client(node), Client(node)
    token = holder("LOCK", "kept", 5000)
    waiter.send("LOCK", "kept", 0)
    wait_for(lambda: states(node, "kept")[0]["waiting"] == 1)
    node.process.send_signal(signal.SIGTERM)
    for client in (waiter, idle):
        try:
            client.reply()
            raise AssertionError("it was not sent away")
        except (EOFError, ConnectionError):
            pass
    refused(holder, "DRAINING", "LOCK", "another", 0)
    assert holder("ISSUE", "kept", token, "SET", "k", "v") is not None
    assert page(node, "health")[0] == 503
    assert holder("EXIT", "kept", token) == 1
    assert node.process.wait(PATIENCE) == 0
    assert node.text().count("event=drained complete=1") == 2
    other = Client(cluster.nodes[1])
    assert other("LOCK", "kept", 5000) > token
    for client in (holder, waiter, idle, other):
        client.close()
    node.start()
    wait_for(all_well)


@test("drain: it has an end, and a second signal does not wait for that")
def _():
    node = cluster.nodes[2]
    holder = Client(node)
    assert holder("LOCK", "long", 5000) > 0
    node.process.send_signal(signal.SIGTERM)
    assert node.process.wait(PATIENCE) == 0 and "event=drained complete=0" in node.text()
    node.command += ["--drain", "3600000"]
    node.start()
    wait_for(all_well)
    holder = Client(node)
    assert holder("LOCK", "long", 10000) > 0
    node.process.send_signal(signal.SIGTERM)
    wait_for(lambda: node.text().count("event=ending") == 2)
    node.process.send_signal(signal.SIGTERM)
    assert node.process.wait(PATIENCE) == 0
    del node.command[-2:]
    node.start()
    wait_for(all_well)


def roll():
    """Restarts all nodes twice, one after the other, under load; what clients were told."""
    left = cluster.nodes * 2
    trouble = []

    def restart_next():  # must not raise: the clients would go on for ever
        while left and not trouble:
            try:
                assert restart(left.pop()) == 0
                wait_for(all_well)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                trouble.append(error)
        time.sleep(0.1)

    tally = run(cluster, 1, restart_next)
    assert not trouble, trouble[0]
    return tally


@test("rolling restart under load: no operation fails")
def _():
    before = 0
    for _ in range(3):  # on a busy machine nodes may be suspected, and sections ejected, for no fault of the drain
        tally = roll()
        count, = set(final_count(cluster))
        assert sorted(tally.answers) == list(range(before + 1, count + 1)) != [] or tally.unknown > 0
        print(f"# 6 restarts, {count - before} operations, {tally.ejected} ejected, {tally.unknown} unknown")
        before = count
        if tally.ejected == tally.unknown == 0:
            return
    raise AssertionError("each time something failed")


@test("a TRY that takes a moment keeps its place among the answers")
def _():
    holder, other = Client(cluster.nodes[0]), Client(cluster.nodes[1])
    token = holder("LOCK", "order", 5000)
    other.send("TRY", "order")
    other.send("PING")
    assert other.reply() <= 0 and other.reply() == "PONG"
    holder("EXIT", "order", token)
    holder.close()
    other.close()


@test("who is gone in the middle of an operation harms nobody")
def _():
    node, others = cluster.nodes[0], cluster.nodes[1:]
    client = Client(node)
    token = client("LOCK", "gone", 5000)
    for other in others:
        other.process.send_signal(signal.SIGSTOP)
    client.send("ISSUE", "gone", token, "INCR", "n")
    wait_for(lambda: states(node, "gone")[0]["state"] != "inside")
    client.close()
    wait_for(lambda: json.loads(status("--json", at=[node.path])[1])[0]["held"] == 0)
    for other in others:
        other.process.send_signal(signal.SIGCONT)
    wait_for(all_well)
    assert node.process.poll() is None


def start(*words):
    """A node that ends by itself: exit code and what it says."""
    done = subprocess.run([BATON, "node", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=PATIENCE, check=False)
    return done.returncode, done.stdout.decode()


def settings(text):
    name = os.path.join(SCRATCH, "node.conf")
    with open(name, "w", encoding="utf-8") as out:
        out.write(text)
    return name


@test("config: a file of settings, and options that win")
def _():
    peers = "peers = a=127.0.0.1:1,b=127.0.0.1:2,c=127.0.0.1:3"
    good = settings(f"# of node a\n\n id=a\n{peers}\r\n\tdata = {SCRATCH}/x y \nclient = 127.0.0.1:0\nack = all\n")
    assert start("--config", good, "--check-config") == (0, "fine\n")
    far = settings(f"id = a\n{peers}\ndata = {SCRATCH}/x\nclient = 10.0.0.1:7700\n")
    assert start("--config", far, "--check-config")[0] == 64
    assert start("--client", "127.0.0.1:0", "--config", far, "--check-config")[0] == 0
    assert start("--config", far, "-c", "127.0.0.1:0", "--id", "d", "--check-config")[0] == 64


@test("config: what is wrong, and in which line")
def _():
    for text, words in (("id a", "KEY = VALUE"), ("idd = a", "'idd' is no setting"), ("help = 1", "no setting"),
                        ("config = x", "no setting"), ("check-config =", "no setting"), ("ack = some", "--ack is"),
                        ("drain = -1", "--drain takes"), ("= 1", "'' is no setting")):
        code, said = start("--config", settings("# first\n" + text + "\n"))
        assert code == 64 and words in said and "node.conf, line 2\n" in said, said
    code, said = start("--config", SCRATCH + "/none")
    assert code == 1 and "cannot read" in said
    code, said = start("--config", settings("id = a\0"))
    assert code == 1 and "no file of settings" in said
    code, said = start("--config", SCRATCH)
    assert code == 1 and "cannot read" in said


@test("config: the example says what is so")
def _():
    example = os.path.join(os.path.dirname(__file__), "../../packaging/node.conf")
    secret = os.path.join(SCRATCH, "secret")
    with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as out:
        out.write("a secret that is long enough\n")
    more = ("--id", "a", "--data", SCRATCH + "/x", "--auth-file", secret, "--check-config")
    assert start("--config", example, *more) == (0, "fine\n")
    with open(example, encoding="utf-8") as text:
        everything = settings(re.sub(r"^#(\w[\w-]* = )", r"\1", text.read(), flags=re.M))
    assert start("--config", everything, *more) == (0, "fine\n")


@test("status: a long list has an end")
def _():
    alone = Node("z", f"z=127.0.0.1:{free_ports(1)[0]}").start()
    wait_for(alone.ready)
    client = Client(alone)
    for i in range(1005):
        client("TRY", f"many{i}")
    nodes = json.loads(status("--json", at=[alone.path])[1])
    assert nodes[0]["locks"] >= 1005 and len(nodes[0]["listed"]) == 1000
    assert "more" in status("--locks", at=[alone.path])[1]
    client.close()
    alone.kill()


@test("all nodes end at the same time")
def _():
    assert cluster.stop() == [0, 0, 0]


finish()
