"""Many things at a time, and how far they have come."""
import concurrent.futures
import sys
import threading
import time


class Progress:
    """A line that says how far the work has come, on a terminal only."""

    def __init__(self, total, what):
        self.total = total
        self.what = what
        self.done = 0
        self.lock = threading.Lock()
        self.shown = sys.stderr.isatty()

    def step(self, _future):
        with self.lock:
            self.done += 1
            self.show()

    def show(self):
        if self.shown:
            print(f"\r\033[K{self.done} of {self.total} {self.what} ...", end="", file=sys.stderr)
            sys.stderr.flush()

    def print(self, line):
        with self.lock:
            if self.shown:
                print("\r\033[K", end="", file=sys.stderr)
                sys.stderr.flush()
            print(line, flush=True)
            self.show()

    def clear(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr)


class Clock:
    """Says after each part how long it has taken."""

    def __init__(self):
        self.begin = time.monotonic()

    def say(self, what):
        now = time.monotonic()
        print(f"{what}: {now - self.begin:.1f} s", flush=True)
        self.begin = now


def in_parallel(pool, work, items, what):
    """Yields each item in turn, with its finished future and how to print a line."""
    progress = Progress(len(items), what)
    futures = [pool.submit(work, item) for item in items]
    for future in futures:
        future.add_done_callback(progress.step)
    for item, future in zip(items, futures):
        concurrent.futures.wait([future])
        yield item, future, progress.print
    progress.clear()
