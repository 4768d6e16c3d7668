"""The lock service through clients for Redis that nobody here wrote: the Python module redis, which
speaks protocol 2, and redis-cli, which speaks protocol 3."""

import re
import subprocess
import threading

import pytest
import redis

from world import PATIENCE, wait_for

PASSWORD = "open sesame"


@pytest.fixture(scope="module", name="shared")
def _shared(module_world):
    """The server that most of these tests talk to."""
    return module_world.server(port=True)


def client_of(server, **options):
    """A client with one connection: locks belong to connections, and a pool would lend any."""
    return redis.Redis(port=server.port, single_connection_client=True, socket_timeout=PATIENCE,
                       **options)


def caller(server):
    return client_of(server).execute_command


def refused(word, call, *words):
    try:
        answer = call(*words)
    except redis.RedisError as error:
        assert str(error).startswith(word), f"{error}, expected {word}"
        return
    raise AssertionError(f"{words}: {answer!r}, expected an error {word}")


def test_ping_and_info(shared):
    """python: PING, and INFO as a dictionary"""
    client = client_of(shared)
    assert client.ping() is True
    figures = client.info()
    assert figures["held"] == 0 and figures["connections"] >= 1, figures


def test_try_and_exit(shared):
    """python: TRY and EXIT"""
    winner, loser = caller(shared), caller(shared)
    token = winner("TRY", "one")
    assert token > 0
    assert loser("TRY", "one") == -token
    assert winner("EXIT", "one", token) == 1
    later = loser("TRY", b"one")
    assert later > token
    assert loser("EXIT", "one", later) == 1


def test_lock_waits_for_its_turn(shared):
    """python: LOCK waits for its turn, or so many milliseconds"""
    holder, waiter = caller(shared), caller(shared)
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


def test_renew_sets_a_lease(shared):
    """python: RENEW sets a lease, and a silent client loses its lock"""
    client, other = caller(shared), caller(shared)
    assert client("RENEW") == 0
    assert client("RENEW", 60000) == 60000
    token = client("TRY", "leased")
    assert client("RENEW", 50) == 50
    wait_for(lambda: other("LOCKS", "leased") == [])
    refused("STALE", client, "EXIT", "leased", token)


def test_errors_arrive_as_errors(shared):
    """python: errors arrive as errors, and the connection lives on"""
    client = caller(shared)
    refused("STALE", client, "EXIT", "nothing", 1)
    refused("NAME", client, "TRY", "")
    refused("wrong number", client, "TRY")
    refused("unknown command", client, "SET", "a", "b")
    refused("a token is", client, "EXIT", "a", "b")
    refused("NOPROTO", client, "HELLO", 4)
    token = client("TRY", "twice")
    refused("TWICE", client, "LOCK", "twice")
    assert client("EXIT", "twice", token) == 1


def test_pipeline(shared):
    """python: a pipeline"""
    client = client_of(shared)
    pipeline = client.pipeline(transaction=False)
    for number in range(100):
        pipeline.execute_command("TRY", f"pipe-{number}")
    tokens = pipeline.execute()
    assert len(tokens) == 100 and min(tokens) > 0
    for number, token in enumerate(tokens):
        pipeline.execute_command("EXIT", f"pipe-{number}", token)
    assert pipeline.execute() == [1] * 100


def test_closed_connection_frees_its_locks(shared):
    """python: what a closed connection held is free"""
    client, other = client_of(shared), caller(shared)
    assert client.execute_command("TRY", "gone") > 0
    client.connection.disconnect()
    token = other("LOCK", "gone", PATIENCE * 1000)
    assert token > 0 and other("EXIT", "gone", token) == 1


def test_password(world, server):
    """python: a password"""
    guarded = server("--auth-file", world.secret(PASSWORD), port=True)
    assert client_of(guarded, password=PASSWORD).execute_command("TRY", "a") > 0
    refused("", lambda: client_of(guarded, password="wrong").ping())
    refused("", lambda: client_of(guarded).execute_command("TRY", "b"))
    assert guarded.stop() == 0


def test_redis_cli_sees_pushes(world, shared):
    """redis-cli: HELLO 3, and it sees the pushes"""
    program = world.start(
        "redis-cli", "redis-cli", "-3", "--show-pushes", "yes", "-p", shared.port, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)
    client = program.process
    heard = []
    reader = threading.Thread(target=lambda: heard.extend(iter(client.stdout.readline, "")))
    reader.start()

    def say(line, answer):
        client.stdin.write(line + "\n")
        wait_for(lambda: re.search(answer, "".join(heard), re.S))

    holder = caller(shared)
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
    assert program.wait() == 0
    reader.join()
