"""Mutants written by hand: tests/mutants/ROOM/FILE.mutants changes src/ROOM/FILE.c.

Those in tests/mutants/check change check/FILE.c, and those in tests/mutants/sim sim/FILE.c: the
explorer, and models beside the shipped code, of which rows of docs/theorems.md speak too.

    mutant dt1-lines-10-11-swapped
    why: A successor between the look at next and UNLOCKED is left waiting.
    catch: baton-check dt1 -n 2 -p 1
    - reg_write(&mynode->status, UNLOCKED, release);
    @@
      baton_word next = reg_read(&mynode->next, acquire);
    + reg_write(&mynode->status, UNLOCKED, release);

A blank line ends a mutant. `catch:` names a check that must catch it: a call of baton-check or
baton-sim, a unit test, or `theorem ID`, a row of docs/theorems.md. Where there are several lines
`catch:`, each of them must catch it.

Then come the edits, with `@@` between two of them. Lines with `-` are replaced by lines with `+`;
a line with a blank in front stays as it is, and only says where. Together, the lines with `-` and
with a blank must occur exactly once in the source. Comments, blanks and line breaks do not count,
so a line may be a part of a line of the source. Outside a mutant, `#` begins a comment.
"""
import dataclasses
import itertools
import pathlib
import re

from mutation import TREE, Trouble
from mutation.tokens import places_of, tokens_of, words_of

LISTS = pathlib.Path("tests/mutants")
HEADER = re.compile(r"mutant ([\w.-]+)$")


@dataclasses.dataclass
class Entry:
    """One mutant of a list."""

    name: str
    line: int  # of the list, where it begins
    list: pathlib.Path
    source: pathlib.Path  # which it changes
    why: str = ""
    checks: list = dataclasses.field(default_factory=list)
    edits: list = dataclasses.field(default_factory=lambda: [[]])  # of (mark, text)

    def trouble(self, what):
        return Trouble(f"{self.list}:{self.line}: {self.name} {what}")


# ---- reading ----


def read_body(entry, line):
    """Takes one line below the header."""
    key, _, value = line.partition(": ")
    if line == "@@":
        entry.edits.append([])
    elif line[0] in " -+":
        entry.edits[-1].append((line[0], line[1:]))
    elif key == "why" and value and not entry.why:
        entry.why = value
    elif key == "catch" and value:
        entry.checks.append(value.strip())
    else:
        raise entry.trouble(f"has a line that is no 'why:', 'catch:', '@@' or edit: {line}")


def verify(entry):
    if not entry.why:
        raise entry.trouble("does not say why it is wrong; write a line 'why: ...'")
    if not entry.checks:
        raise entry.trouble("does not say what must catch it; write a line 'catch: ...'")
    for edit in entry.edits:
        if all(mark == " " for mark, _ in edit):
            raise entry.trouble("has an edit without lines that begin with - or +")
        if not words_of("\n".join(text for mark, text in edit if mark != "+")):
            raise entry.trouble("has an edit that only adds; give it a line to stand beside")
    return entry


def parse(text, path, source):
    """The mutants of one list."""
    entry = None
    for number, line in enumerate(text.splitlines(), start=1):
        header = HEADER.match(line)
        if not line.strip():
            if entry:
                yield verify(entry)
            entry = None
        elif entry:
            read_body(entry, line)
        elif header:
            entry = Entry(header[1], number, path, source)
        elif not line.startswith("#"):
            raise Trouble(f"{path}:{number}: a mutant begins with a line 'mutant NAME', not: {line}")
    if entry:
        yield verify(entry)


def source_of(path, tree):
    """The source that a list changes; both are relative to the tree."""
    relative = path.relative_to(LISTS).with_suffix(".c")
    source = relative if relative.parts[0] in ("check", "sim") else "src" / relative
    if not (tree / source).exists():
        raise Trouble(f"{path}:1: there is no {source}; move the list to where its source went")
    return source


def read_list(path, tree):
    return list(parse((tree / path).read_text(), path, source_of(path, tree)))


def require_names(entries):
    """No two mutants may have the same name."""
    seen = {}
    for entry in entries:
        if seen.setdefault(entry.name, entry) is not entry:
            raise entry.trouble(f"has the name of another, in {seen[entry.name].list}; rename one")


def read_lists(tree=TREE):
    """All mutants of a tree."""
    paths = sorted(path.relative_to(tree) for path in (tree / LISTS).glob("**/*.mutants"))
    entries = [entry for path in paths for entry in read_list(path, tree)]
    require_names(entries)
    return entries


# ---- applying ----


def changes_of(edit, tokens, first):
    """Of an edit that begins at a token: (start, end, new text) for each group of changed lines."""
    at = first
    for changed, group in itertools.groupby(edit, key=lambda line: line[0] != " "):
        lines = list(group)
        old = "\n".join(text for mark, text in lines if mark != "+")
        new = "\n".join(text.strip() for mark, text in lines if mark == "+")
        count = len(words_of(old))
        if changed and count > 0:
            yield tokens[at].start, tokens[at + count - 1].end, new
        elif changed and at > first:
            yield tokens[at - 1].end, tokens[at - 1].end, "\n" + new
        elif changed:
            yield tokens[at].start, tokens[at].start, new + "\n"
        at += count


def apply(entry, text):
    """The text of the source with the mutant in it."""
    tokens = tokens_of(text)
    words = [token.text for token in tokens]
    changes = []
    for edit in entry.edits:
        wanted = words_of("\n".join(line for mark, line in edit if mark != "+"))
        places = places_of(wanted, words)
        if len(places) != 1:
            found = f"{len(places)} times" if places else "nowhere"
            shown = next(line.strip() for mark, line in edit if mark != "+")
            raise entry.trouble(f"does not apply: {entry.source} has '{shown}' {found}, not once")
        changes += changes_of(edit, tokens, places[0])
    changes.sort()
    for (_, end, _), (start, _, _) in itertools.pairwise(changes):
        if start < end:
            raise entry.trouble("has edits that overlap; make one of them")
    for start, end, new in reversed(changes):
        text = text[:start] + new + text[end:]
    if words_of(text) == words:
        raise entry.trouble("changes nothing")
    return text
