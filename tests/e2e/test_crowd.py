"""The lock service and a crowd: thousands of connections and of names at once."""

import os
import re
import resource
import socket

import pytest

from world import PATIENCE, wait_for

CROWD = 5000
NAMES = 100000
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@pytest.fixture(name="limited")
def _limited(server):
    """A server with limits of its own for open files: limited(SOFT, HARD, OPTION...)."""
    def limited(soft, hard, *options, **more):
        return server(*options, before=["prlimit", f"--nofile={soft}:{hard}"], **more)

    return limited


@pytest.fixture(name="dial")
def _dial():
    """A connection without a protocol, of which there may be many."""
    clients = []

    def dial(server):
        client = socket.socket(socket.AF_UNIX)
        clients.append(client)
        client.settimeout(PATIENCE)
        client.connect(server.path)
        return client

    yield dial
    for client in clients:
        client.close()


def ask(client, *commands):
    """Sends them all at once; the answers are one line each."""
    client.sendall("".join(command + "\r\n" for command in commands).encode())
    data = b""
    while data.count(b"\r\n") < len(commands):
        more = client.recv(1 << 16)
        assert more, "the connection is gone"
        data += more
    return data.decode().split("\r\n")[:-1]


def figure(client, key):
    client.sendall(b"INFO\r\n")
    data = b""
    while b"\r\nloops:" not in data or not data.endswith(b"\r\n\r\n"):
        data += client.recv(1 << 16)
    return int(data.decode().split(f"\r\n{key}:")[1].split("\r\n")[0])


def test_connections_beyond_the_soft_limit(limited, dial):
    """5000 connections, though the limit for open files was lower when it began"""
    resource.setrlimit(resource.RLIMIT_NOFILE, (HARD, HARD))
    assert HARD == resource.RLIM_INFINITY or HARD > CROWD + 200, "the hard limit is too low"
    crowded = limited(256, HARD, "--max-connections", str(CROWD + 10))
    assert "event=descriptors" not in crowded.text()
    crowd = []
    for _ in range(CROWD):
        crowd.append(dial(crowded))
        if len(crowd) % 500 == 0:
            ask(crowd[-1], "PING")  # so that they are not too many to be accepted at once
    asking = crowd[::50]
    for number, client in enumerate(asking):
        assert int(ask(client, f"TRY own-{number}")[0][1:]) > 0
    token = int(ask(asking[0], "TRY one")[0][1:])
    assert all(ask(client, "TRY one") == [f":-{token}"] for client in asking[1:])
    assert figure(asking[0], "connections") == CROWD
    assert figure(asking[0], "held") == len(asking) + 1
    for client in crowd[1:]:
        client.close()
    wait_for(lambda: figure(crowd[0], "connections") == 1)
    assert figure(crowd[0], "held") == 2, "what the others held is free"
    assert crowded.stop() == 0


def test_connections_beyond_the_hard_limit_are_turned_away(limited, dial):
    """where the limit for open files cannot be raised it says so, and turns away who is too much"""
    crowded = limited(128, 128, "--max-connections", "1000", "--loops", "1")
    text = crowded.text()
    assert "event=descriptors" in text and "connections=56" in text, text
    crowd = [dial(crowded) for _ in range(56)]
    assert all(ask(client, "PING") == ["+PONG"] for client in crowd)
    assert dial(crowded).recv(100) == b"-ERR max number of clients reached\r\n"
    crowd.pop().close()
    wait_for(lambda: figure(crowd[0], "connections") == 55)
    assert ask(dial(crowded), "PING") == ["+PONG"]
    assert crowded.stop() == 0


def test_readers_of_pages_take_no_descriptor(limited, dial):
    """who reads pages, and is silent, takes no open file from the crowd"""
    crowded = limited(512, 512, "--max-connections", "1000", "--loops", "1", http="127.0.0.1:0")
    room = int(re.search(r"event=descriptors .* connections=(\d+)", crowded.text())[1])
    readers = [socket.create_connection(("127.0.0.1", crowded.http), PATIENCE)
               for _ in range(250)]
    wait_for(lambda: len(os.listdir(f"/proc/{crowded.pid}/fd")) > len(readers))
    crowd = []
    for _ in range(room):
        crowd.append(dial(crowded))
        assert ask(crowd[-1], "PING") == ["+PONG"]
    for reader in readers:
        reader.close()
    assert crowded.stop() == 0


def test_held_locks_leave_no_memory_behind(limited, dial):
    """100000 locks held at once leave no memory behind"""
    crowded = limited(256, HARD)
    client = dial(crowded)
    ask(client, "PING")
    before = crowded.memory()
    tokens = []
    for start in range(0, NAMES, 500):
        tokens += ask(client, *(f"TRY name-{i}" for i in range(start, start + 500)))
    held = crowded.memory() - before
    assert figure(client, "held") == NAMES
    for start in range(0, NAMES, 500):
        ask(client, *(f"EXIT name-{i} {tokens[i][1:]}" for i in range(start, start + 500)))
    assert figure(client, "locks") == 0
    wait_for(lambda: crowded.memory() - before < held / 4)
    assert crowded.stop() == 0
