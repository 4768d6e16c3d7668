"""A cluster whose epochs an etcd ends."""

import time

import pytest

from world import PATIENCE, Client, metrics, page, wait_for
from world.counter import count_during, final_counts
from world.epochs import (come_back, is_recorded, key_of, kill_holder, reach_each_other, settled,
                          use)


@pytest.fixture(scope="module", name="etcd")
def _etcd(module_world):
    return module_world.etcd()


@pytest.fixture(scope="module", name="shared")
def _shared(module_world, etcd):
    """Three nodes; the first address that they have of etcd answers nobody."""
    engine = f"etcd={etcd.dead},{etcd.url}"
    cluster = module_world.cluster(3, "--http", "0", "--consensus", engine)
    wait_for(lambda: reach_each_other(cluster))
    return cluster


def test_hand_offs_need_nothing_of_etcd(etcd, shared):
    """operations and hand-offs need nothing of etcd"""
    for i in range(6):
        assert use(shared.nodes[i % 3], "quiet", "INCR", "n") == i + 1
    for node in shared.nodes:
        assert node.status("consensus") == "etcd" and node.status("etcd_asked") == 0
        wait_for(lambda node=node: node.status("etcd_reached") is True)
        wait_for(lambda node=node: metrics(node)["baton_node_etcd_reached"] == 1)
        assert metrics(node)["baton_node_etcd_asked_total"] == 0
    assert etcd.version(key_of(shared, "quiet")) == 0 and settled(shared, "quiet") == 1


def test_holder_is_killed(etcd, shared):
    """the holder's node is killed: another enters, and nothing is lost"""
    use(shared.nodes[0], "l", "INCR", "n")
    others = kill_holder(shared, "l")
    assert use(others[0], "l", "INCR", "n") == 2
    assert use(others[1], "l", "GET", "holder") == b"a"
    version = etcd.version(key_of(shared, "l"))
    assert version >= 1 and others[0].lock("l")["epoch"] == version + 1
    assert sum(n.status("etcd_asked") for n in others) >= 1
    come_back(shared, shared.nodes[0])
    assert use(shared.nodes[0], "l", "GET", "n") == b"2"
    assert is_recorded(etcd, shared, "l")


def test_one_key_for_each_lock(etcd, shared):
    """one key for each lock, of one value, however many epochs"""
    before = settled(shared, "l")
    for _ in range(3):
        kill_holder(shared, "l")
        come_back(shared, shared.nodes[0])
        use(shared.nodes[0], "l", "INCR", "n")
    after = settled(shared, "l")
    assert after >= before + 3 and etcd.version(key_of(shared, "l")) == after - 1
    assert use(shared.nodes[1], "l", "GET", "n") == b"5"


def works_on(nodes, lock):
    """Operations under a lock whose owner lives. False if that was suspected all the same: the
    machine is busy."""
    for node in nodes * 2:
        with Client(node) as client:
            token = client("LOCK", lock, 3000)
            if token is not None:
                client("ISSUE", lock, token, "INCR", "n")
                client("EXIT", lock, token)
        if token is None:
            assert nodes[0].lock(lock)["state"] == "epoch-change"
            return False
    return True


def unanswered(nodes):
    return sum(n.status("etcd_unanswered") for n in nodes)


def nobody_enters(others):
    """Somebody is to be ejected, and etcd is away. Who waits for the lock, and whether others
    work."""
    waiter = Client(others[0])
    waiter.send("LOCK", "l", 0)
    wait_for(lambda: all(n.lock("l")["state"] == "epoch-change" for n in others))
    before, epoch = unanswered(others), others[0].lock("l")["epoch"]
    wait_for(lambda: unanswered(others) >= before + 2)
    wait_for(lambda: all(n.status("etcd_reached") is False for n in others))
    done = others[0].world.baton("status", "--at", others[0].path)
    assert done.returncode == 1 and "etcd!" in done.stdout
    assert metrics(others[0])["baton_node_etcd_reached"] == 0
    assert page(others[0], "health")[0] == 200
    worked = works_on(others, "alive")
    assert all(n.lock("l")["state"] == "epoch-change" for n in others)
    assert all(n.lock("l")["epoch"] == epoch for n in others)
    waiter.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        waiter.socket.recv(100)  # nothing comes without etcd
    waiter.socket.settimeout(PATIENCE)
    return waiter, worked


def check_waits_for_etcd(etcd, shared, stop, go_on):
    """A holder's node dies while etcd is away: nobody enters before it is back."""
    worked = False
    for _ in range(3):
        use(shared.nodes[1], "alive", "INCR", "n")  # the token is at b
        settled(shared, "alive")
        count = int(use(shared.nodes[0], "l", "INCR", "n"))
        stop()
        try:
            others = kill_holder(shared, "l")
            waiter, worked = nobody_enters(others)
        finally:
            go_on()
        assert waiter.reply() > 0
        waiter.close()
        assert use(others[1], "l", "INCR", "n") == count + 1
        come_back(shared, shared.nodes[0])
        assert is_recorded(etcd, shared, "l")
        if worked:
            return
    raise AssertionError("each time somebody was suspected who lives")


def test_etcd_is_frozen_during_an_ejection(etcd, shared):
    """etcd is frozen during an ejection: it waits, and what needs no decision goes on"""
    check_waits_for_etcd(etcd, shared, etcd.pause, etcd.resume)


