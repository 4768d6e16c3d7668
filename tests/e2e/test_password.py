"""Clients prove their password and never tell it, whatever the server that they talk to says."""

import hashlib
import hmac
import os
import socket
import threading

import pytest

PASSWORD = "correct horse battery"
NONCE = "0123456789abcdef" * 4
CLIENTS = {  # and what follows their options
    "run": (["a", "--try"], ["--", "true"]),
    "locks": ([], []),
    "status": ([], []),
    "release": (["a", "1"], []),
}
# What a server may say to AUTH CHALLENGE that asks for no proof.
EVASIONS = [
    b"-ERR unknown command 'AUTH'\r\n", b"-NOAUTH HELLO first\r\n", b"+OK\r\n", b"$-1\r\n",
    b":1\r\n", b"$64\r\n" + b"x" * 64 + b"\r\n", b"$63\r\n" + NONCE[:63].encode() + b"\r\n",
    b"nonsense\r\n",
]


class Listener:
    """Answers the first command with `challenge`, the next with OK, and then with errors only."""

    def __init__(self, path, challenge):
        self.path = path
        self.heard = b""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(8)
        self.challenge = challenge
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            client, _ = self.socket.accept()
            with client:
                answers = [self.challenge, b"+OK\r\n"]
                while data := client.recv(65536):
                    if data == b"STOP":
                        return
                    self.heard += data
                    client.sendall(answers.pop(0) if answers else b"-ERR no\r\n")

    def stop(self):
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(self.path)
            last.sendall(b"STOP")
            self.thread.join()
        self.socket.close()
        os.unlink(self.path)


@pytest.fixture(name="ask")
def _ask(world):
    """What a server that answers AUTH CHALLENGE with that hears: ask(COMMAND, ANSWER)."""
    file = world.secret(PASSWORD, "password")

    def ask(command, challenge):
        listener = Listener(world.path("listener"), challenge)
        try:
            words, rest = CLIENTS[command]
            done = world.baton(
                command, *words, "--password-file", file, "--at", listener.path, *rest)
            assert done.returncode != 0 and done.stderr, done
        finally:
            listener.stop()
        return listener.heard

    return ask


@pytest.mark.parametrize("command", CLIENTS)
def test_password_is_proved(ask, command):
    """a client proves its password"""
    heard = ask(command, b"$64\r\n" + NONCE.encode() + b"\r\n")
    challenge = b"baton client 1" + bytes.fromhex(NONCE)
    proof = hmac.new(PASSWORD.encode(), challenge, hashlib.sha256).hexdigest()
    assert b"$5\r\nPROOF\r\n$64\r\n" + proof.encode() in heard, heard
    assert PASSWORD.encode() not in heard, heard


@pytest.mark.parametrize("command", CLIENTS)
def test_password_is_not_told(ask, command):
    """a client does not tell its password to a server that asks for no proof"""
    for evasion in EVASIONS:
        heard = ask(command, evasion)
        assert b"CHALLENGE" in heard, (evasion, heard)
        assert PASSWORD.encode() not in heard and b"PROOF" not in heard, (evasion, heard)
