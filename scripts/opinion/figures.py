"""The table of docs/check.md that says what GenMC found: it must find the same again."""
import pathlib
import re

from mutation import TREE, Trouble

DOCUMENT = pathlib.Path("docs/check.md")
HEAD = "| lock | bound | baton-check c11 | GenMC RC11 | GenMC IMM |"
RULE = "|---|---|---|---|---|"
TOO_LONG = "takes too long"


def row_of(name, bound, cells):
    return f"| {name} | {bound} | {' | '.join(cells)} |"


def cell_of(opinion):
    """Executions; of GenMC those that are complete."""
    if opinion is None:
        return TOO_LONG
    return f"{opinion.violated} violated" if opinion.violated else f"{opinion.executions:g}"


def differ(cells, expected):
    """Whether two rows say different things; what took too long says nothing."""
    return any(a != b for a, b in zip(cells, expected) if TOO_LONG not in (a, b))


def read_figures(tree=TREE):
    """(lock, bound) -> the three cells."""
    text = (tree / DOCUMENT).read_text()
    table = re.search(re.escape(f"{HEAD}\n{RULE}\n") + r"((?:\|.*\n)*)", text)
    if table is None:
        raise Trouble(f"{DOCUMENT} has no table '{HEAD}'")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]
    return {(row[0], row[1]): row[2:] for row in rows}
