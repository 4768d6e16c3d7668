#!/usr/bin/env python3
"""Clients prove their password and never tell it, whoever asks: servers that write down what they hear."""

import hashlib
import hmac
import os
import socket
import subprocess
import threading

from service import BATON, PATIENCE, SCRATCH, finish, test

PASSWORD = "correct horse battery"
NONCE = "0123456789abcdef" * 4
FILE = os.path.join(SCRATCH, "password")
with open(os.open(FILE, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as out:
    out.write(PASSWORD + "\n")

CLIENTS = {
    "baton run": [BATON, "run", "a", "--try", "--password-file", FILE],
    "baton locks": [BATON, "locks", "--password-file", FILE],
    "baton status": [BATON, "status", "--password-file", FILE],
    "baton release": [BATON, "release", "a", "1", "--password-file", FILE],
}
# What a server may say to AUTH CHALLENGE that asks for no proof.
EVASIONS = [b"-ERR unknown command 'AUTH'\r\n", b"-NOAUTH HELLO first\r\n", b"+OK\r\n", b"$-1\r\n", b":1\r\n",
            b"$64\r\n" + b"x" * 64 + b"\r\n", b"$63\r\n" + NONCE[:63].encode() + b"\r\n", b"nonsense\r\n"]


class Listener:
    """Answers the first command with `challenge`, the next with OK, and then nothing but errors."""

    def __init__(self, challenge):
        self.path = os.path.join(SCRATCH, "listener")
        self.heard = b""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(8)
        self.challenge = challenge
        self.thread = threading.Thread(target=self.serve)
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


def ask(client, challenge):
    """What a server that answers with that hears from the client."""
    listener = Listener(challenge)
    try:
        command = CLIENTS[client] + ["--at", listener.path]
        if client == "baton run":
            command += ["--", "true"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode != 0 and done.stderr, done
    finally:
        listener.stop()
    return listener.heard


for one in CLIENTS:
    @test(f"{one}: proves its password")
    def _(name=one):
        heard = ask(name, b"$64\r\n" + NONCE.encode() + b"\r\n")
        proof = hmac.new(PASSWORD.encode(), b"baton client 1" + bytes.fromhex(NONCE), hashlib.sha256).hexdigest()
        assert b"$5\r\nPROOF\r\n$64\r\n" + proof.encode() in heard, heard
        assert PASSWORD.encode() not in heard, heard

    @test(f"{one}: does not tell it to a server that asks for no proof")
    def _(name=one):
        for evasion in EVASIONS:
            heard = ask(name, evasion)
            assert b"CHALLENGE" in heard and PASSWORD.encode() not in heard and b"PROOF" not in heard, (evasion, heard)

finish()
