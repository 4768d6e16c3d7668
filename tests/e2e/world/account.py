"""The program examples/replica/account.c: one of several that keep one bank account."""

import re
import select
import subprocess

from .cluster import ids
from .process import Process
from .settings import HELPERS, PATIENCE

PROGRAM = str(HELPERS / "account")


class Killed(Exception):
    """Before it has answered."""


class Absent(Exception):
    """It was killed before it has read what was said."""


class Account(Process):
    """Reads commands from a pipe, and answers each with a line."""

    def __init__(self, world, account_id, peers):
        self.data = world.path("account-" + account_id)
        super().__init__(world, "account-" + account_id, [PROGRAM, account_id, peers, self.data])

    def start(self, *before, **options):
        options.update(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return super().start(*before, **options)

    def __call__(self, line):
        """The answer to a line."""
        process = self.process
        try:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError as error:
            raise Absent from error
        ready = select.select([process.stdout], [], [], PATIENCE)[0]
        assert ready, f"no answer to {line} from {self.name}"
        answer = process.stdout.readline().decode()
        if not answer.endswith("\n"):
            raise Killed
        return answer.strip()

    def close(self):
        """Tells it that there is no more to read; its exit code."""
        self.process.stdin.close()
        return self.wait()

    def look(self):
        """Balance, lowest balance ever, and number of operations, as this process has them."""
        found = re.fullmatch(r"look (-?\d+) lowest (-?\d+) executed (\d+)", self("look"))
        return tuple(map(int, found.groups()))

    def balance(self):
        """What all agree on."""
        while True:  # not while somebody who was killed holds the lock
            answer = self("balance")
            if answer.startswith("ok "):
                return int(answer[3:])


class Accounts:
    """So many programs that keep one account."""

    def __init__(self, world, count):
        names = ids(count)
        self.peers = ",".join(f"{i}=127.0.0.1:{p}" for i, p in zip(names, world.ports.take(count)))
        self.all = [Account(world, i, self.peers).start() for i in names]

    def are_equal(self):
        seen = [account.look() for account in self.all]
        assert all(lowest == 0 for _, lowest, _ in seen), seen
        return len({(money, executed) for money, _, executed in seen}) == 1
