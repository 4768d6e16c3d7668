"""Epochs that an etcd ends: how a test brings one about, and what must have come of it."""

from .client import Client
from .locks import issue
from .waiting import wait_for


def reach_each_other(cluster):
    """Whatever they say of etcd."""
    return all(len(node.status("reached") or []) == 2 and not node.status("suspected")
               for node in cluster.nodes)


def use(node, lock, *words):
    """Issues an operation under that lock, until it has worked."""
    return issue(node, lock, *words, bear=("",))


def key_of(cluster, lock):
    with open(cluster.nodes[0].data + "/node", encoding="ascii") as file:
        digest = next(line.split()[1] for line in file if line.startswith("cluster "))
    return f"baton/{digest}/{lock}"


def settled(cluster, lock):
    """The epoch that all nodes have, once it has all been decided."""
    seen = []

    def same():
        rows = [node.lock(lock) for node in cluster.nodes]
        seen[:] = [row and row["epoch"] for row in rows]
        return all(row and row["state"] != "epoch-change" for row in rows) and len(set(seen)) == 1

    wait_for(same)
    return seen[0]


def is_recorded(etcd, cluster, lock):
    """Whether etcd has as many values as epochs have ended."""
    return etcd.version(key_of(cluster, lock)) == settled(cluster, lock) - 1


def kill_holder(cluster, lock, index=0):
    """Somebody is inside at that node, and it is killed; the other nodes."""
    node = cluster.nodes[index]
    with Client(node) as client:
        token = client("LOCK", lock, 5000)
        assert token > 0
        client("ISSUE", lock, token, "SET", "holder", node.id)
        node.kill()
    return cluster.but(node)


def come_back(cluster, node):
    node.start()
    wait_for(node.ready)
    wait_for(lambda: reach_each_other(cluster))
