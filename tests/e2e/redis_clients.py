"""The lock service through clients for Redis that nobody here wrote: the Python module redis (protocol 2) and
redis-cli (protocol 3). `redis_clients.py SERVER` prints one line of TAP for each test."""

import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import redis

BATON = sys.argv[1]
PATIENCE = 30  # seconds after which something that should happen has not
SCRATCH = tempfile.mkdtemp()
PASSWORD = "open sesame"
results = []
processes = []


@atexit.register
def leave_nothing_behind():
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()
    shutil.rmtree(SCRATCH, ignore_errors=True)


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


class Server:
    """`baton serve` on a port of its own, with a password if wanted."""

    def __init__(self, name, *options):
        self.log = os.path.join(SCRATCH, name + ".log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [BATON, "serve", "--listen", "127.0.0.1:0", "--state", os.path.join(SCRATCH, name), *options], stderr=log)
        processes.append(self.process)
        wait_for(lambda: "event=listening" in self.text())
        self.port = int(re.search(r"at=127\.0\.0\.1:(\d+)", self.text())[1])

    def text(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def client(self, **options):
        """A client with one connection: locks belong to connections, and a pool would lend any."""
        return redis.Redis(port=self.port, single_connection_client=True, socket_timeout=PATIENCE, **options)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def refused(word, call, *words):
    try:
        answer = call(*words)
    except redis.RedisError as error:
        assert str(error).startswith(word), f"{error}, expected {word}"
        return
    raise AssertionError(f"{words}: {answer!r}, expected an error {word}")


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


server = Server("tokens")


@test("python: PING, and INFO as a dictionary")
def _():
    client = server.client()
    assert client.ping() is True
    figures = client.info()
    assert figures["held"] == 0 and figures["connections"] >= 1, figures


@test("python: TRY and EXIT")
def _():
    winner, loser = server.client().execute_command, server.client().execute_command
    token = winner("TRY", "one")
    assert token > 0
    assert loser("TRY", "one") == -token
    assert winner("EXIT", "one", token) == 1
    later = loser("TRY", b"one")
    assert later > token
    assert loser("EXIT", "one", later) == 1


@test("python: LOCK waits for its turn, or so many milliseconds")
def _():
    holder, waiter = server.client().execute_command, server.client().execute_command
    token = holder("LOCK", "turn")
    assert waiter("LOCK", "turn", 10) is None
    got = []
    thread = threading.Thread(target=lambda: got.append(waiter("LOCK", "turn")))
    thread.start()
    wait_for(lambda: [row[4] for row in holder("LOCKS", "turn")] == [1])
    assert got == []
    assert holder("EXIT", "turn", token) == 1
    thread.join(PATIENCE)
    assert got and got[0] > token
    assert waiter("EXIT", "turn", got[0]) == 1


@test("python: RENEW sets a lease, and a silent client loses its lock")
def _():
    client, other = server.client().execute_command, server.client().execute_command
    assert client("RENEW") == 0
    assert client("RENEW", 60000) == 60000
    token = client("TRY", "leased")
    assert client("RENEW", 50) == 50
    wait_for(lambda: other("LOCKS", "leased") == [])
    refused("STALE", client, "EXIT", "leased", token)


@test("python: errors arrive as errors, and the connection lives on")
def _():
    client = server.client().execute_command
    refused("STALE", client, "EXIT", "nothing", 1)
    refused("NAME", client, "TRY", "")
    refused("wrong number", client, "TRY")
    refused("unknown command", client, "SET", "a", "b")
    refused("a token is", client, "EXIT", "a", "b")
    refused("NOPROTO", client, "HELLO", 4)
    token = client("TRY", "twice")
    refused("TWICE", client, "LOCK", "twice")
    assert client("EXIT", "twice", token) == 1


@test("python: a pipeline")
def _():
    client = server.client()
    pipeline = client.pipeline(transaction=False)
    for number in range(100):
        pipeline.execute_command("TRY", f"pipe-{number}")
    tokens = pipeline.execute()
    assert len(tokens) == 100 and min(tokens) > 0
    for number, token in enumerate(tokens):
        pipeline.execute_command("EXIT", f"pipe-{number}", token)
    assert pipeline.execute() == [1] * 100


@test("python: what a closed connection held is free")
def _():
    client, other = server.client(), server.client().execute_command
    assert client.execute_command("TRY", "gone") > 0
    client.connection.disconnect()
    token = other("LOCK", "gone", PATIENCE * 1000)
    assert token > 0 and other("EXIT", "gone", token) == 1


@test("python: a password")
def _():
    secret = os.path.join(SCRATCH, "secret")
    with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
        file.write(PASSWORD + "\n")
    guarded = Server("guarded", "--auth-file", secret)
    assert guarded.client(password=PASSWORD).execute_command("TRY", "a") > 0
    refused("", lambda: guarded.client(password="wrong").ping())
    refused("", lambda: guarded.client().ping())
    assert guarded.stop() == 0


@test("redis-cli: HELLO 3, and it sees the pushes")
def _():
    client = subprocess.Popen(["redis-cli", "-3", "--show-pushes", "yes", "-p", str(server.port)], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)
    processes.append(client)
    heard = []
    threading.Thread(target=lambda: heard.extend(iter(client.stdout.readline, "")), daemon=True).start()

    def say(line, answer):
        client.stdin.write(line + "\n")
        wait_for(lambda: re.search(answer, "".join(heard), re.S))

    holder = server.client().execute_command
    token = holder("TRY", "pushed")
    say("TRY pushed", f"-{token}")
    assert holder("EXIT", "pushed", token) == 1
    say("PING 1", r"reset.*pushed.*\d+")
    client.stdin.write("LOCK pushed\n")
    wait_for(lambda: holder("LOCKS", "pushed") != [])
    mine = holder("LOCKS", "pushed")[0][1]
    assert mine > token
    assert holder("RELEASE", "pushed", mine) == 1
    say("PING 2", f"lost.*pushed.*{mine}")
    client.stdin.close()
    assert client.wait(PATIENCE) == 0


assert server.stop() == 0
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
