"""The lock service over real sockets."""

import hashlib
import hmac
import os
import random
import re
import select
import signal
import socket
import time

import pytest

from world import PATIENCE, SANITIZED, Failure, info, refused, wait_for


@pytest.fixture(scope="module", name="shared")
def _shared(module_world):
    """The server that most of these tests talk to."""
    return module_world.server()


def test_winner_exits_and_loser_wins(shared, connect):
    """try, lose, exit, win"""
    one, two = connect(shared), connect(shared)
    token = one("TRY", "a")
    assert token > 0
    assert two("TRY", "a") == -token
    assert one("EXIT", "a", token) == 1
    kind, name, generation = two.push()
    assert (kind, name) == ("reset", "a") and generation > token
    later = two("TRY", "a")
    assert later > token
    refused(one, "STALE", "EXIT", "a", token)
    refused(one, "STALE", "EXIT", "a", later)
    assert two("EXIT", "a", later) == 1


def test_loser_is_told_once_in_protocol_3(shared, connect):
    """who has lost is told once, and only if it speaks protocol 3"""
    holder, old = connect(shared), connect(shared, version=2)
    token = holder("TRY", "told")
    assert old("TRY", "told") == -token
    holder("EXIT", "told", token)
    assert old("PING") == "PONG" and old.pushes == []


def test_waiters_enter_in_order(shared, connect):
    """waiters enter in the order in which they came"""
    holder = connect(shared)
    token = holder("LOCK", "queue")
    waiters = []
    for i in range(8):
        waiters.append(connect(shared))
        waiters[-1].send("LOCK", "queue")
        wait_for(lambda i=i: info(holder, "waiting") == i + 1)
    holder("EXIT", "queue", token)
    for waiter in waiters:
        later = waiter.reply()
        assert later > token
        token = later
        assert waiter("EXIT", "queue", token) == 1
    assert info(holder, "handed_on") >= 8


def test_wait_ends_after_its_time(shared, connect):
    """a wait ends after its time, and the next in the queue is not disturbed"""
    holder, hasty, patient = connect(shared), connect(shared), connect(shared)
    token = holder("TRY", "wait")
    hasty.send("LOCK", "wait", 30)
    wait_for(lambda: info(holder, "waiting") == 1)
    patient.send("LOCK", "wait", 60000)
    assert hasty.reply() is None
    assert hasty("PING") == "PONG"
    holder("EXIT", "wait", token)
    assert patient.reply() > token


def test_commands_behind_a_wait_keep_their_order(shared, connect):
    """commands behind a wait are carried out after it, in order"""
    holder, client = connect(shared), connect(shared)
    token = holder("TRY", "behind")
    client.send("LOCK", "behind")
    client.send("PING")
    client.send("TRY", "other")
    wait_for(lambda: info(holder, "waiting") == 1)
    holder("EXIT", "behind", token)
    assert client.reply() > token
    assert client.reply() == "PONG"
    assert client.reply() > 0


def test_lost_connection_gives_up_its_locks(shared, connect):
    """a holder whose connection is gone gives its locks up"""
    holder, waiter = connect(shared), connect(shared)
    token = holder("TRY", "gone")
    holder("TRY", "gone too")
    waiter.send("LOCK", "gone")
    wait_for(lambda: info(connect(shared), "waiting") == 1)
    holder.close()
    assert waiter.reply() > token
    held_for = waiter("LOCKS", "gone")[0][0][3]
    assert held_for < PATIENCE * 1000, f"held for {held_for} ms, though it has just begun"
    wait_for(lambda: connect(shared)("TRY", "gone too") > 0)


def test_lost_waiter_is_passed_over(shared, connect):
    """a waiter whose connection is gone is passed over"""
    holder, first, second = connect(shared), connect(shared), connect(shared)
    token = holder("TRY", "passed")
    first.send("LOCK", "passed")
    wait_for(lambda: info(holder, "waiting") == 1)
    second.send("LOCK", "passed")
    wait_for(lambda: info(holder, "waiting") == 2)
    first.close()
    wait_for(lambda: info(holder, "waiting") == 1)
    holder("EXIT", "passed", token)
    assert second.reply() > token


def test_silent_holder_loses_its_lease(shared, connect):
    """a silent holder loses its lock, is told so, and its exit is stale"""
    silent, waiter = connect(shared), connect(shared)
    assert silent("RENEW", 100) == 100
    token = silent("TRY", "leased")
    waiter.send("LOCK", "leased")
    later = waiter.reply()
    assert later > token
    assert silent.push() == ["lost", "leased", token]
    refused(silent, "STALE", "EXIT", "leased", token)
    assert waiter("EXIT", "leased", later) == 1


