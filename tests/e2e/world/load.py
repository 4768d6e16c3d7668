"""Clients of a cluster that write down what they see, and the judge of that (judge_history.c)."""

import random
import subprocess
import threading
import time

from .client import Client, Failure
from .counter import final_counts
from .settings import HELPERS

JUDGE = str(HELPERS / "judge_history")
LOCKS = ("one", "two", "three")
PER_LOCK = 4  # clients


def judge(events, users=PER_LOCK):
    """Exit code and words of the judge; an event is a line."""
    done = subprocess.run([JUDGE, str(users)], input="".join(line + "\n" for line in events),
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class History:
    """What the clients of one lock saw."""

    def __init__(self, lock):
        self.lock = lock
        self.events = []
        self.keys = 0
        self.mutex = threading.Lock()

    def note(self, user, word, *numbers):
        with self.mutex:  # so that the order of the list is that of time
            self.events.append((time.monotonic_ns() // 1000, word, user, *numbers))

    def new_key(self):
        with self.mutex:
            self.keys += 1
            return self.keys

    def judge(self, count):
        """`count` is what the counter says in the end."""
        self.note(0, "count", count)
        return judge(" ".join(map(str, event)) for event in self.events)


class Worker(threading.Thread):
    """Adds one again and again, at whichever node can be reached, in every way there is."""

    def __init__(self, load, history, user):
        super().__init__(daemon=True)
        self.load, self.history, self.user = load, history, user
        self.chance = random.Random(f"{load.seed} {history.lock} {user}")
        self.start()

    def note(self, word, *numbers):
        self.history.note(self.user, word, *numbers)

    def enter(self, client):
        """By LOCK, or by TRY; a token, or None. The history has its try."""
        if self.chance.random() < 0.8:
            return client("LOCK", self.history.lock, self.chance.choice((20, 300, 3000)))
        token = client("TRY", self.history.lock)
        return token if token > 0 else None

    def operate(self, client, token):
        key = self.history.new_key()
        self.note("issue", key)
        answer = client("ISSUE", self.history.lock, token, "INCR", "n")
        self.note("outcome", key, answer)
        self.load.acknowledged(self.history.lock)

    def section(self, client):
        """False if the connection is of no use any more."""
        self.note("try")
        token = self.enter(client)
        if token is None:
            self.note("gone")
            return True
        self.note("crit", token)
        try:
            for _ in range(self.chance.choice((0, 1, 1, 1, 3))):
                self.operate(client, token)
            if self.chance.random() < 0.02:
                return False  # and leaves without a word, from inside
            self.note("exit")
            client("EXIT", self.history.lock, token)
            self.note("rem")
        except Failure as failure:
            if str(failure).split()[0] not in ("EJECTED", "STALE"):
                raise
            self.load.ejected += 1
            if self.history.events and "STALE" in str(failure):
                self.note("gone")
            else:
                self.note("ejected")
        return True

    def visit(self, node):
        with Client(node) as client:
            client.socket.settimeout(10)
            while (not self.load.over.is_set() and self.section(client)
                   and self.chance.random() < 0.97):
                pass

    def run(self):
        while not self.load.over.is_set():
            try:
                self.visit(self.chance.choice(self.load.cluster.nodes))
            except (OSError, EOFError):
                time.sleep(0.02)
            except (Failure, AssertionError, TypeError) as wrong:
                if str(wrong).startswith("NOTREADY"):  # its disk was lost
                    time.sleep(0.02)
                else:
                    self.load.wrong.append(f"{type(wrong).__name__}: {wrong}")
            self.note("gone")


class Load:
    """Workers on several locks of a cluster, until they are told to finish."""

    def __init__(self, cluster, seed):
        self.cluster, self.seed = cluster, seed
        self.over = threading.Event()
        self.wrong = []  # answers that may not come
        self.ejected = 0
        self.operations = dict.fromkeys(LOCKS, 0)
        self.last = dict.fromkeys(LOCKS, time.monotonic())
        self.longest = 0.0  # seconds in which a lock saw no operation
        self.mutex = threading.Lock()
        self.histories = {lock: History(lock) for lock in LOCKS}
        self.workers = [Worker(self, h, user) for h in self.histories.values()
                        for user in range(PER_LOCK)]

    def acknowledged(self, lock):
        now = time.monotonic()
        with self.mutex:
            self.operations[lock] += 1
            self.longest = max(self.longest, now - self.last[lock])
            self.last[lock] = now

    def finish(self):
        """Ends the workers, and asks all nodes and the judge."""
        self.over.set()
        for worker in self.workers:
            worker.join()
        counts = self.finals()
        verdicts = {lock: self.histories[lock].judge(max(counts[lock], default=0))
                    for lock in LOCKS}
        return Verdict(self, counts, verdicts)

    def finals(self):
        """What every node says in the end of every lock."""
        return {lock: final_counts(self.cluster, lock) for lock in LOCKS}


class Verdict:
    """What became of a load; each of its methods is one thing that must be true."""

    def __init__(self, load, counts, verdicts):
        self.load, self.counts, self.verdicts = load, counts, verdicts

    def check_answers(self):
        assert not self.load.wrong, self.load.wrong[:5]

    def check_nodes_end_alike(self, lock):
        counts = self.counts[lock]
        assert len(counts) == len(self.load.cluster.nodes) and len(set(counts)) == 1, counts

    def check_history(self, lock):
        code, words = self.verdicts[lock]
        print(words)
        assert code == 0, words

    def check_something_was_done(self):
        assert min(self.load.operations.values()) > 0, self.load.operations

    def check_all(self):
        self.check_answers()
        for lock in LOCKS:
            self.check_nodes_end_alike(lock)
            self.check_history(lock)
        self.check_something_was_done()

    def figures(self):
        load = self.load
        violations = sum(code != 0 for code, _ in self.verdicts.values())
        return (f"{sum(load.operations.values())} operations acknowledged, {load.ejected} ejected,"
                f" {violations} violations, longest time without any on a lock"
                f" {load.longest:.1f} s")
