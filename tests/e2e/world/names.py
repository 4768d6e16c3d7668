"""What names of hosts mean to nodes that a test has started."""

import os

from .settings import HELPERS


class Names:
    """The resolver of all that starts in this world from now on: names["b.test"] = "127.0.0.1".
    "away": it is silent. "none": it fails at once."""

    def __init__(self, world):
        self.path = world.path("names")
        self.addresses = {}
        self.write()
        world.environment.update(LD_PRELOAD=str(HELPERS / "libnames.so"), BATON_NAMES=self.path)

    def write(self):
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.writelines(f"{name} {address}\n" for name, address in self.addresses.items())
        os.rename(self.path + ".new", self.path)

    def __setitem__(self, name, address):
        self.addresses[name] = address
        self.write()

    def set_all(self, address):
        for name in self.addresses:
            self.addresses[name] = address
        self.write()

    def asked(self):
        """How many are being asked for, and how many were at most."""
        with open(self.path + ".asked", encoding="ascii") as file:
            signs = file.read()
        now = most = 0
        for sign in signs:
            now += 1 if sign == "+" else -1
            most = max(most, now)
        return now, most
