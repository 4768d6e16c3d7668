"""A cluster in network namespaces: a bridge, and for each node a cable that can be unplugged. Needs root."""

import atexit
import os
import subprocess

from cluster_world import IDS, Node
from service import SCRATCH

TAG = f"bt{os.getpid() % 100000}"  # names of devices have 15 characters at most
NET = "198.18.77"  # of the range for tests of networks


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def clean_up():
    for i in IDS:
        subprocess.run(["ip", "netns", "del", TAG + i], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["ip", "link", "del", TAG], check=False, stderr=subprocess.DEVNULL)


def permitted():
    """Makes the network; False if that is not allowed here."""
    atexit.register(clean_up)
    try:
        ip("link", "add", TAG, "type", "bridge")
        ip("link", "set", TAG, "up")
        for number, i in enumerate(IDS, 1):
            ip("netns", "add", TAG + i)
            ip("link", "add", TAG + i, "type", "veth", "peer", "name", "eth0", "netns", TAG + i)
            ip("link", "set", TAG + i, "master", TAG, "up")
            ip("-n", TAG + i, "address", "add", f"{NET}.{number}/24", "dev", "eth0")
            ip("-n", TAG + i, "link", "set", "eth0", "up")
            ip("-n", TAG + i, "link", "set", "lo", "up")
    except (OSError, subprocess.CalledProcessError):
        clean_up()
        return False
    return True


class NamespaceCluster:
    """Clients come through Unix sockets, which no network cuts off."""

    def __init__(self, *options):
        secret = os.path.join(SCRATCH, "secret")
        with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write("shared by the nodes of a test\n")
        peers = ",".join(f"{i}={NET}.{number}:7701" for number, i in enumerate(IDS, 1))
        self.nodes = []
        for i in IDS:
            node = Node(i, peers, "--auth-file", secret, *options)
            node.command[:0] = ["ip", "netns", "exec", TAG + i]
            node.secret = "shared by the nodes of a test"
            self.nodes.append(node.start())

    def unplug(self, node, whether):
        """Packets to and from it are lost; nobody is told."""
        ip("link", "set", TAG + node, "down" if whether else "up")

    def cut(self, speaker, hearer, whether):
        """Nothing that the one sends comes to the other; what the other sends comes."""
        address = f"{NET}.{IDS.index(hearer) + 1}/32"
        ip("-n", TAG + speaker, "route", "add" if whether else "del", "blackhole", address)
