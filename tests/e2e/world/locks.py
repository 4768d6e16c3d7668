"""Locks of a cluster: how its nodes have them, as STATUS says it, and operations under them."""

import time

from .client import Client, Failure
from .settings import PATIENCE


def row_of(node, name):
    """Name, epoch, sn, owner, state, ...; None of a lock that the node does not know yet."""
    with Client(node) as client:
        rows = [row for row, _ in client("STATUS")[1:] if row[0] == name.encode()]
    return rows[0] if rows else None


def is_held_at(nodes, name):
    return any((row_of(node, name) or [0] * 8)[6] == 1 for node in nodes)


def is_steady(cluster, name):
    """All are in the same epoch, and somebody holds it."""
    rows = [row_of(node, name) for node in cluster.nodes]
    return (None not in rows and len({row[1] for row in rows}) == 1
            and sum(row[6] for row in rows) == 1
            and b"epoch-change" not in [row[4] for row in rows])


def waits(node, count):
    """Whether so many wait at that node."""
    return b"waiting:%d\r\n" % count in node.status_text()


def issue(node, lock, *words, bear=("EJECTED ", "LOST ", "STALE ")):
    """Within a section of its own; again, if that fails with one of these codes."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with Client(node) as client:
            try:
                token = client("LOCK", lock, 10000)
                if token is not None:
                    answer = client("ISSUE", lock, token, *words)
                    client("EXIT", lock, token)
                    return answer
            except Failure as failure:
                assert str(failure).startswith(bear), failure
    raise AssertionError("it has not worked")
