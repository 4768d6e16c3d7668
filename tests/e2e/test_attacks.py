"""What somebody would do who wants the lock service to fail others."""

import contextlib
import re
import socket
import time

import pytest

from world import PATIENCE, Client, info, refused, wait_for


def test_flood_waits_for_others(world, connect):
    """who floods the server is served its share in each turn, and others come in between"""
    server = world.server("--loops", 1)
    flood, good = connect(server), connect(server)
    before, many = info(good, "received"), 200000
    server.pause()
    flood.socket.setblocking(False)
    sent, text = 0, b"PING\r\n" * many
    while sent < len(text):
        try:
            sent += flood.socket.send(text[sent:sent + 65536])
        except BlockingIOError:
            break
    good.send("INFO")
    server.resume()
    lines = dict(line.split(":", 1) for line in good.reply().decode().splitlines() if ":" in line)
    queued = sent // len(b"PING\r\n")
    assert queued > 10000
    assert int(lines["received"]) - before < queued // 2


def test_flood_is_answered_in_order(world, connect):
    """all of it is answered, in order, and a wait in its midst holds up the rest"""
    server = world.server("--loops", 1)
    flood, holder = connect(server), connect(server)
    token = holder("TRY", "busy")
    flood.raw(b"".join(b"PING %d\r\n" % i for i in range(500)) + b"LOCK busy\r\n"
              + b"".join(b"PING %d\r\n" % i for i in range(500, 1000)))
    for i in range(500):
        assert flood.reply() == b"%d" % i
    wait_for(lambda: info(holder, "waiting") == 1)
    holder("EXIT", "busy", token)
    assert flood.reply() > token
    for i in range(500, 1000):
        assert flood.reply() == b"%d" % i


def test_waiter_goes_before_later_commands(world, connect):
    """what a waiter wants next counts before what others say after the exit that lets it in"""
    server = world.server("--loops", 1)
    holder, waiter, other = connect(server), connect(server), connect(server)
    token = holder("TRY", "first")
    waiter.raw(b"LOCK first\r\nTRY second\r\n")
    wait_for(lambda: info(holder, "waiting") == 1)
    server.pause()
    holder.send("EXIT", "first", token)
    other.send("TRY", "second")
    server.resume()
    assert holder.reply() == 1
    assert waiter.reply() > token
    assert waiter.reply() > 0
    assert other.reply() < 0


def test_waiter_fills_no_memory(world, connect):
    """who waits and goes on sending is read no further, until it is let in"""
    server = world.server("--loops", 1)
    flood, holder = connect(server), connect(server)
    token, other = holder("TRY", "busy"), holder("TRY", "other")
    assert flood("TRY", "other") == -other
    flood.send("LOCK", "busy")
    wait_for(lambda: info(holder, "waiting") == 1)
    flood.socket.setblocking(False)
    sent, text = 0, b"PING\r\n" * 10000

    def is_full():
        nonlocal sent
        try:
            sent += flood.socket.send(text[sent % len(text):])
        except BlockingIOError:
            return True
        return False

    # The server has had a turn, and has taken nothing.
    while not (is_full() and info(holder, "waiting") == 1 and is_full()):
        assert sent < 16 << 20
    holder("EXIT", "other", other)  # the waiter is told so, and still waits
    assert info(holder, "waiting") == 1 and is_full()
    holder("EXIT", "busy", token)
    flood.socket.settimeout(PATIENCE)
    assert flood.reply() > token
    for _ in range(1000):
        assert flood.reply() == "PONG"


@pytest.mark.parametrize("head", (b"POST / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n"))
def test_web_page_commands_nobody(world, connect, head):
    """a browser sends what a web page likes behind the head of a request; nothing of it is done"""
    server = world.server(port=True)
    holder = connect(server)
    token = holder("TRY", "nightly")
    with socket.create_connection(("127.0.0.1", int(server.port)), PATIENCE) as browser:
        browser.sendall(head + b"\r\nRELEASE nightly %d\r\n" % token)
        said = b""
        while more := browser.recv(4096):
            said += more
    assert b"not HTTP" in said and b":1" not in said
    assert holder("EXIT", "nightly", token) == 1
    assert "refused: a request of HTTP" in server.text()


@pytest.mark.parametrize("version", (2, 3))
def test_server_stands_still(world, connect, version):
    """a lease does not end while what its holder has said waits to be read"""
    server = world.server()
    holder, following = connect(server, version=version), connect(server)
    assert holder("RENEW", 400) == 400
    token = holder("TRY", "stall")
    following.send("LOCK", "stall")
    wait_for(lambda: info(holder, "waiting") == 1)
    server.pause()
    holder.send("RENEW", 400)
    time.sleep(1)
    server.resume()
    assert holder.reply() == 400 and holder.pushes == []
    assert holder("EXIT", "stall", token) == 1
    assert following.reply() > token


