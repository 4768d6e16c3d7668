"""Files: those that nobody wanted to add, and lines of documents."""
import re

from tidying import Complaint

STRAY = ["*.orig", "*.rej", "*~", "*.swp", "*.swo", "*.bak", "*.tmp", "*.patch", ".#*", "*/.#*", "*/core"]
MOST_COLUMNS = 100
ITEM = re.compile(r" *([-*+]|\d+[.)]) ")
NO_PROSE = ("$ ", "[", "|", "]", ":")  # of manuals: a command, cells of tables
INDENTED = re.compile(r" {4,}|\t")


def check_stray_files(tree):
    for path in tree.matching(*STRAY):
        yield Complaint(path, 1, "looks like something that was left behind; delete it")


def is_foldable(line):
    """Is there a blank before the last column, behind the first word?"""
    mark = ITEM.match(line)
    start = mark.end() if mark else len(line) - len(line.lstrip())
    return " " in line[start : MOST_COLUMNS + 1]


def prose_of_markdown(lines):
    """The lines that are neither code nor rows of tables."""
    in_fence = in_list = False
    after_blank = in_code = False
    for number, line in lines:
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
            continue
        indented = INDENTED.match(line) is not None
        if line.strip() and not line.startswith(" "):
            in_list = False
        in_list = in_list or ITEM.match(line) is not None
        in_code = indented and not in_list and (after_blank or in_code)
        after_blank = not line.strip()
        if not in_fence and not in_code and not line.lstrip().startswith("|"):
            yield number, line


def prose_of_manual(lines):
    """The same for scdoc, where a cell of a table has a line; ++ ends a line of a listing."""
    in_fence = False
    for number, line in lines:
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
        elif not in_fence and not line.lstrip().startswith(NO_PROSE) and not line.endswith("++"):
            yield number, line


def check_documents(tree):
    for path in tree.matching("*.md", "docs/man/*.scd"):
        prose = prose_of_markdown if path.endswith(".md") else prose_of_manual
        for number, line in prose(tree.lines(path)):
            if len(line) > MOST_COLUMNS and is_foldable(line):
                what = f"{len(line)} columns; fold the line before column {MOST_COLUMNS}"
                yield Complaint(path, number, what)
