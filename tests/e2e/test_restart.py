"""The lock service after its end, with and without warning."""

import os
import signal

from world import info, refused, wait_for

LEASE = 3000  # milliseconds; long enough to look at what happens while it runs


def crash(server, connect, name, *options):
    """A server that is killed while somebody holds a lock under a lease, and the one after it."""
    mortal = server(name=name)
    holder = connect(mortal)
    holder("RENEW", LEASE)
    token = holder("TRY", "held")
    mortal.stop(signal.SIGKILL)
    return server(*options, name=name), token


def remembered_lease(server):
    """What its file of tokens says."""
    with open(server.state, encoding="ascii") as file:
        version, _, lease = file.read().splitlines()
    assert version == "baton tokens 2"
    return int(lease.split()[1])


def test_crash_holds_back_until_the_last_lease_is_over(server, connect):
    """killed and started again, it lets nobody in before the last lease is over; then in order"""
    later, token = crash(server, connect, "crash")
    trying, waiting = connect(later), connect(later)
    before = trying("TRY", "held")
    assert before < -token, f"TRY was answered with {before}, though a lease may run"
    assert trying("TRY", "other") < 0, "it does not know what was held"
    hasty = connect(later)
    assert hasty("LOCK", "held", 10) is None
    waiting.send("LOCK", "held")
    wait_for(lambda: info(trying, "waiting") == 1)
    hasty.send("LOCK", "held")
    wait_for(lambda: info(trying, "waiting") == 2)
    assert {row[0][2] for row in trying("LOCKS")} == {b"before-the-restart"}
    assert info(trying, "held_back_ms") > 0 and info(trying, "sections") == 0
    assert remembered_lease(later) == LEASE, "another crash would let others in"
    token = waiting.reply()
    assert token > -before
    assert info(trying, "held_back_ms") == 0
    waiting("EXIT", "held", token)
    assert hasty.reply() > token
    assert trying.push()[:2] == ["reset", "other"]
    assert trying("TRY", "other") > 0
    assert "event=held_back" in later.text() and "event=open" in later.text()
    assert remembered_lease(later) == 0, "it is remembered for ever"
    assert later.stop() == 0


def test_second_crash_still_remembers_the_lease(server, connect):
    """a session that sets a lease is held back like others, and so is who comes after a second
    crash"""
    later, _ = crash(server, connect, "twice")
    client = connect(later)
    assert client("RENEW", 1000) == 1000
    assert client("TRY", "held") < 0
    later.stop(signal.SIGKILL)
    last = server(name="twice")
    client = connect(last)
    assert client("TRY", "held") < 0
    assert last.stop() == 0
    assert LEASE / 2 < remembered_lease(last) <= LEASE, "the first crash is forgotten"


def test_nobody_is_held_back_without_a_lease(server, connect):
    """nobody is held back if nothing was held under a lease, or who starts it says so"""
    for number in (signal.SIGKILL, signal.SIGTERM):
        mortal = server(name="unheld")
        client = connect(mortal)
        assert client("TRY", "held") > 0, "without a lease nobody is waited for"
        if number == signal.SIGTERM:
            leased = connect(mortal)
            leased("RENEW", 60000)
            leased("EXIT", "left", leased("TRY", "left"))
            assert remembered_lease(mortal) == 60000
        mortal.stop(number)
    assert remembered_lease(mortal) == 0
    later, _ = crash(server, connect, "at-once", "--no-hold-back")
    assert connect(later)("TRY", "held") > 0
    assert later.stop() == 0


def test_long_lease_that_is_over_holds_nobody_back(server, connect):
    """a lease of a day that was given back is not waited for after a crash"""
    mortal = server(name="day")
    client = connect(mortal)
    assert client("RENEW", 86400000) == 86400000
    assert remembered_lease(mortal) == 86400000
    assert client("RENEW", 1000) == 1000
    wait_for(lambda: 1000 <= remembered_lease(mortal) < 2048)
    assert client("RENEW", 100000) == 100000
    assert remembered_lease(mortal) == 100000
    client.close()
    wait_for(lambda: remembered_lease(mortal) == 0)
    mortal.stop(signal.SIGKILL)
    assert connect(server(name="day"))("TRY", "day") > 0


def test_restart_goes_on_counting(server, connect):
    """what has passed of a long lease is not waited for once more after another restart"""
    first = server(name="again")
    client = connect(first)
    client("RENEW", 80000000)
    client("TRY", "held")
    first.stop(signal.SIGKILL)
    left = 80000000
    for end in (signal.SIGTERM, signal.SIGTERM):
        later = server(name="again")
        looking = connect(later)
        assert 0 < info(looking, "held_back_ms") <= left
        wait_for(lambda: info(looking, "held_back_ms") < left)  # a millisecond has passed
        later.stop(end)
        assert 0 < remembered_lease(later) < left
        left = remembered_lease(later)


def test_end_waits_for_leases_and_hands_nothing_on(server, connect):
    """who holds something under a lease when the server ends is waited for, and hands it to
    nobody"""
    ending = server("--loops", "2", "--grace", "600000", name="ending")
    # The holder is on the loop that ends first.
    holder, longer, graced = connect(ending), connect(ending), connect(ending)
    longer("RENEW", 86400000)
    holder("RENEW", LEASE)
    holder("TRY", "held")
    graced("TRY", "graced")
    graced.close()  # its grace must not keep the server from ending
    waiters = [connect(ending) for _ in range(8)]
    for waiter in waiters:
        waiter.send("LOCK", "held")
    wait_for(lambda: info(longer, "waiting") == len(waiters))
    assert ending.stop() == 0
    for waiter in waiters:
        try:
            raise AssertionError(f"a waiter got {waiter.reply()} from a server that ends")
        except (EOFError, ConnectionResetError):
            pass
    assert remembered_lease(ending) == LEASE
    later = server(name="ending")
    assert connect(later)("TRY", "held") < 0
    assert later.stop() == 0


def test_old_file_of_tokens_is_read(world, server, connect):
    """a file of tokens of the first version can be read"""
    world.write("old.tokens", "baton tokens 1\n5000\n")
    newer = server(name="old")
    assert connect(newer)("TRY", "a") == 5000
    assert newer.stop() == 0


def test_file_of_tokens_cannot_be_written(server, connect):
    """while its file cannot be written nobody gets a longer lease, and the log says why"""
    full = server(name="full")
    client = connect(full)
    assert client("RENEW", 1000) == 1000
    os.mkdir(full.state + ".new")  # in the way of what it writes
    refused(client, "CLOSED", "RENEW", 2000)
    failed = f'event=tokens why="cannot write {full.state}"'
    assert f"level=error {failed}" in full.text()
    assert client("RENEW", 1000) == 1000
    token = client("TRY", "held")
    assert client("EXIT", "held", token) == 1
    assert full.stop() == 0
    assert f"level=warn {failed}" in full.text()
    assert remembered_lease(full) == 1000, "longer than need be does no harm"


def test_no_token_comes_back_after_a_kill(server, connect):
    """killed and started again, no token comes back, and the socket is taken over"""
    tokens = []
    for _ in range(3):
        mortal = server(name="mortal")
        client = connect(mortal)
        for i in range(20):
            tokens.append(client("TRY", "again"))
            client("EXIT", "again", tokens[-1])
        mortal.stop(signal.SIGKILL)
    assert tokens == sorted(set(tokens)), "a token came back"
