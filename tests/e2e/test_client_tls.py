"""Clients by TLS: keyed by the password, or by certificates; commands, libbaton, clients of Redis."""

import os
import re
import socket
import ssl
import sys

import pytest
import redis

from world import BUILD, SANITIZED, wait_for
from world.locks import is_held_at

PASSWORD = "correct horse battery"


@pytest.fixture(name="certificates")
def _certificates(world):
    return world.certificates()


@pytest.fixture(name="password")
def _password(world):
    return world.secret(PASSWORD, "password")


class Guarded:
    """A server that listens at tls://, at a plain port and at a Unix socket."""

    def __init__(self, world, *options):
        self.tls_port, self.plain_port = world.ports.take(2)
        self.at = f"tls://127.0.0.1:{self.tls_port}"
        self.server = world.server("--listen", self.at, "--listen", f"127.0.0.1:{self.plain_port}",
                                   *options)
        wait_for(lambda: self.server.text().count("event=listening") == 3)


@pytest.fixture(name="by_key")
def _by_key(world, password):
    return Guarded(world, "--auth-file", password)


@pytest.fixture(name="by_cert")
def _by_cert(world, password, certificates):
    cert, key = certificates.sign("server", "IP:127.0.0.1")
    return Guarded(world, "--auth-file", password, "--tls-cert", cert, "--tls-key", key)


@pytest.fixture(name="baton")
def _baton(world):
    """Runs a command; its exit code, and all that it has said."""
    def run(*words):
        done = world.baton(*words)
        return done.returncode, done.stdout + done.stderr

    return run


def test_every_command(world, baton, by_key, password):
    """every command that asks a server speaks TLS, by the password that both sides know"""
    access = ("--at", by_key.at, "--password-file", password)
    inside = world.start("inside", BUILD / "baton", "run", "kept", *access, "--", "sleep", "60")
    wait_for(lambda: "kept" in baton("locks", *access)[1])
    assert baton("run", "kept", "--try", *access, "--", "true")[0] == 75
    token = re.search(r"^kept +(\d+)", baton("locks", *access)[1], flags=re.M)[1]
    assert baton("release", "kept", token, *access)[0] == 0
    assert inside.wait() == 76


@pytest.mark.parametrize("command", (("run", "x", "--", "true"), ("locks",)), ids=("run", "locks"))
def test_who_is_refused(world, baton, by_key, by_cert, password, certificates, command):
    """a server that is not who it should be is left, and the command says why"""
    other = world.secret("another password", "other")
    name, *rest = command
    for server, words, sentence in (
            (by_key, ("--password-file", other), "the two sides have different secrets"),
            (by_key, ("--password-file", password, "--tls-ca", certificates.ca), "no TLS with"),
            (by_cert, ("--password-file", other), "the two sides have different secrets"),
            (by_cert, ("--password-file", password, "--tls-ca", "system"), "issuer"),
            (by_cert, (), "issuer"),
            (by_cert, ("--tls-ca", password), "cannot use the authority")):
        code, said = baton(name, "--at", server.at, *words, *rest)
        assert code == 69 and sentence in said, (words, said)
    code, said = baton(name, "--at", f"tls://127.0.0.1:{by_key.plain_port}", "--password-file",
                       password, *rest)
    assert code == 69 and "the other side does not speak TLS" in said, said
    code, said = baton(name, "--at", f"127.0.0.1:{by_key.tls_port}", "--password-file", password,
                       *rest)
    assert code == 69, said


def test_guesses(baton, by_key, world, password):
    """a key that is made of a wrong password is a guess: it is counted, and others have to wait"""
    wrong = world.secret("a guess", "guess")
    for _ in range(5):
        assert baton("locks", "--at", by_key.at, "--password-file", wrong)[0] == 69
    wait_for(lambda: sum(map(int, re.findall(
        r'event=audit what="wrong password" times=(\d+)', by_key.server.text()))) == 5)
    assert baton("locks", "--at", by_key.at, "--password-file", password)[0] == 0


def test_full_server(world, baton, password):
    """a server that is full is no server that does not speak TLS"""
    full = Guarded(world, "--auth-file", password, "--max-connections", "1")
    with socket.create_connection(("127.0.0.1", full.plain_port)):
        wait_for(lambda: "cannot reach" in baton(
            "locks", "--at", full.at, "--password-file", password)[1])


