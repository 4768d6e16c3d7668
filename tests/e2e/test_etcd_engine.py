"""Engines of consensus: etcd, what only pretends to be one, and those that there are not."""

import base64
import shutil

import pytest

from world import Client, wait_for
from world.locks import issue


@pytest.fixture(name="etcd")
def _etcd(world):
    return world.etcd()


@pytest.fixture(name="says")
def _says(world):
    """A node ends with that code and those words: says(OPTION..., code=, words=)."""
    def says(*options, code, words):
        done = world.baton(
            "node", "--id", "a", "--peers", "a=127.0.0.1:11", "--data", world.path("none"),
            "--client", world.path("bad.socket"), *options)
        said = done.stdout + done.stderr
        assert done.returncode == code and words in said, (options, done)

    return says


def http(status, text):
    return (f"HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {len(text)}\r\n\r\n"
            f"{text}").encode()


def test_pretenders_are_given_up(world, etcd, node):
    """an address that is none of etcd's is given up, and the next one asked"""
    pretenders = {
        "silent": (None, "timed out"),
        "mute": (b"", "Empty reply from server; does it want https://?"),
        "rude": (b"hello\r\n", "HTTP/0.9"),
        "junk": (http(200, "{}"), "an answer to something else"),
        "plain": (http(200, "ok"), "no JSON"),
        "huge": (http(200, " " * 1000000), "too long"),
        "gone": (http(404, "Not \"Found\""), "404 and no word of etcd, but 'Not 'Found''"),
        "moved": (http("307 x\r\nLocation: " + etcd.url, ""), "307"),
        "headless": (http(503, '{"message":"etcdserver: no leader"}'),
                     "503 etcdserver: no leader"),
    }
    nodes = {}
    for name, (answer, _) in pretenders.items():
        engine = f"etcd/{name}={world.pretender(answer).url},{etcd.url}"
        nodes[name] = node(name, None, "--consensus", engine).start()
    for one in nodes.values():
        wait_for(one.ready)
        assert issue(one, "l", "INCR", "n", bear=("",)) == 1
        one.kill()
        one.start()  # it comes back through an epoch change, though it is alone
    for name, one in nodes.items():
        wait_for(one.ready)
        assert issue(one, "l", "INCR", "n", bear=("",)) == 2, name
        lost = [line for line in one.text().splitlines() if "event=etcd_lost" in line]
        assert any(pretenders[name][1] in line for line in lost), (name, lost)
        assert one.lock("l")["epoch"] == 2
        one.kill()


def test_repeated_answer_is_no_decision(world, etcd, node):
    """that something was put for one lock means nothing for another, though a proxy says so"""
    relay = world.relay(etcd)
    one = node("a", None, "--consensus", f"etcd={relay.url}").start()
    wait_for(one.ready)
    for lock in "lm":
        assert issue(one, lock, "INCR", "n", bear=("",)) == 1
    one.kill()
    one.start()
    wait_for(one.ready)
    assert issue(one, "l", "INCR", "n", bear=("",)) == 2
    relay.repeats = relay.taken
    with Client(one) as waiter:
        waiter.send("LOCK", "m", 0)
        wait_for(lambda: "another key" in one.text() or one.lock("m")["epoch"] == 2)
        assert one.lock("m")["epoch"] == 1
        relay.repeats = None
        assert waiter.reply() > 0
    assert etcd.version(f"baton/{digest(one)}/m") == 1


def test_slow_etcd_decides(world, etcd, node):
    """an etcd that takes longer for each answer than a node is used to wait decides all the same"""
    relay = world.relay(etcd)
    one = node("a", None, "--consensus", f"etcd={relay.url}").start()
    wait_for(one.ready)
    assert issue(one, "l", "INCR", "n", bear=("",)) == 1
    relay.delay = 4
    one.kill()
    one.start()
    wait_for(one.ready)
    assert issue(one, "l", "INCR", "n", bear=("",)) == 2
    wait_for(lambda: one.status("etcd_reached"))
    assert one.lock("l")["epoch"] == 2
    one.kill()


