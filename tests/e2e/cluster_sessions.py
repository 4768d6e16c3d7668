#!/usr/bin/env python3
"""Sessions at the nodes of a cluster: what each command does there, and what may come in between.

Usage: cluster_sessions.py BATON [--sanitized]
"""

import signal
import time

from cluster_world import Cluster
from service import Client, Failure, finish, info, refused, test, wait_for

cluster = Cluster()
cluster.ready()
A, B, C = cluster.nodes


def alive():
    return [n.name for n in cluster.nodes if n.crashed()] == []


def far(name):
    """Two clients at nodes of which the first has the token of that lock."""
    here, there = Client(A), Client(B)
    token = here("LOCK", name, 20000)
    here("EXIT", name, token)
    return here, there


def entered(client, name):
    """Its token; a node that has just begun may still have to find the others."""
    token = client("LOCK", name, 20000)
    assert token is not None, "nobody is let in"
    return token


@test("every operation does what it says")
def _():
    client = Client(A)
    token = entered(client, "ops")

    def issue(*words):
        return client("ISSUE", "ops", token, *words)

    assert issue("SET", "k", "v") == "OK"
    assert issue("GET", "k") == b"v"
    assert issue("GET", "absent") is None
    assert issue("INCR", "n") == 1 and issue("INCR", "n", -5) == -4
    assert issue("CAS", "k", "v", "w") == 1 and issue("CAS", "k", "v", "x") == 0
    assert issue("CAS", "new", "NX", "1") == 1 and issue("CAS", "new", "NX", "2") == 0
    assert issue("CAS", "k", "EQ", "w", "v") == 1
    assert issue("SCAN")[1][0] == [b"k", b"v", b"n", b"-4", b"new", b"1"]
    assert issue("SCAN", "l", 1)[0] == b"new"
    assert issue("DEL", "k") == 1 and issue("DEL", "k") == 0
    for wrong in (("NOSUCH", "k"), ("SET", "k"), ("GET", ""), ("INCR", "n", "x"), ("SCAN", "", 0),
                  ("CAS", "k", "a"), ("SET", "k" * 501, "v"), ("SET", "k", "v" * 32001)):
        refused(client, "ERR", "ISSUE", "ops", token, *wrong)
    assert client("EXIT", "ops", token) == 1
    refused(client, "STALE", "ISSUE", "ops", token, "GET", "k")
    refused(client, "STALE", "EXIT", "ops", token)
    refused(client, "STALE", "EXIT", "never", 1)
    refused(Client(B), "STALE", "ISSUE", "ops", token, "INCR", "n")


@test("values of 32000 bytes come through, and to all nodes")
def _():
    client = Client(A)
    token = entered(client, "large")
    value = b"x" * 32000
    for i in range(40):
        assert client("ISSUE", "large", token, "SET", f"k{i}", value) == "OK"
    assert client("ISSUE", "large", token, "CAS", "k0", value, b"y" * 32000) == 1
    assert client("ISSUE", "large", token, "GET", "k0") == b"y" * 32000
    for node in cluster.nodes:
        other = Client(node)
        wait_for(lambda o=other: o("READ", "large", "k0")[0] == b"y" * 32000)
    client("EXIT", "large", token)


@test("READ says as of when, at every node")
def _():
    client = Client(A)
    token = entered(client, "read")
    client("ISSUE", "read", token, "SET", "k", "v")
    client("EXIT", "read", token)
    for node in cluster.nodes:
        other = Client(node)
        wait_for(lambda o=other: o("READ", "read", "k")[0] == b"v")
        value, epoch, slot, count = other("READ", "read", "k")[:4]
        assert (value, count) == (b"v", 1) and epoch >= 1 and slot >= 1
        assert other("READ", "read", "absent")[0] is None


@test("answers come in the order of the questions, whoever has the token")
def _():
    here, there = far("order")
    there.send("TRY", "order")
    there.send("PING", "behind")
    first = there.reply()
    assert isinstance(first, int), first
    assert there.reply() == b"behind"
    assert alive()
    here.close()
    there.close()


@test("a client that goes away while its operation is under way")
def _():
    for i in range(20):
        client = Client(cluster.nodes[i % 3])
        token = entered(client, "leaver")
        client.send("ISSUE", "leaver", token, "INCR", "n")
        client.close()
        assert alive()
    client = Client(A)
    token = entered(client, "leaver")
    assert 0 <= int(client("ISSUE", "leaver", token, "GET", "n") or 0) <= 20
    client.close()


@test("a client that goes away while it waits, tries, watches, or is inside")
def _():
    for i in range(12):
        inside = Client(A)
        token = entered(inside, "gone")
        waiting, trying, watching = Client(B), Client(C), Client(A)
        waiting.send("LOCK", "gone", 0)
        trying.send("TRY", "gone")
        assert watching("TRY", "gone") < 0
        leavers = [inside, waiting, trying, watching]
        for client in leavers[i % 4:] + leavers[:i % 4]:
            client.close()
        assert token > 0 and alive()


