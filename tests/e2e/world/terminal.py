"""A terminal with an interactive shell, and somebody who types and reads."""

import os
import pty
import resource
import select
import signal
import time

from .settings import PATIENCE
from .waiting import wait_for

PROMPT = "ready> "


class Terminal:
    """What is typed is echoed: a test puts the words it waits for together in the shell."""

    def __init__(self, environment):
        self.shell, self.screen = pty.fork()
        if self.shell == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            bash = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
            os.execvpe(bash[0], bash, {**environment, "PS1": PROMPT, "TERM": "dumb"})
        self.unread = ""
        self.until(PROMPT)

    def type(self, text):
        os.write(self.screen, text.encode())

    def until(self, words):
        """Waits for these words; what the screen shows before them."""
        end = time.monotonic() + PATIENCE
        while words not in self.unread:
            ready, _, _ = select.select([self.screen], [], [], max(0, end - time.monotonic()))
            assert ready, f"no '{words}' after:\n{self.unread}"
            self.unread += os.read(self.screen, 4096).decode(errors="replace")
        before, _, self.unread = self.unread.partition(words)
        return before

    def answer(self, line):
        """Types a line for the shell; what it says to that."""
        self.wait_for_shell()
        self.type(f"echo beg''in; {line}; echo en''d\n")
        self.until("begin\r\n")
        return self.until("end\r\n")

    def end_of_job(self):
        """When the shell has the terminal again: the exit code of its last job, and what the screen
        shows before."""
        self.wait_for_shell()
        self.type("echo co''de $?\n")
        before = self.until("code ")
        return int(self.until("\r\n")), before

    def wait_for_shell(self):
        wait_for(lambda: os.tcgetpgrp(self.screen) == self.shell)

    def to_foreground(self):
        """Types fg, until the shell has given the terminal to its job."""
        self.type("fg\n")
        wait_for(lambda: os.tcgetpgrp(self.screen) != self.shell)

    def remove(self):
        """Closes the terminal. Whatever of its session does not care for that dies."""
        for process in self.session():
            os.kill(process, signal.SIGKILL)
        os.waitpid(self.shell, 0)
        os.close(self.screen)

    def session(self):
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.getsid(int(name)) == self.shell:
                    yield int(name)
            except ProcessLookupError:
                pass
