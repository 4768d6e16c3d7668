"""`baton bench --at`: what it counts is what happened, and what it cannot do it says."""

import json
import os
import pty
import signal
import socketserver
import subprocess
import threading
import time

import pytest

from world import BATON, wait_for

SAMPLE = (1, 3)


def at(*nodes):
    return ",".join(node.path for node in nodes)


@pytest.fixture(name="bench")
def _bench(world):
    """The results of a run that must succeed: bench(ADDRESSES, OPTION...)."""
    def bench(addresses, *options):
        done = world.baton("bench", "--at", addresses, "--json", *options)
        assert done.returncode == 0 and done.stderr == "", done
        return json.loads(done.stdout)

    return bench


@pytest.fixture(name="begin")
def _begin(world):
    """Starts one in the background: begin(ADDRESSES, OPTION...)."""
    return lambda addresses, *options: world.start(
        "bench", BATON, "bench", "--at", addresses, "--json", *options, stdout=subprocess.PIPE)


def result_of(process):
    told = process.process.stdout.read()
    process.process.stdout.close()
    assert process.wait() == 0
    return json.loads(told)


@pytest.fixture(name="refuse")
def _refuse(world):
    def refuse(code, words, *options):
        done = world.baton("bench", *options)
        assert done.returncode == code and words in done.stderr and done.stdout == "", done

    return refuse


def counter(client, name):
    """What was counted under that lock, as of all operations before."""
    token = client("LOCK", name)
    value = client("ISSUE", name, token, "GET", "count")
    client("EXIT", name, token)
    return int(value or 0)


def executed(node, client):
    """Operations of that client of a load, as that node has them."""
    lock = node.lock(f"bench/held/{client}")
    return lock["executed"] if lock is not None else 0


def works(node, client=0, least=5):
    return executed(node, client) > least


def adds_up(told):
    return told["begun"] == told["all"]["operations"] + told["failed"]


# ---- figures ----


def test_what_is_acknowledged_is_there(count, cluster, connect, bench):
    """every operation that it counts is in the cluster, and no other"""
    nodes = cluster(count).nodes
    told = bench(at(*nodes), "--count", 300, "--warm-up", "0.1", "--operation", "incr", "--mix",
                 "issue=2,section=1", "--clients", 5, "--locks", 3, "--prefix", "sum")
    assert told["begun"] == 300 and told["failed"] == 0 and told["errors"] == []
    assert adds_up(told) and told["issued_with_warm_up"] >= 300
    client = connect(nodes[0])
    names = [f"sum/{i}" for i in range(3)] + [f"sum/held/{i}" for i in range(5)]
    assert sum(counter(client, name) for name in names) == told["issued_with_warm_up"]


def test_all_kinds(count, cluster, bench):
    """a mix of all kinds, with values of many sizes"""
    told = bench(at(*cluster(count).nodes), "--count", 400, "--warm-up", 0, "--size", "1-32000",
                 "--mix", "read,issue,section,lock,try", "--clients", 7, "--locks", 2)
    assert told["errors"] == [] and adds_up(told)
    assert [r["kind"] for r in told["results"]] == ["read", "issue", "section", "lock", "try"]
    assert sum(r["operations"] for r in told["results"]) == 400
    for figures in [told["all"], *told["results"]]:
        places = [figures[p] for p in ("p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms")]
        assert figures["operations"] > 0 and places == sorted(places) and places[0] > 0


def test_values_are_set(cluster, connect, bench):
    """values have the size that was asked for"""
    nodes = cluster(1).nodes
    bench(at(*nodes), "--count", 10, "--size", 321, "--clients", 1, "--prefix", "v")
    assert connect(nodes[0])("READ", "v/held/0", "key")[0] == b"v" * 321


def test_one_server(server, bench, refuse):
    """a server that is no node: locks, and nothing else"""
    one = server()
    told = bench(one.path, "--mix", "lock,try", "--count", 500, "--locks", 1, "--warm-up", 0)
    assert told["errors"] == [] and adds_up(told)
    assert 0 < told["refused"] <= told["results"][1]["operations"]
    for kind in ("read", "issue", "section"):
        refuse(1, f"there is no '{kind}'; use --mix lock", "--at", one.path, "--mix", f"{kind},try")


def test_open_loop_omits_nothing(cluster, begin):
    """open loop: what was due while a node stood still counts, from when it was due"""
    node = cluster(1).nodes[0]
    load = begin(node.path, "--rate", 100, "--seconds", 3, "--warm-up", 0, "--clients", 1)
    wait_for(lambda: works(node))
    node.pause()
    time.sleep(1)  # a third of all that is due
    node.resume()
    told = result_of(load)
    assert told["begun"] + told["unsent"] == 300 and adds_up(told)
    assert told["unsent"] > 0 or told["all"]["p90_ms"] > 300


def test_too_high_a_rate(cluster, bench):
    """open loop: what nobody was free for is counted too"""
    told = bench(cluster(1).nodes[0].path, "--rate", 200000, "--seconds", 1, "--warm-up", "0.2",
                 "--clients", 1)
    assert told["begun"] + told["unsent"] == 200000 and adds_up(told)
    assert told["unsent"] > 0 and told["begun"] > 0


# ---- trouble on the way ----


