"""Mutants by chance: one small wrong change anywhere in the body of a function.

    negated       if (x)  ->  if (!(x))          a == b  ->  a != b
    bound         a < b   ->  a <= b             and the other three
    connective    a && b  ->  a || b             and the other way round
    constant      7  ->  8, 7  ->  6             true  ->  false
    dropped       a statement  ->  ;             a call, an assignment, break, continue
    early return  a statement  ->  return; and the statement

Assertions stay as they are: an assertion that is weaker or gone breaks nothing. So do directives of
the preprocessor. What is proposed here need not compile.
"""
import dataclasses
import pathlib
import re

from mutation.functions import closing, functions_of

PAIRS = {
    "negated": {"==": "!=", "!=": "=="},
    "bound": {"<": "<=", "<=": "<", ">": ">=", ">=": ">"},
    "connective": {"&&": "||", "||": "&&"},
    "constant": {"true": "false", "false": "true"},
}
KINDS = ["negated", "bound", "connective", "constant", "dropped", "early return"]
NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|0|[1-9]\d*)([uUlL]*)$")
ASSERTIONS = {"assert", "static_assert", "_Static_assert"}
JUMPS = {"break", "continue"}
# What may follow the first word of a statement that is no declaration.
ACTS = {"(", "=", "->", ".", "[", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
KEYWORDS = {"if", "while", "for", "switch", "do", "else", "case", "default", "return", "goto", "sizeof"}


@dataclasses.dataclass(frozen=True)
class Change:
    source: pathlib.Path  # relative to the tree
    kind: str
    start: int  # of what is replaced
    end: int
    new: str

    def apply(self, text):
        return text[: self.start] + self.new + text[self.end :]

    def told(self, text):
        """file:line and the line before and after."""
        number = text.count("\n", 0, self.start)
        old, new = (t.splitlines()[number] for t in (text, self.apply(text)))
        return f"{self.source}:{number + 1}: {shown(old)}  ->  {shown(new)}"


def shown(line):
    """What counts of a line of C."""
    return " ".join(re.sub(r"/\*.*?(\*/|$)", "", line).split())


# ---- kinds of changes: each yields (kind, start, end, new) ----


def in_assertions(function):
    """The indices of all tokens of assertions."""
    inside = set()
    for i in range(function.first, function.last):
        if function.text(i) in ASSERTIONS:
            inside.update(range(i, closing(function.tokens, i + 1) + 1))
    return inside


def numbers_near(word):
    """Integers next to the one that is given; none if it is none."""
    match = NUMBER.match(word)
    if not match:
        return []
    base = 16 if match[1][:2].lower() == "0x" else 10
    value = int(match[1], base)
    near = [value + 1] + ([value - 1] if value > 0 else [])
    return [(hex(n) if base == 16 else str(n)) + match[2] for n in near]


def changed_words(function, i):
    word = function.text(i)
    start, end = function.span(i, i)
    for kind, pairs in PAIRS.items():
        if word in pairs:
            yield kind, start, end, pairs[word]
    for number in numbers_near(word):
        yield "constant", start, end, number


def negated_condition(function, i, source):
    if function.text(i) in ("if", "while"):
        start, end = function.span(i + 1, closing(function.tokens, i + 1))
        yield "negated", start, end, f"(!{source[start:end]})"


def acts(function, i):
    """Is the statement at i a call, an assignment or the like?"""
    word = function.text(i)
    if word in JUMPS or word in ("*", "++", "--"):
        return True
    return word.isidentifier() and word not in KEYWORDS and function.text(i + 1) in ACTS


def changed_statement(function, i, in_list):
    end = function.end_of_statement(i)
    if end is not None and acts(function, i):
        yield "dropped", *function.span(i, end), ";"
    if in_list and function.text(i) not in ("else", "case", "default"):
        start, _ = function.span(i, i)
        yield "early return", start, start, "return; " if function.is_void else "return 0; "


def changes_of(text, source):
    """Every change that can be thought of, in the order of the source."""
    found = set()
    for function in functions_of(text):
        asserted = in_assertions(function)
        for i in range(function.first + 1, function.last):
            if i not in asserted:
                found.update(changed_words(function, i))
                found.update(negated_condition(function, i, text))
        for i, in_list in function.statements():
            if i not in asserted:
                found.update(changed_statement(function, i, in_list))
    return [Change(source, *change) for change in sorted(found, key=lambda c: (c[1], c))]


def in_random_order(changes, random):
    """All changes, each kind as likely as any other to be the next."""
    by_kind = {kind: [c for c in changes if c.kind == kind] for kind in KINDS}
    for of_kind in by_kind.values():
        random.shuffle(of_kind)
    while any(by_kind.values()):
        yield by_kind[random.choice([kind for kind in KINDS if by_kind[kind]])].pop()