def test_one_that_hangs_keeps_nobody(world, etcd, node):
    """etcd comes back with an address that is silent: the others are soon asked all the same"""
    port, = world.ports.take(1)
    one = node("a", None, "--log-level", "debug", "--consensus",
               f"etcd=http://127.0.0.1:{port},{etcd.url}").start()
    wait_for(one.ready)
    assert issue(one, "l", "INCR", "n", bear=("",)) == 1
    one.kill()
    etcd.kill()
    one.start()
    wait_for(one.ready)
    with Client(one) as waiter:
        waiter.send("LOCK", "l", 0)
        # So often that each of them would get a minute the next time.
        wait_for(lambda: one.text().count("event=etcd_lost") >= 14)
        hangs = world.pretender(None, port)
        wait_for(lambda: hangs.asked > 0)
        etcd.start()
        assert waiter.reply() > 0
    assert "timed out" not in one.text()


def test_full_etcd_is_not_reached(world, node):
    """an etcd that takes no writes is of no use, and the node says so before it needs one"""
    etcd = world.etcd("--quota-backend-bytes", "1000000")
    one = node("a", None, "--consensus", f"etcd={etcd.url}").start()
    wait_for(one.ready)
    wait_for(lambda: one.status("etcd_reached"))
    etcd.fill()
    wait_for(lambda: not one.status("etcd_reached"))
    assert "space exceeded" in one.text()
    etcd.kill()
    etcd.command[-1] = "0"  # as much as etcd takes by itself
    etcd.start()
    etcd.disarm()
    wait_for(lambda: one.status("etcd_reached"))


def digest(one):
    """Of the cluster that this node is, as keys have it."""
    with open(one.data + "/node", encoding="ascii") as file:
        return next(line.split()[1] for line in file if line.startswith("cluster "))


def test_key_with_too_many_values(etcd, node):
    """a key that has more values than epochs have ended: the node waits, and says for what"""
    one = node("a", None, "--consensus", f"etcd={etcd.url}").start()
    wait_for(one.ready)
    assert issue(one, "l", "INCR", "n", bear=("",)) == 1
    one.kill()
    for _ in range(2):
        etcd("put", key=f"baton/{digest(one)}/l", value="another cluster's")
    one.start()
    wait_for(one.ready)
    with Client(one) as waiter:
        waiter.send("LOCK", "l", 0)
        wait_for(lambda: one.status("etcd_asked") >= 2)
        assert "event=etcd_ahead" in one.text() and f"baton/{digest(one)}/l" in one.text()
        assert one.lock("l")["state"] == "epoch-change" and one.status("etcd_reached")


def test_two_clusters_of_etcd(world, etcd, node):
    """addresses of two clusters are a mistake: who has used one does not turn to the other"""
    other = world.etcd()
    one = node("a", None, "--consensus", f"etcd={etcd.url},{other.url}").start()
    wait_for(one.ready)
    wait_for(lambda: one.status("etcd_reached"))
    etcd.kill()
    wait_for(lambda: "another cluster of etcd" in one.text())
    assert not one.status("etcd_reached")
    etcd.start()
    wait_for(lambda: one.status("etcd_reached"))


def test_etcd_begins_anew(world, etcd, node):
    """an etcd that has lost what it had is not asked for more: it may have forgotten a decision"""
    one = node("a", None, "--consensus", f"etcd={etcd.url}").start()
    wait_for(one.ready)
    etcd("put", key="somebody's", value="x")
    assert issue(one, "l", "INCR", "n", bear=("",)) == 1
    one.kill()
    one.start()
    wait_for(one.ready)
    assert issue(one, "l", "INCR", "n", bear=("",)) == 2
    etcd.kill()
    shutil.rmtree(etcd.data)
    etcd.start()
    wait_for(lambda: "etcd has gone back from revision 3 to 1" in one.text())
    assert not one.status("etcd_reached")


def put(etcd, key, size):
    """So many bytes that are no decision."""
    key, value = (base64.b64encode(it).decode() for it in (key.encode(), bytes(size)))
    assert etcd.post("kv/put", {"key": key, "value": value})[0] == "200"