def test_a_node_dies(cluster, begin):
    """the clients of a dead node are counted as errors, and go on at another"""
    nodes = cluster(3).nodes
    load = begin(at(*nodes), "--seconds", 3600, "--clients", 6, "--warm-up", 0)
    wait_for(lambda: works(nodes[1], 1))
    nodes[1].kill()
    before = executed(nodes[0], 1)
    wait_for(lambda: works(nodes[0], 1, before + 20))  # its client is back inside
    load.send(signal.SIGINT)
    told = result_of(load)
    assert adds_up(told) and told["failed"] >= 2
    errors = {e["kind"]: e["count"] for e in told["errors"]}
    assert errors["connection lost"] == 2  # of six clients of three nodes
    assert set(errors) <= {"connection lost", "cannot connect", "EJECTED", "NOTREADY", "no answer"}


def test_interrupted(cluster, begin):
    """Ctrl-C: what was measured so far"""
    node = cluster(1).nodes[0]
    load = begin(node.path, "--seconds", 3600, "--warm-up", 0)
    wait_for(lambda: works(node))
    load.send(signal.SIGINT)
    told = result_of(load)
    assert told["interrupted"] and told["all"]["operations"] > 5 and adds_up(told)


def test_interrupted_too_early(cluster, begin):
    """Ctrl-C during the warm-up: nothing was measured"""
    node = cluster(1).nodes[0]
    load = begin(node.path, "--warm-up", 3600)
    wait_for(lambda: node.lock("bench/held/0"))
    assert load.stop(signal.SIGINT) == 1
    assert "interrupted before anything was measured" in load.text()
    load.process.stdout.close()


def test_progress_and_text(cluster, world):
    """a line on a terminal while it works, and a table"""
    node = cluster(1).nodes[0]
    mine, its = pty.openpty()
    done = subprocess.run([BATON, "bench", "--at", node.path, "--seconds", "3"], stderr=its,
                          stdout=subprocess.PIPE, text=True, env=world.environment, check=True)
    told = os.read(mine, 65536).decode()
    os.close(mine)
    os.close(its)
    assert "measuring: " in told and "per second, p50 " in told
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["ms", "operations", "per", "second", "p50", "p90", "p99", "p99.9", "max"] in rows
    assert any(row[0] == "issue" and len(row) == 8 for row in rows)
    assert "errors: none" in done.stdout and "the generator itself took" in done.stdout


def test_plot(cluster, world):
    """a plot"""
    path = world.path("plot.svg")
    done = world.baton("bench", "--at", cluster(1).nodes[0].path, "--count", 200, "--mix",
                       "issue,read", "--plot", path)
    assert done.returncode == 0 and done.stderr == "", done
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert "</svg>" in text and "issue" in text and "99%" in text


# ---- what it cannot do ----


def test_nobody_there(cluster, world, refuse):
    """an address where nobody is, also among others"""
    node = cluster(1).nodes[0]
    gone = world.path("gone")
    refuse(69, f"cannot reach {gone}", "--at", gone)
    refuse(69, f"cannot reach {gone}", "--at", f"{node.path},{gone}")
    refuse(69, "cannot reach 127.0.0.1:1 ", "--at", "127.0.0.1:1")
    refuse(69, "cannot reach nowhere.invalid:1 ", "--at", "nowhere.invalid:1")


def test_passwords(server, world, bench, refuse):
    """a password: the right one, a wrong one, none"""
    secret = world.secret("correct horse")
    one = server("--auth-file", secret)
    wrong = world.secret("wrong", "wrong")
    load = ("--mix", "lock", "--count", 20, "--warm-up", 0)
    assert bench(one.path, *load, "--password-file", secret)["all"]["operations"] == 20
    refuse(1, "WRONGPASS", "--at", one.path, "--password-file", wrong)
    refuse(1, "NOAUTH", "--at", one.path)
    refuse(1, "cannot read", "--at", one.path, "--password-file", world.path("none"))


class Redis(socketserver.BaseRequestHandler):
    """Something that says HELLO as Redis does, and knows no locks."""

    def handle(self):
        while self.request.recv(65536):
            self.request.sendall(b"%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n")


def test_somebody_else(refuse):
    """something that is no server of Baton's"""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Redis) as redis:
        thread = threading.Thread(target=redis.serve_forever)
        thread.start()
        try:
            refuse(1, "no server of Baton's", "--at", f"127.0.0.1:{redis.server_address[1]}")
        finally:
            redis.shutdown()
            thread.join()


def test_held_by_somebody_else(cluster, connect, refuse):
    """a lock of a client's own that somebody else holds"""
    node = cluster(1).nodes[0]
    connect(node)("LOCK", "bench/held/0")
    refuse(1, "somebody else holds bench/held/0", "--at", node.path, "--clients", 1)


def test_no_majority(cluster, refuse):
    """a node that lets nobody in says why"""
    alone = cluster(3, start=False).nodes[0]
    alone.start()
    wait_for(lambda: os.path.exists(alone.path))
    refuse(1, "NOTREADY", "--at", alone.path)


def test_open_files(cluster, world):
    """more clients than files may be open"""
    node = cluster(1).nodes[0]
    done = world.run("prlimit", "--nofile=64:64", BATON, "bench", "--at", node.path, "-c", 100)
    assert done.returncode == 1 and "100 clients need 132 open files, and 64 are allowed" in done.stderr