def test_certificate_of_the_server(baton, by_cert, password, certificates):
    """by certificate: its host must be the one that was asked for, and the password is proved"""
    access = ("--password-file", password, "--tls-ca", certificates.ca)
    assert baton("run", "x", "--at", by_cert.at, *access, "--", "echo", "fine") == (0, "fine\n")
    elsewhere = by_cert.at.replace("127.0.0.1", "localhost")
    code, said = baton("run", "x", "--at", elsewhere, *access, "--", "true")
    assert code == 69 and "hostname mismatch" in said, said
    code, said = baton("run", "x", "--at", by_cert.at, "--tls-ca", certificates.ca, "--", "true")
    assert code == 69 and "fine" not in said, said  # without the password


def test_certificate_of_the_client(world, baton, password, certificates):
    """a server with --tls-ca wants to see a certificate of that authority"""
    cert, key = certificates.sign("server", "IP:127.0.0.1")
    strict = Guarded(world, "--auth-file", password, "--tls-cert", cert, "--tls-key", key,
                     "--tls-ca", certificates.ca)
    mine, my_key = certificates.sign("client", "DNS:client")
    alone, its_key = certificates.make("alone", "DNS:client")
    access = ("--at", strict.at, "--password-file", password, "--tls-ca", certificates.ca)
    shows = ("--tls-cert", mine, "--tls-key", my_key)
    assert baton("run", "x", *access, *shows, "--", "echo", "fine") == (0, "fine\n")
    assert baton("locks", *access, *shows)[0] == 0
    by_key = ("--at", strict.at, "--password-file", password)  # is no certificate
    assert baton("run", "x", *by_key, "--", "true")[0] == 69
    for wrong in ((), ("--tls-cert", alone, "--tls-key", its_key)):
        assert baton("run", "x", *access, *wrong, "--", "true")[0] == 69
    assert baton("run", "x", *access, "--tls-cert", mine, "--", "true")[0] == 64


def test_versions(world, by_cert):
    """TLS 1.3 and 1.2, and nothing older"""
    for version, gets_in in (("-tls1_3", True), ("-tls1_2", True), ("-tls1_1", False),
                             ("-tls1", False)):
        said = world.run("openssl", "s_client", "-connect", f"127.0.0.1:{by_cert.tls_port}",
                         version, "-cipher", "DEFAULT:@SECLEVEL=0", input="")
        assert ("Cipher is (NONE)" not in said.stdout) == gets_in, said


def test_redis_clients(by_cert, certificates):
    """redis-py by TLS, with the password"""
    client = redis.Redis(host="127.0.0.1", port=by_cert.tls_port, password=PASSWORD, ssl=True,
                         ssl_ca_certs=certificates.ca)
    with client.client() as one:
        token = one.execute_command("LOCK", "from-python", 1000)
        assert token > 0
        assert one.execute_command("EXIT", "from-python", token) in (b"OK", True)


def test_half_said(by_cert, baton, password, certificates):
    """records that come byte by byte, and a client that ends in the middle of one"""
    context = ssl.create_default_context(cafile=certificates.ca)
    inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(inside, outside, server_hostname="127.0.0.1")
    with socket.create_connection(("127.0.0.1", by_cert.tls_port), timeout=20) as wire:
        def step(call, *words):
            while True:
                try:
                    return call(*words)
                except ssl.SSLWantReadError:
                    for byte in outside.read():
                        wire.sendall(bytes([byte]))
                    inside.write(wire.recv(65536))

        step(client.do_handshake)
        client.write(b"PING\r\n")
        assert step(client.read, 100) == b"+PONG\r\n"
        client.write(b"PING\r\n")
        wire.sendall(outside.read()[:-3])
    assert baton("locks", "--at", by_cert.at, "--password-file", password)[0] == 0


