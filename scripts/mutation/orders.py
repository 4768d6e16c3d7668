"""Generated mutants: every memory order of the algorithms, weakened by one step.

One of the checks in CHECKS must catch it. A weakening that no check catches means that the order is
stronger than it needs to be: weaken it for good, or write the reason why it stays into
tests/mutants/justified.txt.
"""
import re

from mutation import TREE, Mutant, Trouble

ROOMS = [f"src/{room}" for room in "reg lock collect wdme wme consensus replica".split()]

JUSTIFIED = "tests/mutants/justified.txt"

# ---- the checks of which one must catch a weakened order, from cheap to dear ----


def bounds(subjects, *sizes):
    """`baton-check SUBJECT -n N -p P -m c11` for each size "NxP", and there for each subject."""
    return [
        f"baton-check {subject} -n {size[0]} -p {size[2]} -m c11"
        for size in sizes
        for subject in subjects.split()
    ]


def programs(sizes, memory="c11"):
    """The same for programs, "NAME xN"."""
    return [f"baton-check {size.replace(' x', ' -n ')} -m {memory}" for size in sizes]


CHECKS = {
    "wait.c": programs(["park x2", "park x3", "park-gather x3", "park-lock x2", "park-permits x3"]),
    "tas.c": bounds("tas tas-try", "2x2", "3x1", "2x3", "3x2"),
    "peterson.c": bounds("peterson", "2x2", "2x3"),
    "filter.c": bounds("filter filter-fme1 filter-fme2", "2x2", "3x1", "2x3")
    + bounds("filter filter-fme1", "3x2"),
    "tournament.c": bounds("tournament tournament-fme", "2x2", "3x1", "2x3", "4x1", "3x2"),
    "mcs.c": bounds("mcs mcs-try", "2x2", "3x1", "2x3", "4x1", "3x2"),
    "dt1.c": bounds("dt1 dt1-try", "2x2", "3x1", "2x3") + bounds("dt1", "2x4"),
    "dt2.c": bounds("dt2 dt2-twice", "2x2", "3x1") + bounds("dt2", "2x3", "2x4", "4x1"),
    "splitter.c": programs(["splitter x2", "splitter x3", "splitter x4"]),
    "array.c": programs(["array x2", "news x2", "wide x2"]),
    "tree.c": programs(["tree x2", "tree-pair x2", "tree-heir x2"]),
    "matrix.c": programs(["matrix x2", "matrix-pair x2", "matrix-heir x2"]),
    "first_store.c": programs(["array x2", "tree x2", "tree-pair x2", "tree-heir x2"]),
    "value.c": programs(["array x2", "news x2", "wide-news x2", "wide-seats x3"])
    + programs(["wide x2", "wide-two x3"]),
    "object.c": programs(["array x2", "news x2", "array-seat x2", "tree-seat x2"])
    + programs(["wide-seat x3", "wide x2"]),
}

# Files with memory orders that are no algorithms: the explorer does not run them.
UNCHECKED = {"set.c"}
# Nor does it see accesses that do not go through baton/reg.h: those of headers.
UNSEEN = r"\batomic_\w+\([^;]*;"

ORDER = r"\b(?:memory_order_)?(acquire|release|acq_rel|seq_cst)\b"
WEAKER = {
    "acquire": ["relaxed"],
    "release": ["relaxed"],
    "acq_rel": ["acquire", "release"],
    "seq_cst": ["acq_rel"],  # of read-modify-writes and fences
}
WEAKER_READ = {**WEAKER, "seq_cst": ["acquire"]}
WEAKER_WRITE = {**WEAKER, "seq_cst": ["release"]}


# ---- weakening ----


def blanked(pattern, text):
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def without_comments(text):
    """The same text, comments and strings blanked out, every character in its place."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
    return blanked(pattern, text)


def call_end(text, opening):
    depth = 0
    for i in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise Trouble("parentheses do not match")


def statement_around(code, start, end):
    """The whole statement on one line, its function in front."""
    begin = max(code.rfind(c, 0, start) for c in ";{}") + 1
    stop = min(i for i in (code.find(c, end) for c in ";{") if i >= 0)
    function = re.findall(r"^\w[^\n;]*?(\w+)\([^;{]*\)\n\{", code[:start], flags=re.M)[-1]
    return f"{function} " + " ".join(code[begin:stop].split())


def first_argument(code, start, end):
    """Of the call whose arguments lie between start and end."""
    depth = 0
    for i in range(start, end):
        depth += {"(": 1, ")": -1}.get(code[i], 0)
        if code[i] == "," and depth == 0:
            return code[start:i]
    return ""  # a fence has an order only


def weakened_orders(source, text, code):
    found = 0
    file = source.name
    for call in re.finditer(r"\b(reg|futex)_(read|write|fence|swap|cas|fetch_add)\s*\(", code):
        end = call_end(code, call.end() - 1)
        order = re.compile(ORDER + r"\s*$").search(code, call.end(), end)
        if order is None:
            continue  # relaxed
        found += 1
        word, kind = call.groups()
        steps = {"read": WEAKER_READ, "write": WEAKER_WRITE}.get(kind, WEAKER)
        line = code.count("\n", 0, order.start()) + 1
        access = f"{word}_{kind}({first_argument(code, call.end(), end)})"
        for weaker in steps[order.group(1)]:
            weakening = f"{order.group(1)}->{weaker}"
            yield Mutant(
                f"{file}:{line} {access} {weakening}",
                source,
                text[: order.start(1)] + weaker + text[order.end(1) :],
                CHECKS[file],
                all_must_catch=False,
                call=" ".join(code[call.start() : end + 1].split()),
                statement=statement_around(code, call.start(), end),
                weakening=weakening,
            )
    missed = len(re.findall(ORDER, code)) - found
    if missed != 0:
        raise Trouble(f"{file}: {missed} memory orders are not the last argument of a register access")


def generated_mutants(tree=TREE):
    for room in ROOMS:
        if not (tree / room).is_dir():
            raise Trouble(f"there is no {room} any more: correct ROOMS of scripts/mutation/orders.py")
    for path in [p for room in ROOMS for p in sorted((tree / room).glob("*.c"))]:
        text = path.read_text()
        code = blanked(UNSEEN, without_comments(text))
        if path.name in UNCHECKED or not re.search(ORDER, code):
            continue
        if path.name not in CHECKS:
            raise Trouble(
                f"{path.relative_to(tree)} is new: say in CHECKS of scripts/mutation/orders.py"
                " what checks it"
            )
        yield from weakened_orders(path.relative_to(tree), text, code)


def justify(mutants, tree=TREE):
    """Marks the mutants that tests/mutants/justified.txt lists; the file says how."""
    for line in (tree / JUSTIFIED).read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(":", 3)]
        if len(parts) < 4 or not parts[3]:
            raise Trouble(f"justified.txt: not 'file:statement:weakening: reason': {line}")
        file, statement, weakening, reason = parts
        matches = [
            m
            for m in mutants
            if m.source.name == file
            and m.weakening == weakening
            and statement in m.statement
            and (m.call in statement or statement in m.call)
        ]
        if len(matches) != 1:
            raise Trouble(f"justified.txt: fits {len(matches)} mutants instead of one: {line}")
        matches[0].reason = reason
