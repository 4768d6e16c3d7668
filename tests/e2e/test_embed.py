"""A bank account in several programs (examples/replica/account.c) under fire: no money is lost,
none is made.

Each worker draws and pays in at one of them while all of them are killed, stopped and started
again. What was acknowledged counts, what was refused or lost does not, and of what nobody answered
because the process was killed either is right.
"""

import os
import random
import threading
import time

import pytest

from world import SANITIZED, wait_for
from world.account import PROGRAM, Absent, Killed

SAMPLE = (3,)
LOST = "the lock had been taken away"
FAULTS = 12
FIRST = 1000
pytestmark = pytest.mark.nodes(least=3, because="a majority must survive the death of a program")


@pytest.fixture(scope="module", name="shared")
def _shared(sized_world, count):
    """So many programs with one account."""
    accounts = sized_world.accounts(count)
    assert accounts.all[0](f"deposit {FIRST}") == f"ok {FIRST}"
    return accounts


class Books:
    """What is known of the account's history, and those who work at it."""

    def __init__(self, accounts, money):
        self.accounts = accounts
        self.lock = threading.Lock()
        self.sum = money  # of what was acknowledged
        self.open = []  # changes that nobody has answered
        self.counts = {"ok": 0, "refused": 0, "lost": 0, "busy": 0}
        self.ending = threading.Event()

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

    def work(self, account, seed):
        chance = random.Random(seed)
        while not self.ending.is_set():
            change = chance.randrange(1, 60) * chance.choice((1, -1, -1))
            try:
                what = "deposit" if change > 0 else "withdraw"
                self.enter(change, account(f"{what} {abs(change)}"))
            except Killed:
                self.enter(change, None)
                time.sleep(0.05)  # its end of the pipe may be open for a moment yet
            except Absent:
                time.sleep(0.01)

    def start(self, seed):
        workers = [threading.Thread(target=self.work, args=(account, seed + i), daemon=True)
                   for i, account in enumerate(self.accounts)]
        for worker in workers:
            worker.start()
        return workers


def hurt(accounts, chance):
    """One process, and if it is killed, then soon after another."""
    victim = chance.choice(accounts)
    if chance.random() < 0.3:
        victim.pause()
        time.sleep(chance.uniform(0.5, 1.5))
        victim.resume()
    else:
        victim.kill()
        time.sleep(chance.uniform(0, 0.7))
        victim.start()
    time.sleep(chance.uniform(0.1, 0.6))


def test_programs_keep_one_account(shared):
    """several programs keep one account"""
    a, b, c = shared.all[:3]
    assert b("balance") == f"ok {FIRST}"
    assert c(f"withdraw 1 withdraw {FIRST} balance deposit 1") == \
        f"ok {FIRST - 1} refused {FIRST - 1} ok {FIRST - 1} ok {FIRST}"
    assert a("deposit much balance") == f"refused {FIRST} ok {FIRST}"
    wait_for(shared.are_equal)


def test_no_money_is_lost_or_made(shared):
    """12 times one of them is killed or stopped, at any moment: no money is lost, none is made"""
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print(f"SEED={seed}", flush=True)
    chance = random.Random(seed)
    books = Books(shared.all, shared.all[0].balance())
    workers = books.start(seed)
    try:
        for _ in range(FAULTS):
            before = books.counts["ok"]
            hurt(shared.all, chance)
            wait_for(lambda at=before: books.counts["ok"] > at + 20)  # it goes on after each
    finally:
        books.ending.set()
        for worker in workers:
            worker.join()
    money = shared.all[0].balance()
    print(f"{books.counts}, {len(books.open)} without an answer, balance {money}")
    assert books.allow(money), (money, books.sum, books.open)
    assert all(account.balance() == money for account in shared.all)
    wait_for(shared.are_equal)


def test_all_are_killed_at_once(shared):
    """all are killed at once, and come back with all"""
    money = shared.all[0].balance()
    for account in shared.all:
        account.kill()
    for account in shared.all:
        account.start()
    assert all(account.balance() == money for account in reversed(shared.all))
    wait_for(shared.are_equal)


def test_absent_program_gets_the_state(shared):
    """who was away for thousands of operations gets the state, and keeps it"""
    first, last = shared.all[0], shared.all[-1]
    money, _, executed = first.look()
    last.kill()
    lines = 5 if SANITIZED else 60
    for _ in range(lines):
        assert first("deposit 1 " * 50).count("ok ") == 50
    last.start()
    wait_for(lambda: last.look()[2] >= executed + 50 * lines)
    assert last.look()[:2] == (money + 50 * lines, 0)
    last.kill()
    last.start()
    assert last.look()[:2] == (money + 50 * lines, 0)  # from its own disk
    assert last.balance() == money + 50 * lines
    wait_for(shared.are_equal)


def test_full_disk(shared, world):
    """a full disk ends one of them, which says so; the others go on, and nothing is lost"""
    first, last = shared.all[0], shared.all[-1]
    last.kill()
    money = first.balance()
    wrong = world.run("prlimit", "--fsize=4096", *last.command)  # not even to open it
    assert wrong.returncode == 1 and "start the node again" in wrong.stderr, wrong
    last.start("prlimit", "--fsize=524288")  # which the journal soon comes to
    failed, lines = False, 0
    while not failed:
        assert lines < 100
        lines += 1
        assert first("deposit 1 " * 50).count("ok ") == 50
        failed = "the system refused" in last("deposit 0 " * 50)
    assert last.close() == 1
    assert "account: cannot write" in last.text(), last.text()
    assert shared.all[1].balance() == money + 50 * lines
    last.start()
    wait_for(shared.are_equal)
    assert last.balance() == money + 50 * lines


def test_node_of_the_same_list_is_refused(shared, world):
    """a `baton node` of the same list is refused, and so is its use of the directory"""
    first, last = shared.all[0], shared.all[-1]
    last.kill()
    stranger = world.node(last.command[1], shared.peers, name="stranger")
    wrong = world.run(*stranger.command, "--data", last.data)
    assert wrong.returncode == 1 and "belongs to cluster" in wrong.stderr, wrong
    stranger.start()
    wait_for(lambda: "the same kind of resource" in first.text())
    stranger.stop()
    last.start()
    wait_for(shared.are_equal)


def test_what_cannot_be_opened(shared, world):
    """what cannot be opened is said in a sentence"""
    peers, first = shared.peers, shared.all[0]
    for arguments, words in (
            (["a", "a=127.0.0.1:1,b", "x"], "'b' has no id; write ID=HOST:PORT"),
            (["z", peers, "x"], "this node, 'z', is not in the list of peers"),
            (["a", "a=192.0.2.1:1", "x"], "an address beyond this machine needs a secret"),
            (["a", peers, world.path("new")], "address already in use"),
            (first.command[1:], "another running process uses"),
            (["a", peers, "/proc/nowhere/else"], "/proc/nowhere/else")):
        wrong = world.run(PROGRAM, *arguments, cwd=world.directory)
        assert wrong.returncode == 1 and words in wrong.stderr, (arguments, wrong)


def test_who_closes_hands_the_lock_over(shared):
    """who closes hands the lock over, and nobody has complained"""
    money = shared.all[0].balance()
    heir = shared.all[1]
    for account in shared.all[:-1]:  # the last of these is left alone by whom it hands over to
        if account is heir:
            assert heir.balance() == money
        assert account.close() == 0
    assert shared.all[-1].close() == 0
