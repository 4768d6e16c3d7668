#!/usr/bin/env python3
"""What a node is told wrongly, by who starts it, by its disk, and by those who connect.

Usage: cluster_input.py BATON [--sanitized]
"""

import os
import random
import resource
import shutil
import socket
import subprocess
import time

from cluster_world import IDS, Cluster, Node, free_ports
from service import BATON, Client, Failure, PATIENCE, SCRATCH, finish, info, processes, refused, test, wait_for

PEERS = ",".join(f"{i}=127.0.0.1:{p}" for i, p in zip(IDS, free_ports(3)))


def says(*options, code=1, words=""):
    """It ends with that code and those words."""
    command = [BATON, "node", "--client", os.path.join(SCRATCH, "bad.socket"), *options]
    done = subprocess.run(command, stderr=subprocess.PIPE, timeout=PATIENCE, text=True, check=False)
    assert done.returncode == code and words in done.stderr, (done.returncode, done.stderr)


def data(name):
    return os.path.join(SCRATCH, name)


def has_counted(node):
    """One lock, one key, one operation; the node runs alone, as a cluster of one."""
    node.start()
    wait_for(node.ready)
    client = Client(node)
    token = client("LOCK", "l", 5000)
    answer = client("ISSUE", "l", token, "INCR", "n")
    client.close()
    return answer


@test("lists of peers that make no sense are refused")
def _():
    for peers, node, words in (
            (PEERS + ",a=127.0.0.1:1", "a", "twice"),
            (PEERS, "d", "not in the list"),
            ("a=127.0.0.1,b=127.0.0.1:2", "a", "no port"),
            ("a=127.0.0.1:1,b=127.0.0.1:1", "a", "same address"),
            ("", "a", ""),
            (",".join(f"n{i}=127.0.0.1:{i + 1}" for i in range(10)), "n1", ""),
            ("A=127.0.0.1:1", "A", "no good id")):
        says("--id", node, "--peers", peers, "--data", data("none"), code=64, words=words)
    assert not os.path.exists(data("none")), "a directory was made"


@test("beyond this machine a secret is needed")
def _():
    says("--id", "a", "--peers", "a=192.0.2.1:7", "--data", data("none"), code=64, words="--auth-file")


@test("a port in use is named, and nothing is lost")
def _():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        says("--id", "a", "--peers", f"a=127.0.0.1:{port}", "--data", data("port"), words=str(port))


alone = Node("s", f"s=127.0.0.1:{free_ports(1)[0]}")
DATA = data("s.data")


@test("a directory in use, of another node, or of another cluster is refused")
def _():
    assert has_counted(alone) == 1
    peers = alone.command[5]
    says("--id", "s", "--peers", "s=127.0.0.1:1", "--data", DATA, words="use")
    alone.kill()
    says("--id", "b", "--peers", peers + ",b=127.0.0.1:1", "--data", DATA, words="belongs to")
    says("--id", "s", "--peers", peers + ",b=127.0.0.1:1", "--data", DATA, words="belongs to")
    assert has_counted(alone) == 2
    alone.kill()


@test("a damaged data file is refused, or harmless, or loses its last turn and says so")
def _():
    good = data("good")
    shutil.copytree(DATA, good)
    size = os.path.getsize(os.path.join(good, "data.mdb"))
    chance = random.Random(7)
    refusals = 0
    for trial in range(40):
        shutil.rmtree(DATA)
        shutil.copytree(good, DATA)
        with open(os.path.join(DATA, "data.mdb"), "r+b") as file:
            for _ in range(1 if trial < 30 else 20):
                at = chance.randrange(size)
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 1 << chance.randrange(8)]))
        before = len(alone.text())
        alone.start()
        wait_for(alone.ready)
        try:
            client = Client(alone)
            token = client("LOCK", "l", 5000)
            # Damage to what was written last looks like a turn that a power failure has torn: that is
            # taken back, and said.
            value = client("ISSUE", "l", token, "GET", "n")
            said = "did not come to the disk" in alone.text()[before:]
            assert value == b"2" or (said and value == b"1"), f"silently another value: {value}"
        except (OSError, EOFError):
            assert alone.process.wait(PATIENCE) == 1, "it crashed"
            assert "damaged" in alone.text().splitlines()[-1], alone.text().splitlines()[-1]
            refusals += 1
        alone.kill()
    assert refusals > 0
    shutil.rmtree(DATA)
    shutil.copytree(good, DATA)


