"""What a node is told wrongly, by who starts it, by its disk, and by those who connect."""

import os
import random
import shutil
import socket

import pytest

from world import PATIENCE, Failure, info, refused, wait_for

PEERS = "a=127.0.0.1:11,b=127.0.0.1:12,c=127.0.0.1:13"


@pytest.fixture(name="says")
def _says(world):
    """It ends with that code and those words: says(OPTION..., code=, words=)."""
    def says(*options, code=1, words=""):
        done = world.baton("node", "--client", world.path("bad.socket"), *options)
        assert done.returncode == code and words in done.stderr, (done.returncode, done.stderr)

    return says


@pytest.fixture(name="alone")
def _alone(node):
    """A cluster of one."""
    return node("s")


@pytest.fixture(scope="module", name="shared")
def _shared(sized_world, count):
    """A cluster of so many nodes."""
    return sized_world.cluster(count)


def enter(connect, node, name="l"):
    """A client inside, and its token."""
    client = connect(node)
    token = client("LOCK", name, 20000)
    assert token is not None, "nobody is let in"
    return client, token


def count_once(connect, alone):
    """One lock, one key, one operation, by a node that is started for it."""
    alone.start()
    wait_for(alone.ready)
    client, token = enter(connect, alone)
    answer = client("ISSUE", "l", token, "INCR", "n")
    client.close()
    return answer


def fill(client, token):
    """Sets keys until that is refused; how many, and why."""
    for i in range(1000):
        try:
            assert client("ISSUE", "l", token, "SET", f"k{i}", "v" * 8000) == "OK"
        except (Failure, EOFError, OSError) as why:
            return i, why
    return 1000, None


def check_values(client, token, numbers):
    for i in numbers:
        assert len(client("ISSUE", "l", token, "GET", f"k{i}")) == 8000


# ---- by who starts it ----


def test_bad_lists_of_peers(world, says):
    """lists of peers that make no sense are refused"""
    none = world.path("none")
    for peers, node, words in (
            (PEERS + ",a=127.0.0.1:1", "a", "twice"),
            (PEERS, "d", "not in the list"),
            ("a=127.0.0.1,b=127.0.0.1:2", "a", "no port"),
            ("a=127.0.0.1:1,b=127.0.0.1:1", "a", "same address"),
            ("", "a", ""),
            (",".join(f"n{i}=127.0.0.1:{i + 1}" for i in range(10)), "n1", ""),
            ("A=127.0.0.1:1", "A", "no good id")):
        says("--id", node, "--peers", peers, "--data", none, code=64, words=words)
    assert not os.path.exists(none), "a directory was made"


def test_public_address_needs_a_secret(world, says):
    """beyond this machine nodes need a secret or certificates, and clients a password"""
    none = world.path("none")
    password = world.secret("of clients", "password")
    away = ("--id", "a", "--peers", "a=192.0.2.1:7", "--data", none)
    says(*away, code=64, words="--secret-file, or --peer-cert")
    says(*away, "--auth-file", password, code=64, words="--secret-file, or --peer-cert")
    here = ("--id", "a", "--peers", "a=127.0.0.1:7", "--data", none, "--client", "192.0.2.1:7")
    says(*here, code=64, words="--auth-file")
    says(*here, "--secret-file", password, code=64, words="--auth-file")
    assert not os.path.exists(none), "a directory was made"


def test_secret_is_not_the_password(world, says):
    """a client that knows the password cannot pose as a node"""
    same = [option for name in ("auth-file", "secret-file")
            for option in ("--" + name, world.secret("for both", name))]
    says("--id", "a", "--peers", PEERS, "--data", world.path("none"), *same, code=64,
         words="could pose as a node")


def test_peer_certificates_go_together(world, says):
    """certificates between nodes: all three files, and no secret"""
    node = ("--id", "a", "--peers", PEERS, "--data", world.path("none"))
    file = world.secret("no certificate", "pem")
    says(*node, "--peer-cert", file, "--peer-key", file, code=64, words="go together")
    three = ("--peer-cert", file, "--peer-key", file, "--peer-ca", file)
    says(*node, *three, "--secret-file", file, code=64, words="not both")
    says(*node, *three, code=1, words="has no CERTIFICATE")


