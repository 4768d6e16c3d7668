"""C source as a list of tokens: comments, blanks and line breaks do not count."""
import dataclasses
import re

_PIECES = re.compile(
    r"""
    (?P<nothing> /\*.*?(?:\*/|\Z) | //[^\n]* | \\\n | \s+ )
  | (?P<token>
        "(?:\\.|[^"\\\n])*"  |  '(?:\\.|[^'\\\n])*'
      | (?:0[xX])?\d[\w.]*  |  \w+
      | <<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | && | \|\| | [-+*/%&|^<>=!]=
      | .
    )""",
    re.S | re.X,
)


@dataclasses.dataclass(frozen=True)
class Token:
    text: str
    start: int  # where it is in the source
    end: int


def tokens_of(source):
    return [
        Token(piece["token"], piece.start(), piece.end())
        for piece in _PIECES.finditer(source)
        if piece["token"] is not None
    ]


def words_of(source):
    """The tokens without their places: two sources with the same words mean the same."""
    return [token.text for token in tokens_of(source)]


def places_of(wanted, words):
    """Where the list of words occurs in the longer one."""
    length = len(wanted)
    return [
        i for i in range(len(words) - length + 1)
        if words[i] == wanted[0] and words[i : i + length] == wanted
    ]
