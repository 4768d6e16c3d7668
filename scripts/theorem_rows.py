"""The rows of docs/theorems.md.

A row is `| id | claim | command | bound | expected |`. The command stands in backticks and prints
JSON; `-` means that the row has none. The expected cell, in backticks too, is a list of conditions:

    condition {", " condition}       condition = field ("=" | "<=" | ">=" | "<" | ">" | "~") value

A field is a key of the JSON; dots lead into objects, and into lists by the "name" of an element. A
value is a number, null, true, false, or a string, in double quotes if it has a comma. A list ~ what
it has.
"""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "theorems.md"
COLUMNS = ["id", "claim", "command", "bound", "expected"]
CONDITION = re.compile(r'\s*([\w.-]+)\s*(<=|>=|=|<|>|~)\s*("[^"]*"|[^,]*)\s*(?:,|$)')


class WrongTable(Exception):
    """The table cannot be read; says where."""


class Row:
    def __init__(self, cells, line):
        self.id, self.claim, command, self.bound, expected = cells
        self.line = line
        self.command = unquote(command)
        self.expected = unquote(expected)
        self.remark = expected  # of a row without a command


def unquote(cell):
    """What stands in backticks, if the whole cell does."""
    return cell[1:-1] if len(cell) > 2 and cell[0] == cell[-1] == "`" else None


def parse_value(text):
    if text.startswith('"'):
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_conditions(row):
    conditions = []
    at = 0
    while at < len(row.expected):
        match = CONDITION.match(row.expected, at)
        if match is None or match.end() == at:
            raise WrongTable(f"line {row.line}: cannot read '{row.expected[at:]}'")
        conditions.append((match[1], match[2], parse_value(match[3].strip())))
        at = match.end()
    return conditions


def read_rows():
    rows = []
    for number, line in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells == COLUMNS or set(line) <= set("|-: "):
            continue
        if len(cells) != len(COLUMNS):
            raise WrongTable(f"line {number}: {len(cells)} columns instead of {len(COLUMNS)}")
        row = Row(cells, number)
        if cells[2] != "-" and (row.command is None or row.expected is None):
            raise WrongTable(f"line {number}: command and expected figures belong in backticks")
        rows.append(row)
    known = [row.id for row in rows]
    for row in rows:
        if known.count(row.id) > 1:
            raise WrongTable(f"line {row.line}: {row.id} stands there twice")
        if row.command is not None:
            parse_conditions(row)
            continue
        for other in re.findall(r"\b(?:LF|L10|WF|WD|WM)-\w+", row.remark):
            if other not in known:
                raise WrongTable(f"line {row.line}: there is no row {other}")
    return rows


def field(data, path):
    """The value at the path; KeyError if there is none."""
    for key in path.split("."):
        if isinstance(data, list):
            data = {element["name"]: element for element in data}
        if not isinstance(data, dict):
            raise KeyError(path)
        data = data[key]
    return data


def holds(got, operator, wanted):
    if operator == "=":
        return type(got) is type(wanted) and got == wanted
    if operator == "~":
        return isinstance(got, list) and wanted in got
    numbers = [x for x in (got, wanted) if isinstance(x, (int, float)) and not isinstance(x, bool)]
    if len(numbers) < 2:
        return False  # "unbounded" is below nothing
    return {"<": got < wanted, "<=": got <= wanted, ">": got > wanted, ">=": got >= wanted}[operator]


def judge(row, outcome):
    """None if the row agrees, else what was got."""
    data, trouble = outcome
    if trouble is not None:
        return trouble
    differ = []
    for path, operator, wanted in parse_conditions(row):
        try:
            got = field(data, path)
        except (KeyError, TypeError):
            differ.append(f"no {path}")
            continue
        if not holds(got, operator, wanted):
            differ.append(f"{path}={json.dumps(got)}")
    return ", ".join(differ) or None


def broken_in(text):
    """The properties that the JSON of a simulator says are broken; "" if it says nothing."""
    try:
        return ", ".join(one["property"] for one in json.loads(text)["broken"])
    except (ValueError, KeyError, TypeError):
        return ""


def outcome_of(code, text, complaint=""):
    """What a command has given: the JSON that it has printed, or what went wrong instead."""
    if code != 0:
        lines = complaint.strip().splitlines() or text.split("\n", 1)
        return None, f"exit code {code}: {broken_in(text) or ' '.join(lines[-1:])}"
    try:
        return json.loads(text), None
    except ValueError:
        return None, "something that is not JSON"
