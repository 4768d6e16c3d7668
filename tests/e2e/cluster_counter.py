"""A counter that clients of a cluster increment while something happens to its nodes."""

import random
import threading
import time

from service import Client, Failure


class Tally:
    """What the clients of a run were told."""

    def __init__(self):
        self.lock = threading.Lock()
        self.answers = []  # of INCR
        self.unknown = 0  # operations whose connection broke before the answer
        self.ejected = 0
        self.tokens = []


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
        try:
            while not stop.is_set():
                token = client("LOCK", "counter", 1000)
                if token is None:
                    break
                issued = False
                try:
                    issued = True
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
                    break
                except (OSError, EOFError):
                    with tally.lock:
                        tally.unknown += issued
                    break
        except (OSError, EOFError, Failure):
            pass
        client.socket.close()


def run(cluster, seconds, disturb):
    """Clients at work while `disturb` is called again and again; what they were told."""
    tally = Tally()
    stop = threading.Event()
    threads = [threading.Thread(target=work, args=(cluster, i, tally, stop)) for i in range(6)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        disturb()
    stop.set()
    for thread in threads:
        thread.join()
    return tally


def final_count(cluster):
    """What every node says in the end, through the lock."""
    counts = []
    for node in cluster.nodes:
        client = None
        for _ in range(200):
            try:
                client = Client(node)
                token = client("LOCK", "counter", 5000)
                if token is not None:
                    counts.append(int(client("ISSUE", "counter", token, "GET", "n") or 0))
                    client("EXIT", "counter", token)
                    break
            except (OSError, EOFError, Failure):
                time.sleep(0.05)
        if client is not None:
            client.socket.close()
    return counts
