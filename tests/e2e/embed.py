#!/usr/bin/env python3
"""A bank account in three programs (examples/replica/account.c) under fire: no money is lost, none is made.

Each worker draws and pays in at one of them while all of them are killed, stopped and started again. What was acknowledged
counts, what was refused or lost does not, and of what nobody answered because the process was killed either is right.
"""

import os
import random
import re
import select
import signal
import subprocess
import threading
import time

from cluster_world import IDS, free_ports
from service import BATON, PATIENCE, SANITIZED, SCRATCH, finish, processes, test, wait_for

ACCOUNT = os.path.join(os.path.dirname(os.path.abspath(BATON)), "tests", "account")
LOST = "the lock had been taken away"
FAULTS = 12
FIRST = 1000


class Killed(Exception):
    """Before it has answered."""


class Absent(Exception):
    """It was killed before it has read what was said."""


class Account:
    def __init__(self, name, peers):
        self.name = name
        self.command = [ACCOUNT, name, peers, os.path.join(SCRATCH, "account-" + name)]
        self.log = os.path.join(SCRATCH, "account-" + name + ".log")
        self.process = None

    def start(self, *before):
        """`before`: a command that runs it."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*before, *self.command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        processes.append(self.process)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __call__(self, line):
        """The answer to a line."""
        process = self.process
        try:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError as error:
            raise Absent from error
        assert select.select([process.stdout], [], [], PATIENCE)[0], f"no answer to {line} from {self.name}"
        answer = process.stdout.readline().decode()
        if not answer.endswith("\n"):
            raise Killed
        return answer.strip()

    def look(self):
        """Balance, lowest balance that it ever had, and number of operations, as this process has them."""
        found = re.fullmatch(r"look (-?\d+) lowest (-?\d+) executed (\d+)", self("look"))
        return tuple(map(int, found.groups()))

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()


peers = ",".join(f"{i}=127.0.0.1:{port}" for i, port in zip(IDS, free_ports(len(IDS))))
accounts = [Account(i, peers).start() for i in IDS]
A, B, C = accounts


def balance(account):
    """What all agree on."""
    while True:  # not while somebody who was killed holds the lock
        answer = account("balance")
        if answer.startswith("ok "):
            return int(answer[3:])


def all_equal():
    seen = [account.look() for account in accounts]
    assert all(lowest == 0 for _, lowest, _ in seen), seen
    return len({(money, executed) for money, _, executed in seen}) == 1


class Books:
    """What is known of the account's history."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sum = 0  # of what was acknowledged
        self.open = []  # changes that nobody has answered
        self.counts = {"ok": 0, "refused": 0, "lost": 0, "busy": 0}

    def enter(self, change, answer):
        with self.lock:
            word = answer.split()[0] if answer is not None else None
            if answer is None:
                self.open.append(change)
            elif word in ("ok", "refused"):
                assert int(answer.split()[1]) >= 0, answer
                self.counts[word] += 1
                self.sum += change if word == "ok" else 0
            else:
                self.counts["lost" if answer.startswith(LOST) else "busy"] += 1

    def allow(self, money):
        """Whether that can be the balance."""
        possible = {self.sum}
        for change in self.open:
            possible |= {money + change for money in possible}
        return money in possible


books = Books()
ending = threading.Event()


def work(account, seed):
    chance = random.Random(seed)
    while not ending.is_set():
        change = chance.randrange(1, 60) * chance.choice((1, -1, -1))
        try:
            books.enter(change, account(f"{'deposit' if change > 0 else 'withdraw'} {abs(change)}"))
        except Killed:
            books.enter(change, None)
            time.sleep(0.05)  # its end of the pipe may be open for a moment yet
        except Absent:
            time.sleep(0.01)


def hurt(chance):
    """One process, and if it is killed, then soon after another."""
    victim = chance.choice(accounts)
    if chance.random() < 0.3:
        victim.process.send_signal(signal.SIGSTOP)
        time.sleep(chance.uniform(0.5, 1.5))
        victim.process.send_signal(signal.SIGCONT)
    else:
        victim.kill()
        time.sleep(chance.uniform(0, 0.7))
        victim.start()
    time.sleep(chance.uniform(0.1, 0.6))


@test("three programs keep one account")
def _():
    assert A(f"deposit {FIRST}") == f"ok {FIRST}"
    assert B("balance") == f"ok {FIRST}"
    assert C(f"withdraw 1 withdraw {FIRST} balance deposit 1") == \
        f"ok {FIRST - 1} refused {FIRST - 1} ok {FIRST - 1} ok {FIRST}"
    assert A("deposit much balance") == f"refused {FIRST} ok {FIRST}"
    wait_for(all_equal)
    books.sum = FIRST


