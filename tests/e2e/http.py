"""Health and metrics over HTTP: `http.py SERVER`. Prints one line of TAP for each test."""

import errno
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from service import BATON, PATIENCE, SCRATCH, Client, Server, finish, refused, test, wait_for


def raw(port, request):
    """Sends those bytes; returns all that comes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(request)
        answer = b""
        try:
            while data := connection.recv(65536):
                answer += data
        except ConnectionResetError:
            pass
        return answer


def ask(port, path, method="GET", body=b""):
    """Status, headers, text."""
    request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    head, text = raw(port, request).split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), dict(line.lower().split(": ", 1) for line in lines[1:]), text.decode()


NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(\{{([a-z]+)="([^"\\\n]*)"\}})? (NaN|[0-9]+(\.[0-9]+)?)')


def parse(text):
    """The text format, read more strictly than Prometheus does. Returns values by name, or by (name, label)."""
    assert text.endswith("\n"), "the last line has no end"
    values, types, current = {}, {}, None
    lines = text[:-1].split("\n")
    while lines:
        line = lines.pop(0)
        if line.startswith("# HELP "):
            current, words = re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line).groups()
            assert current not in types, f"{current} comes twice"
            assert words.endswith("."), line
            typed = re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|histogram)", lines.pop(0))
            assert typed and typed[1] == current, f"no TYPE behind the HELP of {current}"
            types[current] = typed[2]
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, f"not a sample: {line}"
        name, label, number = sample[1], sample[4], float(sample[5])
        family = re.sub("_(bucket|sum|count)$", "", name) if types[current] == "histogram" else name
        assert family == current, f"{name} stands under {current}"
        key = (name, label) if label is not None else name
        assert key not in values, f"{key} comes twice"
        values[key] = number
    for name, kind in types.items():
        assert name.startswith("baton_")
        assert (kind == "counter") == name.endswith("_total"), f"{name} is a {kind}"
        if kind == "histogram":
            check_histogram(values, name)
    return values


def check_histogram(values, name):
    assert name.endswith("_seconds")
    buckets = [(float(key[1].replace("+Inf", "inf")), value) for key, value in values.items()
               if key[0] == name + "_bucket"]
    assert buckets == sorted(buckets) and len(buckets) > 5, "the bounds do not grow"
    counts = [count for _, count in buckets]
    assert counts == sorted(counts), "the buckets are not cumulative"
    assert buckets[-1] == (math.inf, values[name + "_count"])
    assert values[name + "_sum"] >= 0


class Watched(Server):
    """A server with pages."""

    def __init__(self, name, *options, http="0"):
        super().__init__("--http", http, *options, state=name + ".tokens", path=name)
        wait_for(lambda: "event=http" in self.text() or self.ended())
        self.http = int(re.search(r"event=http at=\S+:(\d+)", self.text())[1])

    def metrics(self):
        status, headers, text = ask(self.http, "/metrics")
        assert status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4"), headers
        return parse(text)


server = Watched("watched")


@test("health is fine")
def _():
    status, headers, text = ask(server.http, "/health")
    assert (status, text) == (200, "ok\n") and headers["content-type"].startswith("text/plain")
    assert ask(server.http, "/health?verbose=1")[0] == 200


@test("HEAD has the headers of GET, and no text")
def _():
    status, headers, text = ask(server.http, "/health", "HEAD")
    assert (status, headers["content-length"], text) == (200, "3", "")


@test("other paths and methods are refused, and the answer says what there is")
def _():
    for path in ("/", "/healthy", "/metrics/", "/../etc/passwd", "/%00", "/" + "x" * 4000):
        status, _, text = ask(server.http, path)
        assert status == 404 and "/health" in text and "/metrics" in text, (path, status, text)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"):
        status, headers, text = ask(server.http, "/metrics", method, b"x" * 100)
        assert status == 405 and headers["allow"] == "get, head" and "GET" in text, (method, status, headers)


@test("a server of which nobody has asked anything has metrics")
def _():
    values = server.metrics()
    assert values["baton_grants_total"] == 0 and math.isnan(values["baton_messages_per_section"])
    assert values["baton_open"] == 1 and values["baton_wait_seconds_count"] == 0
    version = subprocess.run([BATON, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    assert values["baton_build_info", version] == 1


@test("three contenders: the metrics are what has happened")
def _():
    first, second, third = Client(server), Client(server), Client(server)      # messages: 3 in, 3 out
    token = first("TRY", "x")                                                   # 4, 4: a grant
    assert second("TRY", "x") == -token                                         # 5, 5: a failure
    third.send("LOCK", "x", 60000)                                              # 6
    wait_for(lambda: server.metrics()["baton_queue_length"] == 1)
    first("LOCK", "y")                                                          # 7, 6: a grant, after a wait of 0
    values = server.metrics()
    assert values["baton_longest_queue_length"] == 1 and values["baton_locks_held"] == 2
    assert values["baton_connections"] == 3 and values["baton_wait_seconds_count"] == 1
    first("EXIT", "x", token)                                                   # 8, 7: a section ends
    token = third.reply()                                                       # 8, 8: a hand-off
    third("EXIT", "x", token)                                                   # 9, 9: a section ends
    assert second.push()[0] == "reset"                                          # 9, 10
    token = second("TRY", "x", 7)                                               # 10, 11: a grant
    third("RENEW", 0, 5)                                                        # 11, 12
    assert third("LOCK", "y", 30, 2) is None                                    # 12, 13: in vain
    assert first("RELEASE", "x", token) == 1                                    # 13, 14: a section ends
    assert second.push()[0] == "lost"                                           # 13, 15
    refused(second, "STALE", "EXIT", "x", token, 1)                             # 14, 16
    values = server.metrics()
    expected = {
        "tries_total": 3, "failed_tries_total": 1, "local_refusals_total": 15, "grants_total": 4,
        "handoffs_total": 1, "wait_timeouts_total": 1, "resets_total": 1, "lost_sections_total": 1,
        "stale_exits_total": 1, "connections_accepted_total": 3, "connections": 3, "locks": 1, "locks_held": 1,
        "queue_length": 0, "longest_queue_length": 0, "messages_received_total": 14, "messages_sent_total": 16,
        "messages_per_section": 7.5, "hold_seconds_count": 3, "wait_seconds_count": 2,
    }
    wrong = {name: values["baton_" + name] for name, value in expected.items() if values["baton_" + name] != value}
    assert not wrong, f"{wrong}, expected {[(name, expected[name]) for name in wrong]}"


@test("holds and waits are in the right buckets, however they end")
def _():
    before = server.metrics()
    holder, waiter = Client(server), Client(server)
    holder("TRY", "slow")
    waiter.send("LOCK", "slow")
    wait_for(lambda: server.metrics()["baton_queue_length"] == 1)
    holder("RENEW", 150)
    waiter.reply()  # when the lease is over
    waiter.close()  # and the hold ends with the connection
    wait_for(lambda: server.metrics()["baton_hold_seconds_count"] == before["baton_hold_seconds_count"] + 2)
    after = server.metrics()
    def grown(name, bound=None):
        key = (f"baton_{name}_seconds_bucket", bound) if bound else f"baton_{name}_seconds_sum"
        return after[key] - before[key]
    assert grown("hold", "0.1") <= 1 and grown("hold", "+Inf") == 2 and grown("hold") > 0.14
    assert grown("wait", "0.1") == 0 and grown("wait", "+Inf") == 1 and grown("wait") > 0.14


@test("junk is no harm")
def _():
    for junk in (b"\r\n\r\n", b"GET\r\n\r\n", b"\x00\xff" * 500 + b"\r\n\r\n", b"GET /health HTTP/9.9\r\n\r\n",
                 b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"*1\r\n$4\r\nPING\r\n\r\n",
                 b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20000 + b"\r\n",
                 b"POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
        try:
            with socket.create_connection(("127.0.0.1", server.http), PATIENCE) as connection:
                connection.sendall(junk)
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(PATIENCE)
                assert not connection.recv(65536).startswith(b"HTTP/1.1 200"), junk[:40]
        except ConnectionError:
            pass
        except OSError as error:
            assert error.errno == errno.ENOTCONN, error  # it was faster than we
    assert ask(server.http, "/health")[0] == 200


@test("many requests at once, while locks are used")
def _():
    failures = []
    def read_often():
        try:
            for _ in range(10):
                values = server.metrics()
                assert values["baton_hold_seconds_count"] <= values["baton_grants_total"]
        except Exception as error:  # of any kind: it is told below
            failures.append(error)
    threads = [threading.Thread(target=read_often) for _ in range(40)]
    for thread in threads:
        thread.start()
    client = Client(server)
    for _ in range(500):
        client("EXIT", "busy", client("TRY", "busy"))
    for thread in threads:
        thread.join(PATIENCE)
    assert not failures and not any(thread.is_alive() for thread in threads), failures[:1]


@test("requests that are never finished do not keep locks from being served")
def _():
    open_ones = [socket.create_connection(("127.0.0.1", server.http), PATIENCE) for _ in range(300)]
    for connection in open_ones:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n")
    client = Client(server)
    assert client("TRY", "unhindered") > 0
    for connection in open_ones:
        connection.close()
    assert ask(server.http, "/health")[0] == 200


@test("it refuses to begin where it should")
def _():
    def begin(*options):
        return subprocess.run([BATON, "serve", "--listen", os.path.join(SCRATCH, "none"), "--state",
                               os.path.join(SCRATCH, "none.tokens"), *options], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
    for given in ("", "x", "65536", "-1", "1.5", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "/tmp/socket", ":80"):
        done = begin("--http", given)
        assert done.returncode == 64 and "--http takes" in done.stderr, (given, done)
    done = begin("--http", "0.0.0.0:0")
    assert done.returncode == 64 and "--auth-file" in done.stderr, done
    done = begin("--http", str(server.http))
    assert done.returncode == 1 and f"cannot serve HTTP at 127.0.0.1:{server.http}: Address" in done.stderr, done
    assert "--http" in begin("--help").stdout


@test("beyond this machine with a password only, and that is not for the pages")
def _():
    secret = os.path.join(SCRATCH, "secret")
    with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
        file.write("correct horse\n")
    public = Watched("public", "--auth-file", secret, http="0.0.0.0:0")
    assert ask(public.http, "/health")[0] == 200
    assert public.metrics()["baton_open"] == 1
    assert public.stop() == 0


@test("health says how long grants are held back after a crash")
def _():
    mortal = Watched("mortal")
    Client(mortal)("RENEW", 3000)
    mortal.stop(signal.SIGKILL)
    later = Watched("mortal")
    status, _, text = ask(later.http, "/health")
    assert status == 503 and re.fullmatch(r"held back for [1-3] s: .*\n", text), (status, text)
    client = Client(later)
    assert client("TRY", "held back") < 0
    values = later.metrics()
    assert values["baton_open"] == 0 and 0 < values["baton_hold_back_seconds"] <= 3
    assert values["baton_grants_total"] == 0 and values["baton_failed_tries_total"] == 1
    wait_for(lambda: ask(later.http, "/health")[0] == 200)
    values = later.metrics()
    assert values["baton_open"] == 1 and values["baton_hold_back_seconds"] == 0
    assert values["baton_hold_seconds_count"] == 0, "nobody has held anything"
    assert values["baton_resets_total"] == 1
    assert later.stop() == 0


@test("it ends on SIGTERM while somebody asks, and the port is free again")
def _():
    waiting = socket.create_connection(("127.0.0.1", server.http), PATIENCE)
    waiting.sendall(b"GET /health HTTP/1.1\r\n")
    assert server.stop() == 0
    assert "event=ended" in server.text()
    again = Watched("watched", http=str(server.http))
    assert ask(again.http, "/health")[0] == 200
    assert again.stop() == 0


finish()
