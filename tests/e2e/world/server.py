"""`baton serve`."""

import re

from .process import Process
from .settings import BATON
from .waiting import wait_for


class Server(Process):
    """Listens on a Unix socket, and on ports of its own if wanted: for clients, and for pages."""

    def __init__(self, world, *options, name, port=False, http=None, before=()):
        self.path = world.path(name)
        self.state = self.path + ".tokens"
        command = [BATON, "serve", "--listen", self.path, "--state", self.state]
        if port:
            command += ["--listen", "127.0.0.1:0"]
        if http is not None:
            command += ["--http", http]
        super().__init__(world, world.unique(name), [*command, *options])
        self.start(*before)
        listening = 1 + bool(port)
        wait_for(lambda: self.text().count("event=listening") >= listening or self.has_ended())
        self.port = self.said(r"event=listening .*at=127\.0\.0\.1:(\d+)") if port else None
        if http is not None:
            wait_for(lambda: "event=http" in self.text() or self.has_ended())
            self.http = self.said(r"event=http at=\S+:(\d+)")

    def said(self, pattern):
        found = re.search(pattern, self.text())
        assert found, self.text()
        return int(found[1])
