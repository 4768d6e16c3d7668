"""A program that a test runs: its log, its end, and whether anybody wanted that."""

import os
import signal
import subprocess

from .settings import PATIENCE

REPORTS = ("ERROR:", "runtime error", "WARNING: ThreadSanitizer")  # of sanitizers


class Process:
    """Runs until it is told to end; what it says on standard error is its log."""

    def __init__(self, world, name, command):
        self.world, self.name = world, name
        self.command = [str(word) for word in command]
        self.log = world.path(name + ".log")
        self.process = None
        self.may_end = True  # it does not run, or somebody has ended it
        self.judged = 0  # bytes of the log without a report of a sanitizer
        world.processes.append(self)

    def start(self, *before, **options):
        """`before` is a command that runs it, such as prlimit."""
        options.setdefault("stdin", subprocess.DEVNULL)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*before, *self.command], stderr=log, env=self.world.environment, **options)
        self.may_end = False
        return self

    @property
    def pid(self):
        return self.process.pid

    def has_ended(self):
        return self.process is None or self.process.poll() is not None

    def send(self, number):
        if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            self.may_end = True
        self.process.send_signal(number)

    def pause(self):
        self.send(signal.SIGSTOP)

    def resume(self):
        self.send(signal.SIGCONT)

    def kill(self):
        """As a power failure does it, for this program."""
        if self.process is not None:
            self.send(signal.SIGKILL)
            self.process.wait()

    def stop(self, number=signal.SIGTERM):
        """Asks it to end; its exit code."""
        self.send(number)
        return self.process.wait(PATIENCE)

    def wait(self, seconds=PATIENCE):
        """For its own end; its exit code."""
        self.may_end = True
        return self.process.wait(seconds)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def memory(self):
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def complaint(self):
        """Why a test must not pass, or None: each reason is given once."""
        if not os.path.exists(self.log):
            return None
        with open(self.log, "rb") as log:
            log.seek(self.judged)
            new = log.read()
        self.judged += len(new)
        for report in REPORTS:
            if report.encode() in new:
                return f"{self.name}: {report} {new.decode(errors='replace').split(report, 1)[1]}"
        if self.has_ended() and not self.may_end:
            self.may_end = True
            return f"{self.name} ended by itself, exit code {self.process.returncode}"
        return None
