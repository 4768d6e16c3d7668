"""What may happen to the nodes of a cluster, and to the network between them."""

import random
import selectors
import signal
import socket
import threading
import time

from cluster_world import IDS, Node, free_ports
from service import wait_for


class Pipe:
    """One connection from a node to another, and what is on its way."""

    def __init__(self, near, far):
        self.ends = (near, far)
        self.late = ([], [])  # from near, from far: (when, bytes)


class Proxy(threading.Thread):
    """The network between two nodes, as the first dials the second: it can be cut, slow, or lossy."""

    def __init__(self, to):
        super().__init__(daemon=True)
        self.to = to
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.cut = [False, False]  # what is said by who dials; by who was dialed
        self.delay = 0.0
        self.stall = 0.0  # chance for each packet to be late by a retransmission
        self.reset = False  # all connections, once
        self.pipes = []
        self.start()

    def accept(self, selector):
        near, _ = self.listener.accept()
        if any(self.cut):
            near.close()
            return
        try:
            far = socket.create_connection(("127.0.0.1", self.to), timeout=1)
        except OSError:
            near.close()
            return
        pipe = Pipe(near, far)
        self.pipes.append(pipe)
        for side, end in enumerate(pipe.ends):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(end, selectors.EVENT_READ, (pipe, side))

    def close(self, pipe, selector):
        if pipe in self.pipes:
            self.pipes.remove(pipe)
            for end in pipe.ends:
                selector.unregister(end)
                end.close()

    def take(self, pipe, side, selector, chance):
        try:
            data = pipe.ends[side].recv(65536)
        except OSError:
            data = b""
        if not data:
            self.close(pipe, selector)
            return
        when = time.monotonic() + self.delay * (0.5 + chance.random())
        if chance.random() < self.stall:
            when += 0.2
        queue = pipe.late[side]
        queue.append((max(when, queue[-1][0] if queue else 0), data))

    def forward(self, pipe, selector):
        now = time.monotonic()
        for side, queue in enumerate(pipe.late):
            while queue and queue[0][0] <= now and not self.cut[side]:
                try:
                    pipe.ends[1 - side].sendall(queue.pop(0)[1])
                except OSError:
                    self.close(pipe, selector)
                    return

    def run(self):
        chance = random.Random(self.to)
        selector = selectors.DefaultSelector()
        selector.register(self.listener, selectors.EVENT_READ, None)
        while True:
            waits = any(q for p in self.pipes for q in p.late)
            for key, _ in selector.select(0.005 if waits else 0.05):
                if key.data is None:
                    self.accept(selector)
                elif key.data[0] in self.pipes:
                    self.take(*key.data, selector, chance)
            if self.reset:
                self.reset = False
                for pipe in list(self.pipes):
                    self.close(pipe, selector)
            for pipe in list(self.pipes):
                self.forward(pipe, selector)


class ProxiedCluster:
    """Three nodes, each of which reaches the others through proxies only."""

    def __init__(self, *options):
        ports = dict(zip(IDS, free_ports(len(IDS))))
        self.proxies = {(i, j): Proxy(ports[j]) for i in IDS for j in IDS if i != j}
        self.nodes = []
        for i in IDS:
            peers = ",".join(f"{j}=127.0.0.1:{ports[j] if i == j else self.proxies[i, j].port}" for j in IDS)
            self.nodes.append(Node(i, peers, *options).start())

    def cut(self, speaker, hearer, whether):
        """Nothing that the one says is heard by the other."""
        self.proxies[speaker, hearer].cut[0] = whether
        self.proxies[hearer, speaker].cut[1] = whether


class Faults:
    """Injects them by chance, one or two at a time, and repairs each."""

    def __init__(self, cluster, seed):
        self.cluster = cluster
        self.chance = random.Random(seed)
        self.injected = {}

    def wait(self, least, most):
        time.sleep(self.chance.uniform(least, most))

    def some(self, least=1, most=3):
        return self.chance.sample(self.cluster.nodes, self.chance.randint(least, most))

    def kill(self):
        """Of one, two or all: SIGKILL, and a restart."""
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
            node.process.send_signal(signal.SIGSTOP)
        self.wait(0.05, 2)
        for node in nodes:
            node.process.send_signal(signal.SIGCONT)

    def kill_while_another_pauses(self):
        first, second = self.some(2, 2)
        first.process.send_signal(signal.SIGSTOP)
        second.kill()
        self.wait(0.1, 1)
        second.start()
        self.wait(0, 0.5)
        first.process.send_signal(signal.SIGCONT)

    def empty(self):
        """The disk of one is lost; it rejoins, before anything else happens."""
        (node,) = self.some(1, 1)
        node.kill()
        node.empty()
        self.wait(0, 1)
        node.start()
        wait_for(node.settled)

    def end(self):
        """As an administrator does it: one after the other."""
        for node in self.some(1, 1):
            node.process.send_signal(signal.SIGTERM)
            node.process.wait(20)
            self.wait(0, 0.3)
            node.start()

    def part(self):
        """A node alone, for a while."""
        alone = self.chance.choice(IDS)
        for cut in (True, False):
            for other in IDS.replace(alone, ""):
                self.cluster.cut(alone, other, cut)
                self.cluster.cut(other, alone, cut)
            if cut:
                self.wait(0.2, 5)

    def one_way(self):
        """A node that hears nobody, or that nobody hears, or only one of the others."""
        one = self.chance.choice(IDS)
        others = self.chance.sample(IDS.replace(one, ""), self.chance.randint(1, 2))
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
        proxies = self.chance.sample(list(self.cluster.proxies.values()), 4)
        for proxy in proxies:
            proxy.delay, proxy.stall = self.chance.uniform(0.001, 0.3), self.chance.choice((0, 0.05, 0.3))
        self.wait(0.5, 3)
        for proxy in proxies:
            proxy.delay = proxy.stall = 0

    def unplug(self):
        """The cable of one or two nodes."""
        names = self.chance.sample(IDS, self.chance.randint(1, 2))
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


PROCESS_FAULTS = ("kill", "pause", "kill_while_another_pauses", "end", "empty")
NAMESPACE_FAULTS = ("unplug", "one_way", "part")
NETWORK_FAULTS = ("part", "one_way", "slow", "reset")
