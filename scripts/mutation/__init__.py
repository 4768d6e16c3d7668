"""What scripts/mutants, scripts/mutants-random and scripts/tidy have in common.

    tokens      C source as a list of tokens
    functions   the functions and statements of a source
    lists       tests/mutants/ROOM/FILE.mutants: wrong changes written by hand
    orders      memory orders, weakened one by one
    chance      small changes by chance
    rooms       which tests are to catch a change by chance
    workshop    builds programs with one source file changed
    checking    runs checks and says what they have found
    parallel    many things at a time, and how far they have come
"""
import dataclasses
import pathlib

TREE = pathlib.Path(__file__).resolve().parent.parent.parent


class Trouble(Exception):
    """Something is wrong with the mutants themselves, not with the checks."""


@dataclasses.dataclass
class Mutant:
    """A source file with one wrong change, and who must catch it."""

    name: str
    source: pathlib.Path  # relative to the tree
    text: str  # of the source, mutated
    checks: list
    all_must_catch: bool
    call: str = ""  # for justified.txt: the register access,
    statement: str = ""  # the statement around it, its function in front,
    weakening: str = ""  # and "old->new"
    reason: str = ""  # why it may survive
