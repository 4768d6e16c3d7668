"""Ports that stay free: of this machine's tests, each has its own."""

import random
import socket

# The kernel gives the others to whoever connects: a node that restarts would find its port taken.
FIRST = 10000
with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as _range:
    LAST = int(_range.read().split()[0]) - 1


class Ports:
    """Ports that are reserved among all tests on this machine, until they are given back."""

    def __init__(self):
        self.reservations = []
        self.chance = random.SystemRandom()

    def reserve(self, port):
        """An abstract socket named after it, which ends with this process."""
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0baton-test-port-{port}")
            with socket.create_server(("127.0.0.1", port)):
                pass
        except OSError:
            reservation.close()
            return False
        self.reservations.append(reservation)
        return True

    def take(self, count):
        ports = []
        while len(ports) < count:
            port = self.chance.randint(FIRST, LAST)
            if self.reserve(port):
                ports.append(port)
        return ports

    def give_back(self):
        for reservation in self.reservations:
            reservation.close()
