"""The functions of a C source, and the statements in them, found by their tokens."""
import re

from mutation import Trouble
from mutation.tokens import tokens_of

DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
OPENING = {"(", "{", "["}
CLOSING = {")", "}", "]"}


class Function:
    """A function, as indices of tokens: its body lies between the braces at first and last."""

    def __init__(self, tokens, head, first, last):
        self.tokens = tokens
        self.head = head
        self.first = first
        self.last = last
        opening = next(i for i in range(head, first) if tokens[i].text == "(")
        result = [token.text for token in tokens[head:opening]]
        self.is_void = "void" in result and "*" not in result
        self.name = result[-1] if result else ""

    def text(self, i):
        return self.tokens[i].text

    def span(self, first, last):
        return self.tokens[first].start, self.tokens[last].end

    def end_of_statement(self, i):
        """The ; that ends the statement at i; None if a block ends before."""
        while self.text(i) != ";":
            if self.text(i) in OPENING:
                i = closing(self.tokens, i)
            elif self.text(i) == "}":
                return None
            i += 1
        return i

    def statements(self):
        """Pairs: where a statement begins, and whether it stands in a list of statements."""
        i = self.first + 1
        begins, in_list = True, True
        while i < self.last:
            text = self.text(i)
            if begins and text not in ("}", "{"):
                yield i, in_list
            begins, in_list = text in (";", "{", "}", "else", "do"), text in (";", "{", "}")
            if text in ("if", "while", "for", "switch"):
                i = closing(self.tokens, i + 1)
                begins = True
            elif text in ("case", "default"):
                while self.text(i) != ":":
                    i += 1
                begins = True
            elif text in ("(", "[") or (text == "{" and self.text(i - 1) in ("=", ")", ",")):
                if text != "{" or not self.is_block(i):
                    i = closing(self.tokens, i)
                    begins = False
            i += 1

    def is_block(self, i):
        """Is the { at i one of statements, not of values?"""
        if self.text(i - 1) in ("=", ","):
            return False
        end = closing(self.tokens, i)
        return end == i + 1 or self.text(end - 1) in (";", "}")


def closing(tokens, i):
    """The index of what closes the bracket at i."""
    depth = 0
    for at in range(i, len(tokens)):
        depth += (tokens[at].text in OPENING) - (tokens[at].text in CLOSING)
        if depth == 0:
            return at
    raise Trouble(f"nothing closes the {tokens[i].text} at character {tokens[i].start}")


def without_directives(text):
    """The text, directives of the preprocessor blanked out, every character in its place."""
    return DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def functions_of(text):
    """The functions of a source."""
    tokens = tokens_of(without_directives(text))
    i, head = 0, 0  # head: where the declaration that we are in began
    while i < len(tokens):
        word = tokens[i].text
        if word == "{" and tokens[i - 1].text == ")":
            last = closing(tokens, i)
            yield Function(tokens, head, i, last)
            i, head = last, last + 1
        elif word in OPENING:
            i = closing(tokens, i)
        elif word == ";":
            head = i + 1
        i += 1
