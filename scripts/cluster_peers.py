"""Clusters of three or five processes on loopback, and thin clients of each kind: Baton, etcd, ZooKeeper.

Each client has lock(name), unlock(name) and operate(name, value): a write of a value under a key of its own. These are for locks
and for failover, where what a client costs is little; etcd is asked through its JSON gateway. Load is put on each kind by a
program in C: `load` is what it is called with.
"""
import base64
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("BUILD", "build")
BATON = BUILD / "baton"
ZOOKEEPER_JAR = "/usr/share/java/zookeeper.jar"
IDS = "abcdefg"
TTL = 2


def at_best(directory):
    """Milliseconds of one fdatasync there, and of one round trip on loopback."""
    done = subprocess.run([BUILD / "floor", directory], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Wire:
    """A connection, read by lines and by counts."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def read(self, count):
        got = self.file.read(count)
        if len(got) < count:
            raise OSError("closed")
        return got

    def line(self):
        got = self.file.readline()
        if not got:
            raise OSError("closed")
        return got

    def close(self):
        self.file.close()
        self.socket.close()


class Baton:
    """`operate` works within a section that it enters first."""

    load = [BATON, "bench", "--json", "--mix", "issue"]

    def __init__(self, port, _=None):
        self.wire = Wire(port)
        self.tokens = {}

    def send(self, *words):
        parts = [str(w).encode() for w in words]
        self.wire.socket.sendall(
            b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))

    def answer(self):
        line = self.wire.line()
        if line[:1] == b"-":
            raise OSError(line.decode())
        return line[1:].strip()

    def ask(self, *words):
        self.send(*words)
        return self.answer()

    def lock(self, name):
        self.tokens[name] = self.ask("LOCK", name).decode()

    def unlock(self, name):
        self.ask("EXIT", name, self.tokens[name])

    def operate(self, name, value):
        if name not in self.tokens:
            self.lock(name)
        self.ask("ISSUE", name, self.tokens[name], "SET", "key", value)

    @staticmethod
    def is_there():
        return True

    @staticmethod
    def command(cluster, which, data):
        peers = ",".join(f"{i}=127.0.0.1:{p}" for i, p in zip(IDS, cluster.peers))
        return [BATON, "node", "--id", IDS[which], "--peers", peers, "--data", data,
                "--client", f"127.0.0.1:{cluster.ports[which]}", "--log-level", "error"]


class Etcd:
    """Its locks hang on one lease."""

    load = [BUILD / "peer_etcd"]

    def __init__(self, port, ttl=3600):
        self.wire = Wire(port)
        self.ttl = ttl
        self.lease = None
        self.keys = {}

    def body(self):
        length, chunked = 0, False
        while (line := self.wire.line().strip()):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
            chunked = chunked or (name.lower() == b"transfer-encoding" and b"chunked" in value)
        if not chunked:
            return self.wire.read(length)
        text = b""
        while (size := int(self.wire.line(), 16)) > 0:
            text += self.wire.read(size)
            self.wire.line()
        self.wire.line()
        return text

    def ask(self, path, **fields):
        body = json.dumps(fields).encode()
        self.wire.socket.sendall(
            b"POST %s HTTP/1.1\r\nHost: l\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body))
        status = self.wire.line()
        text = self.body()
        if b" 200 " not in status:
            raise OSError(status.decode() + text.decode())
        return json.loads(text)

    def lock(self, name):
        if self.lease is None:
            self.lease = self.ask("/v3/lease/grant", TTL=self.ttl)["ID"]
        text = base64.b64encode(name.encode()).decode()
        self.keys[name] = self.ask("/v3/lock/lock", name=text, lease=self.lease)["key"]

    def unlock(self, name):
        self.ask("/v3/lock/unlock", key=self.keys[name])

    def operate(self, name, value):
        self.ask("/v3/kv/put", key=base64.b64encode(name.encode()).decode(),
                 value=base64.b64encode(value.encode()).decode())

    @staticmethod
    def is_there():
        return shutil.which("etcd") is not None and os.path.exists(*Etcd.load)

    @staticmethod
    def command(cluster, which, data):
        peers = ",".join(f"{i}=http://127.0.0.1:{p}" for i, p in zip(IDS, cluster.peers))
        at, mine = f"http://127.0.0.1:{cluster.ports[which]}", f"http://127.0.0.1:{cluster.peers[which]}"
        return ["etcd", "--name", IDS[which], "--data-dir", data, "--initial-cluster", peers, "--log-level", "error",
                "--listen-client-urls", at, "--advertise-client-urls", at, "--listen-peer-urls", mine,
                "--initial-advertise-peer-urls", mine, "--initial-cluster-state",
                "existing" if os.path.exists(data) else "new"]


class ZooKeeper:
    """Locks are the recipe of its manual: the lowest of ephemeral, numbered nodes holds; each watches the one before it."""

    load = [BUILD / "peer_zookeeper"]
    CREATE, DELETE, EXISTS, SET, CHILDREN = 1, 2, 3, 5, 8
    EXISTS_ALREADY, NO_NODE, EVENT = -110, -101, -1

    def __init__(self, port, ttl=60):
        self.port, self.ttl = port, ttl
        self.number = 0
        self.mine = {}
        self.made = set()
        self.session, self.password = 0, b"\0" * 16
        self.connect()

    def connect(self):
        self.wire = Wire(self.port)
        self.events = set()
        self.frame(struct.pack(">iqiq", 0, 0, self.ttl * 1000, self.session) + self.text(self.password) + b"\0")
        got = self.take()
        timeout, self.session = struct.unpack(">iq", got[4:16])
        self.password = got[20:36]
        if timeout <= 0:
            raise OSError("no session")

    def connect_again(self):
        """While a new leader is found, connections are closed; sessions go on."""
        deadline = time.monotonic() + 60
        while True:
            try:
                return self.connect()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    @staticmethod
    def text(data):
        return struct.pack(">i", len(data)) + data

    def frame(self, data):
        self.wire.socket.sendall(self.text(data))

    def take(self):
        return self.wire.read(struct.unpack(">i", self.wire.read(4))[0])

    def next_reply(self):
        """Its error and the rest; an event is kept, and None comes instead."""
        got = self.take()
        xid, _, error = struct.unpack(">iqi", got[:16])
        if xid == self.EVENT:
            self.events.add(got[28:28 + struct.unpack(">i", got[24:28])[0]])
            return None
        return error, got[16:]

    def ask(self, kind, body, fine=()):
        self.number += 1
        self.frame(struct.pack(">ii", self.number, kind) + body)
        while (reply := self.next_reply()) is None:
            pass
        if reply[0] != 0 and reply[0] not in fine:
            raise OSError(f"ZooKeeper says {reply[0]}")
        return reply

    def create(self, path, flags, value=b""):
        everybody = struct.pack(">ii", 1, 31) + self.text(b"world") + self.text(b"anyone")
        return self.ask(self.CREATE, self.text(path) + self.text(value) + everybody + struct.pack(">i", flags),
                        (self.EXISTS_ALREADY,))[1]

    def children(self, path):
        body = self.ask(self.CHILDREN, self.text(path) + b"\0")[1]
        count, at, names = struct.unpack(">i", body[:4])[0], 4, []
        for _ in range(count):
            size = struct.unpack(">i", body[at:at + 4])[0]
            names.append(body[at + 4:at + 4 + size])
            at += 4 + size
        return sorted(names)

    def lock(self, name):
        path = b"/" + name.encode()
        if path not in self.made:
            self.create(path, 0)
            self.made.add(path)
        self.mine[name] = self.create(path + b"/n", 3)[4:]
        while True:
            try:
                if self.has_come(path, self.mine[name].rpartition(b"/")[2]):
                    return
            except OSError:
                self.connect_again()

    def has_come(self, path, mine):
        """True if it is its turn; waits until the one before has gone, if not."""
        names = self.children(path)
        place = names.index(mine)
        if place == 0:
            return True
        before = path + b"/" + names[place - 1]
        if self.ask(self.EXISTS, self.text(before) + b"\1", (self.NO_NODE,))[0] == 0:
            while before not in self.events:
                self.next_reply()
            self.events.discard(before)
        return False

    def unlock(self, name):
        self.ask(self.DELETE, self.text(self.mine[name]) + struct.pack(">i", -1))

    def operate(self, name, value):
        path = b"/" + name.encode()
        if path not in self.made:
            self.create(path, 0)
            self.made.add(path)
        self.ask(self.SET, self.text(path) + self.text(value.encode()) + struct.pack(">i", -1))

    @staticmethod
    def is_there():
        return all(os.path.exists(path) for path in [ZOOKEEPER_JAR, *ZooKeeper.load]) and shutil.which("java") is not None

    @staticmethod
    def command(cluster, which, data):
        os.makedirs(data, exist_ok=True)
        settings = [f"dataDir={data}", f"clientPort={cluster.ports[which]}", "clientPortAddress=127.0.0.1",
                    "tickTime=500", "initLimit=20", "syncLimit=10", "maxClientCnxns=0", "maxSessionTimeout=60000", "admin.enableServer=false"]
        settings += [f"server.{i + 1}=127.0.0.1:{cluster.peers[i]}:{cluster.elections[i]}" for i in range(cluster.count)]
        pathlib.Path(data, "myid").write_text(f"{which + 1}\n", encoding="utf-8")
        config = pathlib.Path(data + ".cfg")
        config.write_text("\n".join(settings) + "\n", encoding="utf-8")
        return ["java", "-Xmx512m", "-cp", ZOOKEEPER_JAR, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config]


class Cluster:
    """So many processes of one kind."""

    def __init__(self, client, count):
        self.client, self.count = client, count
        self.scratch = tempfile.mkdtemp()
        self.ports, self.peers, self.elections = free_ports(count), free_ports(count), free_ports(count)
        self.processes = [None] * count
        try:
            for which in range(count):
                self.start(which)
            self.wait()
        except BaseException:
            self.stop()
            raise

    def start(self, which):
        command = self.client.command(self, which, os.path.join(self.scratch, IDS[which]))
        self.processes[which] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self):
        """Until all of them accept operations."""
        deadline = time.monotonic() + 90
        for port in self.ports:
            while True:
                try:
                    client = self.client(port)
                    client.operate("ready", "x")
                    client.wire.close()
                    break
                except (OSError, ValueError):
                    if time.monotonic() > deadline:
                        raise SystemExit(f"{self.client.__name__} does not begin") from None
                    time.sleep(0.1)

    def put_load(self, clients, seconds):
        """What the program in C says of it."""
        at = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        done = subprocess.run([*self.client.load, "--at", at, "--clients", str(clients), "--seconds", str(seconds)],
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def memory(self):
        """Bytes that a node has in memory, the largest of all."""
        return max(int(line.split()[1]) * 1024 for p in self.processes
                   for line in pathlib.Path(f"/proc/{p.pid}/status").read_text(encoding="utf-8").splitlines()
                   if line.startswith("VmRSS"))

    def disk(self):
        """Bytes that a node has on the disk, the most of all."""
        return max(sum(f.stat().st_blocks * 512 for f in pathlib.Path(self.scratch, i).rglob("*") if f.is_file())
                   for i in IDS[:self.count])

    def processor_seconds(self):
        """Of all together."""
        ticks = 0
        for p in self.processes:
            fields = pathlib.Path(f"/proc/{p.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def stop(self):
        for process in filter(None, self.processes):
            process.kill()
            process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)
