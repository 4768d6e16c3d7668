"""The network between nodes, as proxies make it: cut, one-way, slow, lossy, hostile."""

import random
import selectors
import socket
import threading
import time

from .cluster import Cluster


def tampered(data, chance):
    """What somebody on the way has made of it: changed, cut short, said twice, or said more."""
    at = chance.randrange(len(data))
    how = chance.choice(("change", "cut", "repeat", "inject"))
    if how == "change":
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1:]
    if how == "cut":
        return data[:at] + data[at + 1:]
    if how == "repeat":
        return data + data
    return data[:at] + chance.randbytes(chance.randint(1, 100)) + data[at:]


class Pipe:
    """One connection from a node to another, and what is on its way."""

    def __init__(self, near, far):
        self.ends = (near, far)
        self.late = ([], [])  # from near, from far: (when, bytes)


class Proxy(threading.Thread):
    """Between two nodes, as the first dials the second: it can be cut, slow, or lossy."""

    def __init__(self, to):
        super().__init__(daemon=True)
        self.to = to
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.cut = [False, False]  # what is said by who dials; by who was dialed
        self.delay = 0.0
        self.stall = 0.0  # chance for each packet to be late by a retransmission
        self.tamper = 0.0  # chance for each packet to be another than was sent
        self.tampered = 0  # so many were
        self.reset = False  # all connections, once
        self.over = False  # then it ends, and its connections with it
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
        if chance.random() < self.tamper:
            data = tampered(data, chance)
            self.tampered += 1
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
        while not self.over:
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
        for pipe in list(self.pipes):
            self.close(pipe, selector)
        self.listener.close()


class ProxiedCluster(Cluster):
    """Each node reaches the others through proxies only."""

    def __init__(self, world, count, *options):
        self.proxies = {}
        super().__init__(world, count, *options)

    def peers_of(self, node_id):
        ports = dict(zip(self.ids, self.ports))
        for other in self.ids.replace(node_id, ""):
            self.proxies[node_id, other] = self.world.proxy(ports[other])
            ports[other] = self.proxies[node_id, other].port
        return ",".join(f"{i}=127.0.0.1:{port}" for i, port in ports.items())

    def cut(self, speaker, hearer, whether):
        """Nothing that the one says is heard by the other."""
        self.proxies[speaker, hearer].cut[0] = whether
        self.proxies[hearer, speaker].cut[1] = whether
