"""Waiting: for a condition, never for a time."""

import time

from .settings import PATIENCE


def wait_for(condition, seconds=PATIENCE):
    """Returns what the condition yields once that is true."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.01)
    return value
