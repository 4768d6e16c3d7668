#!/usr/bin/env python3
"""`baton node`: three nodes as real processes, and what may happen to them.

Usage: cluster.py BATON [--sanitized] [--seconds N]     how long the nodes are killed and paused (10)
"""

import random
import signal
import sys
import threading
import time

from cluster_world import Cluster, check
from service import Client, Failure, finish

SECONDS = int(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 10


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


def judge(name, cluster, tally):
    counts = final_count(cluster)
    least, most = len(tally.answers), len(tally.answers) + tally.unknown
    check(f"{name}: all nodes end alike", len(counts) == 3 and len(set(counts)) == 1)
    check(f"{name}: no operation counts twice", len(set(tally.answers)) == len(tally.answers))
    check(f"{name}: nothing acknowledged is lost, nothing ejected is done",
          bool(counts) and least <= counts[0] <= most)
    check(f"{name}: tokens grow as operations do",
          [t for t, _ in sorted(tally.tokens, key=lambda x: x[1])] == sorted(t for t, _ in tally.tokens))
    check(f"{name}: something was done", least > 0)
    print(f"# {name}: {least} operations acknowledged, {tally.unknown} unknown, "
          f"{tally.ejected} ejected, the counter says {counts}")


def main():
    cluster = Cluster()
    cluster.ready()
    judge("undisturbed", cluster, run(cluster, 2, lambda: time.sleep(0.1)))

    chance = random.Random(1)

    def kill_one():
        node = cluster.nodes[chance.randrange(3)]
        node.kill()
        time.sleep(chance.random())
        node.start()
        time.sleep(0.5 + chance.random())

    before = final_count(cluster)[0]
    tally = run(cluster, SECONDS, kill_one)
    tally.answers = [a for a in tally.answers if a > before] + list(range(1, before + 1))
    judge("killed", cluster, tally)

    def pause_one():
        node = cluster.nodes[chance.randrange(3)]
        node.process.send_signal(signal.SIGSTOP)
        time.sleep(0.2 + chance.random())
        node.process.send_signal(signal.SIGCONT)
        time.sleep(0.5)

    before = final_count(cluster)[0]
    tally = run(cluster, SECONDS, pause_one)
    tally.answers += list(range(1, before + 1))
    judge("paused", cluster, tally)

    before = final_count(cluster)
    for node in cluster.nodes:
        node.kill()
    for node in cluster.nodes:
        node.start()
    check("power failure: what was acknowledged is there", final_count(cluster) == before)
    check("SIGTERM ends them", cluster.stop() == [0, 0, 0])
    finish()


if __name__ == "__main__":
    main()