@test(f"{FAULTS} times one of them is killed or stopped, at any moment: no money is lost, none is made")
def _():
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print(f"# SEED={seed}", flush=True)
    chance = random.Random(seed)
    workers = [threading.Thread(target=work, args=(account, seed + i)) for i, account in enumerate(accounts)]
    for worker in workers:
        worker.start()
    for _ in range(FAULTS):
        before = books.counts["ok"]
        hurt(chance)
        wait_for(lambda: books.counts["ok"] > before + 20)  # it goes on after each
    ending.set()
    for worker in workers:
        worker.join()
    money = balance(A)
    print(f"# {books.counts}, {len(books.open)} without an answer, balance {money}", flush=True)
    assert books.allow(money), (money, books.sum, books.open)
    assert balance(B) == balance(C) == money
    wait_for(all_equal)


@test("all are killed at once, and come back with all")
def _():
    money = balance(A)
    for account in accounts:
        account.process.kill()
    for account in accounts:
        account.process.wait()
        account.start()
    assert balance(C) == balance(B) == balance(A) == money
    wait_for(all_equal)


@test("who was away for thousands of operations gets the state, and keeps it")
def _():
    money, _, executed = A.look()
    C.kill()
    lines = 5 if SANITIZED else 60
    for _ in range(lines):
        assert A("deposit 1 " * 50).count("ok ") == 50
    C.start()
    wait_for(lambda: C.look()[2] >= executed + 50 * lines)
    assert C.look()[:2] == (money + 50 * lines, 0)
    C.kill()
    C.start()
    assert C.look()[:2] == (money + 50 * lines, 0)  # from its own disk
    assert balance(C) == money + 50 * lines
    wait_for(all_equal)


@test("a full disk ends one of them, which says so; the others go on, and nothing is lost")
def _():
    C.kill()
    money = balance(A)
    C.start("prlimit", "--fsize=65536")  # of which the first pages are soon used up
    failed, lines = False, 0
    while not failed:
        assert lines < 100
        lines += 1
        assert A("deposit 1 " * 50).count("ok ") == 50
        failed = "the system refused" in C("deposit 0 " * 50)
    C.process.stdin.close()
    assert C.process.wait(PATIENCE) == 1
    assert "account: cannot write" in C.text(), C.text()
    assert balance(B) == money + 50 * lines
    C.start()
    wait_for(all_equal)
    assert balance(C) == money + 50 * lines


@test("a `baton node` of the same list is refused, and so is its use of the directory")
def _():
    C.kill()
    node = [BATON, "node", "--id", "c", "--peers", peers, "--client", os.path.join(SCRATCH, "c.socket"), "--data"]
    wrong = subprocess.run(node + [C.command[3]], capture_output=True, text=True, timeout=PATIENCE)
    assert wrong.returncode == 1 and "belongs to cluster" in wrong.stderr, wrong
    log = os.path.join(SCRATCH, "node.log")
    with open(log, "wb") as stderr:
        stranger = subprocess.Popen(node + [os.path.join(SCRATCH, "node-c")], stderr=stderr)
    processes.append(stranger)
    wait_for(lambda: "the same kind of resource" in A.text())
    stranger.terminate()
    stranger.wait(PATIENCE)
    C.start()
    wait_for(all_equal)


@test("what cannot be opened is said in a sentence")
def _():
    for arguments, words in (
        (["a", "a=127.0.0.1:1,b", "x"], "'b' has no id; write ID=HOST:PORT"),
        (["d", peers, "x"], "this node, 'd', is not in the list of peers"),
        (["a", "a=192.0.2.1:1", "x"], "an address beyond this machine needs a secret"),
        (["a", peers, os.path.join(SCRATCH, "new")], "address already in use"),
        (A.command[1:], "another running process uses"),
        (["a", peers, "/proc/nowhere/else"], "/proc/nowhere/else"),
    ):
        wrong = subprocess.run([ACCOUNT, *arguments], capture_output=True, text=True, timeout=PATIENCE, cwd=SCRATCH)
        assert wrong.returncode == 1 and words in wrong.stderr, (arguments, wrong)


@test("who closes hands the lock over, and nobody has complained")
def _():
    money = balance(A)
    for account in (A, B):  # the second is left alone by whom it hands over to
        account.process.stdin.close()
        assert account.process.wait(PATIENCE) == 0
        if account is A:
            assert balance(B) == money
    C.process.stdin.close()
    assert C.process.wait(PATIENCE) == 0
    for account in accounts:
        text = account.text()
        assert "ERROR:" not in text and "runtime error" not in text and "WARNING: Thread" not in text, text


finish()