@pytest.mark.parametrize("size", [100000, 300000])  # longer than a value, longer than an answer
def test_foreign_value_is_too_long(etcd, node, size):
    """a large value that somebody else has written keeps one lock closed, and nothing else"""
    one = node("a", None, "--consensus", f"etcd={etcd.url}").start()
    wait_for(one.ready)
    put(etcd, "baton/", size)
    for lock in "lm":
        assert issue(one, lock, "INCR", "n", bear=("",)) == 1
    one.kill()
    put(etcd, f"baton/{digest(one)}/l", size)
    one.start()
    wait_for(one.ready)
    with Client(one) as waiter:
        waiter.send("LOCK", "l", 0)
        wait_for(lambda: one.status("etcd_refused") >= 2)
    assert f"baton/{digest(one)}/l\" epoch=1 why=\"its value is no decision" in one.text()
    assert issue(one, "m", "INCR", "n", bear=("",)) == 2
    assert one.status("etcd_reached") and "event=etcd_lost" not in one.text()


def test_only_etcd_is_reached(world, node):
    """a server that says 200 to everything is not reached, though nobody asks it for a decision"""
    shop = world.pretender(http(200, "{}"))
    one = node("a", None, "--consensus", f"etcd={shop.url}").start()
    wait_for(one.ready)
    wait_for(lambda: "event=etcd" in one.text())
    assert "an answer to something else" in one.text() and not one.status("etcd_reached")


def test_wrong_engines(says):
    """an engine that is none, and addresses that are none"""
    for text, words in (
            ("raft", "--consensus is paxos, or etcd="), ("etcd", "--consensus is"),
            ("zookeeper=http://h:1", "'zookeeper' is no engine"),
            ("etcd/A=http://h:1", "is no engine"), ("etcd/=http://h:1", "is no engine"),
            ("etcd/" + "x" * 25 + "=http://h:1", "up to 24"),
            ("etcd=", "'' is no address of etcd"), ("etcd=h:1", "write http://HOST:PORT"),
            ("etcd=ftp://h:1", "write http://"), ("etcd=http://", "of a host is missing"),
            ("etcd=http:///h", "of a host is missing"), ("etcd=http://h:1#", "behind its port"),
            ("etcd=http://h:1,", "'' is no address"), ("etcd=http://u:p@h:1", "not supported"),
            ("etcd=http://h:1/v3", "behind its port"), ("etcd=http://h:99999", "65535"),
            ("etcd=" + ",".join(["http://h:1"] * 10), "no more than 9"),
            ("etcd=http://" + "h" * 400, "too long")):
        says("--consensus", text, "--check-config", code=64, words=words)
    for text in ("paxos", "etcd=http://h:2379", "etcd/prod=https://h:2379/,http://[::1]:2379"):
        says("--consensus", text, "--check-config", code=0, words="fine")


def test_directory_is_of_one_engine(etcd, node, says):
    """a directory is of one engine"""
    one = node("c", None, "--consensus", f"etcd={etcd.url}").start()
    wait_for(one.ready)
    assert one.stop() == 0
    for text in ("paxos", f"etcd/other={etcd.url}"):
        says("--id", "c", "--peers", one.peers, "--data", one.data, "--consensus", text, code=1,
             words="another --consensus")


def test_two_engines_do_not_talk(etcd, cluster):
    """nodes of two engines do not talk to each other, and both say why"""
    three = cluster(3, "--consensus", f"etcd={etcd.url}", start=False)
    a, b, c = three.nodes
    for node in (a, b):
        node.start()
    stranger = three.world.node("c", three.peers, name="stranger").start()
    wait_for(lambda: "'c' decides by paxos and 'a' by etcd" in stranger.text())
    wait_for(lambda: "'a' decides by etcd and 'c' by paxos" in a.text())
    assert "event=peer_refused" in stranger.text() and stranger.status("reached") == []
    stranger.kill()
    c.start()
    three.ready()
    assert issue(a, "l", "INCR", "n", bear=("",)) == 1
