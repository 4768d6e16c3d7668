"""A client that speaks RESP by hand, so that nothing is hidden."""

import socket

from .settings import PATIENCE


class Failure(Exception):
    """An error reply."""


class Client:
    """One connection to a server or a node, through its Unix socket."""

    def __init__(self, server, version=3):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.buffer = b""
        self.pushes = []
        try:
            self.socket.connect(server.path)
            if getattr(server, "secret", None) is not None:
                self("AUTH", server.secret)
            if version == 3:
                self("HELLO", 3)
        except BaseException:
            self.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, *words):
        parts = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        command = b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)
        self.raw(b"*%d\r\n" % len(parts) + command)

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

    def keep_push(self, value):
        self.pushes.append([v if isinstance(v, int) else v.decode() for v in value])

    def reply(self):
        """The next reply; pushes on the way are kept."""
        while True:
            value = self.value()
            if isinstance(value, tuple):
                value, sign = value
                if sign == b">":
                    self.keep_push(value)
                    continue
            if isinstance(value, Failure):
                raise value
            return value

    def push(self):
        while not self.pushes:
            value, sign = self.value()
            assert sign == b">", "a reply, where a push was expected"
            self.keep_push(value)
        return self.pushes.pop(0)

    def __call__(self, *words):
        self.send(*words)
        return self.reply()

    def close(self):
        self.socket.close()


def refused(client, code, *words):
    """The error reply, which must begin with that code."""
    try:
        got = client(*words)
    except Failure as failure:
        assert str(failure).startswith(code + " "), failure
        return str(failure)
    raise AssertionError(f"{words} was answered with {got}")


def info(client, key):
    lines = client("INFO").decode().splitlines()
    return int(dict(line.split(":", 1) for line in lines if ":" in line)[key])
