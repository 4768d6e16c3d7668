"""Sessions at the nodes of a cluster: what each command does there, and what may come between."""

import pytest

from world import Failure, info, refused, wait_for

need_others = pytest.mark.nodes(least=2, because="there are no others to be paused")


@pytest.fixture(scope="module", name="shared")
def _shared(sized_world, count):
    """A cluster of so many nodes."""
    return sized_world.cluster(count)


def entered(client, name):
    """Its token; a node that has just begun may still have to find the others."""
    token = client("LOCK", name, 20000)
    assert token is not None, "nobody is let in"
    return token


def test_every_operation(shared, connect):
    """every operation does what it says"""
    a, b = shared.some(2)
    client = connect(a)
    token = entered(client, "ops")

    def issue(*words):
        return client("ISSUE", "ops", token, *words)

    assert issue("SET", "k", "v") == "OK"
    assert issue("GET", "k") == b"v"
    assert issue("GET", "absent") is None
    assert issue("INCR", "n") == 1 and issue("INCR", "n", -5) == -4
    assert issue("CAS", "k", "v", "w") == 1 and issue("CAS", "k", "v", "x") == 0
    assert issue("CAS", "new", "NX", "1") == 1 and issue("CAS", "new", "NX", "2") == 0
    assert issue("CAS", "k", "EQ", "w", "v") == 1
    assert issue("SCAN")[1][0] == [b"k", b"v", b"n", b"-4", b"new", b"1"]
    assert issue("SCAN", "l", 1)[0] == b"new"
    assert issue("DEL", "k") == 1 and issue("DEL", "k") == 0
    for wrong in (("NOSUCH", "k"), ("SET", "k"), ("GET", ""), ("INCR", "n", "x"), ("SCAN", "", 0),
                  ("CAS", "k", "a"), ("SET", "k" * 501, "v"), ("SET", "k", "v" * 32001)):
        refused(client, "ERR", "ISSUE", "ops", token, *wrong)
    assert client("EXIT", "ops", token) == 1
    refused(client, "STALE", "ISSUE", "ops", token, "GET", "k")
    refused(client, "STALE", "EXIT", "ops", token)
    refused(client, "STALE", "EXIT", "never", 1)
    refused(connect(b), "STALE", "ISSUE", "ops", token, "INCR", "n")


def test_large_values_reach_all_nodes(shared, connect):
    """values of 32000 bytes come through, and to all nodes"""
    a = shared.nodes[0]
    client = connect(a)
    token = entered(client, "large")
    value = b"x" * 32000
    for i in range(40):
        assert client("ISSUE", "large", token, "SET", f"k{i}", value) == "OK"
    assert client("ISSUE", "large", token, "CAS", "k0", value, b"y" * 32000) == 1
    assert client("ISSUE", "large", token, "GET", "k0") == b"y" * 32000
    for node in shared.nodes:
        other = connect(node)
        wait_for(lambda o=other: o("READ", "large", "k0")[0] == b"y" * 32000)
    client("EXIT", "large", token)


def test_read_says_as_of_when(shared, connect):
    """READ says as of when, at every node"""
    a = shared.nodes[0]
    client = connect(a)
    token = entered(client, "read")
    client("ISSUE", "read", token, "SET", "k", "v")
    client("EXIT", "read", token)
    for node in shared.nodes:
        other = connect(node)
        wait_for(lambda o=other: o("READ", "read", "k")[0] == b"v")
        value, epoch, slot, count = other("READ", "read", "k")[:4]
        assert (value, count) == (b"v", 1) and epoch >= 1 and slot >= 1
        assert other("READ", "read", "absent")[0] is None


def test_answers_keep_their_order(shared, connect):
    """answers come in the order of the questions, whoever has the token"""
    a, b = shared.some(2)
    here, there = connect(a), connect(b)
    here("EXIT", "order", entered(here, "order"))
    there.send("TRY", "order")
    there.send("PING", "behind")
    first = there.reply()
    assert isinstance(first, int), first
    assert there.reply() == b"behind"
    here.close()
    there.close()


def test_client_leaves_during_an_operation(shared, connect):
    """a client that goes away while its operation is under way"""
    a = shared.nodes[0]
    for i in range(20):
        client = connect(shared.nodes[i % len(shared.nodes)])
        token = entered(client, "leaver")
        client.send("ISSUE", "leaver", token, "INCR", "n")
        client.close()
    client = connect(a)
    token = entered(client, "leaver")
    assert 0 <= int(client("ISSUE", "leaver", token, "GET", "n") or 0) <= 20
    client.close()


def test_client_leaves_while_it_waits_tries_watches_or_holds(shared, connect):
    """a client that goes away while it waits, tries, watches, or is inside"""
    a, b, c = shared.some(3)
    for i in range(12):
        inside = connect(a)
        token = entered(inside, "gone")
        waiting, trying, watching = connect(b), connect(c), connect(a)
        waiting.send("LOCK", "gone", 0)
        trying.send("TRY", "gone")
        assert watching("TRY", "gone") < 0
        leavers = [inside, waiting, trying, watching]
        for client in leavers[i % 4:] + leavers[:i % 4]:
            client.close()
        assert token > 0


def test_failed_try_is_told_when_the_lock_is_free(shared, connect):
    """a try that failed is told when the lock is free; at another node too"""
    a, b = shared.some(2)
    holder, here, there = connect(a), connect(a), connect(b)
    token = entered(holder, "reset")
    assert here("TRY", "reset") < 0 and there("TRY", "reset") < 0
    assert here("TRY", "reset") < 0, "it fails again"
    refused(holder, "TWICE", "TRY", "reset")
    holder("EXIT", "reset", token)
    assert here.push()[:2] == ["reset", "reset"] and there.push()[:2] == ["reset", "reset"]
    token = entered(here, "reset")
    here("EXIT", "reset", token)


