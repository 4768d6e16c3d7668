"""etcd behind TLS: who is trusted, and what a node shows."""

import shutil

import pytest

from world import wait_for
from world.locks import issue


@pytest.fixture(name="certificates")
def _certificates(world):
    return world.certificates()


@pytest.fixture(name="etcd")
def _etcd(world, certificates):
    """Starts one that has a certificate of the authority for that host: etcd(HOST, OPTION...)."""
    def start(host, *options):
        cert, key = certificates.sign("etcd", host)
        return world.etcd("--cert-file", cert, "--key-file", key, *options)

    return start


@pytest.fixture(name="node_of")
def _node_of(node):
    """A node that decides by that etcd: node_of(ETCD, OPTION...)."""
    def start(etcd, *options):
        one = node("a", None, "--consensus", f"etcd={etcd.tls_url}", *options).start()
        wait_for(one.ready)
        return one

    return start


def decides(one):
    """It comes back through an epoch change, which etcd decides."""
    assert issue(one, "l", "INCR", "n", bear=("",)) == 1
    one.kill()
    one.start()
    wait_for(one.ready)
    wait_for(lambda: one.status("etcd_reached"))
    return issue(one, "l", "INCR", "n", bear=("",)) == 2 and one.lock("l")["epoch"] == 2


def is_refused(one, words):
    wait_for(lambda: "event=etcd_lost" in one.text())
    return words in one.text() and not one.status("etcd_reached")


def test_strangers_are_not_trusted(etcd, node_of):
    """without a choice, an authority that the system does not know is none"""
    assert is_refused(node_of(etcd("IP:127.0.0.1")), "certificate")


def test_chosen_authority(etcd, certificates, node_of):
    """an authority of one's own choice"""
    assert decides(node_of(etcd("IP:127.0.0.1"), "--etcd-ca", certificates.ca))


def test_self_signed(world, certificates, node_of):
    """a certificate that nobody else has signed, by choice"""
    cert, key = certificates.make("alone", "IP:127.0.0.1")
    etcd = world.etcd("--cert-file", cert, "--key-file", key)
    assert decides(node_of(etcd, "--etcd-ca", cert))


def test_other_host(etcd, certificates, node_of):
    """a certificate of another host is refused, whoever has signed it"""
    one = node_of(etcd("DNS:other.test"), "--etcd-ca", certificates.ca)
    assert is_refused(one, "subject name matches")


def test_other_authority(etcd, certificates, node_of):
    """who is chosen is the only one that is trusted"""
    other, _ = certificates.make("other", "IP:127.0.0.1")
    assert is_refused(node_of(etcd("IP:127.0.0.1"), "--etcd-ca", other), "certificate")


def test_authority_is_replaced(world, etcd, certificates, node_of):
    """another authority counts from the next connection on, and the one before no longer does"""
    other, _ = certificates.make("other", "IP:127.0.0.1")
    chosen = world.path("chosen.crt")
    server = etcd("IP:127.0.0.1")
    shutil.copy(other, chosen)
    one = node_of(server, "--etcd-ca", chosen)
    assert is_refused(one, "certificate")
    shutil.copy(certificates.ca, chosen)
    wait_for(lambda: one.status("etcd_reached"))
    shutil.copy(other, chosen)
    before = one.text().count("certificate")
    server.kill()
    server.start()
    wait_for(lambda: one.text().count("certificate") > before)
    assert not one.status("etcd_reached")


def test_client_certificate(etcd, certificates, node_of):
    """an etcd that wants to see a certificate"""
    server = etcd("IP:127.0.0.1", "--client-cert-auth", "--trusted-ca-file", certificates.ca)
    trusts = "--etcd-ca", certificates.ca
    stranger = node_of(server, *trusts)
    assert is_refused(stranger, "certificate")
    stranger.kill()
    cert, key = certificates.sign("node", "DNS:a.test")
    assert decides(node_of(server, *trusts, "--etcd-cert", cert, "--etcd-key", key))


def test_key_with_a_passphrase(world, etcd, certificates, node_of):
    """a key that nobody can read is an error, and no question to a terminal"""
    cert, key = certificates.sign("node", "DNS:a.test")
    locked = world.path("locked.key")
    certificates.openssl("ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked)
    one = node_of(etcd("IP:127.0.0.1"), "--etcd-ca", certificates.ca, "--etcd-cert", cert,
                  "--etcd-key", locked)
    assert is_refused(one, "private key")


def test_settings(world, certificates):
    """files that are not there, and those that are of no use"""
    def check(*options):
        done = world.baton("node", "--id", "a", "--peers", "a=127.0.0.1:11", "--data",
                           world.path("none"), "--check-config", *options)
        return done.returncode, done.stdout + done.stderr

    tls = "--consensus", "etcd=https://127.0.0.1:2379"
    pair = "--etcd-cert", certificates.ca, "--etcd-key", certificates.key("ca")
    assert check(*tls, "--etcd-ca", certificates.ca, *pair)[0] == 0
    for options, code, words in (
            ((*tls, "--etcd-ca", world.path("no")), 1, "cannot read"),
            ((*tls, "--etcd-ca", "/dev/null"), 1, "/dev/null has no CERTIFICATE in PEM"),
            ((*tls, "--etcd-ca", world.directory), 1, "has no CERTIFICATE in PEM"),
            ((*tls, "--etcd-cert", pair[1], "--etcd-key", pair[1]), 1, "has no PRIVATE KEY"),
            ((*tls, *pair[:2]), 64, "go together"),
            ((*tls, *pair[2:]), 64, "go together"),
            (("--etcd-ca", certificates.ca), 64, "etcd=https://"),
            (("--consensus", "etcd=http://h:1", *pair), 64, "etcd=https://")):
        said = check(*options)
        assert said[0] == code and words in said[1], (options, said)
