"""etcd, what stands in front of it, and servers that only pretend to be one."""

import base64
import http.server
import json
import socket
import socketserver
import threading
import time

from .process import Process
from .settings import PATIENCE
from .waiting import wait_for


def member_name(peer_url):
    return "m" + peer_url.rpartition(":")[2]


class Etcd(Process):
    """On loopback, with a directory of its own; alone, unless it is told who the members are."""

    def __init__(self, world, *options, ports=None, members=None):
        ports = ports or world.ports.take(4)
        client, peer, self.dead, _ = (f"http://127.0.0.1:{port}" for port in ports)
        self.port, self.url = ports[0], client
        self.tls_port, self.tls_url = ports[3], f"https://127.0.0.1:{ports[3]}"
        listens = f"{client},{self.tls_url}" if "--cert-file" in options else client
        name = world.unique("etcd")
        self.data = world.path(name + ".data")
        super().__init__(world, name, [
            "etcd", "--name", member_name(peer), "--data-dir", self.data,
            "--listen-client-urls", listens, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", members or f"{member_name(peer)}={peer}",
            "--log-level", "fatal", *options])

    def start(self, *before, **options):
        super().start(*before, **options)
        wait_for(lambda: self.answers() or self.has_ended())
        return self

    def answers(self):
        try:
            return self.post("kv/range", {"key": "eA=="})[0] == "200"
        except (OSError, ValueError):
            return False  # nobody is there, or it ends in the middle of an answer

    def post(self, path, fields):
        """Status and answer."""
        text = json.dumps(fields)
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall((
                f"POST /v3/{path} HTTP/1.0\r\nHost: x\r\n"  # 1.1 may come in chunks
                f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
            while data := connection.recv(65536):
                answer += data
        head, text = answer.decode().split("\r\n\r\n", 1)
        return head.split()[1], json.loads(text)

    def __call__(self, what, **fields):
        fields = {k: base64.b64encode(v.encode()).decode() for k, v in fields.items()}
        status, answer = self.post(f"kv/{what}", fields)
        assert status == "200", answer
        return answer

    def fill(self):
        """Writes until there is no space left."""
        value = base64.b64encode(bytes(100000)).decode()
        while self.post("kv/put", {"key": "ZmlsbA==", "value": value})[0] == "200":
            pass

    def disarm(self):
        """There is space again: somebody has seen to that."""
        for alarm in self.post("maintenance/alarm", {"action": "GET"})[1]["alarms"]:
            self.post("maintenance/alarm", {"action": "DEACTIVATE", **alarm})

    def version(self, key):
        pairs = self("range", key=key).get("kvs", [])
        return int(pairs[0]["version"]) if pairs else 0


    def leads(self):
        """Whether it is the leader, as far as it knows."""
        status = self.post("maintenance/status", {})[1]
        return status.get("leader") == status["header"]["member_id"]


class EtcdCluster:
    """Three of them that are one."""

    def __init__(self, world, *options):
        ports = [world.ports.take(4) for _ in range(3)]
        peers = [f"http://127.0.0.1:{its[1]}" for its in ports]
        members = ",".join(f"{member_name(peer)}={peer}" for peer in peers)
        self.members = [Etcd(world, *options, ports=its, members=members) for its in ports]
        for one in self.members:
            Process.start(one)  # alone it would answer nobody
        wait_for(lambda: all(one.answers() for one in self.members))

    @property
    def tls_urls(self):
        return ",".join(one.tls_url for one in self.members)

    def leader(self):
        """None while there is none."""
        try:
            return next((one for one in self.members if one.leads()), None)
        except (OSError, ValueError, KeyError):
            return None


class Relay(socketserver.ThreadingTCPServer):
    """Between nodes and etcd: it takes its time with every question, or gives an old answer."""

    daemon_threads = True

    def __init__(self, etcd):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.etcd = etcd
        self.delay = 0  # in seconds
        self.repeats = None  # an answer to everybody, whatever the question was
        self.taken = None  # the last answer that something was put
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def remove(self):
        self.shutdown()
        self.server_close()

    def answer(self, path, fields):
        """Status and answer to one question."""
        time.sleep(self.delay)
        if self.repeats:
            return self.repeats
        answer = self.etcd.post(path, fields)
        if answer[1].get("succeeded"):
            self.taken = answer
        return answer

    class Handler(http.server.BaseHTTPRequestHandler):
        """Of one connection."""

        protocol_version = "HTTP/1.1"

        def do_POST(self):  # pylint: disable=invalid-name
            text = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                status, answer = self.server.answer(self.path.removeprefix("/v3/"), json.loads(text))
                answer = json.dumps(answer).encode()
                self.send_response(int(status))
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
            except OSError:
                self.close_connection = True  # etcd is gone, or nobody waits for it any more

        def log_message(self, *_):
            pass


class Pretender(socketserver.ThreadingTCPServer):
    """Something that is no etcd: gives everybody one answer, or none if that is None."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answer, port=0):
        super().__init__(("127.0.0.1", port), self.Handler)
        self.answer = answer
        self.asked = 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def remove(self):
        self.shutdown()
        self.server_close()

    class Handler(socketserver.BaseRequestHandler):
        """Of one connection."""

        def handle(self):
            try:
                while self.request.recv(65536):
                    self.server.asked += 1
                    if self.server.answer is not None:
                        self.request.sendall(self.server.answer)
                        return
            except OSError:
                pass  # it has heard enough
