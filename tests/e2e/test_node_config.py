"""Files of settings for a node."""

import re

import pytest

from world import ROOT

PEERS = "peers = a=127.0.0.1:1,b=127.0.0.1:2,c=127.0.0.1:3"
EXAMPLE = ROOT / "packaging" / "node.conf"


@pytest.fixture(name="start")
def _start(world):
    """A node that ends by itself: exit code and what it says."""
    def start(*words):
        done = world.baton("node", *words)
        return done.returncode, done.stdout + done.stderr

    return start


@pytest.fixture(name="settings")
def _settings(world):
    """The name of a file with that text."""
    return lambda text: world.write("node.conf", text)


def test_options_win(world, start, settings):
    """config: a file of settings, and options that win"""
    data = world.path("x")
    good = settings(f"# of node a\n\n id=a\n{PEERS}\r\n\tdata = {data} y \nclient = 127.0.0.1:0\n"
                    "ack = all\n")
    assert start("--config", good, "--check-config") == (0, "fine\n")
    far = settings(f"id = a\n{PEERS}\ndata = {data}\nclient = 10.0.0.1:7700\n")
    assert start("--config", far, "--check-config")[0] == 64
    assert start("--client", "127.0.0.1:0", "--config", far, "--check-config")[0] == 0
    assert start("--config", far, "-c", "127.0.0.1:0", "--id", "d", "--check-config")[0] == 64


def test_what_is_wrong_and_where(world, start, settings):
    """config: what is wrong, and in which line"""
    for text, words in (
            ("id a", "KEY = VALUE"), ("idd = a", "'idd' is no setting"), ("help = 1", "no setting"),
            ("config = x", "no setting"), ("check-config =", "no setting"),
            ("ack = some", "--ack is"), ("drain = -1", "--drain takes"),
            ("= 1", "'' is no setting")):
        code, said = start("--config", settings("# first\n" + text + "\n"))
        assert code == 64 and words in said and "node.conf, line 2\n" in said, said
    code, said = start("--config", world.path("none"))
    assert code == 1 and "cannot read" in said
    code, said = start("--config", settings("id = a\0"))
    assert code == 1 and "no file of settings" in said
    code, said = start("--config", world.directory)
    assert code == 1 and "cannot read" in said


def test_example(world, start, settings):
    """config: the example says what is so"""
    more = ("--id", "a", "--data", world.path("x"), "--check-config",
            "--secret-file", world.secret("a secret that is long enough"),
            "--auth-file", world.secret("a password of clients", "password"))
    assert start("--config", EXAMPLE, *more) == (0, "fine\n")
    text = EXAMPLE.read_text(encoding="utf-8")
    everything = settings(re.sub(r"^#(\w[\w-]* = )", r"\1", text, flags=re.M))
    assert start("--config", everything, *more) == (0, "fine\n")
