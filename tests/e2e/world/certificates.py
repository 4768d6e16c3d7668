"""Certificates of a test: an authority, and what it has signed."""


class Certificates:
    """Files of PEM: NAME.crt and NAME.key for each name."""

    def __init__(self, world):
        self.world = world
        self.openssl("req", "-x509", *self.new("ca"), "-subj", "/CN=an authority", "-out", self.ca)

    def openssl(self, *words):
        done = self.world.run("openssl", *words)
        assert done.returncode == 0, done

    def new(self, name):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                self.key(name), "-days", "9")

    @property
    def ca(self):
        return self.certificate("ca")

    def certificate(self, name):
        return self.world.path(name + ".crt")

    def key(self, name):
        return self.world.path(name + ".key")

    def make(self, name, host, *signer):
        """Its certificate and its key, for a host as a certificate has it: IP:ADDRESS, DNS:NAME."""
        self.openssl("req", "-x509", *self.new(name), "-subj", f"/CN={name}", "-addext",
                     f"subjectAltName={host}", "-out", self.certificate(name), *signer)
        return self.certificate(name), self.key(name)

    def sign(self, name, host):
        return self.make(name, host, "-CA", self.ca, "-CAkey", self.key("ca"))
