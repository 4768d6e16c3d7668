"""Clients on several locks write down what they see while faults are injected into a cluster; then
the judge of the simulator reads that.

`--faults process|network|namespaces|all`, `--seconds`, `--seed` and `--nodes` choose among them; a
soak is this, for longer.
"""

import functools
import socket
import threading
import time

import pytest

from world import World
from world.faults import NAMESPACE_FAULTS, NETWORK_FAULTS, PROCESS_FAULTS, Faults, possible
from world.load import LOCKS, Load

KINDS = {
    "process": PROCESS_FAULTS,
    "network": NETWORK_FAULTS,
    "namespaces": NAMESPACE_FAULTS,
    "all": PROCESS_FAULTS + NETWORK_FAULTS,
}
SECONDS = {("process", 3): 30, ("network", 3): 15, ("namespaces", 3): 15}  # of others 8


class Scraper(threading.Thread):
    """Metrics are served by another thread than the one that changes what they count."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.02):
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                    connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                    while connection.recv(65536):
                        pass
            except OSError:
                pass

    def end(self):
        self.over.set()
        self.join()


@functools.cache
def scenario(kind, count):
    """Always the same object: by that pytest knows that tests share one."""
    return kind, count


def pytest_generate_tests(metafunc):
    option = metafunc.config.option
    kinds = option.faults or ["process", "network", "namespaces"]
    scenarios = [scenario(kind, count) for kind in kinds for count in option.nodes or (1, 3, 5)
                 if possible(KINDS[kind], count)]
    metafunc.parametrize("aftermath", scenarios, ids=lambda s: f"{s[0]}-n={s[1]}", indirect=True)


def make_cluster(world, kind, count):
    if kind == "namespaces":
        return world.namespace_cluster(count) or pytest.skip("needs root, which is not here")
    return world.cluster(count) if kind == "process" else world.proxied_cluster(count)


@pytest.fixture(scope="module", name="aftermath")
def _aftermath(request):
    """What has become of a cluster, and of those who used it, after all that."""
    with World() as world:
        yield disturb(world, *request.param, request.config.option)


def disturb(world, kind, count, option):
    cluster = make_cluster(world, kind, count)
    first, port = cluster.nodes[0], world.ports.take(1)[0]
    first.kill()
    first.command += ["--http", str(port)]
    first.start()
    cluster.ready()
    scraper = Scraper(port)
    seed, faults = option.seed, possible(KINDS[kind], count)
    load, injector = Load(cluster, seed), Faults(cluster, seed)
    end = time.monotonic() + (option.seconds or SECONDS.get((kind, count), 8))
    while time.monotonic() < end:
        injector.inject(faults)
    time.sleep(1)
    verdict = load.finish()
    scraper.end()
    print(f"seed {seed}: {verdict.figures()}; {sum(injector.injected.values())} faults injected:"
          f" {injector.injected}")
    return verdict


def test_every_answer_may_come(aftermath):
    """every answer is one that may come"""
    aftermath.check_answers()


@pytest.mark.parametrize("lock", LOCKS)
def test_all_nodes_end_alike(aftermath, lock):
    """all nodes end alike"""
    aftermath.check_nodes_end_alike(lock)


@pytest.mark.parametrize("lock", LOCKS)
def test_history_is_one_of_weak_mutual_exclusion(aftermath, lock):
    """the history of a lock is one of weak mutual exclusion"""
    aftermath.check_history(lock)


def test_something_was_done(aftermath):
    """something was done"""
    aftermath.check_something_was_done()


def test_no_node_has_ended_by_itself(aftermath):
    """no node has ended by itself"""
    assert not [node.name for node in aftermath.load.cluster.nodes if node.has_ended()]


def test_power_failure(aftermath):
    """after a power failure all is there"""
    load = aftermath.load
    before = load.finals()
    for node in load.cluster.nodes:
        node.kill()
    for node in load.cluster.nodes:
        node.start()
    assert load.finals() == before


def test_sigterm_ends_all(aftermath):
    """SIGTERM ends them"""
    cluster = aftermath.load.cluster
    assert cluster.stop() == [0] * len(cluster.nodes)