def test_tampering(world, baton, by_key, password):
    """somebody between client and server who changes bytes cuts the connection, and no more"""
    proxy = world.proxy(by_key.tls_port)
    at = ("--at", f"tls://127.0.0.1:{proxy.port}", "--password-file", password)
    assert baton("run", "x", *at, "--", "echo", "fine") == (0, "fine\n")
    proxy.tamper = 1.0
    for _ in range(5):
        code, said = baton("run", "x", *at, "--", "echo", "fine")
        assert code == 69 and "fine" not in said, said
    proxy.tamper = 0.0
    assert baton("run", "x", *at, "--", "echo", "fine") == (0, "fine\n")


def test_cluster(world, password):
    """a section goes on at another node by TLS, too"""
    cluster = world.cluster(3, start=False)
    ports = world.ports.take(3)
    for node, port in zip(cluster.nodes, ports):
        node.command += ["--client", f"tls://127.0.0.1:{port}", "--auth-file", password]
        node.secret = PASSWORD
        node.start()
    cluster.ready()
    at = ",".join(f"tls://127.0.0.1:{port}" for port in ports)
    inside = world.start("inside", BUILD / "baton", "run", "l", "--at", at, "--password-file",
                         password, "--lease", "20", "--", "bash", "-c",
                         f"until test -e {world.path('go')}; do sleep 0.02; done;"
                         " baton issue INCR n")
    wait_for(lambda: is_held_at(cluster.nodes[:1], "l"))
    cluster.nodes[0].kill()
    wait_for(lambda: is_held_at(cluster.nodes[1:], "l"))
    world.write("go", "")
    assert inside.wait() == 0, inside.text()


# A program that knows libbaton only, and takes a lock.
PROGRAM = """
import ctypes, sys

class Options(ctypes.Structure):
    _fields_ = [("address", ctypes.c_char_p), ("password", ctypes.c_char_p),
                ("lease_ms", ctypes.c_uint32), ("patience_ms", ctypes.c_uint32),
                ("lost", ctypes.c_void_p), ("context", ctypes.c_void_p),
                ("cluster_lease_ms", ctypes.c_uint32), ("tls_ca", ctypes.c_char_p),
                ("tls_cert", ctypes.c_char_p), ("tls_key", ctypes.c_char_p)]

library = ctypes.CDLL("libbaton.so.0")
library.baton_client_why.restype = ctypes.c_char_p
client, token = ctypes.c_void_p(), ctypes.c_uint64()
options = Options(address=sys.argv[1].encode(), password=sys.argv[2].encode(), lease_ms=1000)
result = library.baton_client_open(ctypes.byref(options), ctypes.byref(client))
if result == 0:
    result = library.baton_client_try(client, b"x", ctypes.byref(token))
print(result, token.value > 0, library.baton_client_why().decode())
"""


@pytest.mark.skipif(SANITIZED, reason="Python itself is not")
def test_library(world, by_key):
    """libbaton loads libbaton-tls when an address asks for it, and says so if it is not there"""
    program = world.write("program.py", PROGRAM)
    alone = world.path("alone")
    os.mkdir(alone)
    os.symlink(BUILD / "libbaton.so.0", os.path.join(alone, "libbaton.so.0"))

    def try_with(libraries, password):
        done = world.run(sys.executable, program, by_key.at, password,
                         env={**world.environment, "LD_LIBRARY_PATH": str(libraries)})
        assert done.returncode == 0, done
        return done.stdout.strip()

    assert try_with(BUILD, PASSWORD) == "0 True"
    assert "the two sides have different secrets" in try_with(BUILD, "another")
    assert "TLS needs libbaton-tls.so.0" in try_with(alone, PASSWORD)


@pytest.mark.parametrize("options, words", (
    (("--listen", "tls://127.0.0.1:0"), "TLS needs --tls-cert and --tls-key, or the password"),
    (("--tls-cert", "x"), "go together"),
    (("--tls-cert", "x", "--tls-key", "y"), "no address asks for TLS"),
    (("--listen", "tls://127.0.0.1:0", "--tls-ca", "x"), "--tls-ca needs"),
    (("--listen", "tls://127.0.0.1:0", "--tls-cert", "/none", "--tls-key", "/none"), "/none")))
def test_bad_options(world, baton, options, words):
    """what makes no sense together is said before anything is done"""
    code, said = baton("serve", "--listen", world.path("s"), *options)
    assert code in (1, 64) and words in said, said