def test_renew_tells_of_a_loss(world):
    """protocol 2 has no pushes: RENEW says that something was lost, once"""
    server = world.server()
    with Client(server, version=2) as holder, Client(server) as other:
        holder("RENEW", 50)
        token = holder("TRY", "short")
        later = other("LOCK", "short")
        assert later > token
        refused(holder, "LOST", "RENEW", 50)
        assert holder("RENEW", 50) == 50
        refused(holder, "STALE", "EXIT", "short", token)


def test_broken_connection_keeps_its_section(world, connect):
    """a client that is cut off may act until its lease is over; so nobody enters before"""
    server = world.server("--loops", 1)
    holder, following = connect(server), connect(server)
    holder("RENEW", 600000)
    token = holder("TRY", "cut")
    holder.close()
    wait_for(lambda: info(following, "connections") == 1)
    assert following("TRY", "cut") == -token
    assert following("RELEASE", "cut", token) == 1
    assert following("TRY", "cut") > token


def test_client_that_quits_keeps_nothing(world, connect):
    """a client that says that it goes, or has no lease, leaves its section at once"""
    server = world.server("--loops", 1)
    following = connect(server)
    for i, (lease, quits) in enumerate(((600000, True), (0, False))):
        holder = connect(server)
        holder("RENEW", lease)
        holder("TRY", f"left {i}")
        if quits:
            holder("QUIT")
        holder.close()
        assert following("LOCK", f"left {i}") > 0


PASSWORD = "correct-horse-battery"


@pytest.fixture(name="guarded")
def _guarded(world):
    """A server with a password, for few connections."""
    file = world.secret(PASSWORD, "password")
    return world.server("--loops", 1, "--max-connections", 40, "--auth-file", file, port=True)


def stranger(server):
    return socket.create_connection(("127.0.0.1", int(server.port)), PATIENCE)


def ask(connection, *commands):
    connection.sendall(b"".join(command + b"\r\n" for command in commands))
    return connection.recv(4096)


def test_strangers_may_say_little(guarded):
    """before AUTH there are HELLO, AUTH, PING and QUIT, and short commands only"""
    with stranger(guarded) as one:
        assert ask(one, b"PING") == b"+PONG\r\n"
        for command in (b"TRY a", b"LOCKS", b"INFO", b"CLIENT LIST", b"CONFIG GET *", b"COMMAND"):
            assert ask(one, command).startswith(b"-NOAUTH "), command
        assert b"Protocol error" in ask(one, b"PING " + b"x" * 2000)
        assert one.recv(4096) == b""


def test_silent_strangers_keep_nobody_out(guarded):
    """there are too many who say nothing: the oldest leave, and who knows the password gets in"""
    crowd = [stranger(guarded) for _ in range(60)]
    with stranger(guarded) as good:
        assert ask(good, b"AUTH " + PASSWORD.encode()) == b"+OK\r\n"
        assert ask(good, b"TRY a").startswith(b":")
        assert crowd[0].recv(4096) == b""
        for one in crowd:
            one.close()
        assert ask(good, b"PING") == b"+PONG\r\n"


def test_some_strangers_are_always_heard(world):
    """where few may connect, eight may still be without the password; one more, and one leaves"""
    file = world.secret(PASSWORD, "password")
    server = world.server("--loops", 1, "--max-connections", 20, "--auth-file", file, port=True)
    crowd = [stranger(server) for _ in range(8)]
    assert all(ask(one, b"PING") == b"+PONG\r\n" for one in crowd)
    crowd.append(stranger(server))
    assert crowd[0].recv(4096) == b""
    assert all(ask(one, b"PING") == b"+PONG\r\n" for one in crowd[1:])
    for one in crowd:
        one.close()


def test_guesses_wait_for_each_other(guarded):
    """after some wrong passwords the next one is not looked at before a pause; the log has them"""
    seen = []
    for _ in range(6):
        with stranger(guarded) as one:
            begin = time.monotonic()
            assert ask(one, b"AUTH wrong").startswith(b"-WRONGPASS ")
            seen.append(time.monotonic() - begin)
    assert sum(seen[4:]) > 0.1, seen
    with stranger(guarded) as good:
        assert ask(good, b"AUTH " + PASSWORD.encode(), b"PING").startswith(b"+OK\r\n")

    def told():
        found = re.findall(r'event=audit what="wrong password" times=(\d+)', guarded.text())
        return [int(times) for times in found]

    wait_for(lambda: sum(told()) == len(seen))


