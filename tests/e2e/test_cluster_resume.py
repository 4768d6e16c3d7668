"""Sections that outlive their connections, and their nodes: what SESSION and RESUME say."""

import select
import threading

import pytest

from world import PATIENCE, Client, Failure, refused, wait_for
from world.locks import is_steady, row_of, waits

LEASE = 20000  # milliseconds: nothing is lost because this machine is busy
need_another = pytest.mark.nodes(least=2, because="there is no other node")
need_majority = pytest.mark.nodes(least=3, because="a majority must survive the death of a node")


@pytest.fixture(scope="module", name="shared")
def _shared(sized_world, count):
    """A cluster of so many nodes."""
    return sized_world.cluster(count)


@pytest.fixture(name="session")
def _session(connect):
    """A client that says who it is: session(node, NAME)."""
    def session(node, name, lease=LEASE):
        client = connect(node)
        assert client("SESSION", name) == "OK"
        assert client("RENEW", lease) == lease
        return client

    return session


def entered(client, name):
    token = client("LOCK", name, 20000)
    assert token is not None, "nobody is let in"
    return token


def refused_with(client, code):
    with pytest.raises(Failure, match=f"^{code} "):
        client.reply()


def is_free(node, name):
    with Client(node) as client:
        token = client("TRY", name)
        if token > 0:
            client("EXIT", name, token)
        return token > 0


def test_connection_without_session(shared, connect):
    """a connection without SESSION: released at once"""
    a, b = shared.some(2)
    one = connect(a)
    one("RENEW", LEASE)
    entered(one, "plain")
    one.close()
    assert entered(connect(b), "plain") > 0


def test_session_without_lease(shared, connect):
    """a session without a lease: released at once"""
    a, b = shared.some(2)
    one = connect(a)
    one("SESSION", "no-lease")
    entered(one, "no-lease")
    one.close()
    assert entered(connect(b), "no-lease") > 0


def test_session_that_quits(shared, connect, session):
    """a session that says QUIT: released at once"""
    a, b = shared.some(2)
    one = session(a, "quits")
    entered(one, "quits")
    assert one("QUIT") == "OK"
    assert entered(connect(b), "quits") > 0


def test_nonsense_is_refused(shared, connect):
    """what makes no sense is refused"""
    a = shared.nodes[0]
    one = connect(a)
    for bad in ("", "x" * 65, "a b", "\n", b"\xff"):
        refused(one, "ERR", "SESSION", bad)
    refused(one, "ERR", "RESUME", "nonsense", 1 << 40 | 1)
    assert one("SESSION", "~" * 64) == "OK"
    refused(one, "ERR", "RESUME", "nonsense", 0)
    refused(one, "ERR", "RESUME", "nonsense", "x")
    refused(one, "ERR", "RESUME", "nonsense", 5, "x")
    refused(one, "NAME", "RESUME", "", 5)
    refused(one, "EJECTED", "RESUME", "nonsense", 5)
    token = entered(one, "nonsense")
    refused(one, "TWICE", "RESUME", "nonsense", token)
    assert one("EXIT", "nonsense", token) == 1


def test_session_comes_back(shared, connect, session):
    """a session is there again: it goes on, and nobody was let in"""
    a = shared.nodes[0]
    one = session(a, "again")
    token = entered(one, "again")
    assert one("ISSUE", "again", token, "SET", "k", "v") == "OK"
    one.close()
    wait_for(lambda: b"lingering:1\r\n" in a.status_text())
    other = connect(a)
    assert [row[0][0] for row in other("LOCKS")] == [b"again"]
    assert other("TRY", "again") < 0
    one = session(a, "again")
    now = one("RESUME", "again", token)
    assert now >= token
    wait_for(lambda: b"lingering:0\r\n" in other("STATUS")[0])
    assert one("ISSUE", "again", now, "GET", "k") == b"v"
    assert one("EXIT", "again", now) == 1
    assert other.push()[:2] == ["reset", "again"]
    refused(one, "EJECTED", "RESUME", "again", token)


def test_old_connection_is_replaced(shared, session):
    """the connection is not known to be gone: it goes on all the same, and the old one has
    nothing"""
    a = shared.nodes[0]
    one, two = session(a, "both"), session(a, "both")
    token = entered(one, "both")
    assert two("RESUME", "both", token) == token
    refused(one, "STALE", "ISSUE", "both", token, "GET", "k")
    refused(one, "STALE", "EXIT", "both", token)
    one.close()
    assert two("EXIT", "both", token) == 1


def resume_while_it_issues(shared, session, name):
    """False if this machine was so slow that the node saw no majority any more."""
    a = shared.nodes[0]
    one, two = session(a, name), session(a, name)
    token = entered(one, name)
    with shared.paused(shared.but(a)):
        one.send("ISSUE", name, token, "INCR", "n")
        wait_for(lambda: row_of(a, name)[4] != b"inside")
        two.send("RESUME", name, token)
        if two.socket in select.select([one.socket, two.socket], [], [], PATIENCE)[0]:
            refused_with(two, "SUSPENDED")
            return False
        refused_with(one, "LOST")
    now = two.reply()
    assert two("ISSUE", name, now, "GET", "n") == b"1"
    assert two("EXIT", name, now) == 1
    return True


