"""The lock service and a crowd: `crowd.py SERVER`. Prints one line of TAP for each test."""

import atexit
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BATON = sys.argv[1]
CROWD = 5000
NAMES = 100000
PATIENCE = 60  # seconds after which something that should happen has not
SCRATCH = tempfile.mkdtemp()
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
results = []
servers = []


@atexit.register
def leave_nothing_behind():
    for server in servers:
        server.process.kill()
        server.process.wait()
    shutil.rmtree(SCRATCH, ignore_errors=True)


class Server:
    """`baton serve` on a Unix socket, with limits of its own for open files."""

    def __init__(self, soft, hard, *options):
        self.path = os.path.join(SCRATCH, f"socket{len(servers)}")
        self.log = self.path + ".log"
        command = [BATON, "serve", "--listen", self.path, "--state", self.path + ".tokens", *options]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["prlimit", f"--nofile={soft}:{hard}", *command], stderr=log)
        servers.append(self)
        wait_for(lambda: "event=listening" in self.text())

    def text(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(self.path)
        return client

    def memory(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


def ask(client, *commands):
    """Sends them all at once; the answers are one line each."""
    client.sendall("".join(command + "\r\n" for command in commands).encode())
    data = b""
    while data.count(b"\r\n") < len(commands):
        more = client.recv(1 << 16)
        assert more, "the connection is gone"
        data += more
    return data.decode().split("\r\n")[:-1]


def info(client, key):
    client.sendall(b"INFO\r\n")
    data = b""
    while b"\r\nloops:" not in data or not data.endswith(b"\r\n\r\n"):
        data += client.recv(1 << 16)
    return int(data.decode().split(f"\r\n{key}:")[1].split("\r\n")[0])


def test(name):
    def run(function):
        try:
            function()
            results.append(True)
            print(f"ok {len(results)} - {name}", flush=True)
        except Exception as failure:  # whatever it is, the next test comes
            results.append(False)
            print(f"# {type(failure).__name__}: {failure}\nnot ok {len(results)} - {name}", flush=True)
    return run


@test(f"{CROWD} connections, though the limit for open files was lower when it began")
def _():
    resource.setrlimit(resource.RLIMIT_NOFILE, (HARD, HARD))
    assert HARD == resource.RLIM_INFINITY or HARD > CROWD + 200, f"this needs a hard limit above {CROWD + 200}"
    server = Server(256, HARD, "--max-connections", str(CROWD + 10))
    assert "event=descriptors" not in server.text()
    crowd = []
    for _ in range(CROWD):
        crowd.append(server.connect())
        if len(crowd) % 500 == 0:
            ask(crowd[-1], "PING")  # so that they are not too many to be accepted at once
    asking = crowd[::50]
    for number, client in enumerate(asking):
        assert int(ask(client, f"TRY own-{number}")[0][1:]) > 0
    token = int(ask(asking[0], "TRY one")[0][1:])
    assert all(ask(client, "TRY one") == [f":-{token}"] for client in asking[1:])
    assert info(asking[0], "connections") == CROWD
    assert info(asking[0], "held") == len(asking) + 1
    for client in crowd[1:]:
        client.close()
    wait_for(lambda: info(crowd[0], "connections") == 1)
    assert info(crowd[0], "held") == 2, "what the others held is free"
    assert server.stop() == 0


@test("where the limit for open files cannot be raised it says so, and turns away who is too much")
def _():
    server = Server(128, 128, "--max-connections", "1000", "--loops", "1")
    assert "event=descriptors" in server.text() and "connections=56" in server.text(), server.text()
    crowd = [server.connect() for _ in range(56)]
    assert all(ask(client, "PING") == ["+PONG"] for client in crowd)
    assert server.connect().recv(100) == b"-ERR max number of clients reached\r\n"
    crowd.pop().close()
    wait_for(lambda: info(crowd[0], "connections") == 55)
    assert ask(server.connect(), "PING") == ["+PONG"]
    assert server.stop() == 0


@test("who reads pages, and is silent, takes no open file from the crowd")
def _():
    server = Server(512, 512, "--max-connections", "1000", "--loops", "1", "--http", "127.0.0.1:0")
    room = int(re.search(r"event=descriptors .* connections=(\d+)", server.text())[1])
    wait_for(lambda: "event=http" in server.text())
    port = int(re.search(r"event=http at=\S+:(\d+)", server.text())[1])
    readers = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(250)]
    wait_for(lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) > len(readers))
    crowd = []
    for _ in range(room):
        crowd.append(server.connect())
        assert ask(crowd[-1], "PING") == ["+PONG"]
    for reader in readers:
        reader.close()
    assert server.stop() == 0


@test(f"{NAMES} locks held at once leave no memory behind")
def _():
    server = Server(256, HARD)
    client = server.connect()
    ask(client, "PING")
    before = server.memory()
    tokens = []
    for start in range(0, NAMES, 500):
        tokens += ask(client, *(f"TRY name-{i}" for i in range(start, start + 500)))
    held = server.memory() - before
    assert info(client, "held") == NAMES
    for start in range(0, NAMES, 500):
        ask(client, *(f"EXIT name-{i} {tokens[i][1:]}" for i in range(start, start + 500)))
    assert info(client, "locks") == 0
    wait_for(lambda: server.memory() - before < held / 4)
    assert server.stop() == 0


print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