def test_port_in_use(world, says):
    """a port in use is named, and nothing is lost"""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        says("--id", "a", "--peers", f"a=127.0.0.1:{port}", "--data", world.path("port"),
             words=str(port))


# ---- by its disk ----


def test_directory_of_another(alone, says, connect):
    """a directory in use, of another node, or of another cluster is refused"""
    assert count_once(connect, alone) == 1
    says("--id", "s", "--peers", "s=127.0.0.1:1", "--data", alone.data, words="use")
    alone.kill()
    larger = alone.peers + ",b=127.0.0.1:1"
    says("--id", "b", "--peers", larger, "--data", alone.data, words="belongs to")
    says("--id", "s", "--peers", larger, "--data", alone.data, words="belongs to")
    assert count_once(connect, alone) == 2


def damage(path, chance, bits):
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        for _ in range(bits):
            at = chance.randrange(size)
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1 << chance.randrange(8)]))


def restore(alone, good):
    shutil.rmtree(alone.data)
    shutil.copytree(good, alone.data)


@pytest.fixture(name="good")
def _good(world, alone, connect):
    """A copy of the directory of a node that has counted twice."""
    for number in (1, 2):
        assert count_once(connect, alone) == number
        alone.kill()
    return shutil.copytree(alone.data, world.path("good"))


def test_damaged_data_file(alone, good, connect):
    """a damaged data file is refused, or harmless, or loses its last turn and says so"""
    chance = random.Random(7)
    refusals = 0
    for trial in range(40):
        restore(alone, good)
        damage(os.path.join(alone.data, "data.mdb"), chance, 1 if trial < 30 else 20)
        before = len(alone.text())
        alone.start()
        wait_for(alone.ready)
        try:
            client, token = enter(connect, alone)
            # Damage to what was written last looks like a turn that a power failure has torn: that
            # is taken back, and said.
            value = client("ISSUE", "l", token, "GET", "n")
            said = "did not come to the disk" in alone.text()[before:]
            assert value == b"2" or (said and value == b"1"), f"silently another value: {value}"
        except (OSError, EOFError):
            assert alone.wait() == 1, "it crashed"
            assert "damaged" in alone.text().splitlines()[-1], alone.text().splitlines()[-1]
            refusals += 1
        alone.kill()
    assert refusals > 0


