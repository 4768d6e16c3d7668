"""What end-to-end tests are made of: servers, clusters, clients, networks, and the judge.

Tests ask for these through the fixtures of conftest.py; none starts a process by itself.
"""

from .client import Client, Failure, info, refused
from .cluster import ids, metrics, page
from .settings import BATON, BUILD, PATIENCE, ROOT, SANITIZED
from .waiting import wait_for
from .world import World

__all__ = [
    "BATON", "BUILD", "PATIENCE", "ROOT", "SANITIZED", "Client", "Failure", "World", "ids", "info",
    "metrics", "page", "refused", "wait_for",
]
