"""`baton run` as a job of an interactive shell: foreground, background, Ctrl-C and Ctrl-Z."""

import signal

import pytest

from world import BATON, wait_for

CTRL_C, CTRL_Z = "\x03", "\x1a"
READS = """sh -c 'echo in"side"; read line; echo "got $line"'"""
SLEEPS = """sh -c 'echo in"side"; exec sleep 600'"""


@pytest.fixture(name="terminal")
def _terminal(world, server):
    """A terminal with an interactive shell, and a server for its jobs."""
    world.environment["BATON_AT"] = server().path
    return world.terminal()


def run(lock, command):
    return f"{BATON} run {lock} -- {command}"


def wait_until_stopped(terminal):
    """Until the shell knows that its job is stopped."""
    wait_for(lambda: "Stopped" in terminal.answer("jobs"))


def test_job_that_reads_in_the_background(terminal):
    """a job in the background that reads is stopped, and goes on in the foreground"""
    terminal.type(run("behind", READS) + " &\n")
    terminal.until("inside")
    wait_until_stopped(terminal)
    terminal.to_foreground()
    terminal.type("a line\n")
    terminal.until("got a line")
    assert terminal.end_of_job()[0] == 0


def test_job_that_reads_in_the_foreground(terminal, world):
    """a job that was brought to the foreground before it reads is not stopped at all"""
    wait = f"until test -e {world.path('go')}; do sleep 0.02; done"
    terminal.type(run("runs", READS.replace("read", f"{wait}; read", 1)) + " &\n")
    terminal.until("inside")
    terminal.to_foreground()
    world.write("go", "")
    terminal.type("a line\n")
    terminal.until("got a line")
    assert terminal.end_of_job()[0] == 0


def test_command_that_reads_from_the_terminal_itself(terminal):
    """whatever standard input is, the command can ask at the terminal"""
    asks = READS.replace("read line", "read line < /dev/tty")
    terminal.type(run("asks", asks) + " < /dev/null\n")
    terminal.until("inside")
    terminal.type("a line\n")
    terminal.until("got a line")
    assert terminal.end_of_job()[0] == 0


def test_interrupt_ends_a_job_that_reads(terminal):
    """Ctrl-C ends a job that was stopped in the background when it read"""
    terminal.type(run("reads", READS) + " &\n")
    terminal.until("inside")
    wait_until_stopped(terminal)
    terminal.to_foreground()
    terminal.type(CTRL_C)
    assert terminal.end_of_job()[0] == 128 + signal.SIGINT


def test_kill_ends_a_suspended_job(terminal):
    """the shell's kill ends a job that Ctrl-Z has stopped, and its lock is free"""
    terminal.type(run("suspended --lease 0", SLEEPS) + "\n")
    terminal.until("inside")
    terminal.type(CTRL_Z)
    wait_until_stopped(terminal)
    terminal.answer("kill %1")
    terminal.type(run("suspended --timeout 60", "true") + "\n")
    assert terminal.end_of_job()[0] == 0