def test_renewed_lease_is_kept(shared, connect):
    """who renews keeps it"""
    holder, other = connect(shared), connect(shared)
    holder("RENEW", 400)
    token = holder("TRY", "renewed")
    for _ in range(10):
        time.sleep(0.1)
        holder("RENEW")
    assert other("TRY", "renewed") == -token
    assert holder.pushes == []
    assert holder("RENEW", 0) == 0


def test_locks_are_listed_and_released_by_force(shared, connect):
    """locks are listed, by pattern too, and released by force, which is logged"""
    holder, other = connect(shared), connect(shared)
    token = holder("TRY", "list one")
    holder("TRY", "list two")
    rows = other("LOCKS", "list *")
    assert sorted(row[0][0] for row in rows) == [b"list one", b"list two"]
    row = next(row[0] for row in rows if row[0][0] == b"list one")
    assert row[1] == token and row[2] == b"unix" and row[4] == 0
    assert other("RELEASE", "list one", token + 1) == 0
    assert other("RELEASE", "list one", token) == 1
    assert holder.push() == ["lost", "list one", token]
    assert other("TRY", "list one") > token
    assert "event=audit" in shared.text() and f"token {token}" in shared.text()


def test_names_forge_no_field_of_the_log(shared, connect):
    """a name with quotes and controls in it is one value of the line in which it is logged"""
    client = connect(shared)
    name = b'audited" level=error event=\x9bforged\\ what="\0end'
    assert client("RELEASE", name, client("TRY", name)) == 1
    line = next(line for line in shared.text().splitlines() if "audited" in line)
    assert line.endswith(r'lock="audited\" level=error event=\x9bforged\\ what=\"\x00end"')


def test_wrong_commands_get_an_error(shared, connect):
    """wrong commands get an error, and the session goes on"""
    client = connect(shared)
    for words in (
            ["TRY"], ["TRY", "a", "b"], ["LOCK"], ["EXIT", "a"], ["RENEW", 1, 2, 3], ["HELLO", 4],
            ["TRY", "a", 1, 2], ["TRY", "a", -1], ["TRY", "a", 2 ** 32], ["LOCK", "a", 1, "x"],
            ["LOCK", "a", 1, 2, 3], ["EXIT", "a", 1, "x"], ["EXIT", "a", 1, 2, 3],
            ["RENEW", 1, "x"], ["LOCK", "a", "soon"], ["LOCK", "a", -1], ["EXIT", "a", 0],
            ["EXIT", "a", "x"], ["RENEW", 10 ** 12], ["NONSENSE"], ["AUTH", "x"],
            ["RELEASE", "a", "b"]):
        try:
            got = client(*words)
        except Failure:
            continue
        raise AssertionError(f"{words} was answered with {got}")
    refused(client, "NAME", "TRY", "")
    refused(client, "NAME", "LOCK", "")
    assert client("TRY", b"\x00\xff\r\n binary") > 0
    assert client("PING", "still here") == b"still here"


def test_waiting_for_an_own_lock_is_refused(shared, connect):
    """who waits for what it holds is told so"""
    client = connect(shared)
    client("TRY", "mine")
    refused(client, "TWICE", "LOCK", "mine")
    assert client("PING") == "PONG"


def test_other_protocols_are_disconnected(shared, connect):
    """what is no protocol ends the connection, with a reason"""
    for rubbish in (
            b"*1\r\n$-5\r\n", b"*99\r\n", b"*2\r\n$3\r\nTRY\r\n:1\r\n", b"*1\r\n$999999\r\n",
            b"x" * 100000, b"*1\r\n$3\r\nTRYxx"):
        client = connect(shared)
        client.raw(rubbish)
        assert isinstance(client.value(), Failure)
        try:
            client.fill()
            raise AssertionError("the connection is still open")
        except (EOFError, ConnectionResetError):
            pass


def test_random_bytes_do_no_harm(shared, connect):
    """random bytes do no harm"""
    draw = random.Random(1)
    alphabet = [b"*", b"$", b"\r\n", b"1", b"3", b"TRY", b"LOCK", b"a", b"\x00", b":", b"-", b" ",
                b"EXIT"]
    for _ in range(300):
        client = connect(shared, version=2)
        try:
            client.raw(b"".join(draw.choice(alphabet) for _ in range(draw.randrange(1, 400))))
        except OSError:
            pass
        client.close()
    assert connect(shared)("PING") == "PONG"


