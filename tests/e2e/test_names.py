"""Hosts that have names, and a resolver that goes away."""

import os

import pytest

from world import wait_for
from world.cluster import Cluster
from world.locks import issue


@pytest.fixture(name="names")
def _names(world):
    return world.resolver()


@pytest.fixture(name="etcd")
def _etcd(names, world):
    names["etcd.test"] = "127.0.0.1"
    return world.etcd()


@pytest.fixture(name="by_name")
def _by_name(etcd, world):
    """A node that knows etcd by its name."""
    one = world.node("a", None, "--log-level", "debug", "--consensus",
                     f"etcd=http://etcd.test:{etcd.port}").start()
    wait_for(one.ready)
    wait_for(lambda: one.status("etcd_reached"))
    return one


def lost(node):
    return node.text().count("event=etcd_lost")


def test_lookups_do_not_pile_up(names, by_name):
    """while the resolver is silent, one question waits for it, whatever the node wants of etcd"""
    locks = [f"l{i}" for i in range(20)]
    for lock in locks:
        assert issue(by_name, lock, "INCR", "n", bear=("",)) == 1
    by_name.kill()
    names["etcd.test"] = "away"
    by_name.start()  # each lock needs a decision, for it comes back through an epoch change
    before = lost(by_name)
    wait_for(by_name.ready)
    wait_for(lambda: lost(by_name) >= before + 4)
    assert names.asked() == (1, 1)
    assert len(os.listdir(f"/proc/{by_name.pid}/task")) < 12
    names["etcd.test"] = "127.0.0.1"
    for lock in locks:
        assert issue(by_name, lock, "INCR", "n", bear=("",)) == 2


def test_node_ends_without_the_resolver(names, by_name):
    """a node ends, though the resolver has not answered it yet"""
    by_name.kill()
    names["etcd.test"] = "away"
    by_name.start()
    wait_for(by_name.ready)
    wait_for(lambda: names.asked()[0] == 1)
    assert by_name.stop() == 0


@pytest.mark.parametrize("address", ["away", "none"])
def test_etcd_is_found_again(names, etcd, by_name, address):
    """etcd is found again where it was, though its name means nothing meanwhile"""
    names["etcd.test"] = address
    etcd.kill()
    wait_for(lambda: not by_name.status("etcd_reached"))
    etcd.start()
    wait_for(lambda: by_name.status("etcd_reached"))


def test_next_address_needs_no_name(names, etcd, world):
    """an address whose name cannot be looked up is given up for the next one"""
    names["etcd.test"] = "away"
    one = world.node("a", None, "--consensus",
                     f"etcd=http://etcd.test:{etcd.port},{etcd.url}").start()
    wait_for(one.ready)
    wait_for(lambda: one.status("etcd_reached"))
    assert "the resolver does not answer" in one.text()


def test_etcd_moves(names, by_name):
    """a name that means another address from now on"""
    by_name.kill()
    names["etcd.test"] = "127.0.0.9"  # nobody is there
    before = lost(by_name)
    by_name.start()
    wait_for(by_name.ready)
    wait_for(lambda: lost(by_name) > before)
    names["etcd.test"] = "127.0.0.1"
    wait_for(lambda: by_name.status("etcd_reached"))


# ---- peers ----


class NamedCluster(Cluster):
    """Nodes know each other by name, and themselves by number: that is where they listen."""

    def peers_of(self, node_id):
        return ",".join(f"{i}={'127.0.0.1' if i == node_id else i + '.test'}:{port}"
                        for i, port in zip(self.ids, self.ports))


@pytest.fixture(name="three")
def _three(names, world):
    for i in "abc":
        names[f"{i}.test"] = "127.0.0.1"
    secret = world.secret("shared by the nodes of a test")
    return NamedCluster(world, 3, "--secret-file", secret, start=False)


@pytest.mark.parametrize("address", ["away", "none"])
def test_peers_are_found_again(names, three, address):
    """a node that was found once is found again, though its name means nothing meanwhile"""
    for node in three.nodes:
        node.start()
    three.wait_until_well()
    names.set_all(address)
    three.nodes[1].kill()
    three.nodes[1].start()
    for node in three.but(three.nodes[1]):
        wait_for(lambda node=node: sorted(node.status("reached") or []) ==
                 sorted(set("abc") - {node.id}))


def test_unknown_peers_are_looked_for(names, three):
    """nodes that nobody finds are looked for with patience, and found at last; one can end before"""
    names.set_all("away")
    for node in three.nodes:
        node.start()
    for node in three.nodes:
        wait_for(lambda node=node: node.text().count("event=peer_unknown") == 2)
    assert names.asked() == (6, 6)
    assert three.nodes[2].stop() == 0
    three.nodes[2].start()
    names.set_all("127.0.0.1")
    three.wait_until_well()
