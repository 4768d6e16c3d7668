"""What the tests of the lock service share: servers, clients, and results as TAP. The first argument is the program."""

import atexit
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BATON = sys.argv[1]
SANITIZED = "--sanitized" in sys.argv  # then memory is not given back at once
SCRATCH = tempfile.mkdtemp()
PATIENCE = 90 if SANITIZED else 20  # seconds after which something that should happen has not
results = []
processes = []


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


@atexit.register
def leave_nothing_behind():
    for process in processes:
        if process.poll() is None:
            process.kill()
    shutil.rmtree(SCRATCH, ignore_errors=True)


class Server:
    """`baton serve` on a Unix socket, and on a port of its own if wanted."""

    def __init__(self, *options, port=False, state="tokens", path="socket"):
        self.path = os.path.join(SCRATCH, path)
        self.log = open(self.path + ".log", "w+", encoding="utf-8")
        command = [BATON, "serve", "--listen", self.path, "--state", os.path.join(SCRATCH, state)]
        if port:
            command += ["--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command + list(options), stderr=self.log)
        processes.append(self.process)
        wait_for(lambda: self.text().count("event=listening") == (2 if port else 1) or self.ended())
        found = re.search(r"at=127\.0\.0\.1:(\d+)", self.text())
        self.port = int(found[1]) if found else None

    def text(self):
        with open(self.log.name, encoding="utf-8") as log:
            return log.read()

    def ended(self):
        return self.process.poll() is not None

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self.log.close()
        return code

    def memory(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Failure(Exception):
    """An error reply."""


class Client:
    """Speaks RESP by hand, so that nothing is hidden."""

    def __init__(self, server, version=3):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(server.path)
        self.buffer = b""
        self.pushes = []
        secret = getattr(server, "secret", None)
        if secret is not None:
            self("AUTH", secret)
        if version == 3:
            self("HELLO", 3)

    def send(self, *words):
        parts = [str(w).encode() if not isinstance(w, bytes) else w for w in words]
        self.raw(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))

    def raw(self, data):
        self.socket.sendall(data)

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def fill(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.buffer += data

    def value(self):
        line = self.line()
        sign, rest = line[:1], line[1:]
        if sign == b":":
            return int(rest)
        if sign == b"+":
            return rest.decode()
        if sign == b"-":
            return Failure(rest.decode())
        if sign == b"_" or line == b"$-1":
            return None
        if sign == b"$":
            while len(self.buffer) < int(rest) + 2:
                self.fill()
            text, self.buffer = self.buffer[:int(rest)], self.buffer[int(rest) + 2:]
            return text
        count = int(rest) * (2 if sign == b"%" else 1)
        return [self.value() for _ in range(count)], sign

    def reply(self):
        """The next reply; pushes on the way are kept."""
        while True:
            value = self.value()
            if isinstance(value, tuple):
                value, sign = value
                if sign == b">":
                    self.pushes.append([v if isinstance(v, int) else v.decode() for v in value])
                    continue
            if isinstance(value, Failure):
                raise value
            return value

    def push(self):
        while not self.pushes:
            value, sign = self.value()
            assert sign == b">", "a reply, where a push was expected"
            self.pushes.append([v if isinstance(v, int) else v.decode() for v in value])
        return self.pushes.pop(0)

    def __call__(self, *words):
        self.send(*words)
        return self.reply()

    def close(self):
        self.socket.close()


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.01)


def refused(client, code, *words):
    try:
        got = client(*words)
    except Failure as failure:
        assert str(failure).startswith(code + " "), failure
        return str(failure)
    raise AssertionError(f"{words} was answered with {got}")


def info(client, key):
    lines = client("INFO").decode().splitlines()
    return int(dict(line.split(":", 1) for line in lines if ":" in line)[key])


def test(name):
    def run(function):
        try:
            function()
            results.append(True)
        except (AssertionError, EOFError, OSError, Failure, subprocess.TimeoutExpired) as error:
            results.append(False)
            print(f"# {type(error).__name__}: {error}")
        print(f"{'ok' if results[-1] else 'not ok'} {len(results)} - {name}", flush=True)
    return run


def finish():
    print(f"1..{len(results)}")
    sys.exit(0 if all(results) else 1)
