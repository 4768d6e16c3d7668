#!/usr/bin/env python3
"""`baton node`: three nodes as real processes, and what may happen to them.

Usage: cluster.py BATON [--sanitized] [--seconds N] [--seed N] [--faults process|network|all|namespaces]

Clients on several locks write down what they see while faults are injected for N seconds (20); then
the judge of the simulator reads that. Prints TAP and figures.
"""

import socket
import sys
import threading
import time

from cluster_faults import NAMESPACE_FAULTS, NETWORK_FAULTS, PROCESS_FAULTS, Faults, ProxiedCluster
from cluster_netns import NamespaceCluster, permitted
from cluster_work import LOCKS, Load
from cluster_world import Cluster, check, free_ports
from service import finish, wait_for


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


def scrape(port, over):
    """Metrics are served by another thread than the one that changes what they count."""
    while not over.wait(0.02):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as s:
                s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                while s.recv(65536):
                    pass
        except OSError:
            pass


def disturbed(kind, seconds, seed):
    names, make = {
        "process": (PROCESS_FAULTS, Cluster),
        "network": (NETWORK_FAULTS, ProxiedCluster),
        "all": (PROCESS_FAULTS + NETWORK_FAULTS, ProxiedCluster),
        "namespaces": (NAMESPACE_FAULTS, NamespaceCluster),
    }[kind]
    cluster = make()
    port, over = free_ports(1)[0], threading.Event()
    cluster.nodes[0].kill()
    cluster.nodes[0].command += ["--http", str(port)]
    cluster.nodes[0].start()
    for node in cluster.nodes:
        wait_for(node.ready)
    scraper = threading.Thread(target=scrape, args=(port, over), daemon=True)
    scraper.start()
    load, faults = Load(cluster, seed), Faults(cluster, seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        faults.inject(names)
    time.sleep(1)
    load.judge(f"{kind} faults, seed {seed}")
    over.set()
    scraper.join()
    print(f"# faults injected: {sum(faults.injected.values())} {faults.injected}")
    dead = [n.name for n in cluster.nodes if n.crashed()]
    for node in cluster.nodes:
        words = node.text()
        for report in ("ERROR:", "runtime error", "WARNING: ThreadSanitizer"):
            if report in words:
                dead.append(node.name)
                print("".join(f"# {line}\n" for line in words[words.index(report):].splitlines()[:40]))
    check(f"{kind} faults: no node has ended by itself", not dead)
    before = {lock: load.finals(lock) for lock in LOCKS}
    for node in cluster.nodes:
        node.kill()
    for node in cluster.nodes:
        node.start()
    after = {lock: load.finals(lock) for lock in LOCKS}
    check(f"{kind} faults: after a power failure all is there", before == after)
    for node in cluster.nodes:
        node.process.terminate()
    check(f"{kind} faults: SIGTERM ends them", [n.process.wait(20) for n in cluster.nodes] == [0, 0, 0])


if option("--faults", "process") == "namespaces" and not permitted():
    print("ok 1 - namespaces # SKIP they need root, and are not permitted here\n1..1")
    sys.exit(0)
disturbed(option("--faults", "process"), int(option("--seconds", "20")), int(option("--seed", "1")))
finish()
