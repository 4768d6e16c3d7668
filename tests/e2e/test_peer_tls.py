"""Between nodes: TLS, and nobody else. By a secret or by certificates; strangers get nowhere, whatever
they say, and however many they are."""

import contextlib
import hashlib
import hmac
import re
import socket

import pytest

from world import wait_for
from world.locks import issue

STRANGERS = 200


@pytest.fixture(name="secret")
def _secret(world):
    return world.secret("of the nodes, and of nobody else")


def handshake(world, port, *options):
    """What `openssl s_client` says of a node's port."""
    done = world.run("openssl", "s_client", "-connect", f"127.0.0.1:{port}", *options, input="")
    return done.stdout + done.stderr


@contextlib.contextmanager
def connections(port, count, said=b""):
    """So many to a node's port, each of which has said that."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            with contextlib.suppress(OSError):
                one.sendall(said)
            made.append(one)
        yield made


def test_only_tls(world, secret):
    """a node's port speaks TLS 1.3 by the secret, and nothing else"""
    cluster = world.cluster(3, "--secret-file", secret)
    port = cluster.ports[0]
    for version in ("-tls1_2", "-tls1_3", "-tls1_1"):
        said = handshake(world, port, version)
        assert "Cipher is (NONE)" in said or "handshake failure" in said, said
    with connections(port, 1, b"*1\r\n$4\r\nPING\r\n") as (one,):
        one.settimeout(20)
        assert b"PONG" not in one.recv(100)  # an alert of TLS
        assert one.recv(100) == b""
    wait_for(lambda: "the other side does not speak TLS" in cluster.nodes[0].text())
    assert cluster.has_stopped_well()


def test_key_of_the_secret_gets_in(world, secret):
    """who knows the secret can shake hands as a node; who does not, cannot"""
    cluster = world.cluster(3, "--secret-file", secret)
    identity = "baton node b a"
    right = hmac.new(b"of the nodes, and of nobody else", identity.encode(), hashlib.sha256)
    wrong = hmac.new(b"of the nodes, and of nobody elsa", identity.encode(), hashlib.sha256)
    for key, gets_in in ((right, True), (wrong, False)):
        said = handshake(world, cluster.ports[0], "-tls1_3", "-psk_identity", identity, "-psk",
                         key.hexdigest(), "-ciphersuites", "TLS_AES_128_GCM_SHA256")
        assert ("Reused, TLSv1.3" in said) == gets_in, said
    assert cluster.has_stopped_well()


def test_certificates(world):
    """certificates instead of a secret: the cluster works, and a node with one of another is none"""
    made = world.certificates()

    def shows(name, of):
        cert, key = made.sign(name, f"DNS:{of}")
        return ("--peer-cert", cert, "--peer-key", key, "--peer-ca", made.ca)

    cluster = world.cluster(3, start=False)
    for node in cluster.nodes:
        node.command += [str(word) for word in shows(node.id, node.id)]
        node.start()
    cluster.ready()
    cluster.wait_until_well()
    a, b, c = cluster.nodes
    assert issue(a, "l", "INCR", "n") == 1
    c.kill()
    thief = world.node("c", cluster.peers, *shows("thief", "b"), name="thief").start()
    wait_for(lambda: "peer_refused" in thief.text() and "peer_refused" in a.text())
    assert issue(b, "l", "INCR", "n") == 2
    assert thief.status("reached") == []
    thief.kill()
    c.start()
    cluster.wait_until_well()
    assert cluster.has_stopped_well()


@pytest.mark.parametrize("said", (b"", b"\x16\x03\x01\x02\x00\x01\x00", b"nonsense"),
                         ids=("silent", "half a hello", "noise"))
def test_strangers_keep_no_node_out(world, secret, said):
    """however many strangers come to the ports of nodes, one that is restarted is back"""
    cluster = world.cluster(3, "--secret-file", secret)
    a = cluster.nodes[0]
    with contextlib.ExitStack() as stack:
        for port in cluster.ports:
            stack.enter_context(connections(port, STRANGERS, said))
        a.kill()
        a.start()
        cluster.wait_until_well()
        assert issue(a, "l", "INCR", "n", bear=("",)) == 1
    assert cluster.has_stopped_well()


def test_tampering_is_noticed(world, secret):
    """somebody who changes what nodes say cuts their connection, and changes nothing else"""
    cluster = world.proxied_cluster(3, "--secret-file", secret)
    assert issue(cluster.nodes[0], "l", "INCR", "n") == 1
    for proxy in cluster.proxies.values():
        proxy.tamper = 1.0
    for node in cluster.nodes:
        wait_for(lambda node=node: re.search(
            r'event=peer_gone peer=\w direction=\w+ why="bytes were changed', node.text()))
    wait_for(lambda: all(proxy.tampered > 0 for proxy in cluster.proxies.values()))
    for proxy in cluster.proxies.values():
        proxy.tamper = 0.0
    cluster.wait_until_well()
    assert issue(cluster.nodes[1], "l", "INCR", "n", bear=("",)) == 2
    assert not any("peer_garbage" in node.text() for node in cluster.nodes)
    assert cluster.has_stopped_well()