@test("a try that failed is told when the lock is free; at another node too")
def _():
    holder, here, there = Client(A), Client(A), Client(B)
    token = entered(holder, "reset")
    assert here("TRY", "reset") < 0 and there("TRY", "reset") < 0
    assert here("TRY", "reset") < 0, "it fails again"
    refused(holder, "TWICE", "TRY", "reset")
    holder("EXIT", "reset", token)
    assert here.push()[:2] == ["reset", "reset"] and there.push()[:2] == ["reset", "reset"]
    token = entered(here, "reset")
    here("EXIT", "reset", token)


@test("LOCK gives up in time, and who waits behind gets it")
def _():
    holder, hasty, patient = Client(A), Client(B), Client(B)
    token = entered(holder, "timeout")
    patient.send("LOCK", "timeout", 0)
    assert hasty("LOCK", "timeout", 50) is None
    assert hasty("PING") == "PONG"
    holder("EXIT", "timeout", token)
    assert patient.reply() > token
    patient.close()


@test("a lease ends a section, and its token")
def _():
    holder, next_one = Client(A), Client(B)
    holder("RENEW", 200)
    token = entered(holder, "lease")
    assert next_one("LOCK", "lease", 20000) > token
    assert holder.push() == ["lost", "lease", token]
    refused(holder, "STALE", "ISSUE", "lease", token, "INCR", "n")
    next_one.close()


@test("a lease that ends while an operation cannot be done: the client is told")
def _():
    holder = Client(A)
    token = entered(holder, "stuck")
    holder("RENEW", 300)
    B.process.send_signal(signal.SIGSTOP)
    C.process.send_signal(signal.SIGSTOP)
    try:
        refused(holder, "LOST", "ISSUE", "stuck", token, "INCR", "n")
        assert holder("PING") == "PONG"
    finally:
        B.process.send_signal(signal.SIGCONT)
        C.process.send_signal(signal.SIGCONT)
    other = Client(C)
    token = entered(other, "stuck")
    assert other("ISSUE", "stuck", token, "GET", "n") in (None, b"1")
    other.close()


@test("a lock that is released by force while an operation is under way")
def _():
    holder, admin = Client(A), Client(A)
    token = entered(holder, "forced")
    B.process.send_signal(signal.SIGSTOP)
    C.process.send_signal(signal.SIGSTOP)
    try:
        holder.send("ISSUE", "forced", token, "INCR", "n")
        wait_for(lambda: admin("RELEASE", "forced", token) == 1)
        try:
            holder.reply()
            raise AssertionError("an outcome")
        except Failure as failure:
            assert str(failure).startswith("LOST "), failure
    finally:
        B.process.send_signal(signal.SIGCONT)
        C.process.send_signal(signal.SIGCONT)
    assert entered(Client(B), "forced") > token


@test("no majority: who is inside is told, and when it is over")
def _():
    holder = Client(A)
    token = entered(holder, "alone")
    for node in (B, C):
        node.process.send_signal(signal.SIGSTOP)
    assert holder.push()[:2] == ["suspended", "alone"]
    for node in (B, C):
        node.process.send_signal(signal.SIGCONT)
    assert holder.push()[0] in ("resumed", "ejected")
    try:
        holder("ISSUE", "alone", token, "INCR", "n")
    except Failure as failure:
        assert str(failure).split()[0] in ("EJECTED", "STALE"), failure


@test("a hundred commands in one packet")
def _():
    client = Client(B)
    token = entered(client, "pipe")
    for _ in range(100):
        client.send("ISSUE", "pipe", token, "INCR", "n")
    client.send("EXIT", "pipe", token)
    assert [client.reply() for _ in range(100)] == list(range(1, 101))
    assert client.reply() == 1


@test("a session may have many locks, and loses all with its connection")
def _():
    client = Client(A)
    tokens = [entered(client, f"many{i}") for i in range(200)]
    assert len(client("LOCKS", "many*")) in (0, 200)
    assert info(client, "held") >= 200
    client.close()
    other = Client(C)
    for i in range(0, 200, 10):
        assert entered(other, f"many{i}") > tokens[i]
    other.close()


@test("a client that does not read what it gets does not harm the others")
def _():
    deaf = Client(A)
    deaf.socket.settimeout(0.5)
    try:
        for _ in range(4000):
            deaf.send("READ", "large", "k1")
    except OSError:
        pass
    assert Client(A)("PING") == "PONG"
    deaf.close()


@test("a node that was away gets a lock of 12 MB as a whole")
def _():
    C.kill()
    client = Client(A)
    token = entered(client, "heavy")
    for i in range(390):
        client.send("ISSUE", "heavy", token, "SET", f"k{i}", "v" * 32000)
        assert client.reply() == "OK"
    C.start()
    wait_for(C.ready)
    other = Client(C)
    wait_for(lambda: other("READ", "heavy", "k389")[3] == 390)
    assert other("READ", "heavy", "k389")[0] == b"v" * 32000
    client.close()
    other.close()


@test("nobody has crashed, and SIGTERM ends them")
def _():
    assert alive()
    time.sleep(0.1)
    waiting, issuing = Client(A), Client(B)
    token = entered(issuing, "end")
    waiting.send("LOCK", "end", 0)
    for _ in range(50):
        issuing.send("ISSUE", "end", token, "INCR", "n")
    assert cluster.stop() == [0, 0, 0]
    for node in cluster.nodes:
        assert "ERROR:" not in node.text() and "runtime error" not in node.text(), node.text()


finish()
