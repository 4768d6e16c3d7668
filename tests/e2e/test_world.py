"""The fixtures themselves: what they must find, and what they must not leave behind."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from world import wait_for

HERE = pathlib.Path(__file__).parent
COMMAND = ["pytest-3", "--tap", "-p", "conftest", "-c", HERE / "pytest.ini"]


@pytest.fixture(name="probe")
def _probe(world):
    """A file with these tests, and the command that runs it."""
    world.environment.update(PYTHONPATH=str(HERE), PYTHONDONTWRITEBYTECODE="1")
    world.environment.pop("PYTEST_ADDOPTS", None)

    def probe(text):
        return [*COMMAND, world.write("test_probe.py", text)]

    return probe


@pytest.fixture(name="results")
def _results(world, probe):
    """The results of these tests, without diagnostics."""
    def results(text):
        said = world.run(*probe(text)).stdout
        return [line for line in said.splitlines() if not line.startswith("#")]

    return results


def test_results_as_tap(results):
    """results are TAP: a plan, and a line for each test, whatever becomes of it"""
    assert results('''
import pytest

def test_good():
    """what is good"""

def test_bad():
    assert 1 == 2

@pytest.fixture
def broken():
    yield
    raise ValueError

def test_teardown(broken):
    pass

@pytest.mark.skip(reason="not today")
def test_skipped():
    pass

@pytest.mark.xfail(reason="known")
def test_known():
    assert False

@pytest.mark.xfail(reason="thought to fail")
def test_mended():
    pass

@pytest.mark.nodes(least=3, because="too few")
def test_sizes(count):
    assert count == 3 or count == 5
''') == [
        "1..9", "ok 1 - what is good", "not ok 2 - test_bad", "not ok 3 - test_teardown",
        "ok 4 - test_skipped # SKIP not today", "not ok 5 - test_known # TODO known",
        "not ok 6 - test_mended", "ok 7 - test_sizes [n=1] # SKIP too few",
        "ok 8 - test_sizes [n=3]", "ok 9 - test_sizes [n=5]"]


def test_file_that_cannot_be_read(world, probe):
    """a file of tests that cannot be read is no success"""
    done = world.run(*probe("import nothing_of_that_name\n"))
    assert done.returncode != 0 and "Bail out!" in done.stdout, done


def test_death_is_noticed(results):
    """a server or node that dies by itself fails the test; one that the test ended does not"""
    assert results('''
import os
import signal

def test_server_dies(server):
    one = server()
    os.kill(one.pid, signal.SIGKILL)
    one.process.wait()

def test_node_dies(cluster):
    node = cluster(1).nodes[0]
    os.kill(node.pid, signal.SIGKILL)
    node.process.wait()

def test_ended(server):
    server().kill()
    assert server().stop() == 0
    paused = server()
    paused.pause()
''')[1:] == ["not ok 1 - test_server_dies", "not ok 2 - test_node_dies", "ok 3 - test_ended"]


@pytest.mark.parametrize("report", [
    "==1==ERROR: AddressSanitizer: heap-use-after-free", "x.c:1:2: runtime error: overflow",
    "WARNING: ThreadSanitizer: data race"])
def test_report_is_noticed(results, report):
    """a report of a sanitizer in a log fails the test, and only that"""
    assert results(f'''
import pytest

@pytest.fixture(scope="module")
def shared(module_world):
    return module_world.server()

def test_first(shared):
    with open(shared.log, "a") as log:
        log.write("{report}\\n")

def test_second(shared):
    assert not shared.has_ended()
''')[1:] == ["not ok 1 - test_first", "ok 2 - test_second"]


def is_gone(pid):
    """Or a zombie, which nobody has waited for yet."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stopped_from_outside(world, probe, number):
    """whoever stops pytest stops all that its tests have started"""
    told = world.path("told")
    command = probe(f'''
import time

def test_endless(cluster, world):
    nodes = cluster(3).nodes
    with open("{told}.new", "w") as file:
        print(world.directory, *(node.pid for node in nodes), file=file)
    __import__("os").rename("{told}.new", "{told}")
    time.sleep(3600)
''')
    pytest_3 = world.start("probe", *command, stdout=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists(told))
    directory, *pids = pathlib.Path(told).read_text(encoding="ascii").split()
    assert len(pids) == 3 and not any(is_gone(pid) for pid in pids)
    assert pytest_3.stop(number) != 0
    wait_for(lambda: all(is_gone(pid) for pid in pids))
    assert not os.path.exists(directory)


def test_signals_are_not_inherited(world, probe):
    """under nohup, with other signals ignored and blocked too, programs have the default of each"""
    command = probe('''
import re

def test_signals(server):
    with open(f"/proc/{server().pid}/status") as status:
        print(re.findall("^Sig(?:Ign|Blk).*", status.read(), re.M))
''')
    plain = world.run(*command).stdout
    masks = re.findall(r"Sig(?:Ign|Blk)\S*", plain)
    assert len(masks) == 2, plain
    ignored = "--ignore-signal=HUP,INT,QUIT,TERM,USR1"
    assert world.run("env", ignored, "--block-signal=USR2", "nohup", *command).stdout == plain
