"""A counter that clients of a cluster increment while something happens to its nodes."""

import random
import threading
import time

from .client import Client, Failure


class Tally:
    """What the clients of a run were told."""

    def __init__(self):
        self.lock = threading.Lock()
        self.answers = []  # of INCR
        self.unknown = 0  # operations whose connection broke before the answer
        self.ejected = 0
        self.tokens = []


def count_once(client, tally):
    """False if the connection is of no use any more."""
    token = client("LOCK", "counter", 1000)
    if token is None:
        return False
    issued = True
    try:
        answer = client("ISSUE", "counter", token, "INCR", "n")
        issued = False
        with tally.lock:
            tally.answers.append(answer)
            tally.tokens.append((token, answer))
        client("EXIT", "counter", token)
    except Failure as failure:
        with tally.lock:
            tally.ejected += 1
        if "EJECTED" not in str(failure) and "STALE" not in str(failure):
            raise
        return False
    except (OSError, EOFError):
        with tally.lock:
            tally.unknown += issued
        return False
    return True


def work(cluster, index, tally, stop):
    """Adds one again and again, at whichever node can be reached."""
    chance = random.Random(index)
    while not stop.is_set():
        node = cluster.nodes[chance.randrange(len(cluster.nodes))]
        try:
            client = Client(node)
        except (OSError, EOFError):
            time.sleep(0.02)
            continue
        with client:
            try:
                while not stop.is_set() and count_once(client, tally):
                    pass
            except (OSError, EOFError, Failure):
                pass


def count_during(cluster, disturb):
    """Clients at work until `disturb` returns; what they were told."""
    tally = Tally()
    stop = threading.Event()
    threads = [threading.Thread(target=work, args=(cluster, i, tally, stop), daemon=True)
               for i in range(6)]
    for thread in threads:
        thread.start()
    try:
        disturb()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return tally


def final_counts(cluster, lock="counter"):
    """What every node says in the end, through the lock."""
    counts = []
    for node in cluster.nodes:
        for _ in range(200):
            try:
                with Client(node) as client:
                    token = client("LOCK", lock, 5000)
                    if token is not None:
                        counts.append(int(client("ISSUE", lock, token, "GET", "n") or 0))
                        break
            except (OSError, EOFError, Failure):
                pass
            time.sleep(0.05)
    return counts
