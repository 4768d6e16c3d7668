"""Three nodes of a cluster as real processes; what the tests of `baton node` share."""

import os
import re
import shutil
import signal
import socket
import subprocess

from service import BATON, PATIENCE, SCRATCH, Client, processes, results, wait_for

IDS = "abc"


def check(name, good):
    results.append(bool(good))
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}", flush=True)


def free_ports(count):
    """Ports that nobody has at the moment."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Node:
    """One of them; `path` is where its clients connect."""

    def __init__(self, name, peers, *options):
        self.name = name
        self.path = os.path.join(SCRATCH, name + ".socket")
        self.command = [BATON, "node", "--id", name, "--peers", peers, "--client", self.path,
                        "--data", os.path.join(SCRATCH, name + ".data"), *options]
        self.process = None

    def start(self):
        if os.path.exists(self.path):
            os.unlink(self.path)  # of one that was killed: nobody must take it for this one's
        log = open(self.path + ".log", "ab")
        self.process = subprocess.Popen(self.command, stderr=log)
        log.close()
        processes.append(self.process)
        return self

    def is_not(self, *states):
        """Whether clients can connect, and its state is none of these; or it has ended."""
        if self.crashed():
            return True
        try:
            client = Client(self, version=2)
            text = client("STATUS")[0]
            client.close()
        except (OSError, EOFError):
            return self.crashed()
        return not any(b"state:" + state in text for state in states)

    def ready(self):
        """It does not wait for others to say who it is."""
        return self.is_not(b"new")

    def settled(self):
        """Nor does it bring back what it has lost."""
        return self.is_not(b"new", b"rejoins")

    def empty(self):
        """Its disk is lost; it does not run."""
        shutil.rmtree(self.command[self.command.index("--data") + 1])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def crashed(self):
        """It ended, and nobody wanted it to."""
        return self.process.poll() is not None

    def text(self):
        with open(self.path + ".log", encoding="utf-8", errors="replace") as log:
            return log.read()


def page(node, path):
    """Status and text."""
    port = int(re.findall(r"event=http at=127\.0\.0\.1:(\d+)", node.text())[-1])
    answer = b""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(f"GET /{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        while data := connection.recv(65536):
            answer += data
    head, text = answer.decode().split("\r\n\r\n", 1)
    return int(head.split()[1]), text


def metrics(node):
    lines = page(node, "metrics")[1].splitlines()
    return {line.split()[0]: float(line.split()[1]) for line in lines if not line.startswith("#")}


class Cluster:
    def __init__(self, *options):
        self.ports = free_ports(len(IDS))
        self.peers = ",".join(f"{i}=127.0.0.1:{p}" for i, p in zip(IDS, self.ports))
        self.nodes = [Node(i, self.peers, *options).start() for i in IDS]

    def ready(self):
        for node in self.nodes:
            wait_for(node.ready)

    def stop(self):
        codes = []
        for node in self.nodes:
            node.process.send_signal(signal.SIGTERM)
        for node in self.nodes:
            codes.append(node.process.wait(PATIENCE))
        return codes
