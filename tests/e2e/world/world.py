"""A directory with processes, ports and proxies that all end with it."""

import json
import os
import shutil
import subprocess
import tempfile

from .account import Accounts
from .certificates import Certificates
from .cluster import Cluster, Node
from .etcd import Etcd, EtcdCluster, Pretender, Relay
from .namespaces import NamespaceCluster, Namespaces
from .names import Names
from .network import Proxy, ProxiedCluster
from .ports import Ports
from .process import Process
from .server import Server
from .settings import BATON, BUILD, PATIENCE
from .terminal import Terminal


class World:
    """Everything that a test, or a file of tests, has started."""

    living = []  # all worlds, so that processes can be judged after each test

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="baton-test.")
        self.ports = Ports()
        self.processes = []
        self.proxies = []
        self.networks = []
        self.names = {}
        ours = ("BATON_AT", "BATON_PASSWORD_FILE", "BATON_SESSION", "BATON_LOCK")
        self.environment = {k: v for k, v in os.environ.items() if k not in ours}
        self.environment.update(
            BATON_RUNTIME_DIR=f"{self.directory}/baton", XDG_STATE_HOME=self.directory,
            PATH=f"{BUILD}:{os.environ['PATH']}")
        World.living.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- files ----

    def path(self, name):
        return os.path.join(self.directory, name)

    def unique(self, name):
        """That name, with a number if it was used before."""
        self.names[name] = self.names.get(name, 0) + 1
        return name if self.names[name] == 1 else f"{name}.{self.names[name]}"

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def secret(self, text, name="secret"):
        return self.write(name, text + "\n", 0o600)

    # ---- programs ----

    def run(self, *command, **options):
        """One that ends by itself: its exit code and what it has said."""
        options = {"stdin": subprocess.DEVNULL, **options} if "input" not in options else options
        return subprocess.run(
            [str(word) for word in command], capture_output=True, check=False, timeout=PATIENCE,
            **{"env": self.environment, "text": True, **options})

    def baton(self, *words, **options):
        return self.run(BATON, *words, **options)

    def start(self, name, *command, **options):
        return Process(self, self.unique(name), command).start(**options)

    def server(self, *options, name=None, **more):
        """`baton serve`; of one name, each continues where the one before has ended."""
        return Server(self, *options, name=name or self.unique("server"), **more)

    def node(self, node_id, peers=None, *options, name=None):
        """`baton node`, not running yet; without peers it is a cluster of its own."""
        peers = peers or f"{node_id}=127.0.0.1:{self.ports.take(1)[0]}"
        return Node(self, node_id, peers, *options, name=self.unique(name or node_id))

    def cluster(self, count, *options, **more):
        return Cluster(self, count, *options, **more)

    def proxied_cluster(self, count, *options):
        return ProxiedCluster(self, count, *options)

    def namespace_cluster(self, count, *options):
        """None if that is not permitted here."""
        namespaces = Namespaces("abcdefg"[:count])
        self.networks.append(namespaces)
        return NamespaceCluster(self, namespaces, *options) if namespaces.make() else None

    def proxy(self, port):
        self.proxies.append(Proxy(port))
        return self.proxies[-1]

    def etcd(self, *options):
        return Etcd(self, *options).start()

    def etcd_cluster(self, *options):
        return EtcdCluster(self, *options)

    def certificates(self):
        return Certificates(self)

    def resolver(self):
        return Names(self)

    def relay(self, etcd):
        self.networks.append(Relay(etcd))
        return self.networks[-1]

    def pretender(self, answer, port=0):
        pretender = Pretender(answer, port)
        self.networks.append(pretender)
        return pretender

    def terminal(self):
        """With an interactive shell."""
        self.networks.append(Terminal(self.environment))
        return self.networks[-1]

    def accounts(self, count):
        return Accounts(self, count)

    def status(self, *nodes, options=()):
        """Exit code of `baton status`, and what it says of each of these nodes."""
        at = ",".join(node.path for node in nodes)
        done = self.baton("status", "--json", "--at", at, *options)
        return done.returncode, json.loads(done.stdout or "[]")

    # ---- the end ----

    def complaints(self):
        return [c for process in self.processes if (c := process.complaint())]

    def logs(self, lines=25):
        """The end of each log, for somebody who wants to know what has gone wrong."""
        for process in self.processes:
            if os.path.exists(process.log):
                yield process.name, "\n".join(process.text().splitlines()[-lines:])

    def close(self):
        World.living.remove(self)
        complaints = self.complaints()
        for process in self.processes:
            if not process.has_ended():
                process.kill()
        for proxy in self.proxies:
            proxy.over = True
        for proxy in self.proxies:
            proxy.join()
        for network in self.networks:
            network.remove()
        self.ports.give_back()
        shutil.rmtree(self.directory, ignore_errors=True)
        assert not complaints, "\n".join(complaints)
