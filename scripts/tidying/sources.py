"""Sources in C: their includes, how long functions are, and what headers declare."""
import pathlib
import re

from mutation.functions import functions_of
from tidying import Complaint
from tidying.declarations import declared

MOST_LINES = 70  # of a function
INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]+(["<])([^">]+)[">]')
# cmocka.h wants other headers before it, and who includes unit.h wants to know nothing of that.
OUT_OF_ORDER = {"tests/unit/unit.h"}
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


# ---- includes ----


def includes_of(tree, path):
    """(line, bracket, header) of each #include."""
    for number, line in tree.lines(path):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1], match[2]


def unordered(path, includes):
    """The own header, others of the project, then those of the system; sorted between blank lines."""
    own = pathlib.PurePath(path).with_suffix(".h").name
    before = None
    for at, (number, bracket, header) in enumerate(includes):
        if path.endswith(".c") and pathlib.PurePath(header).name == own and bracket == '"':
            if at > 0 and header == own:
                yield Complaint(path, number, f'include "{own}" before all others, it is its own')
            continue
        if before:
            line, bracket_before, header_before = before
            if bracket == '"' and bracket_before == "<":
                yield Complaint(path, number, f'include "{header}" before the headers in <>')
            elif line + 1 == number and bracket == bracket_before:
                if header.lower() < header_before.lower():
                    yield Complaint(path, number, f"include {header} before {header_before}")
        before = number, bracket, header


def check_includes(tree):
    for path in tree.matching("*.c", "*.h"):
        includes = list(includes_of(tree, path))
        for number, _, header in includes:
            if ".." in pathlib.PurePath(header).parts:
                what = f'include "{header}" by a path of the build, without ../'
                yield Complaint(path, number, what)
        if path not in OUT_OF_ORDER:
            yield from unordered(path, includes)


# ---- functions ----


def check_functions(tree):
    for path in tree.matching("*.c"):
        text = tree.text(path)
        for function in functions_of(text):
            start, end = function.span(function.head, function.last)
            first = text.count("\n", 0, start) + 1
            lines = text.count("\n", start, end) + 1
            if lines > MOST_LINES:
                what = f"{function.name} has {lines} lines; split it, {MOST_LINES} are enough"
                yield Complaint(path, first, what)


# ---- declarations ----


def has_prefix(name):
    return name.lower().startswith("baton_")


def is_vocabulary(item):
    """Short names for algorithms, as in `#define take baton_take`."""
    return item.kind == "macro" and item.value in (f"baton_{item.name}", f"memory_order_{item.name}")


def check_public_names(tree):
    for path in tree.matching("include/baton/*.h"):
        for item in declared(tree.text(path)):
            if not has_prefix(item.name) and not is_vocabulary(item):
                what = f"the {item.kind} {item.name} is public; let its name begin with baton_"
                yield Complaint(path, item.line, what)


def check_dead_declarations(tree):
    """Functions that a header offers to other files, of which none uses them."""
    users = {}
    for path in tree.matching("*.c", "*.h"):
        for word in set(WORD.findall(tree.text(path))):
            users.setdefault(word, set()).add(path)
    for path in tree.matching("src/*.h", "check/*.h", "sim/*.h", "bench/*.h"):
        for item in declared(tree.text(path)):
            if item.kind != "function":
                continue
            if len(re.findall(rf"\b{item.name}\b", tree.text(path))) > 1:
                continue  # a macro or an inline function of the header uses it
            others = sorted(users[item.name] - {path})
            if not others:
                yield Complaint(path, item.line, f"nobody uses {item.name}; delete it")
            elif len(others) == 1 and not item.is_static:
                what = f"only {others[0]} uses {item.name}; make it static there"
                yield Complaint(path, item.line, what)
