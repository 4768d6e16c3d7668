"""Nodes of a cluster as real processes."""

import contextlib
import os
import re
import shutil
import signal
import socket
import string

from .client import Client
from .process import Process
from .settings import BATON, PATIENCE
from .waiting import wait_for


def ids(count):
    """Of so many nodes: a, b, c ..."""
    return string.ascii_lowercase[:count]


class Node(Process):
    """One of them; `path` is where its clients connect. It does not run yet."""

    def __init__(self, world, node_id, peers, *options, name=None):
        self.id = node_id
        name = name or node_id
        self.path = world.path(name + ".socket")
        self.data = world.path(name + ".data")
        self.peers = peers
        self.before = []  # a command that runs it, always
        super().__init__(world, name, [
            BATON, "node", "--id", node_id, "--peers", peers, "--client", self.path,
            "--data", self.data, *options])

    def start(self, *before, **options):
        if os.path.exists(self.path):
            os.unlink(self.path)  # of one that was killed: nobody must take it for this one's
        return super().start(*self.before, *before, **options)

    def is_not(self, *states):
        """Whether clients can connect, and its state is none of these; or it has ended."""
        if self.has_ended():
            return True
        try:
            with Client(self, version=2) as client:
                text = client("STATUS")[0]
        except (OSError, EOFError):
            return self.has_ended()
        return not any(b"state:" + state in text for state in states)

    def ready(self):
        """It does not wait for others to say who it is."""
        return self.is_not(b"new")

    def settled(self):
        """Nor does it bring back what it has lost."""
        return self.is_not(b"new", b"rejoins")

    def empty(self):
        """Its disk is lost; it does not run."""
        shutil.rmtree(self.data)

    def revive(self):
        """It runs again, and suspects nobody."""
        self.start()
        wait_for(self.ready)
        wait_for(lambda: b"suspected:\r\n" in self.status_text())
        return self

    def status_text(self):
        with Client(self) as client:
            return client("STATUS")[0]

    def status(self, field=None):
        """As `baton status --json` says it."""
        node = self.world.status(self)[1][0]
        return node.get(field) if field else node

    def lock(self, name):
        """How the node has that lock; None if it does not know it."""
        return next((lock for lock in self.status("listed") or [] if lock["name"] == name), None)

    def restart(self, number=signal.SIGTERM):
        """Its exit code; it runs again."""
        code = self.stop(number)
        self.start()
        return code


def page(node, path):
    """Status and text of a page of that node."""
    port = int(re.findall(r"event=http at=127\.0\.0\.1:(\d+)", node.text())[-1])
    answer = b""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        while data := connection.recv(65536):
            answer += data
    head, text = answer.decode().split("\r\n\r\n", 1)
    return int(head.split()[1]), text


def metrics(node):
    lines = page(node, "metrics")[1].splitlines()
    return {line.split()[0]: float(line.split()[1]) for line in lines if line[:1] != "#"}


class Cluster:
    """Nodes a, b, c ... on loopback."""

    def __init__(self, world, count, *options, start=True):
        self.world = world
        self.ids = ids(count)
        self.ports = world.ports.take(count)
        self.nodes = [world.node(i, self.peers_of(i), *options) for i in self.ids]
        if start:
            for node in self.nodes:
                node.start()
            self.ready()

    def peers_of(self, _):
        """The list that a node is given."""
        return self.peers

    @property
    def peers(self):
        return ",".join(f"{i}=127.0.0.1:{port}" for i, port in zip(self.ids, self.ports))

    @property
    def majority(self):
        return len(self.nodes) // 2 + 1

    def some(self, count):
        """So many nodes, from the first on; if there are fewer, some come twice."""
        return [self.nodes[i % len(self.nodes)] for i in range(count)]

    def but(self, *nodes):
        """The others."""
        return [node for node in self.nodes if node not in nodes]

    @contextlib.contextmanager
    def paused(self, nodes):
        """Those nodes hang meanwhile."""
        for node in nodes:
            node.pause()
        try:
            yield
        finally:
            for node in nodes:
                node.resume()

    @contextlib.contextmanager
    def killed(self, node):
        """That node is dead meanwhile."""
        node.kill()
        try:
            yield
        finally:
            node.revive()

    def ready(self):
        for node in self.nodes:
            wait_for(node.ready)

    def status(self, *options):
        """Exit code of `baton status` and what it says of each node."""
        return self.world.status(*self.nodes, options=options)

    def all_well(self):
        """All run, have all that they should, and reach each other."""
        code, nodes = self.status()
        others = len(self.nodes) - 1
        return code == 0 and all(
            n["state"] == "up" and len(n["reached"]) == others and not n["suspected"]
            for n in nodes)

    def wait_until_well(self):
        wait_for(self.all_well)

    def stop(self):
        """Their exit codes; all are asked at the same time."""
        for node in self.nodes:
            node.send(signal.SIGTERM)
        return [node.wait() for node in self.nodes]

    def has_stopped_well(self):
        return self.stop() == [0] * len(self.nodes)