def test_log_says_nothing_of_no_guesses(world):
    """as long as nobody guesses, the log has no line about passwords"""
    world.write("calm.tokens", "baton tokens 2\n1\nlease 300\n")
    calm = world.server("--auth-file", world.secret(PASSWORD, "password"), name="calm")
    wait_for(lambda: "event=open" in calm.text())  # it has looked twice
    assert "event=audit" not in calm.text()


def test_stranger_must_leave_in_time(guarded):
    """a stranger who never gives the password is told so, and cut off"""
    with stranger(guarded) as one:
        assert one.recv(4096).startswith(b"-NOAUTH ")
        assert one.recv(4096) == b""


def test_stranger_who_reads_nothing_must_leave_too(world, connect):
    """strangers who leave their answers unread when their time is over hold up nobody, and are out.
    Of so many, with so much unread, for some the socket is full, and not what they may owe"""
    server = world.server("--loops", 1, "--auth-file", world.secret(PASSWORD, "password"))
    server.secret = PASSWORD
    with contextlib.ExitStack() as stack:
        crowd = []
        for count in range(0, 6000, 50):
            crowd.append(stack.enter_context(socket.socket(socket.AF_UNIX)))
            crowd[-1].connect(server.path)
            with contextlib.suppress(BrokenPipeError):
                crowd[-1].sendall(b"LOCK x\r\n" * count)
        late = stack.enter_context(socket.socket(socket.AF_UNIX))
        late.settimeout(PATIENCE)
        late.connect(server.path)
        assert late.recv(4096).startswith(b"-NOAUTH ")  # its time is over when theirs is
        assert connect(server)("PING") == "PONG"
        for one in crowd:
            one.settimeout(PATIENCE)
            with contextlib.suppress(ConnectionResetError):
                while one.recv(1 << 20):
                    pass


MANY = 300


def summed(process, event):
    """How many lines of that event there are, and of how many times they speak."""
    times = [int(line.split(" times=")[1]) if " times=" in line else 1
             for line in process.text().splitlines() if re.search(event, line)]
    return len(times), sum(times)


def refuse_many(make, said=b""):
    """Connects again and again, and waits each time until it is cut off."""
    for _ in range(MANY):
        with make() as one:
            one.sendall(said)
            try:
                while one.recv(4096):
                    pass
            except ConnectionResetError:
                pass


def test_connections_turned_away_do_not_fill_the_log(world, connect):
    """connections beyond the limit are summed up in the log, and none is left out"""
    server = world.server("--max-connections", 1, port=True)
    client = connect(server)
    refuse_many(lambda: stranger(server))
    wait_for(lambda: summed(server, "event=turned_away")[1] == MANY)
    assert summed(server, "event=turned_away")[0] < MANY / 3
    assert client("PING") == "PONG"


def test_browsers_do_not_fill_the_log(world):
    """requests of HTTP are summed up in the log, and none is left out"""
    server = world.server(port=True)
    refuse_many(lambda: stranger(server), b"POST / HTTP/1.1\r\n")
    wait_for(lambda: summed(server, "refused: a request of HTTP")[1] == MANY)
    assert summed(server, "refused: a request of HTTP")[0] < MANY / 3


def test_refused_peers_do_not_fill_the_log(world):
    """strangers at a node's port are summed up in the log, and none is left out"""
    cluster = world.cluster(1)
    refuse_many(lambda: socket.create_connection(("127.0.0.1", cluster.ports[0]), PATIENCE),
                b"nonsense\r\n")
    node = cluster.nodes[0]
    wait_for(lambda: summed(node, "event=peer_refused peer=unknown direction=in")[1] == MANY)
    assert summed(node, "event=peer_refused")[0] < MANY / 3


@pytest.mark.parametrize("kind", ("server", "node"))
def test_lists_have_an_end(world, connect, kind):
    """one LOCKS looks at a bounded number of locks; all of them come in parts, each once"""
    at = world.server() if kind == "server" else world.cluster(1).nodes[0]
    holder, other = connect(at), connect(at)
    names = {b"many-%d" % i for i in range(3000)}
    for name in names:
        holder.send("TRY", name)
    assert all(holder.reply() > 0 for _ in names)
    refused(other, "ERR", "LOCKS")
    refused(other, "ERR", "LOCKS", "many-1")
    place, parts = 0, []
    while place != 0 or not parts:
        place, (rows, _) = other("LOCKS", "*", "CURSOR", place)
        parts.append([row[0][0] for row in rows])
    listed = [name for part in parts for name in part]
    assert len(listed) == len(names) and set(listed) == names
    assert max(len(part) for part in parts) <= 1100
    shown = world.baton("locks", "--at", at.path, "many-*").stdout.splitlines()
    assert len(shown) == 1 + len(names)
