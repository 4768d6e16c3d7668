"""An etcd of three members behind TLS: one of them is lost, and mostly the leader."""

import time

import pytest

from world import Client, wait_for
from world.counter import count_during, final_counts
from world.epochs import come_back, is_recorded, kill_holder, reach_each_other, settled, use


@pytest.fixture(scope="module", name="etcd")
def _etcd(module_world):
    """Each wants to see a certificate, and has one."""
    certificates = module_world.certificates()
    cert, key = certificates.sign("etcd", "IP:127.0.0.1")
    certificates.sign("node", "DNS:a.test")
    return module_world.etcd_cluster("--cert-file", cert, "--key-file", key, "--client-cert-auth",
                                     "--trusted-ca-file", certificates.ca)


@pytest.fixture(scope="module", name="shared")
def _shared(module_world, etcd):
    cluster = module_world.cluster(
        3, "--consensus", f"etcd={etcd.tls_urls}", "--etcd-ca", module_world.path("ca.crt"),
        "--etcd-cert", module_world.path("node.crt"), "--etcd-key", module_world.path("node.key"))
    wait_for(lambda: reach_each_other(cluster))
    return cluster


def is_whole(etcd):
    return all(one.answers() for one in etcd.members) and etcd.leader() is not None


def lose_leader(etcd, shared, lock, lose, find):
    """The leader is lost, and with it a node whose epoch must end: another leader decides that."""
    count = int(use(shared.nodes[0], lock, "INCR", "n"))
    epoch = settled(shared, lock)
    leader = wait_for(etcd.leader)
    lose(leader)
    try:
        others = kill_holder(shared, lock)
        assert use(others[0], lock, "INCR", "n") == count + 1
        assert others[0].lock(lock)["epoch"] > epoch
    finally:
        find(leader)
    wait_for(lambda: is_whole(etcd))
    come_back(shared, shared.nodes[0])
    assert use(shared.nodes[0], lock, "GET", "n") == str(count + 1).encode()
    assert is_recorded(etcd.members[0], shared, lock)


def test_leader_is_killed(etcd, shared):
    """the leader is killed while somebody is to be ejected"""
    lose_leader(etcd, shared, "killed", lambda one: one.kill(), lambda one: one.start())


def test_leader_hangs(etcd, shared):
    """the leader hangs while somebody is to be ejected, and answers late"""
    lose_leader(etcd, shared, "hangs", lambda one: one.pause(), lambda one: one.resume())


def test_majority_is_lost(etcd, shared):
    """one of three decides nothing; as soon as there are two, they do"""
    count = int(use(shared.nodes[0], "majority", "INCR", "n"))
    settled(shared, "majority")
    one, two, _ = etcd.members
    one.pause()
    two.kill()
    try:
        others = kill_holder(shared, "majority")
        with Client(others[0]) as waiter:
            waiter.send("LOCK", "majority", 0)
            wait_for(lambda: all(n.lock("majority")["state"] == "epoch-change" for n in others))
            wait_for(lambda: all(n.status("etcd_reached") is False for n in others))
            one.resume()
            assert waiter.reply() > 0
    finally:
        one.resume()
        two.start()
    assert use(others[1], "majority", "INCR", "n") == count + 1
    wait_for(lambda: is_whole(etcd))
    come_back(shared, shared.nodes[0])
    assert is_recorded(etcd.members[0], shared, "majority")


def test_exact_count_while_leaders_go(etcd, shared):
    """contenders, nodes that die, and each time the leader with them: an exact count"""
    def disturb():
        for node, lose, find in ((shared.nodes[1], "kill", "start"),
                                 (shared.nodes[2], "pause", "resume")):
            leader = wait_for(etcd.leader)
            getattr(leader, lose)()
            node.kill()
            time.sleep(0.7)
            getattr(leader, find)()
            come_back(shared, node)
            wait_for(lambda: is_whole(etcd))

    tally = count_during(shared, disturb)
    count, = set(final_counts(shared))
    answers = sorted(tally.answers)
    assert len(set(answers)) == len(answers) <= count <= len(answers) + tally.unknown
    assert len(answers) > 0 and answers[-1] <= count
    assert [a for _, a in sorted(tally.tokens)] == answers, "tokens do not grow as the counter does"
    assert is_recorded(etcd.members[0], shared, "counter")