def test_used_names_take_no_memory(shared, connect):
    """names that were used once take no memory"""
    client = connect(shared)
    client("PING")
    before = None
    for round_ in range(4):
        for start in range(0, 50000, 500):
            names = [f"name {round_} {start + i}" for i in range(500)]
            for name in names:
                client.send("TRY", name)
            tokens = [client.reply() for _ in names]
            for name, token in zip(names, tokens):
                client.send("EXIT", name, token)
            for _ in names:
                client.reply()
        if round_ == 0:
            before = shared.memory()
    assert info(client, "locks") < 50
    now = shared.memory()
    assert SANITIZED or now < before + (8 << 20), f"{before} bytes, now {now}"


def test_redis_tools_speak_to_it(world, server):
    """redis-cli and redis-benchmark speak to it"""
    tcp = server(port=True)
    port = ["-p", tcp.port]
    assert int(world.run("redis-cli", "-3", *port, "TRY", "cli").stdout) > 0
    told = world.run("redis-cli", *port, input="HELLO 3\nTRY x\nTRY x\n").stdout
    assert re.search(r"^\d+\n-\d+$", told, re.M), told
    told = world.run("redis-benchmark", *port, "-n", "2000", "-c", "5", "-P", "4", "--csv", "TRY",
                     "b")
    assert told.returncode == 0 and "TRY b" in told.stdout, told
    assert tcp.stop() == 0


def test_password_is_needed_and_private(world, server, connect):
    """a password is needed where one is set, and others may not read its file"""
    secret = world.write("secret", "correct horse\n")
    done = world.baton("serve", "--listen", world.path("s3"), "--auth-file", secret)
    assert done.returncode == 1 and "chmod 600" in done.stderr, done
    os.chmod(secret, 0o600)
    guarded = server("--auth-file", secret)
    stranger = connect(guarded, version=2)
    refused(stranger, "NOAUTH", "TRY", "a")
    refused(stranger, "NOAUTH", "HELLO", "3")
    refused(stranger, "WRONGPASS", "AUTH", "wrong horse")
    refused(stranger, "WRONGPASS", "AUTH", "")
    refused(stranger, "NOAUTH", "LOCKS")
    assert stranger("AUTH", "correct horse") == "OK"
    assert stranger("TRY", "a") > 0
    friend = connect(guarded, version=2)
    friend("HELLO", 3, "AUTH", "default", "correct horse", "SETNAME", "me")
    assert friend("TRY", "a") < 0
    assert guarded.stop() == 0


def proof(secret, nonce):
    return hmac.new(secret, b"baton client 1" + bytes.fromhex(nonce), hashlib.sha256).hexdigest()


def test_password_can_be_proved(world, shared, server, connect):
    """a password can be proved instead of told, once for each challenge"""
    guarded = server("--auth-file", world.secret("correct horse"))
    one, two = connect(guarded, version=2), connect(guarded, version=2)
    refused(one, "WRONGPASS", "AUTH", "PROOF", proof(b"correct horse", "00" * 32))
    nonce = one("AUTH", "CHALLENGE").decode()
    assert len(nonce) == 64 and two("AUTH", "CHALLENGE").decode() != nonce
    right = proof(b"correct horse", nonce)
    refused(two, "WRONGPASS", "AUTH", "PROOF", right)
    refused(one, "WRONGPASS", "AUTH", "PROOF", proof(b"wrong horse", nonce))
    refused(one, "WRONGPASS", "AUTH", "PROOF", right)
    refused(one, "NOAUTH", "TRY", "a")
    for bad in ("", "x" * 64, right[:63], right.upper()):
        one("AUTH", "CHALLENGE")
        refused(one, "WRONGPASS", "AUTH", "PROOF", bad)
    assert one("AUTH", "PROOF", proof(b"correct horse", one("AUTH", "CHALLENGE").decode())) == "OK"
    assert one("TRY", "a") > 0
    two("AUTH", "challenge")
    assert two("AUTH", "default", "correct horse") == "OK"
    assert guarded.stop() == 0
    refused(connect(shared), "ERR", "AUTH", "CHALLENGE")


def test_limits(server, connect):
    """limits: connections, waiters, names, and output that nobody reads"""
    small = server("--max-connections", "4", "--max-waiters", "1", "--max-name", "8",
                   "--max-output", "4096")
    one, two, three = connect(small), connect(small), connect(small)
    refused(one, "NAME", "TRY", "123456789")
    token = one("TRY", "12345678")
    two.send("LOCK", "12345678")
    wait_for(lambda: info(one, "waiting") == 1)
    refused(three, "CROWD", "LOCK", "12345678")
    four = connect(small)
    five = connect(small, version=2)
    assert "max number of clients" in str(five.value())
    four.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    four.socket.settimeout(1)
    try:
        for _ in range(20000):
            four.send("PING", "x" * 400)
    except OSError:
        pass
    wait_for(lambda: "event=cut_off" in small.text())
    one("EXIT", "12345678", token)
    assert two.reply() > token
    assert small.stop() == 0


