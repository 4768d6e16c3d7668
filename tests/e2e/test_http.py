"""Health and metrics of the lock service, over HTTP."""

import errno
import math
import re
import signal
import socket
import threading

import pytest

from world import PATIENCE, refused, wait_for


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
    request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    head, text = raw(port, request.encode() + body).split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), headers, text.decode()


NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(\{{([a-z]+)="([^"\\\n]*)"\}})? (NaN|[0-9]+(\.[0-9]+)?)')


def parse(text):
    """The text format, read more strictly than Prometheus does: values by name, or by name and
    label."""
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


def metrics(server):
    status, headers, text = ask(server.http, "/metrics")
    assert status == 200, text
    assert headers["content-type"].startswith("text/plain; version=0.0.4"), headers
    return parse(text)


@pytest.fixture(scope="module", name="shared")
def _shared(module_world):
    """A server with pages, which most of these tests read."""
    return module_world.server(http="0")


def test_health_is_fine(shared):
    """health is fine"""
    status, headers, text = ask(shared.http, "/health")
    assert (status, text) == (200, "ok\n") and headers["content-type"].startswith("text/plain")
    assert ask(shared.http, "/health?verbose=1")[0] == 200


def test_head_has_the_headers_of_get(shared):
    """HEAD has the headers of GET, and no text"""
    status, headers, text = ask(shared.http, "/health", "HEAD")
    assert (status, headers["content-length"], text) == (200, "3", "")


def test_other_paths_and_methods_are_refused(shared):
    """other paths and methods are refused, and the answer says what there is"""
    for path in ("/", "/healthy", "/metrics/", "/../etc/passwd", "/%00", "/" + "x" * 4000):
        status, _, text = ask(shared.http, path)
        assert status == 404 and "/health" in text and "/metrics" in text, (path, status, text)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"):
        status, headers, text = ask(shared.http, "/metrics", method, b"x" * 100)
        assert status == 405 and "GET" in text, (method, status, text)
        assert headers["allow"] == "get, head", (method, headers)


def test_fresh_server_has_metrics(world, server):
    """a server of which nobody has asked anything has metrics"""
    values = metrics(server(http="0"))
    assert values["baton_grants_total"] == 0 and math.isnan(values["baton_messages_per_section"])
    assert values["baton_open"] == 1 and values["baton_wait_seconds_count"] == 0
    version = world.baton("--version").stdout.split()[1]
    assert values["baton_build_info", version] == 1


def test_metrics_count_what_happened(server, connect):
    """three contenders: the metrics are what has happened"""
    watched = server(http="0")
    first, second, third = [connect(watched) for _ in range(3)]    # messages: 3 in, 3 out
    token = first("TRY", "x")                                      # 4, 4: a grant
    assert second("TRY", "x") == -token                            # 5, 5: a failure
    third.send("LOCK", "x", 60000)                                 # 6
    wait_for(lambda: metrics(watched)["baton_queue_length"] == 1)
    first("LOCK", "y")                                             # 7, 6: a grant, at once
    values = metrics(watched)
    assert values["baton_longest_queue_length"] == 1 and values["baton_locks_held"] == 2
    assert values["baton_connections"] == 3 and values["baton_wait_seconds_count"] == 1
    first("EXIT", "x", token)                                      # 8, 7: a section ends
    token = third.reply()                                          # 8, 8: a hand-off
    third("EXIT", "x", token)                                      # 9, 9: a section ends
    assert second.push()[0] == "reset"                             # 9, 10
    token = second("TRY", "x", 7)                                  # 10, 11: a grant
    third("RENEW", 0, 5)                                           # 11, 12
    assert third("LOCK", "y", 30, 2) is None                       # 12, 13: in vain
    assert first("RELEASE", "x", token) == 1                       # 13, 14: a section ends
    assert second.push()[0] == "lost"                              # 13, 15
    refused(second, "STALE", "EXIT", "x", token, 1)                # 14, 16
    values = metrics(watched)
    expected = {
        "tries_total": 3, "failed_tries_total": 1, "local_refusals_total": 15, "grants_total": 4,
        "handoffs_total": 1, "wait_timeouts_total": 1, "resets_total": 1, "lost_sections_total": 1,
        "stale_exits_total": 1, "connections_accepted_total": 3, "connections": 3, "locks": 1,
        "locks_held": 1, "queue_length": 0, "longest_queue_length": 0,
        "messages_received_total": 14, "messages_sent_total": 16, "messages_per_section": 7.5,
        "hold_seconds_count": 3, "wait_seconds_count": 2,
    }
    wrong = {name: values["baton_" + name] for name in expected
             if values["baton_" + name] != expected[name]}
    assert not wrong, f"{wrong}, expected {[(name, expected[name]) for name in wrong]}"


def test_holds_and_waits_fall_into_buckets(shared, connect):
    """holds and waits are in the right buckets, however they end"""
    before = metrics(shared)
    holder, waiter = connect(shared), connect(shared)
    holder("TRY", "slow")
    waiter.send("LOCK", "slow")
    wait_for(lambda: metrics(shared)["baton_queue_length"] == 1)
    holder("RENEW", 150)
    waiter.reply()  # when the lease is over
    waiter.close()  # and the hold ends with the connection
    count = before["baton_hold_seconds_count"]
    wait_for(lambda: metrics(shared)["baton_hold_seconds_count"] == count + 2)
    after = metrics(shared)

    def grown(name, bound=None):
        key = (f"baton_{name}_seconds_bucket", bound) if bound else f"baton_{name}_seconds_sum"
        return after[key] - before[key]

    assert grown("hold", "0.1") <= 1 and grown("hold", "+Inf") == 2 and grown("hold") > 0.14
    assert grown("wait", "0.1") == 0 and grown("wait", "+Inf") == 1 and grown("wait") > 0.14


def test_junk_does_no_harm(shared):
    """junk is no harm"""
    for junk in (
            b"\r\n\r\n", b"GET\r\n\r\n", b"\x00\xff" * 500 + b"\r\n\r\n",
            b"GET /health HTTP/9.9\r\n\r\n",
            b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
            b"*1\r\n$4\r\nPING\r\n\r\n", b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20000 + b"\r\n",
            b"POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
        try:
            with socket.create_connection(("127.0.0.1", shared.http), PATIENCE) as connection:
                connection.sendall(junk)
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(PATIENCE)
                assert not connection.recv(65536).startswith(b"HTTP/1.1 200"), junk[:40]
        except ConnectionError:
            pass
        except OSError as error:
            assert error.errno == errno.ENOTCONN, error  # it was faster than we
    assert ask(shared.http, "/health")[0] == 200


def test_many_requests_at_once(shared, connect):
    """many requests at once, while locks are used"""
    failures = []

    def read_often():
        try:
            for _ in range(10):
                values = metrics(shared)
                assert values["baton_hold_seconds_count"] <= values["baton_grants_total"]
        except Exception as error:  # of any kind: it is told below
            failures.append(error)

    threads = [threading.Thread(target=read_often) for _ in range(40)]
    for thread in threads:
        thread.start()
    client = connect(shared)
    for _ in range(500):
        client("EXIT", "busy", client("TRY", "busy"))
    for thread in threads:
        thread.join(PATIENCE)
    assert not failures and not any(thread.is_alive() for thread in threads), failures[:1]


def trickle(connections, over):
    """Goes on with each request, a header at a time, so that none of them is silent for long."""
    while not over.wait(1):
        for connection in connections:
            try:
                connection.sendall(b"X: y\r\n")
            except OSError:
                pass  # it was turned out


def test_unfinished_requests_hinder_nobody(shared, connect):
    """requests that are never finished keep neither locks nor other requests from being served"""
    open_ones = [socket.create_connection(("127.0.0.1", shared.http), PATIENCE) for _ in range(300)]
    for connection in open_ones:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n")
    over = threading.Event()
    trickler = threading.Thread(target=trickle, args=(open_ones, over))
    trickler.start()
    try:
        assert connect(shared)("TRY", "unhindered") > 0
        assert ask(shared.http, "/health")[0] == 200
    finally:
        over.set()
        trickler.join()
        for connection in open_ones:
            connection.close()


def test_refuses_to_begin(world, shared):
    """it refuses to begin where it should"""
    def begin(*options):
        return world.baton("serve", "--listen", world.path("none"), "--state",
                           world.path("none.tokens"), *options)

    for given in ("", "x", "65536", "-1", "1.5", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999",
                  "/tmp/socket", ":80"):
        done = begin("--http", given)
        assert done.returncode == 64 and "--http takes" in done.stderr, (given, done)
    done = begin("--http", "0.0.0.0:0")
    assert done.returncode == 64 and "--auth-file" in done.stderr, done
    done = begin("--http", str(shared.http))
    words = f"cannot serve HTTP at 127.0.0.1:{shared.http}: Address"
    assert done.returncode == 1 and words in done.stderr, done
    assert "--http" in begin("--help").stdout


def test_public_pages_need_no_password(world, server):
    """beyond this machine with a password only, and that is not for the pages"""
    public = server("--auth-file", world.secret("correct horse"), http="0.0.0.0:0")
    assert ask(public.http, "/health")[0] == 200
    assert metrics(public)["baton_open"] == 1
    assert public.stop() == 0


def test_health_after_a_crash(server, connect):
    """health says how long grants are held back after a crash"""
    mortal = server(name="mortal", http="0")
    connect(mortal)("RENEW", 3000)
    mortal.stop(signal.SIGKILL)
    later = server(name="mortal", http="0")
    status, _, text = ask(later.http, "/health")
    assert status == 503 and re.fullmatch(r"held back for [1-3] s: .*\n", text), (status, text)
    client = connect(later)
    assert client("TRY", "held back") < 0
    values = metrics(later)
    assert values["baton_open"] == 0 and 0 < values["baton_hold_back_seconds"] <= 3
    assert values["baton_grants_total"] == 0 and values["baton_failed_tries_total"] == 1
    wait_for(lambda: ask(later.http, "/health")[0] == 200)
    values = metrics(later)
    assert values["baton_open"] == 1 and values["baton_hold_back_seconds"] == 0
    assert values["baton_hold_seconds_count"] == 0, "nobody has held anything"
    assert values["baton_resets_total"] == 1
    assert later.stop() == 0


def test_ends_while_somebody_asks(server):
    """it ends on SIGTERM while somebody asks, and the port is free again"""
    ending = server(name="ending", http="0")
    with socket.create_connection(("127.0.0.1", ending.http), PATIENCE) as waiting:
        waiting.sendall(b"GET /health HTTP/1.1\r\n")
        assert ending.stop() == 0
    assert "event=ended" in ending.text()
    again = server(name="ending", http=str(ending.http))
    assert ask(again.http, "/health")[0] == 200
    assert again.stop() == 0