@test("a data file that is cut, empty or gone is refused")
def _():
    file = os.path.join(DATA, "data.mdb")
    whole = os.path.getsize(file)
    for size in (whole // 2, 100, 0):
        os.truncate(file, size)
        says("--id", "s", "--peers", alone.command[5], "--data", DATA, words="damaged")
    os.unlink(file)
    says("--id", "s", "--peers", alone.command[5], "--data", DATA, words="lost its data.mdb")
    shutil.rmtree(DATA)
    shutil.copytree(data("good"), DATA)
    assert has_counted(alone) == 3
    alone.kill()
    shutil.rmtree(DATA)


cluster = Cluster()
cluster.ready()
A, B, C = cluster.nodes


def entered(node, name):
    client = Client(node)
    token = client("LOCK", name, 20000)
    assert token is not None, "nobody is let in"
    return client, token


def dialogue(port, text):
    """What is answered, until the other hangs up."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(PATIENCE)
        s.sendall(text)
        answer = b""
        try:
            while chunk := s.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass
    return answer


@test("who speaks like a peer to the port of clients is refused, and so the other way round")
def _():
    client = Client(A)
    refused(client, "ERR", "BATON", 1, "b", "0" * 64, "0" * 64, "open")
    refused(client, "ERR", "HEARTBEAT")
    for text in (b"*1\r\n$4\r\nPING\r\n", b"*3\r\n$4\r\nLOCK\r\n$1\r\nl\r\n$1\r\n0\r\n", b"PING\r\n",
                 b"GET / HTTP/1.0\r\n\r\n", b"\0" * 5000, os.urandom(3000),
                 b"*6\r\n$5\r\nBATON\r\n$1\r\n1\r\n$1\r\nb\r\n$64\r\n" + b"0" * 64
                 + b"\r\n$64\r\n" + b"0" * 64 + b"\r\n$4\r\nopen\r\n"):
        dialogue(cluster.ports[0], text)
    assert client("PING") == "PONG"


@test("who connects to the port of peers and says nothing shuts nobody out")
def _():
    idle = [socket.create_connection(("127.0.0.1", cluster.ports[0])) for _ in range(100)]
    B.kill()
    C.kill()
    B.start()
    C.start()
    client, token = entered(A, "idle")
    assert client("ISSUE", "idle", token, "INCR", "n") == 1
    client.close()
    for s in idle:
        s.close()


@test("a node with another list of peers is told so, and counts for nothing")
def _():
    stranger = Node("b", cluster.peers + ",d=127.0.0.1:1")
    stranger.path, stranger.command[7] = data("stranger.socket"), data("stranger.socket")
    stranger.command[9] = data("stranger.data")
    B.kill()
    stranger.start()
    wait_for(lambda: "peer_refused" in stranger.text())
    client, token = entered(A, "list")
    assert client("ISSUE", "list", token, "INCR", "n") == 1
    stranger.kill()
    B.start()


@test("a node with a wrong secret, or none, is refused by both sides")
def _():
    for name, words in (("right", "a long secret\n"), ("wrong", "another secret\n")):
        with open(data(name), "w", encoding="ascii") as file:
            file.write(words)
        os.chmod(data(name), 0o600)
    ports = free_ports(3)
    peers = ",".join(f"{i}=127.0.0.1:{p}" for i, p in zip("xyz", ports))
    x = Node("x", peers, "--auth-file", data("right")).start()
    y = Node("y", peers, "--auth-file", data("wrong")).start()
    z = Node("z", peers).start()
    wait_for(lambda: all("peer_refused" in n.text() for n in (x, y, z)))
    try:
        client = Client(x)
        raise AssertionError("a client needs no secret")
    except Failure as failure:
        assert str(failure).startswith("NOAUTH "), failure
    client = Client(x, version=2)
    client("AUTH", "a long secret")
    try:
        client("LOCK", "l", 500)
        raise AssertionError("it cannot know whether it is new")
    except Failure as failure:
        assert str(failure) == "NOTREADY this node is new and has not heard from y, z yet", failure
    for node in (x, y, z):
        node.kill()


@test("operations end before the room does; nothing acknowledged is lost, and there is a way out")
def _():
    node = Node("f", f"f=127.0.0.1:{free_ports(1)[0]}", "--max-bytes", str(2 << 20)).start()
    wait_for(node.ready)
    client = Client(node)
    token = client("LOCK", "l", 5000)
    done = 0
    try:
        for i in range(1000):
            assert client("ISSUE", "l", token, "SET", f"k{i}", "v" * 8000) == "OK"
            done += 1
    except Failure as failure:
        assert str(failure).startswith("FULL "), failure
    assert 0 < done < 1000 and not node.crashed()
    assert client("ISSUE", "l", token, "DEL", "k0") == 1
    node.kill()
    node.command[-1] = str(64 << 20)
    node.start()
    wait_for(node.ready)
    client = Client(node)
    token = client("LOCK", "l", 5000)
    for i in range(1, done):
        assert len(client("ISSUE", "l", token, "GET", f"k{i}")) == 8000
    assert client("ISSUE", "l", token, "SET", "more", "v") == "OK"
    node.kill()


@test("to look at a lock, or to leave it, does not make it one")
def _():
    node = Node("h", f"h=127.0.0.1:{free_ports(1)[0]}").start()
    wait_for(node.ready)
    client = Client(node)
    for i in range(100):
        assert client("READ", f"nobody{i}", "k") == [None, 0, 0, 0]
        refused(client, "STALE", "EXIT", f"nobody{i}", 1)
    assert info(client, "locks") == 0
    node.kill()


@test("a file that may not grow is told apart from a limit")
def _():
    node = Node("g", f"g=127.0.0.1:{free_ports(1)[0]}")
    with open(node.path + ".log", "ab") as log:
        node.process = subprocess.Popen(
            node.command, stderr=log,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    processes.append(node.process)
    wait_for(node.ready)
    client = Client(node)
    token = client("LOCK", "l", 5000)
    done = 0
    try:
        for i in range(1000):
            client("ISSUE", "l", token, "SET", f"k{i}", "v" * 8000)
            done += 1
    except (EOFError, OSError):
        pass
    assert done > 0 and node.process.wait(PATIENCE) == 1, node.process.returncode
    assert "no space is left" in node.text(), node.text()[-300:]
    node.start()
    wait_for(node.ready)
    client = Client(node)
    token = client("LOCK", "l", 5000)
    for i in range(done):
        assert len(client("ISSUE", "l", token, "GET", f"k{i}")) == 8000
    node.kill()


@test("after all this the cluster is well")
def _():
    for node in cluster.nodes:
        client, token = entered(node, "well")
        client("ISSUE", "well", token, "INCR", "n")
        client.close()
    time.sleep(0.1)
    assert cluster.stop() == [0, 0, 0]
    for node in cluster.nodes:
        assert "ERROR:" not in node.text() and "runtime error" not in node.text(), node.text()


finish()