def test_etcd_is_killed_during_an_ejection(etcd, shared):
    """etcd is killed during an ejection, and started again"""
    check_waits_for_etcd(etcd, shared, etcd.kill, etcd.start)


def test_all_nodes_are_killed(etcd, shared):
    """all nodes are killed, and come back through etcd"""
    count = int(use(shared.nodes[2], "l", "INCR", "n"))
    for node in shared.nodes:
        node.kill()
    for node in shared.nodes:
        node.start()
    shared.ready()
    wait_for(lambda: reach_each_other(shared))
    assert use(shared.nodes[1], "l", "GET", "n") == str(count).encode()
    assert is_recorded(etcd, shared, "l")


def complains(node, key, words):
    return any(key in line and words in line and "event=etcd_refused" in line
               for line in node.text().splitlines())


def stays_out(shared, lock, others, words):
    """Nodes complain about the key in these words, and nobody is let in."""
    waiter = Client(others[0])
    waiter.send("LOCK", lock, 0)
    wait_for(lambda: any(complains(n, key_of(shared, lock), words) for n in others))
    wait_for(lambda: sum(n.status("etcd_refused") for n in others) >= 3)
    assert all(n.lock(lock)["state"] == "epoch-change" for n in others)
    return waiter


def write_again(etcd, shared, lock, epoch):
    """As the manual says: as many values as epochs have ended; what they are does not matter."""
    etcd("deleterange", key=key_of(shared, lock))
    for _ in range(epoch - 1):
        etcd("put", key=key_of(shared, lock), value="written again")


def test_deleted_key_is_not_written_again(etcd, shared):
    """a key that was deleted is not written again, until somebody puts it right"""
    use(shared.nodes[0], "deleted", "INCR", "n")
    for _ in range(2):
        kill_holder(shared, "deleted")
        come_back(shared, shared.nodes[0])
        use(shared.nodes[0], "deleted", "INCR", "n")
    epoch = settled(shared, "deleted")
    assert epoch >= 3 and etcd("deleterange", key=key_of(shared, "deleted"))["deleted"] == "1"
    others = kill_holder(shared, "deleted")
    waiter = stays_out(shared, "deleted", others, "version is too low")
    assert etcd.version(key_of(shared, "deleted")) == 0
    assert use(others[1], "another", "INCR", "n") == 1
    write_again(etcd, shared, "deleted", epoch)
    assert waiter.reply() > 0
    waiter.close()
    assert use(others[1], "deleted", "GET", "n") == b"3"
    come_back(shared, shared.nodes[0])
    assert is_recorded(etcd, shared, "deleted")


def test_foreign_value_is_no_decision(etcd, shared):
    """a value that somebody else has written is no decision"""
    def decision(name, epoch):
        words = ("DECIDED", name, f"{epoch} 0 0 0 0 0 0 0 0 0 0")
        return "*3\r\n" + "".join(f"${len(w)}\r\n{w}\r\n" for w in words)

    values = {
        "nonsense": lambda epoch: "nonsense",
        "empty": lambda epoch: "",
        "other": lambda epoch: decision("x", epoch),
        "later": lambda epoch: decision("later", epoch + 1),
        "longer": lambda epoch: decision("longer", epoch) + " ",
    }
    epochs = {}
    for lock, value in values.items():
        use(shared.nodes[0], lock, "INCR", "n")
        epochs[lock] = settled(shared, lock)
        etcd("put", key=key_of(shared, lock), value=value(epochs[lock]))
    others = kill_holder(shared, "nonsense")
    waiters = {lock: stays_out(shared, lock, others, "no decision") for lock in values}
    for lock, waiter in waiters.items():
        write_again(etcd, shared, lock, epochs[lock])
        assert waiter.reply() > 0
        waiter.close()
    come_back(shared, shared.nodes[0])
    assert all(use(shared.nodes[0], lock, "GET", "n") == b"1" for lock in values)


def test_exact_count_in_trouble(etcd, shared):
    """contenders, nodes that die, and an etcd that goes and comes: an exact count"""
    def disturb():
        for node in shared.nodes:
            for etcd_hangs in (True, False):
                if etcd_hangs:
                    etcd.pause()
                node.kill()
                time.sleep(0.7)
                etcd.resume()
                come_back(shared, node)

    tally = count_during(shared, disturb)
    count, = set(final_counts(shared))
    answers = sorted(tally.answers)
    assert len(set(answers)) == len(answers) <= count <= len(answers) + tally.unknown
    assert answers[-1] <= count and len(answers) > 0
    assert [a for _, a in sorted(tally.tokens)] == answers, "tokens do not grow as the counter does"
    assert is_recorded(etcd, shared, "counter")
    print(f"6 deaths, {len(answers)} operations, {tally.unknown} unknown,"
          f" epoch {settled(shared, 'counter')}")


def test_all_nodes_end(etcd, shared):
    """all nodes end, whatever is under way"""
    use(shared.nodes[1], "last", "INCR", "n")
    settled(shared, "last")
    etcd.pause()
    kill_holder(shared, "last", 1)
    shared.nodes[1].start()
    wait_for(lambda: shared.nodes[0].lock("last")["state"] == "epoch-change")
    shared.ready()
    assert shared.stop() == [0, 0, 0]