def test_lock_gives_up_in_time(shared, connect):
    """LOCK gives up in time, and who waits behind gets it"""
    a, b = shared.some(2)
    holder, hasty, patient = connect(a), connect(b), connect(b)
    token = entered(holder, "timeout")
    patient.send("LOCK", "timeout", 0)
    assert hasty("LOCK", "timeout", 50) is None
    assert hasty("PING") == "PONG"
    holder("EXIT", "timeout", token)
    assert patient.reply() > token
    patient.close()


def test_lease_ends_a_section(shared, connect):
    """a lease ends a section, and its token"""
    a, b = shared.some(2)
    holder, next_one = connect(a), connect(b)
    holder("RENEW", 200)
    token = entered(holder, "lease")
    assert next_one("LOCK", "lease", 20000) > token
    assert holder.push() == ["lost", "lease", token]
    refused(holder, "STALE", "ISSUE", "lease", token, "INCR", "n")
    next_one.close()


@need_others
def test_lease_ends_during_an_operation(shared, connect):
    """a lease that ends while an operation cannot be done: the client is told"""
    a, _, c = shared.some(3)
    holder = connect(a)
    token = entered(holder, "stuck")
    holder("RENEW", 300)
    with shared.paused(shared.but(a)):
        refused(holder, "LOST", "ISSUE", "stuck", token, "INCR", "n")
        assert holder("PING") == "PONG"
    other = connect(c)
    token = entered(other, "stuck")
    assert other("ISSUE", "stuck", token, "GET", "n") in (None, b"1")
    other.close()


@need_others
def test_released_by_force_during_an_operation(shared, connect):
    """a lock that is released by force while an operation is under way"""
    a, b = shared.some(2)
    holder, admin = connect(a), connect(a)
    token = entered(holder, "forced")
    with shared.paused(shared.but(a)):
        holder.send("ISSUE", "forced", token, "INCR", "n")
        wait_for(lambda: admin("RELEASE", "forced", token) == 1)
        with pytest.raises(Failure, match="^LOST "):
            holder.reply()
    assert entered(connect(b), "forced") > token


@need_others
def test_holder_is_told_that_there_is_no_majority(shared, connect):
    """no majority: who is inside is told, and when it is over"""
    a = shared.nodes[0]
    holder = connect(a)
    token = entered(holder, "alone")
    with shared.paused(shared.but(a)):
        assert holder.push()[:2] == ["suspended", "alone"]
    assert holder.push()[0] in ("resumed", "ejected")
    try:
        holder("ISSUE", "alone", token, "INCR", "n")
    except Failure as failure:
        assert str(failure).split()[0] in ("EJECTED", "STALE"), failure


def test_hundred_commands_in_one_packet(shared, connect):
    """a hundred commands in one packet"""
    _, b = shared.some(2)
    client = connect(b)
    token = entered(client, "pipe")
    for _ in range(100):
        client.send("ISSUE", "pipe", token, "INCR", "n")
    client.send("EXIT", "pipe", token)
    assert [client.reply() for _ in range(100)] == list(range(1, 101))
    assert client.reply() == 1


def test_session_with_many_locks(shared, connect):
    """a session may have many locks, and loses all with its connection"""
    a, _, c = shared.some(3)
    client = connect(a)
    tokens = [entered(client, f"many{i}") for i in range(200)]
    assert len(client("LOCKS", "many*")) in (0, 200)
    assert info(client, "held") >= 200
    client.close()
    other = connect(c)
    for i in range(0, 200, 10):
        assert entered(other, f"many{i}") > tokens[i]
    other.close()


def test_deaf_client_harms_nobody(shared, connect):
    """a client that does not read what it gets does not harm the others"""
    a = shared.nodes[0]
    client = connect(a)
    token = entered(client, "loud")
    assert client("ISSUE", "loud", token, "SET", "k", "x" * 32000) == "OK"
    deaf = connect(a)
    deaf.socket.settimeout(0.5)
    try:
        for _ in range(4000):
            deaf.send("READ", "loud", "k")
    except OSError:
        pass
    assert connect(a)("PING") == "PONG"
    assert client("EXIT", "loud", token) == 1
    deaf.close()


@pytest.mark.nodes(least=3, because="without one of two there is no majority")
def test_absent_node_gets_a_large_lock_as_a_whole(shared, connect):
    """a node that was away gets a lock of 12 MB as a whole"""
    a, _, c = shared.some(3)
    c.kill()
    client = connect(a)
    token = entered(client, "heavy")
    for i in range(390):
        client.send("ISSUE", "heavy", token, "SET", f"k{i}", "v" * 32000)
        assert client.reply() == "OK"
    c.start()
    wait_for(c.ready)
    other = connect(c)
    wait_for(lambda: other("READ", "heavy", "k389")[3] == 390)
    assert other("READ", "heavy", "k389")[0] == b"v" * 32000
    client.close()
    other.close()


def test_sigterm_ends_all(shared, connect):
    """nobody has crashed, and SIGTERM ends them"""
    a, b = shared.some(2)
    waiting, issuing = connect(a), connect(b)
    token = entered(issuing, "end")
    waiting.send("LOCK", "end", 0)
    for _ in range(50):
        issuing.send("ISSUE", "end", token, "INCR", "n")
    assert shared.stop() == [0] * len(shared.nodes)
