"""Load buffering: whether docs/check.md speaks of every read in src/lock that does not acquire.

The explorer does not model it. What a process writes after a read that acquires cannot be seen
before that read; for each of the other reads the document says why no harm comes of it. Two of the
reasons are checked here:

    again    the same function reads the same register with acquire, too
    fence    a fence that acquires follows in the same function
    argued   what stands beside it in the table
"""
import re

from mutation.orders import UNCHECKED, call_end, first_argument, without_comments
from tidying import Complaint

DOCUMENT = "docs/check.md"
HEAD = "| file | read that does not acquire | reason | why no cycle needs it |"
CALL = re.compile(r"\breg_(read|fence|swap|cas|fetch_add)\s*\(")
FUNCTION = re.compile(r"^\w[^\n;]*?(\w+)\([^;{]*\)\n\{.*?^\}", re.M | re.S)
ACQUIRES = ("acquire", "acq_rel", "seq_cst")


class Access:
    """A call of reg_something that reads, or a fence."""

    def __init__(self, code, call):
        end = call_end(code, call.end() - 1)
        self.kind = call[1]
        self.start = call.start()
        self.text = " ".join(code[call.start() : end + 1].split())
        self.register = " ".join(first_argument(code, call.end(), end).split())
        self.acquires = self.text.rstrip(") ").endswith(ACQUIRES)


def without_expectations(code):
    """Debug builds look in expect() at registers of their own; that is no part of the algorithm."""
    for call in list(re.finditer(r"\bexpect\s*\(", code)):
        end = call_end(code, call.end() - 1)
        code = code[: call.start()] + " " * (end + 1 - call.start()) + code[end + 1 :]
    return code


def accesses_of(text):
    """Lists of accesses, one for each function."""
    code = without_expectations(without_comments(text))
    for function in FUNCTION.finditer(code):
        yield [Access(code, c) for c in CALL.finditer(code, function.start(), function.end())]


def rows_of(tree):
    """(file, read) -> line, reason and why."""
    rows = {}
    in_table = False
    for number, line in tree.lines(DOCUMENT):
        if in_table and line.startswith("|") and not line.startswith("|-"):
            file, read, reason, why = [cell.strip() for cell in line.strip("|").split("|")]
            rows[file, read.strip("`")] = number, reason, why
        in_table = line == HEAD or (in_table and line.startswith("|"))
    return rows


def holds(reason, access, function):
    """Whether the reason is one, as far as that can be seen in the source."""
    acquiring = [other for other in function if other.acquires]
    if reason == "again":
        return any(other.register == access.register for other in acquiring)
    if reason == "fence":
        return any(other.kind == "fence" and other.start > access.start for other in acquiring)
    return reason == "argued"


def check_load_buffering(tree):
    rows = rows_of(tree)
    seen = set()
    for path in tree.matching("src/lock/*.c"):
        file = path.rsplit("/", 1)[1]
        if file in UNCHECKED:
            continue
        text = tree.text(path)
        for function in accesses_of(text):
            for access in [a for a in function if a.kind != "fence" and not a.acquires]:
                seen.add((file, access.text))
                line = text.count("\n", 0, access.start) + 1
                if (file, access.text) not in rows:
                    what = f"{access.text} does not acquire; say in {DOCUMENT} why that is harmless"
                    yield Complaint(path, line, what)
                    continue
                number, reason, why = rows[file, access.text]
                if not why or not holds(reason, access, function):
                    what = f"'{reason}' is no reason for {path}:{line}, {access.text}"
                    yield Complaint(DOCUMENT, number, what)
    for key in sorted(set(rows) - seen):
        yield Complaint(DOCUMENT, rows[key][0], f"src/lock/{key[0]} has no {key[1]} any more")
