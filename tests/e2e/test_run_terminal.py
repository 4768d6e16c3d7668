"""`baton run` as a job of an interactive shell: foreground, background, Ctrl-C and Ctrl-Z."""

import signal

import pytest

from world import BATON, wait_for

CTRL_C, CTRL_Z, CTRL_BACKSLASH = "\x03", "\x1a", "\x1c"
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


SCRIPTS = {  # bash ignores SIGQUIT
    CTRL_C: ("bash", "{run}\necho survived=$?\n"),
    CTRL_BACKSLASH: ("python3", "import subprocess\n"
                     "print('survived', subprocess.call({run!r}, shell=True))\n"),
}


def start_script(terminal, world, key, command):
    """A script that says so if it goes on when the command has ended, in the foreground."""
    shell, text = SCRIPTS[key]
    path = world.write("script", text.format(run=run("script", command)))
    terminal.type(f"{shell} {path}\n")
    terminal.until("inside")


@pytest.mark.parametrize("key", SCRIPTS, ids=("Ctrl-C", "Ctrl-backslash"))
def test_key_ends_the_script(terminal, world, key):
    """a key that ends the command ends the script around it"""
    start_script(terminal, world, key, SLEEPS)
    terminal.type(key)
    assert "survived" not in terminal.end_of_job()[1]


def test_key_does_not_end_the_script(terminal, world):
    """Ctrl-C is the command's to answer: the script goes on after one that ends by itself"""
    start_script(terminal, world, CTRL_C,
                 """sh -c 'trap "exit 3" INT; echo in"side"; while :; do sleep 0.02; done'""")
    terminal.type(CTRL_C)
    assert "survived=3" in terminal.end_of_job()[1]


def test_signal_for_baton_run_alone(terminal, world):
    """an INT that is no key is for baton run and its command, not for the script"""
    start_script(terminal, world, CTRL_C, SLEEPS.replace("exec", "kill -INT $PPID; exec"))
    code, screen = terminal.end_of_job()
    assert code == 0 and "survived=130" in screen
