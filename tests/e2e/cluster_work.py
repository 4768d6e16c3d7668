"""Clients of a cluster that write down what they see, and the judge of that (judge_history.c)."""

import os
import random
import subprocess
import sys
import threading
import time

from cluster_world import check
from service import BATON, SCRATCH, Client, Failure

JUDGE = os.path.join(os.path.dirname(BATON), "tests", "judge_history")
LOCKS = ("one", "two", "three")
PER_LOCK = 4  # clients


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
        self.note(0, "count", count)
        text = "".join(" ".join(map(str, e)) + "\n" for e in self.events)
        done = subprocess.run([JUDGE, str(PER_LOCK)], input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            with open(os.path.join(SCRATCH, self.lock + ".history"), "w", encoding="ascii") as file:
                file.write(text)
        return done.returncode, done.stdout + done.stderr


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
        client = Client(node)
        client.socket.settimeout(10)
        try:
            while not self.load.over.is_set() and self.section(client) and self.chance.random() < 0.97:
                pass
        finally:
            client.socket.close()

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
    """Workers on several locks of a cluster, until it is judged."""

    def __init__(self, cluster, seed):
        self.cluster, self.seed = cluster, seed
        self.over = threading.Event()
        self.wrong = []
        self.ejected = 0
        self.operations = dict.fromkeys(LOCKS, 0)
        self.last = dict.fromkeys(LOCKS, time.monotonic())
        self.longest = 0.0  # seconds in which a lock saw no operation
        self.mutex = threading.Lock()
        self.histories = [History(lock) for lock in LOCKS]
        self.workers = [Worker(self, h, u) for h in self.histories for u in range(PER_LOCK)]

    def acknowledged(self, lock):
        now = time.monotonic()
        with self.mutex:
            self.operations[lock] += 1
            self.longest = max(self.longest, now - self.last[lock])
            self.last[lock] = now

    def finals(self, lock):
        """What every node says in the end, through the lock."""
        counts = []
        for node in self.cluster.nodes:
            for _ in range(200):
                try:
                    client = Client(node)
                    token = client("LOCK", lock, 5000)
                    if token is not None:
                        counts.append(int(client("ISSUE", lock, token, "GET", "n") or 0))
                        client.close()
                        break
                    client.close()
                except (OSError, EOFError, Failure):
                    pass
                time.sleep(0.05)
        return counts

    def judge(self, name):
        self.over.set()
        for worker in self.workers:
            worker.join()
        for words in self.wrong[:5]:
            print(f"# {words}")
        check(f"{name}: every answer is one that may come", not self.wrong)
        violations = 0
        for history in self.histories:
            counts = self.finals(history.lock)
            check(f"{name}, lock {history.lock}: all nodes end alike", len(counts) == 3 and len(set(counts)) == 1)
            code, words = history.judge(max(counts, default=0))
            violations += code != 0
            print("".join(f"# {history.lock}: {line}\n" for line in words.splitlines()), end="")
            check(f"{name}, lock {history.lock}: its history is one of weak mutual exclusion", code == 0)
        check(f"{name}: something was done", min(self.operations.values()) > 0)
        print(f"# {name}: {sum(self.operations.values())} operations acknowledged, {self.ejected} ejected, "
              f"{violations} violations, longest time without any on a lock {self.longest:.1f} s", flush=True)
        if violations and "--keep" in sys.argv:
            print(f"# see {SCRATCH}")
