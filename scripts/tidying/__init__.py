"""The checks of scripts/tidy, one file for each kind of thing that is checked.

A check is a function of a tree that yields complaints.
"""
import dataclasses
import fnmatch
import functools
import pathlib
import subprocess


@dataclasses.dataclass(frozen=True, order=True)
class Complaint:
    path: str
    line: int
    what: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}"


class Tree:
    """Files below a directory, as paths relative to it."""

    def __init__(self, root, paths):
        self.root = pathlib.Path(root)
        self.paths = sorted(paths)

    def matching(self, *patterns):
        """A * stands for any characters, also for slashes."""
        return [p for p in self.paths if any(fnmatch.fnmatchcase(p, one) for one in patterns)]

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        return (self.root / path).read_text()

    def lines(self, path):
        """Pairs of number and line, from 1 on."""
        return list(enumerate(self.text(path).splitlines(), start=1))


def tracked(root):
    """The tree of what git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    paths = {path for path in listed.split("\0") if path}
    return Tree(root, [path for path in paths if (root / path).is_file()])
