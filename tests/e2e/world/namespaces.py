"""A cluster in network namespaces: a bridge, and a cable for each node. Needs root."""

import itertools
import os
import subprocess

from .cluster import Cluster

NET = "198.18.77"  # of the range for tests of networks
NUMBERS = itertools.count()
SECRET = "shared by the nodes of a test"


def ip(*words, check=True):
    subprocess.run(["ip", *words], check=check, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


class Namespaces:
    """One for each node."""

    def __init__(self, ids):
        self.ids = ids
        # Names of devices have 15 characters at most.
        self.tag = f"bt{os.getpid() % 10000000}{next(NUMBERS)}"

    def make(self):
        """False if that is not allowed here."""
        try:
            ip("link", "add", self.tag, "type", "bridge")
            ip("link", "set", self.tag, "up")
            for number, i in enumerate(self.ids, 1):
                name = self.tag + i
                ip("netns", "add", name)
                ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
                ip("link", "set", name, "master", self.tag, "up")
                ip("-n", name, "address", "add", f"{NET}.{number}/24", "dev", "eth0")
                ip("-n", name, "link", "set", "eth0", "up")
                ip("-n", name, "link", "set", "lo", "up")
        except (OSError, subprocess.CalledProcessError):
            return False
        return True

    def remove(self):
        for i in self.ids:
            ip("netns", "del", self.tag + i, check=False)
        ip("link", "del", self.tag, check=False)


class NamespaceCluster(Cluster):
    """Clients come through Unix sockets, which no network cuts off."""

    def __init__(self, world, namespaces, *options):
        self.namespaces = namespaces
        secret = world.secret(SECRET)
        super().__init__(world, len(namespaces.ids), "--secret-file", secret, *options, start=False)
        for node in self.nodes:
            node.before = ["ip", "netns", "exec", namespaces.tag + node.id]
            node.start()
        self.ready()

    def peers_of(self, _):
        return ",".join(f"{i}={NET}.{number}:7701" for number, i in enumerate(self.ids, 1))

    def unplug(self, node_id, whether):
        """Packets to and from it are lost; nobody is told."""
        ip("link", "set", self.namespaces.tag + node_id, "down" if whether else "up")

    def cut(self, speaker, hearer, whether):
        """Nothing that the one sends comes to the other; what the other sends comes."""
        address = f"{NET}.{self.ids.index(hearer) + 1}/32"
        ip("-n", self.namespaces.tag + speaker, "route", "add" if whether else "del", "blackhole",
           address)
