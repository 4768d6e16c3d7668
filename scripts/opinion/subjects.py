"""The locks of src/lock/table.c, as programs that GenMC can run: tests/second-opinion/passages.c.

The table and the sources say all that is needed, so a new lock gets its second opinion by itself.
"""
import dataclasses
import pathlib
import re

from mutation import TREE, Trouble

LOCKS = pathlib.Path("src/lock")
TABLE = LOCKS / "table.c"
ARGUMENTS = {"ANONYMOUS": "lock", "NUMBERED": "lock, i", "SEATED": "lock, seat"}


@dataclasses.dataclass(frozen=True)
class Subject:
    """A lock, or a lock that process 0 only tries to enter."""

    name: str  # in the words of baton-check
    source: pathlib.Path
    macros: str  # for passages.c, as lines


def fields_of(text, name):
    """The functions in a row of the table: init, enter, exit and so on, without their prefix."""
    found = re.findall(r"^ *\.(init|enter|try|exit) = (\w+)_\1,$", text, flags=re.M)
    return dict(found) if len(found) >= 3 else unclear(name)


def unclear(name):
    raise Trouble(f"{TABLE}: cannot tell how {name} is made; see scripts/opinion/subjects.py")


def size_of(table, stem):
    """The macros BYTES and INIT of a type."""
    if re.search(rf"^OF_FIXED_SIZE\({stem}\)$", table, flags=re.M):
        return f"sizeof(baton_{stem})", f"baton_{stem}_init(lock, BATON_SPIN)"
    size = re.search(rf"^OF_SIZE\({stem}, (\w+)\)$", table, flags=re.M)
    return f"{size[1]}(PROCESSES)", f"baton_{stem}_init(lock, n, BATON_SPIN)"


def macros_of(table, name, functions):
    """Yields the definitions that passages.c asks for, but for TRY."""
    enter = functions["enter"]
    shape = re.search(rf"^({'|'.join(ARGUMENTS)})\({enter}\)$", table, flags=re.M) or unclear(name)
    arguments = ARGUMENTS[shape[1]]
    size, init = size_of(table, functions["init"])
    yield f"#define BYTES {size}"
    yield f"#define INIT(lock, n) {init}"
    if shape[1] == "SEATED":
        yield f"#define SEAT baton_{enter}_participant"
        yield f"#define JOIN(seat, number) baton_{enter}_join(seat, number)"
    yield f"#define ENTER(lock, seat, i) baton_{enter}_enter({arguments})"
    yield f"#define EXIT(lock, seat, i) baton_{functions['exit']}_exit({arguments})"


def source_of(stem, tree):
    defined = re.compile(rf"^void baton_{stem}_enter\(", flags=re.M)
    for path in sorted((tree / LOCKS).glob("*.c")):
        if defined.search(path.read_text()):
            return path.relative_to(tree)
    return unclear(stem)


def read_subjects(tree=TREE):
    """All of them, by name: each row of the table, and once more with a try if it has one."""
    table = (tree / TABLE).read_text()
    subjects = {}
    rows = re.findall(r'^ *\.is = \{\.name = "([^"]+)"(.*?)^    \},$', table, flags=re.M | re.S)
    for name, text in rows:
        functions = fields_of(text, name)
        source = source_of(functions["enter"], tree)
        macros = "\n".join(macros_of(table, name, functions))
        subjects[name] = Subject(name, source, macros)
        if "try" in functions:
            arguments = re.search(r"ENTER\(.*_enter\((.*)\)", macros)[1]
            tries = f"#define TRY(lock, seat, i) baton_{functions['try']}_try({arguments})"
            subjects[f"{name}-try"] = Subject(f"{name}-try", source, f"{macros}\n{tries}")
    if not subjects:
        unclear("any lock")
    return subjects
