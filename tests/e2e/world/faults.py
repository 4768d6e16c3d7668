"""What may happen to the nodes of a cluster, and to the network between them."""

import random
import time

from .waiting import wait_for

PROCESS_FAULTS = ("kill", "pause", "kill_while_another_pauses", "end", "empty")
NAMESPACE_FAULTS = ("unplug", "one_way", "part")
NETWORK_FAULTS = ("part", "one_way", "slow", "reset", "tamper")
LEAST_NODES = {  # what makes no sense for fewer, or takes more away than a cluster can bear
    "kill_while_another_pauses": 2, "empty": 3, "part": 2, "one_way": 2, "slow": 2, "reset": 2,
    "tamper": 2, "unplug": 2,
}


def possible(names, count):
    """Those of these faults that may happen to a cluster of so many nodes."""
    return [name for name in names if LEAST_NODES.get(name, 1) <= count]


class Faults:
    """Injects them by chance, one or two at a time, and repairs each."""

    def __init__(self, cluster, seed):
        self.cluster = cluster
        self.chance = random.Random(seed)
        self.injected = {}

    def wait(self, least, most):
        time.sleep(self.chance.uniform(least, most))

    def some(self, least=1, most=None):
        nodes = self.cluster.nodes
        return self.chance.sample(nodes, self.chance.randint(least, most or len(nodes)))

    def others(self, one):
        return self.cluster.ids.replace(one, "")

    def kill(self):
        """Of one, several or all: SIGKILL, and a restart."""
        nodes = self.some()
        for node in nodes:
            node.kill()
        self.wait(0, 1)
        for node in nodes:
            node.start()
            self.wait(0, 0.2)

    def pause(self):
        nodes = self.some()
        for node in nodes:
            node.pause()
        self.wait(0.05, 2)
        for node in nodes:
            node.resume()

    def kill_while_another_pauses(self):
        first, second = self.some(2, 2)
        first.pause()
        second.kill()
        self.wait(0.1, 1)
        second.start()
        self.wait(0, 0.5)
        first.resume()

    def empty(self):
        """The disk of one is lost; it rejoins, before anything else happens."""
        (node,) = self.some(1, 1)
        node.kill()
        node.empty()
        self.wait(0, 1)
        node.start()
        wait_for(node.settled)

    def end(self):
        """As an administrator does it."""
        (node,) = self.some(1, 1)
        node.stop()
        self.wait(0, 0.3)
        node.start()

    def part(self):
        """A node alone, for a while."""
        alone = self.chance.choice(self.cluster.ids)
        for cut in (True, False):
            for other in self.others(alone):
                self.cluster.cut(alone, other, cut)
                self.cluster.cut(other, alone, cut)
            if cut:
                self.wait(0.2, 5)

    def one_way(self):
        """A node that hears nobody, or that nobody hears, or only some of the others."""
        one = self.chance.choice(self.cluster.ids)
        others = self.others(one)
        others = self.chance.sample(others, self.chance.randint(1, len(others)))
        pairs = [(one, o) for o in others]
        if self.chance.random() < 0.5:
            pairs = [(o, one) for o in others]
        for pair in pairs:
            self.cluster.cut(*pair, True)
        self.wait(0.2, 4)
        for pair in pairs:
            self.cluster.cut(*pair, False)

    def slow(self):
        """Delay, and packets that come by retransmission only."""
        proxies = list(self.cluster.proxies.values())
        proxies = self.chance.sample(proxies, max(1, len(proxies) * 2 // 3))
        for proxy in proxies:
            proxy.delay = self.chance.uniform(0.001, 0.3)
            proxy.stall = self.chance.choice((0, 0.05, 0.3))
        self.wait(0.5, 3)
        for proxy in proxies:
            proxy.delay = proxy.stall = 0

    def tamper(self):
        """Somebody between some nodes changes what they say."""
        proxies = list(self.cluster.proxies.values())
        proxies = self.chance.sample(proxies, max(1, len(proxies) // 2))
        for proxy in proxies:
            proxy.tamper = self.chance.choice((0.01, 0.1, 1))
        self.wait(0.5, 3)
        for proxy in proxies:
            proxy.tamper = 0.0

    def unplug(self):
        """The cables of a node, or of a majority."""
        names = self.chance.sample(self.cluster.ids, self.chance.randint(1, self.cluster.majority))
        for name in names:
            self.cluster.unplug(name, True)
        self.wait(0.2, 6)
        for name in names:
            self.cluster.unplug(name, False)

    def reset(self):
        """All connections break at once."""
        for proxy in self.cluster.proxies.values():
            proxy.reset = True

    def inject(self, names):
        name = self.chance.choice(names)
        self.injected[name] = self.injected.get(name, 0) + 1
        getattr(self, name)()
        self.wait(0.2, 2)
