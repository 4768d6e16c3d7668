"""A cluster whose epochs an etcd ends: `cluster_etcd.py BATON [--sanitized]`. Prints one line of TAP for each test."""

import base64
import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from cluster_counter import final_count, run
from cluster_world import Cluster, Node, free_ports, metrics, page
from service import BATON, PATIENCE, SCRATCH, Client, Failure, finish, processes, test, wait_for


class Etcd:
    """One etcd on loopback, with a directory of its own."""

    def __init__(self):
        ports = free_ports(3)
        client, peer, self.dead = (f"http://127.0.0.1:{port}" for port in ports)
        self.port = ports[0]
        self.url = client
        self.log = os.path.join(SCRATCH, "etcd.log")
        self.command = ["etcd", "--data-dir", os.path.join(SCRATCH, "etcd.data"), "--listen-client-urls", client,
                        "--advertise-client-urls", client, "--listen-peer-urls", peer,
                        "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        processes.append(self.process)
        wait_for(self.answers)
        return self

    def answers(self):
        try:
            return self("range", key="nothing") is not None
        except OSError:
            return False

    def signal(self, number):
        self.process.send_signal(number)

    def __call__(self, what, **fields):
        text = json.dumps({k: base64.b64encode(v.encode()).decode() for k, v in fields.items()})
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall((f"POST /v3/kv/{what} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
            while data := connection.recv(65536):
                answer += data
        head, text = answer.decode().split("\r\n\r\n", 1)
        assert head.split()[1] == "200", answer
        return json.loads(text)

    def version(self, key):
        pairs = self("range", key=key).get("kvs", [])
        return int(pairs[0]["version"]) if pairs else 0


etcd = Etcd().start()
# The first address answers nobody: the second is found.
ENGINE = ("--consensus", f"etcd={etcd.dead},{etcd.url}")
cluster = Cluster("--http", "0", *ENGINE)
cluster.ready()


def status(node, field=None):
    done = subprocess.run([BATON, "status", "--json", "--at", node.path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False)
    nodes = json.loads(done.stdout)
    return nodes[0].get(field) if field else nodes[0]


def lock_at(node, name):
    """How that node has the lock; None if it does not know it."""
    return next((l for l in status(node, "listed") or [] if l["name"] == name), None)


def all_well():
    return all(len(status(n, "reached") or []) == 2 and not status(n, "suspected") for n in cluster.nodes)


def use(node, lock, *words):
    """Issues an operation under that lock; tries until it has worked."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        client = Client(node)
        try:
            token = client("LOCK", lock, 5000)
            answer = client("ISSUE", lock, token, *words)
            client("EXIT", lock, token)
            return answer
        except Failure:
            pass
        finally:
            client.close()
    raise AssertionError("it has not worked")


def key_of(lock):
    digest = next(line.split()[1] for line in open(os.path.join(SCRATCH, "a.data", "node"), encoding="ascii")
                  if line.startswith("cluster "))
    return f"baton/{digest}/{lock}"


def settled(lock):
    """The epoch that all nodes have, once it has all been decided."""
    seen = []

    def same():
        rows = [lock_at(n, lock) for n in cluster.nodes]
        seen[:] = [row and row["epoch"] for row in rows]
        return all(row and row["state"] != "epoch-change" for row in rows) and len(set(seen)) == 1

    wait_for(same)
    return seen[0]


def kill_holder(lock, index=0):
    """Somebody is inside at that node, and it is killed; the other nodes."""
    node = cluster.nodes[index]
    client = Client(node)
    token = client("LOCK", lock, 5000)
    assert token > 0
    client("ISSUE", lock, token, "SET", "holder", node.name)
    node.kill()
    client.close()
    return [n for n in cluster.nodes if n is not node]


def come_back(node):
    node.start()
    wait_for(node.ready)
    wait_for(all_well)


wait_for(all_well)


@test("operations and hand-offs need nothing of etcd")
def _():
    for i in range(6):
        assert use(cluster.nodes[i % 3], "quiet", "INCR", "n") == i + 1
    for node in cluster.nodes:
        assert status(node, "consensus") == "etcd" and status(node, "etcd_asked") == 0
        wait_for(lambda node=node: status(node, "etcd_reached") is True)
        wait_for(lambda node=node: metrics(node)["baton_node_etcd_reached"] == 1)
        assert metrics(node)["baton_node_etcd_asked_total"] == 0
    assert etcd.version(key_of("quiet")) == 0 and settled("quiet") == 1


@test("the holder's node is killed: another enters, and nothing is lost")
def _():
    use(cluster.nodes[0], "l", "INCR", "n")
    others = kill_holder("l")
    assert use(others[0], "l", "INCR", "n") == 2
    assert use(others[1], "l", "GET", "holder") == b"a"
    version = etcd.version(key_of("l"))
    assert version >= 1 and lock_at(others[0], "l")["epoch"] == version + 1
    assert sum(status(n, "etcd_asked") for n in others) >= 1
    come_back(cluster.nodes[0])
    assert use(cluster.nodes[0], "l", "GET", "n") == b"2"
    assert etcd.version(key_of("l")) == settled("l") - 1


@test("one key for each lock, of one value, however many epochs")
def _():
    before = settled("l")
    for _ in range(3):
        kill_holder("l")
        come_back(cluster.nodes[0])
        use(cluster.nodes[0], "l", "INCR", "n")
    after = settled("l")
    assert after >= before + 3 and etcd.version(key_of("l")) == after - 1
    assert use(cluster.nodes[1], "l", "GET", "n") == b"5"


def works_on(nodes, lock):
    """Operations under a lock whose owner lives. False if that was suspected all the same: the machine is busy."""
    for node in nodes * 2:
        client = Client(node)
        token = client("LOCK", lock, 3000)
        if token is not None:
            client("ISSUE", lock, token, "INCR", "n")
            client("EXIT", lock, token)
        client.close()
        if token is None:
            assert lock_at(nodes[0], lock)["state"] == "epoch-change"
            return False
    return True


def unanswered(nodes):
    return sum(status(n, "etcd_unanswered") for n in nodes)


def nobody_enters(others):
    """Somebody is to be ejected, and etcd is away. Who waits for the lock, and whether others work."""
    waiter = Client(others[0])
    waiter.send("LOCK", "l", 0)
    wait_for(lambda: all(lock_at(n, "l")["state"] == "epoch-change" for n in others))
    before, epoch = unanswered(others), lock_at(others[0], "l")["epoch"]
    wait_for(lambda: unanswered(others) >= before + 2)
    wait_for(lambda: all(status(n, "etcd_reached") is False for n in others))
    done = subprocess.run([BATON, "status", "--at", others[0].path], stdout=subprocess.PIPE, check=False)
    assert done.returncode == 1 and b"etcd!" in done.stdout
    assert metrics(others[0])["baton_node_etcd_reached"] == 0 and page(others[0], "health")[0] == 200
    worked = works_on(others, "alive")
    assert all(lock_at(n, "l")["state"] == "epoch-change" and lock_at(n, "l")["epoch"] == epoch for n in others)
    waiter.socket.setblocking(False)
    try:
        raise AssertionError(f"{waiter.socket.recv(100)} came without etcd")
    except BlockingIOError:
        waiter.socket.settimeout(PATIENCE)
    return waiter, worked


def waits_for_etcd(stop, go_on):
    """A holder's node dies while etcd is away: nobody enters before it is back."""
    worked = False
    for _ in range(3):
        use(cluster.nodes[1], "alive", "INCR", "n")  # the token is at b
        settled("alive")
        count = int(use(cluster.nodes[0], "l", "INCR", "n"))
        stop()
        try:
            others = kill_holder("l")
            waiter, worked = nobody_enters(others)
        finally:
            go_on()
        assert waiter.reply() > 0
        waiter.close()
        assert use(others[1], "l", "INCR", "n") == count + 1
        come_back(cluster.nodes[0])
        assert etcd.version(key_of("l")) == settled("l") - 1
        if worked:
            return
    raise AssertionError("each time somebody was suspected who lives")


@test("etcd is frozen during an ejection: it waits, and what needs no decision goes on")
def _():
    waits_for_etcd(lambda: etcd.signal(signal.SIGSTOP), lambda: etcd.signal(signal.SIGCONT))


@test("etcd is killed during an ejection, and started again")
def _():
    def kill():
        etcd.signal(signal.SIGKILL)
        etcd.process.wait()

    waits_for_etcd(kill, etcd.start)


@test("all nodes are killed, and come back through etcd")
def _():
    count = int(use(cluster.nodes[2], "l", "INCR", "n"))
    for node in cluster.nodes:
        node.kill()
    for node in cluster.nodes:
        node.start()
    cluster.ready()
    wait_for(all_well)
    assert use(cluster.nodes[1], "l", "GET", "n") == str(count).encode()
    assert etcd.version(key_of("l")) == settled("l") - 1


def refused(node, key, words):
    return any(key in line and words in line for line in node.text().splitlines() if "event=etcd_refused" in line)


def stays_out(lock, others, words):
    """Nodes complain about the key in these words, and nobody is let in."""
    waiter = Client(others[0])
    waiter.send("LOCK", lock, 0)
    wait_for(lambda: any(refused(n, key_of(lock), words) for n in others))
    wait_for(lambda: sum(status(n, "etcd_refused") for n in others) >= 3)
    assert all(lock_at(n, lock)["state"] == "epoch-change" for n in others)
    return waiter


def write_again(lock, epoch):
    """As the manual says: as many values as epochs have ended; what they are does not matter."""
    etcd("deleterange", key=key_of(lock))
    for _ in range(epoch - 1):
        etcd("put", key=key_of(lock), value="written again")


@test("a key that was deleted is not written again, until somebody puts it right")
def _():
    use(cluster.nodes[0], "deleted", "INCR", "n")
    for _ in range(2):
        kill_holder("deleted")
        come_back(cluster.nodes[0])
        use(cluster.nodes[0], "deleted", "INCR", "n")
    epoch = settled("deleted")
    assert epoch >= 3 and etcd("deleterange", key=key_of("deleted"))["deleted"] == "1"
    others = kill_holder("deleted")
    waiter = stays_out("deleted", others, "version is too low")
    assert etcd.version(key_of("deleted")) == 0
    assert use(others[1], "another", "INCR", "n") == 1
    write_again("deleted", epoch)
    assert waiter.reply() > 0
    waiter.close()
    assert use(others[1], "deleted", "GET", "n") == b"3"
    come_back(cluster.nodes[0])
    assert etcd.version(key_of("deleted")) == settled("deleted") - 1


@test("a value that somebody else has written is no decision")
def _():
    def decision(name, epoch):
        words = ("DECIDED", name, f"{epoch} 0 0 0 0 0 0 0 0 0 0")
        return "*3\r\n" + "".join(f"${len(w)}\r\n{w}\r\n" for w in words)

    values = {"nonsense": lambda epoch: "nonsense", "empty": lambda epoch: "",
              "other": lambda epoch: decision("x", epoch), "later": lambda epoch: decision("later", epoch + 1),
              "longer": lambda epoch: decision("longer", epoch) + " "}
    epochs = {}
    for lock, value in values.items():
        use(cluster.nodes[0], lock, "INCR", "n")
        epochs[lock] = settled(lock)
        etcd("put", key=key_of(lock), value=value(epochs[lock]))
    others = kill_holder("nonsense")
    waiters = {lock: stays_out(lock, others, "no decision") for lock in values}
    for lock, waiter in waiters.items():
        write_again(lock, epochs[lock])
        assert waiter.reply() > 0
        waiter.close()
    come_back(cluster.nodes[0])
    assert all(use(cluster.nodes[0], lock, "GET", "n") == b"1" for lock in values)


@test("contenders, nodes that die, and an etcd that goes and comes: an exact count")
def _():
    steps = [(node, number) for node in cluster.nodes for number in (signal.SIGSTOP, signal.SIGKILL)]
    trouble = []

    def disturb():  # must not raise: the clients would go on for ever
        try:
            node, number = steps.pop(0)
            etcd.signal(number if number == signal.SIGSTOP else signal.SIGCONT)
            node.kill()
            time.sleep(0.7)
            etcd.signal(signal.SIGCONT)
            node.start()
            wait_for(node.ready)
            wait_for(all_well)
        except (AssertionError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            trouble.append(error)

    def disturb_all():
        while steps and not trouble:
            disturb()

    tally = run(cluster, 1, disturb_all)
    assert not trouble, trouble[0]
    count, = set(final_count(cluster))
    answers = sorted(tally.answers)
    assert len(set(answers)) == len(answers) <= count <= len(answers) + tally.unknown
    assert answers[-1] <= count and len(answers) > 0
    assert [a for _, a in sorted(tally.tokens)] == answers, "tokens do not grow as the counter does"
    assert etcd.version(key_of("counter")) == settled("counter") - 1
    print(f"# 6 deaths, {len(answers)} operations, {tally.unknown} unknown, epoch {settled('counter')}")


class Pretender(socketserver.ThreadingTCPServer):
    """Something that is no etcd: gives everybody one answer, or none if that is None."""

    daemon_threads = True

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.answer = answer
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            try:
                while self.request.recv(65536):
                    if self.server.answer is not None:
                        self.request.sendall(self.server.answer)
                        return
            except OSError:
                pass  # it has heard enough


def http(status, text):
    return f"HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


@test("an address that is none of etcd's is given up, and the next one asked")
def _():
    pretenders = {"silent": (None, "Timeout"), "mute": (b"", "nothing"), "rude": (b"hello\r\n", "Unsupported protocol"),
                  "junk": (http(200, "{}"), "an answer to something else"), "plain": (http(200, "ok"), "no JSON"),
                  "huge": (http(200, " " * 1000000), "Failed writing"), "gone": (http(404, "Not Found"), "404"),
                  "moved": (http("307 x\r\nLocation: " + etcd.url, ""), "307"),
                  "headless": (http(503, '{"message":"etcdserver: no leader"}'), "503 etcdserver: no leader")}
    nodes = {}
    for name, (answer, _) in pretenders.items():
        engine = f"etcd/{name}={Pretender(answer).url},{etcd.url}"
        nodes[name] = Node(name, f"{name}=127.0.0.1:{free_ports(1)[0]}", "--consensus", engine).start()
    for name, node in nodes.items():
        wait_for(node.ready)
        assert use(node, "l", "INCR", "n") == 1
        node.kill()
        node.start()  # it comes back through an epoch change, though it is alone
    for name, node in nodes.items():
        wait_for(node.ready)
        assert use(node, "l", "INCR", "n") == 2, name
        lost = [line for line in node.text().splitlines() if "event=etcd_lost" in line]
        assert any(pretenders[name][1] in line for line in lost), (name, lost)
        assert lock_at(node, "l")["epoch"] == 2
        node.kill()


def says(*options, code, words):
    command = [BATON, "node", "--id", "a", "--peers", cluster.peers, "--data", os.path.join(SCRATCH, "none"),
               "--client", os.path.join(SCRATCH, "bad.socket"), *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, text=True,
                          check=False)
    assert done.returncode == code and words in done.stdout, (options, done.returncode, done.stdout)


@test("an engine that is none, and addresses that are none")
def _():
    for text, words in (("raft", "--consensus is paxos, or etcd="), ("etcd", "--consensus is"),
                        ("zookeeper=http://h:1", "'zookeeper' is no engine"), ("etcd/A=http://h:1", "is no engine"),
                        ("etcd/=http://h:1", "is no engine"), ("etcd/" + "x" * 25 + "=http://h:1", "up to 24"),
                        ("etcd=", "'' is no address of etcd"), ("etcd=h:1", "write http://HOST:PORT"),
                        ("etcd=ftp://h:1", "write http://"), ("etcd=http://", "write http://"),
                        ("etcd=http://h:1,", "'' is no address"), ("etcd=http://u:p@h:1", "not supported"),
                        ("etcd=http://h:1/v3", "behind its port"), ("etcd=http://h:99999", "write http://"),
                        ("etcd=" + ",".join(["http://h:1"] * 10), "no more than 9"),
                        ("etcd=http://" + "h" * 400, "too long")):
        says("--consensus", text, "--check-config", code=64, words=words)
    for text in ("paxos", "etcd=http://h:2379", "etcd/prod=https://h:2379/,http://[::1]:2379"):
        says("--consensus", text, "--check-config", code=0, words="fine")


@test("a directory is of one engine")
def _():
    node = cluster.nodes[2]
    node.process.send_signal(signal.SIGTERM)
    assert node.process.wait(PATIENCE) == 0
    for text in ("paxos", f"etcd/other={etcd.url}"):
        says("--id", "c", "--data", os.path.join(SCRATCH, "c.data"), "--consensus", text, code=1,
             words="another --consensus")


@test("nodes of two engines do not talk to each other, and both say why")
def _():
    stranger = Node("c", cluster.peers, "--data", os.path.join(SCRATCH, "other.data"))
    stranger.start()
    wait_for(lambda: "'c' decides by paxos and 'a' by etcd" in stranger.text())
    wait_for(lambda: "'a' decides by etcd and 'c' by paxos" in cluster.nodes[0].text())
    assert "event=peer_refused" in stranger.text() and status(stranger, "reached") == []
    stranger.kill()
    come_back(cluster.nodes[2])


@test("all nodes end, whatever is under way")
def _():
    use(cluster.nodes[1], "last", "INCR", "n")
    settled("last")
    etcd.signal(signal.SIGSTOP)
    kill_holder("last", 1)
    cluster.nodes[1].start()
    wait_for(lambda: lock_at(cluster.nodes[0], "last")["state"] == "epoch-change")
    cluster.ready()
    assert cluster.stop() == [0, 0, 0]


etcd.signal(signal.SIGCONT)
etcd.signal(signal.SIGTERM)
etcd.process.wait(PATIENCE)
finish()