def test_grace_of_a_lost_connection(server, connect):
    """a lost connection keeps its locks for its grace"""
    kind = server("--grace", "300")
    holder, other = connect(kind), connect(kind)
    token = holder("TRY", "graced")
    holder.close()
    assert other("TRY", "graced") == -token
    assert other.push()[0] == "reset"
    assert other("TRY", "graced") > token
    assert kind.stop() == 0


def test_tokens_are_not_shared(world, shared):
    """two servers do not share a file of tokens"""
    done = world.baton("serve", "--listen", world.path("sharing"), "--state", shared.state)
    assert done.returncode == 1 and "another server uses" in done.stderr, done


def test_refuses_to_begin(world, shared):
    """it refuses to begin where it should"""
    def begin(*options):
        return world.baton("serve", *options)

    state = world.path("tokens")
    for options, code, words in (
            (["--listen", "0.0.0.0:0"], 64, "--auth-file"),
            (["--listen", "nonsense"], 64, "--auth-file"),
            (["--listen", "127.0.0.1:99999", "--auth-file", "/dev/null"], 1, "empty"),
            (["--listen", shared.path, "--state", state], 1, "cannot listen at"),
            (["--loops", "0"], 64, "--loops takes"), (["--grace", "x"], 64, "--grace takes"),
            (["--max-name", "0"], 64, "--max-name takes"),
            (["--log-level", "loud"], 64, "--log-level is"),
            (["word"], 64, "unexpected 'word'"), (["--nonsense"], 64, "is no option"),
            (["--state", "/nonexistent/x", "--listen", world.path("s8")], 1, "cannot write"),
            (["--auth-file", "/nonexistent"], 1, "cannot read")):
        done = begin(*options)
        assert done.returncode == code and words in done.stderr, (options, done)
    for damage in (
            "rubbish\n", "", "baton tokens 3\n5\nlease 0\n", "baton tokens 2\n5\n",
            "baton tokens 2\n0\nlease 0\n", "baton tokens 2\n5\nlease 86400001\n",
            "baton tokens 1\n-5\n", "baton tokens 2\n5\nlease -1\n"):
        with open(state, "w", encoding="ascii") as file:
            file.write(damage)
        done = begin("--state", state, "--listen", world.path("s9"))
        assert done.returncode == 1 and "damaged" in done.stderr, (damage, done)
    assert "Usage: baton serve" in begin("--help").stdout


def test_many_at_once_on_several_loops(server, connect):
    """many at once, on several loops: one holder at a time, and every token once"""
    busy = server("--loops", "4")
    clients = [connect(busy) for _ in range(32)]
    for client in clients:
        client.send("LOCK", "hot")
    seen = []
    left = {id(client): 20 for client in clients}
    by_socket = {client.socket: client for client in clients}
    while any(left.values()):
        ready, _, _ = select.select(list(by_socket), [], [], PATIENCE)
        assert ready, "nobody moves any more"
        assert len(ready) == 1, "two have entered"
        client = by_socket[ready[0]]
        token = client.reply()
        assert not seen or token > seen[-1]
        seen.append(token)
        assert client("EXIT", "hot", token) == 1
        left[id(client)] -= 1
        if left[id(client)] > 0:
            client.send("LOCK", "hot")
    assert len(seen) == 32 * 20
    assert busy.stop() == 0


def test_idle_exit(server, connect):
    """with --idle-exit it ends by itself, and not before"""
    idle = server("--idle-exit", "300")
    client = connect(idle)
    time.sleep(0.6)
    assert client("PING") == "PONG"
    client.close()
    assert idle.wait() == 0 and "why=idle" in idle.text()


def test_idle_exit_begins_with_the_server(world, server):
    """with --idle-exit it waits for the first connection as long as for any other"""
    world.write("fresh.tokens", "baton tokens 2\n1\nlease 300\n")
    idle = server("--loops", "1", "--idle-exit", "600000", name="fresh")
    wait_for(lambda: "event=open" in idle.text() or idle.has_ended())  # it has looked twice
    assert "why=idle" not in idle.text()


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
def test_ends_on_a_signal(server, connect, number):
    """it ends on a signal, with what it has said, and removes nothing that it needs again"""
    ending = server()
    assert connect(ending)("TRY", "held") > 0
    assert ending.stop(number) == 0
    text = ending.text()
    assert "event=ending" in text and "event=ended" in text


def test_stays_under_nohup(server):
    """who started it with SIGHUP ignored wants it to stay"""
    staying = server(before=("env", "--ignore-signal=HUP"))
    staying.send(signal.SIGHUP)
    assert staying.stop() == 0
    assert re.findall(r"event=ending signal=(\d+)", staying.text()) == [str(int(signal.SIGTERM))]
