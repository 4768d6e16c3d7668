"""What a C header declares: a reader of declarations, good enough for this tree."""
import dataclasses
import re

from mutation.functions import closing, without_directives
from mutation.tokens import tokens_of

DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[ \t]+(.*))?$", re.M)
ATTRIBUTES = {"__attribute__", "_Alignas", "alignas"}
TAGGED = {"struct", "union", "enum"}


@dataclasses.dataclass(frozen=True)
class Declared:
    name: str
    kind: str  # macro, function, type, constant, variable
    line: int
    value: str = ""  # of a macro
    is_static: bool = False


class Reader:
    """Reads declarations outside of braces; those of extern "C" do not count."""

    def __init__(self, text):
        self.text = text
        self.tokens = tokens_of(without_directives(text))
        self.found = []

    def note(self, i, kind, is_static=False):
        line = self.text.count("\n", 0, self.tokens[i].start) + 1
        self.found.append(Declared(self.tokens[i].text, kind, line, is_static=is_static))

    def word(self, i):
        return self.tokens[i].text if i < len(self.tokens) else ""

    def constants(self, opening, end):
        """The names in the braces of an enum."""
        i = opening + 1
        while i < end:
            self.note(i, "constant")
            while i < end and self.word(i) != ",":
                i = closing(self.tokens, i) + 1 if self.word(i) in ("(", "{", "[") else i + 1
            i += 1

    def statement(self, i):
        """Reads one declaration; returns where the next begins."""
        words = []  # indices of the tokens that are in no brackets
        while i < len(self.tokens) and self.word(i) != ";":
            word = self.word(i)
            if word in ATTRIBUTES:
                i = closing(self.tokens, i + 1)
            elif word == "{":
                end = closing(self.tokens, i)
                if words and self.word(i - 1) == ")":  # the body of a function
                    self.declare(words)
                    return end + 1
                if any(self.word(w) == "enum" for w in words):
                    self.constants(i, end)
                words.append(i)
                i = end
            elif word in ("(", "["):
                words.append(i)
                i = closing(self.tokens, i)
            else:
                words.append(i)
            i += 1
        self.declare(words)
        return i + 1

    def declare(self, indices):
        """Notes what a declaration names, given the tokens outside of brackets."""
        words = [self.word(i) for i in indices]
        if not words or "_Static_assert" in words or "static_assert" in words:
            return
        for at, word in enumerate(words[:-1]):
            if word in TAGGED and words[at + 1].isidentifier():
                if at + 2 == len(words) or words[at + 2] == "{":
                    self.note(indices[at + 1], "type")
        calls = [at for at, word in enumerate(words) if word == "("]
        names = [at for at, word in enumerate(words) if word.isidentifier()]
        if calls and self.word(indices[calls[0]] + 1) == "*":  # (*name)(...)
            self.note(indices[calls[0]] + 2, "type" if "typedef" in words else "variable")
        elif "typedef" in words:
            self.note(indices[names[-1]], "type")
        elif calls and calls[0] > 0:
            self.note(indices[calls[0] - 1], "function", "static" in words)
        elif words[-1] != "{" and len(names) > 1 and words[0] not in TAGGED:
            end = words.index("=") if "=" in words else len(words)
            self.note(indices[[at for at in names if at < end][-1]], "variable")

    def read(self):
        i = 0
        while i < len(self.tokens):
            if self.word(i) == "extern" and self.word(i + 1) == '"C"' and self.word(i + 2) == "{":
                i += 3
            elif self.word(i) in ("}", ";"):
                i += 1
            else:
                i = self.statement(i)
        return self.found


def declared(text):
    """Everything that a header declares outside of structs and functions."""
    macros = [
        Declared(m[1], "macro", text.count("\n", 0, m.start()) + 1, (m[2] or "").strip())
        for m in DEFINE.finditer(text)
    ]
    return macros + Reader(text).read()
