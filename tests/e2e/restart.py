"""The lock service after its end, with and without warning: `restart.py SERVER`. Prints TAP."""

import os
import signal
import sys

sys.dont_write_bytecode = True
from service import SCRATCH, Client, Server, finish, info, test, wait_for

LEASE = 3000  # milliseconds; long enough to look at what happens while it runs


def crash(name, *options):
    """A server that is killed while somebody holds a lock under a lease, and the one after it."""
    mortal = Server(state=name + ".tokens", path=name)
    holder = Client(mortal)
    holder("RENEW", LEASE)
    token = holder("TRY", "held")
    mortal.stop(signal.SIGKILL)
    return Server(*options, state=name + ".tokens", path=name), token


def remembered_lease(name):
    with open(os.path.join(SCRATCH, name + ".tokens"), encoding="ascii") as file:
        version, _, lease = file.read().splitlines()
    assert version == "baton tokens 2"
    return int(lease.split()[1])


@test("killed and started again, it lets nobody in before the last lease is over; then in order")
def _():
    later, token = crash("crash")
    trying, waiting = Client(later), Client(later)
    before = trying("TRY", "held")
    assert before < -token, f"TRY was answered with {before}, though a lease may run"
    assert trying("TRY", "other") < 0, "it does not know what was held"
    hasty = Client(later)
    assert hasty("LOCK", "held", 10) is None
    waiting.send("LOCK", "held")
    wait_for(lambda: info(trying, "waiting") == 1)
    hasty.send("LOCK", "held")
    wait_for(lambda: info(trying, "waiting") == 2)
    assert {row[0][2] for row in trying("LOCKS")} == {b"before-the-restart"}
    assert info(trying, "held_back_ms") > 0 and info(trying, "sections") == 0
    assert remembered_lease("crash") == LEASE, "another crash would let others in"
    token = waiting.reply()
    assert token > -before
    assert info(trying, "held_back_ms") == 0
    waiting("EXIT", "held", token)
    assert hasty.reply() > token
    assert trying.push()[:2] == ["reset", "other"]
    assert trying("TRY", "other") > 0
    assert "event=held_back" in later.text() and "event=open" in later.text()
    assert remembered_lease("crash") == 0, "it is remembered for ever"
    assert later.stop() == 0


@test("a session that sets a lease is held back like others, and so is who comes after a second crash")
def _():
    later, _ = crash("twice")
    client = Client(later)
    assert client("RENEW", 1000) == 1000
    assert client("TRY", "held") < 0
    later.stop(signal.SIGKILL)
    last = Server(state="twice.tokens", path="twice")
    client = Client(last)
    assert client("TRY", "held") < 0
    assert last.stop() == 0
    assert remembered_lease("twice") == LEASE, "the first crash is forgotten"


@test("nobody is held back if nothing was held under a lease, or who starts it says so")
def _():
    name = "unheld"
    for number in (signal.SIGKILL, signal.SIGTERM):
        mortal = Server(state=name + ".tokens", path=name)
        client = Client(mortal)
        assert client("TRY", "held") > 0, "without a lease nobody is waited for"
        if number == signal.SIGTERM:
            leased = Client(mortal)
            leased("RENEW", 60000)
            leased("EXIT", "left", leased("TRY", "left"))
            assert remembered_lease(name) == 60000
        mortal.stop(number)
    assert remembered_lease(name) == 0
    later, _ = crash("at-once", "--no-hold-back")
    assert Client(later)("TRY", "held") > 0
    assert later.stop() == 0


@test("who holds something under a lease when the server ends is waited for, and hands it to nobody")
def _():
    ending = Server("--loops", "2", "--grace", "600000", state="ending.tokens", path="ending")
    holder, longer, graced = Client(ending), Client(ending), Client(ending)  # the holder on the loop that ends first
    longer("RENEW", 86400000)
    holder("RENEW", LEASE)
    holder("TRY", "held")
    graced("TRY", "graced")
    graced.close()  # its grace must not keep the server from ending
    waiters = [Client(ending) for _ in range(8)]
    for waiter in waiters:
        waiter.send("LOCK", "held")
    wait_for(lambda: info(longer, "waiting") == len(waiters))
    assert ending.stop() == 0
    for waiter in waiters:
        try:
            raise AssertionError(f"a waiter got {waiter.reply()} from a server that ends")
        except (EOFError, ConnectionResetError):
            pass
    assert remembered_lease("ending") == LEASE
    later = Server(state="ending.tokens", path="ending")
    assert Client(later)("TRY", "held") < 0
    assert later.stop() == 0


@test("a file of tokens of the first version can be read")
def _():
    with open(os.path.join(SCRATCH, "old.tokens"), "w", encoding="ascii") as file:
        file.write("baton tokens 1\n5000\n")
    newer = Server(state="old.tokens", path="old")
    assert Client(newer)("TRY", "a") == 5000
    assert newer.stop() == 0


@test("killed and started again, no token comes back, and the socket is taken over")
def _():
    tokens = []
    for _ in range(3):
        mortal = Server(state="tokens6", path="socket6")
        client = Client(mortal)
        for i in range(20):
            tokens.append(client("TRY", "again"))
            client("EXIT", "again", tokens[-1])
        mortal.stop(signal.SIGKILL)
    assert tokens == sorted(set(tokens)), "a token came back"


finish()