def test_cut_data_file(alone, good, says, connect):
    """a data file that is cut, empty or gone is refused"""
    file = os.path.join(alone.data, "data.mdb")
    options = ("--id", "s", "--peers", alone.peers, "--data", alone.data)
    whole = os.path.getsize(file)
    for size in (whole // 2, 100, 0):
        os.truncate(file, size)
        says(*options, words="damaged")
    os.unlink(file)
    says(*options, words="data.mdb is lost")
    restore(alone, good)
    assert count_once(connect, alone) == 3


def test_full_store(node, connect):
    """operations end before the room does; nothing acknowledged is lost, and there is a way out"""
    full = node("f", None, "--max-bytes", str(2 << 20)).start()
    wait_for(full.ready)
    client, token = enter(connect, full)
    done, why = fill(client, token)
    assert str(why).startswith("FULL "), why
    assert 0 < done < 1000 and not full.has_ended()
    assert client("ISSUE", "l", token, "DEL", "k0") == 1
    full.kill()
    full.command[-1] = str(64 << 20)
    full.start()
    wait_for(full.ready)
    client, token = enter(connect, full)
    check_values(client, token, range(1, done))
    assert client("ISSUE", "l", token, "SET", "more", "v") == "OK"


def test_looking_makes_no_lock(node, connect):
    """to look at a lock, or to leave it, does not make it one"""
    quiet = node("h").start()
    wait_for(quiet.ready)
    client = connect(quiet)
    for i in range(100):
        assert client("READ", f"nobody{i}", "k") == [None, 0, 0, 0]
        refused(client, "STALE", "EXIT", f"nobody{i}", 1)
    assert info(client, "locks") == 0


def test_file_that_may_not_grow(node, connect):
    """a file that may not grow is told apart from a limit"""
    limited = node("g").start("prlimit", f"--fsize={3 << 20}")  # a journal has two thirds of it
    wait_for(limited.ready)
    client, token = enter(connect, limited)
    done, why = fill(client, token)
    assert done > 0 and isinstance(why, (EOFError, OSError)), (done, why)
    assert limited.wait() == 1
    assert "cannot write: the disk is full" in limited.text(), limited.text()[-300:]
    limited.start()
    wait_for(limited.ready)
    client, token = enter(connect, limited)
    check_values(client, token, range(done))


# ---- by those who connect ----


def dialogue(port, text):
    """What is answered, until the other hangs up."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(text)
        try:
            while chunk := connection.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass
    return answer


def test_peers_and_clients_are_told_apart(shared, connect):
    """who speaks like a peer to the port of clients is refused, and so the other way round"""
    client = connect(shared.nodes[0])
    refused(client, "ERR", "BATON", 1, "b", "0" * 64, "0" * 64, "open")
    refused(client, "ERR", "HEARTBEAT")
    for text in (
            b"*1\r\n$4\r\nPING\r\n", b"*3\r\n$4\r\nLOCK\r\n$1\r\nl\r\n$1\r\n0\r\n", b"PING\r\n",
            b"GET / HTTP/1.0\r\n\r\n", b"\0" * 5000, os.urandom(3000),
            b"*6\r\n$5\r\nBATON\r\n$1\r\n1\r\n$1\r\nb\r\n$64\r\n" + b"0" * 64
            + b"\r\n$64\r\n" + b"0" * 64 + b"\r\n$4\r\nopen\r\n"):
        dialogue(shared.ports[0], text)
    assert client("PING") == "PONG"


def test_idle_connections_shut_nobody_out(shared, connect):
    """who connects to the port of peers and says nothing shuts nobody out"""
    first = shared.nodes[0]
    idle = [socket.create_connection(("127.0.0.1", shared.ports[0])) for _ in range(100)]
    for node in shared.but(first):
        node.kill()
    for node in shared.but(first):
        node.start()
    client, token = enter(connect, first, "idle")
    assert client("ISSUE", "idle", token, "INCR", "n") == 1
    for connection in idle:
        connection.close()
    shared.ready()


@pytest.mark.nodes(least=3, because="the others must be a majority")
def test_other_list_of_peers(shared, connect):
    """a node with another list of peers is told so, and counts for nothing"""
    a, b = shared.some(2)
    stranger = shared.world.node(b.id, shared.peers + ",z=127.0.0.1:1", name="stranger")
    b.kill()
    stranger.start()
    wait_for(lambda: "peer_refused" in stranger.text())
    client, token = enter(connect, a, "list")
    assert client("ISSUE", "list", token, "INCR", "n") == 1
    stranger.kill()
    b.start()
    wait_for(b.ready)


def test_wrong_secret(world, node, connect):
    """a node with a wrong secret, or none, is refused by both sides"""
    peers = ",".join(f"{i}=127.0.0.1:{port}" for i, port in zip("xyz", world.ports.take(3)))
    right = world.secret("a long secret", "right")
    wrong = world.secret("another secret", "wrong")
    x = node("x", peers, "--secret-file", right).start()
    y = node("y", peers, "--secret-file", wrong).start()
    z = node("z", peers).start()
    wait_for(lambda: all("different secrets" in n.text() for n in (x, y, z)))
    client = connect(x)
    words = "NOTREADY this node is new and has not heard from y, z yet"  # is it new? nobody knows
    assert refused(client, "NOTREADY", "LOCK", "l", 500) == words


def test_cluster_is_well(shared, connect):
    """after all this the cluster is well"""
    for node in shared.nodes:
        client, token = enter(connect, node, "well")
        client("ISSUE", "well", token, "INCR", "n")
        client.close()
    assert shared.stop() == [0] * len(shared.nodes)
