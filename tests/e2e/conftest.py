"""Fixtures and options of the end-to-end tests; what they are made of is in world/.

A test asks for what it needs and never ends it: that is done here, whatever happens. After each
test, one whose server or node has died by itself, or has a sanitizer's report in its log, fails.
"""

import signal
import sys

import pytest

sys.dont_write_bytecode = True

from world import Client, World
from world.load import judge as judge_events
from world.tap import Reporter

SAMPLE = (1, 3, 5)  # sizes of clusters that are tested unless somebody wants others


# ---- options ----


def numbers(text):
    """Of 1-3,5: 1, 2, 3 and 5."""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def pytest_addoption(parser):
    group = parser.getgroup("baton")
    group.addoption("--tap", action="store_true", help="results as TAP, for Meson")
    group.addoption("--nodes", type=numbers, metavar="1-7", help="sizes of clusters to test")
    group.addoption("--seconds", type=float, help="how long faults are injected")
    group.addoption("--seed", type=int, default=1, help="of faults and of those who work meanwhile")
    group.addoption("--faults", action="append", help="process, network, namespaces or all")


@pytest.hookimpl(trylast=True)  # when there is a reporter to be replaced
def pytest_configure(config):
    config.addinivalue_line(
        "markers", "nodes(least, because): skips clusters that are smaller, for that reason")
    if config.option.tap:
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(Reporter(), "tap")
    take_signals()


def take_signals():
    """Whoever stops pytest ends its tests in order. Programs that tests start have the default for
    every signal, even under nohup: a handler, of whatever kind, is not inherited."""
    def stop(*_):
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # Python resets these
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(signal.SIGHUP, stop)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


# ---- sizes of clusters ----


def pytest_generate_tests(metafunc):
    if "count" in metafunc.fixturenames:
        sample = getattr(metafunc.module, "SAMPLE", SAMPLE)
        counts = metafunc.config.option.nodes or sample
        metafunc.parametrize("count", counts, ids=lambda n: f"n={n}", indirect=True)


def pytest_collection_modifyitems(items):
    for item in items:
        for mark in item.iter_markers("nodes"):
            if item.callspec.params["count"] < mark.kwargs["least"]:
                item.add_marker(pytest.mark.skip(reason=mark.kwargs["because"]))


# ---- what becomes of processes ----


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    outcome = yield
    complaints = [text for world in World.living for text in world.complaints()]
    if outcome.excinfo is not None:
        item.add_report_section("call", "processes", "\n".join(complaints))
        for world in World.living:
            for name, text in world.logs():
                item.add_report_section("call", f"log of {name}", text)
    assert not complaints or outcome.excinfo is not None, "\n".join(complaints)


# ---- fixtures ----


@pytest.fixture(scope="module", name="count")
def _count(request):
    """How many nodes a cluster has."""
    return request.param


@pytest.fixture(name="world")
def _world():
    """Directory and processes of one test."""
    with World() as world:
        yield world


@pytest.fixture(scope="module", name="module_world")
def _module_world():
    """Directory and processes that the tests of a file share."""
    with World() as world:
        yield world


@pytest.fixture(scope="module", name="sized_world")
def _sized_world(count):
    """The same, anew for each size of a cluster."""
    assert count > 0
    with World() as world:
        yield world


@pytest.fixture(name="server")
def _server(world):
    """Starts a `baton serve`: server(OPTION...)."""
    return world.server


@pytest.fixture(name="cluster")
def _cluster(world):
    """Starts the nodes of a cluster: cluster(3, OPTION...)."""
    return world.cluster


@pytest.fixture(name="node")
def _node(world):
    """A `baton node` that does not run yet: node("a", PEERS, OPTION...)."""
    return world.node


@pytest.fixture(name="connect")
def _connect():
    """A client of a server or a node: connect(server)."""
    clients = []

    def new_client(server, **options):
        clients.append(Client(server, **options))
        return clients[-1]

    yield new_client
    for client in clients:
        client.close()


@pytest.fixture(name="judge")
def _judge():
    """The judge of recorded histories: judge(EVENTS, USERS)."""
    return judge_events
