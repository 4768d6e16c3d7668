"""Runs checks on mutants and says what they have found."""
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading

from mutation import Trouble
from theorem_rows import judge as judge_row
from theorem_rows import outcome_of, read_rows

SECONDS = 300  # for one check; on an idle machine none takes more than a few
DONE = (0, 75)  # nothing wrong; nothing wrong up to the limit
# In the words of baton-check, of baton-sim (the seed comes in the line below), and of a unit test.
FOUND = (
    r"^  (\S.*?) +VIOLATED$|: broken, (.*)$|^BROKEN[^:]*: (.*(?:\n.* seed \d+)?)"
    r"|^not ok \d+ - (.*)|: (Assertion .* failed)"
)


class Processes:
    """Runs commands for many threads; can be stopped without leaving a process behind."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()
        self.stopped = False

    def run(self, command, directory, environment=None, seconds=SECONDS, keep_output=True):
        """The exit code and the output; None if the command has not come to an end in time."""
        with self.lock:
            if self.stopped:
                raise Trouble("stopped")
            child = subprocess.Popen(
                command,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if keep_output else subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP", **(environment or {})},
                start_new_session=True,  # all that it has started can be ended with it
            )
            self.running.add(child)
        try:
            output, _ = child.communicate(timeout=seconds)
            return child.returncode, output
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            with self.lock:
                end(child)
                self.running.discard(child)
            child.communicate()

    def stop(self):
        with self.lock:
            self.stopped = True
            for child in self.running:
                end(child)


def end(child):
    """Ends a child and all that it has started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


processes = Processes()


def row_of(check):
    """The row of docs/theorems.md, if the check is one."""
    kind, _, name = check.partition(" ")
    if kind != "theorem":
        return None
    for row in read_rows():
        if row.id == name and row.command is not None:
            return row
    raise Trouble(f"{check}: docs/theorems.md has no such row with a command")


def call_of(check):
    row = row_of(check)
    return row.command.removeprefix("build/") if row else check


def programs_of(mutants):
    return sorted({call_of(check).split()[0] for mutant in mutants for check in mutant.checks})


def run_check(workshop, programs, check):
    """Runs a check on the programs of a directory that is laid out like a build."""
    program, *arguments = shlex.split(call_of(check))
    place = workshop.tree if row_of(check) else programs
    return processes.run([programs / workshop.place_of(program), *arguments], place)


def disagrees(check, code, output):
    """How what a row's command has given differs from what the row says; "" if it does not."""
    return judge_row(row_of(check), outcome_of(code, output)) or ""


def violated(workshop, programs, check):
    """The property that the check finds violated; "" if none, or if it has not come to an end."""
    code, output = run_check(workshop, programs, check)
    if code is not None and row_of(check):
        return disagrees(check, code, output)
    if code is None or code in DONE:
        return ""
    found = re.search(FOUND, output, flags=re.M)
    if found and (code == 1 or check.startswith("test_")):
        return " ".join(next(words for words in found.groups() if words).split())
    raise Trouble(f"{check}: exit code {code}\n{output}")


def check_original(workshop, check):
    """A check proves nothing about mutants if the code as it is does not pass it."""
    code, output = run_check(workshop, workshop.build, check)
    if code is None:
        raise Trouble(f"{check}: takes more than {SECONDS} s without any mutant")
    if disagrees(check, code, output) if row_of(check) else code not in DONE:
        raise Trouble(f"{check}: fails without any mutant\n{output}")


def judge(workshop, mutant):
    """The first check that catches the mutant, and how; "" if it survives."""
    try:
        programs = workshop.make(mutant.source, mutant.text, programs_of([mutant]))
    except Trouble as trouble:
        raise Trouble(f"{mutant.name} cannot be built:\n{trouble}") from None
    try:
        caught = ""
        for check in mutant.checks:
            found = violated(workshop, programs, check)
            if found:
                caught = caught or f"{check}: {found}"
            elif mutant.all_must_catch:
                return ""
            if caught and not mutant.all_must_catch:
                break
        return caught
    except Trouble as trouble:
        raise Trouble(f"{mutant.name}: {trouble}") from None
    finally:
        shutil.rmtree(programs)