@need_another
def test_resume_waits_for_an_operation(shared, session):
    """an operation is under way: RESUME waits for its end"""
    assert any(resume_while_it_issues(shared, session, f"issues-{i}") for i in range(20))


@need_another
def test_other_sessions_are_refused(shared, session):
    """another session, another token, another lock: refused"""
    a, b = shared.some(2)
    one = session(a, "mine")
    token = entered(one, "mine")
    one.close()
    refused(session(a, "yours"), "EJECTED", "RESUME", "mine", token)
    refused(session(a, "mine"), "EJECTED", "RESUME", "mine", token + 1)
    assert session(b, "yours")("RESUME", "mine", token, 300) is None  # as long as node a lives
    assert not is_free(b, "mine")
    back = session(a, "mine")
    assert back("EXIT", "mine", back("RESUME", "mine", token)) == 1


def test_waits_are_left_and_locks_kept(shared, connect, session):
    """what waits is left at once, what is held is not"""
    a, b = shared.some(2)
    holder, one = connect(a), session(a, "waits")
    token, held = entered(holder, "waited-for"), entered(one, "held")
    one.send("LOCK", "waited-for")
    wait_for(lambda: waits(a, 1))
    one.close()
    wait_for(lambda: waits(a, 0))
    assert holder("EXIT", "waited-for", token) == 1
    assert not is_free(b, "held")
    assert connect(a)("RELEASE", "held", held) == 1
    wait_for(lambda: is_free(b, "held"))


def test_nobody_comes_back(shared, connect, session):
    """nobody comes back: free when the lease is over, and then it is too late"""
    a, b = shared.some(2)
    one = session(a, "dies", 700)
    token = entered(one, "dies")
    two = connect(b)
    two.send("LOCK", "dies", 20000)
    one.close()
    later = two.reply()
    assert later > token
    one = session(a, "dies")
    one.send("RESUME", "dies", token)
    two("EXIT", "dies", later)
    refused_with(one, "EJECTED")


@need_majority
def test_session_moves_to_another_node(shared, connect, session):
    """the node dies: the session goes on at another, before those who wait there"""
    a, b, c = shared.some(3)
    one = session(a, "moves")
    token = entered(one, "moves")
    assert one("ISSUE", "moves", token, "SET", "k", "v") == "OK"
    others = [connect(b), connect(c)]
    for other in others:
        other.send("LOCK", "moves", 60000)
    wait_for(lambda: waits(b, 1) and waits(c, 1))
    with shared.killed(a):
        one = session(c, "moves")
        now = one("RESUME", "moves", token)
        assert now > token
        assert one("ISSUE", "moves", now, "GET", "k") == b"v"
        refused(one, "STALE", "ISSUE", "moves", token, "GET", "k")
        assert one("EXIT", "moves", now) == 1
        done = threading.Thread(target=lambda: others[1]("EXIT", "moves", others[1].reply()))
        done.start()
        first = others[0].reply()
        assert first > now
        others[0]("EXIT", "moves", first)
        done.join()


@need_majority
def test_others_were_inside_since(shared, connect, session):
    """others were inside since: it is told so"""
    a, b, c = shared.some(3)
    one = session(a, "late")
    token = entered(one, "late")
    with shared.killed(a):
        other = connect(b)
        assert entered(other, "late") > token
        one = session(c, "late")
        one.send("RESUME", "late", token)
        other("QUIT")
        refused_with(one, "EJECTED")
        assert entered(one, "late") > token


@need_majority
def test_other_nodes_restart_meanwhile(shared, connect, session):
    """other nodes restart meanwhile: it can still be resumed, from the epoch that it was told of"""
    a, b, c = shared.some(3)
    one = session(a, "kept")
    token = entered(one, "kept")
    wait_for(lambda: connect(c)("READ", "kept", "k")[1] > 0)  # it has a record of the lock
    c.kill()
    c.revive()
    assert connect(c)("TRY", "kept") < 0  # who takes part again does so through a change of epoch
    now = next(push[2] for push in iter(one.push, None) if push[0] == "kept")
    assert now > token
    assert one("ISSUE", "kept", token, "SET", "k", "v") == "OK"  # the first one is as good
    assert one("ISSUE", "kept", now, "GET", "k") == b"v"
    wait_for(lambda: is_steady(shared, "kept"))
    assert one("PING") == "PONG"  # it has been told of every change of epoch before this
    now = max([now] + [push[2] for push in one.pushes if push[0] == "kept"])
    with shared.killed(a):
        one = session(b, "kept")
        now = one("RESUME", "kept", now)
        assert one("EXIT", "kept", now) == 1


def test_all_end_well(shared):
    """nobody has crashed, and all end as they should"""
    assert shared.stop() == [0] * len(shared.nodes)
