"""The house: which room may include what, and which names leave it.

A room is a folder that makes one library (see ARCHITECTURE.md). These tests read the build and the
drawing, compile what must not compile, and link programs that have names of their own.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BATON_BUILD", ROOT / "build")).resolve()
ARCHIVES = ["libbaton.a", "libbaton-check.a", "libbaton-replica.a"]
SUBDIR = re.compile(r"^subdir\('((?:src/|bench|check|sim)[^']*)'\)$", re.M)
DRAWN = re.compile(r"^(src/\w+|bench|check|sim)/ ", re.M)


def rooms():
    """Folders of rooms, in the order in which the build makes them."""
    return SUBDIR.findall((ROOT / "meson.build").read_text())


def stands_on(room):
    """The rooms that a room's meson.build names, for all libraries that it makes."""
    known = {pathlib.PurePath(other).name: other for other in rooms()}
    known["judge"] = "sim"
    known["checked"] = "check"
    text = (ROOT / room / "meson.build").read_text()
    names = set()
    for listed in re.findall(r"dependencies: (\[[^]]*\]|\w+)", text, re.S):
        names |= {known[word] for word in re.findall(r"\w+", listed) if word in known}
    return names - {room}


def flags_of(room):
    """How the compiler is told where a source of that room finds headers."""
    library = {"check": "checked"}.get(room, pathlib.PurePath(room).name)
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        if f" -o {room}/lib{library}.a.p/" in entry["command"]:
            return [word for word in shlex.split(entry["command"]) if word.startswith("-I")]
    raise AssertionError(f"nothing in {room} is compiled")


def found_from(room, names):
    """Those headers that a source of that room can include."""
    asks = "".join(f'#if __has_include("{name}")\n{name}\n#endif\n' for name in names)
    done = subprocess.run(["cc", *flags_of(room), "-nostdinc", "-E", "-P", "-x", "c", "-"], cwd=BUILD,
                          input=asks, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def headers(room):
    return sorted(path.name for path in (ROOT / room).glob("*.h") if path.name != "internal.h")


def test_the_drawing_is_the_build():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert DRAWN.findall(text) == rooms()


@pytest.mark.parametrize("room", rooms())
def test_a_room_stands_on_rooms_above_it(room):
    above = rooms()[: rooms().index(room)]
    assert stands_on(room) <= set(above)


@pytest.mark.parametrize("room", rooms())
def test_a_room_includes_what_it_names_and_nothing_else(room):
    """Every header of the house, once: it is found if and only if its room is named."""
    everything = {header for other in rooms() for header in headers(other)}
    allowed = {header for other in stands_on(room) | {room} for header in headers(other)}
    assert found_from(room, sorted(everything)) == allowed


def test_no_two_headers_have_one_name():
    """But for internal.h, which no other room includes: it is found in one's own room first."""
    names = [header for room in rooms() for header in headers(room)]
    assert sorted(name for name in names if names.count(name) > 1) == []


def test_no_include_climbs():
    climbing = subprocess.run(
        ["git", "grep", "-nE", r'#include "\.\.?/', "--", "*.c", "*.h"],
        cwd=ROOT, capture_output=True, text=True, check=False)
    assert climbing.stdout == ""


def test_a_forbidden_include_fails_the_build(tmp_path):
    """The same by the build itself: a pure room that wants a socket is not built."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("build*", ".git", "corpus*"))
    subprocess.run(["meson", "setup", "build"], cwd=tree, capture_output=True, check=True)
    library = ["ninja", "-C", "build", "src/wme/libwme.a"]
    stub = tree / "src/wme/stub.c"
    good = stub.read_text()
    stub.write_text('#include "listen.h"\n' + good)
    done = subprocess.run(library, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "listen.h: No such file" in done.stdout
    stub.write_text(good)
    subprocess.run(library, cwd=tree, capture_output=True, check=True)


@pytest.mark.parametrize("archive", ARCHIVES)
def test_archives_give_away_public_names_only(archive):
    listed = subprocess.run(
        ["nm", "--extern-only", "--defined-only", "--format=posix", BUILD / archive],
        capture_output=True, text=True, check=True).stdout
    names = {line.split()[0] for line in listed.splitlines() if line and not line.endswith(":")}
    assert len(names) > 5
    assert [name for name in names if not name.startswith("baton_")] == []


OWN_NAMES = r"""
#include "baton/collect.h"
#include <stdio.h>
#include <stdlib.h>

int walk, first_store, move, pack, clock_now, resp_parse, draw, log_line, list_remove;

int main(void)
{
    baton_collect_spec spec = {.object = "tree", .participants = 4, .value_bytes = sizeof(baton_word),
                               .collectors = 1};
    size_t bytes;
    baton_collect *object;
    if (baton_collect_size(&spec, &bytes) != BATON_OK)
        return 1;
    void *memory = aligned_alloc(BATON_CACHE_LINE, bytes);
    baton_storer me;
    baton_collector reader;
    if (baton_collect_create(&spec, memory, bytes, &object) != BATON_OK ||
        baton_storer_join(object, 1, &me) != BATON_OK ||
        baton_collector_join(object, 1, &reader) != BATON_OK)
        return 2;
    baton_word value = 17, values[4];
    uint32_t ids[4];
    baton_store(&me, &value);
    int found = baton_collect_view(&reader, ids, values);
    printf("%d %u\n", found, (unsigned)values[0]);
    return walk + first_store + move + pack + clock_now + resp_parse + draw + log_line + list_remove;
}
"""


def test_a_program_may_have_names_of_its_own(tmp_path):
    """Seen once: a program's own `walk` took the place of the library's, and nobody was stored."""
    source, program = tmp_path / "own.c", tmp_path / "own"
    source.write_text(OWN_NAMES)
    subprocess.run(["cc", *sanitizers(), "-pthread", "-I", ROOT / "include", source,
                    BUILD / "libbaton.a", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == "1 17\n"


def sanitizers():
    first = json.loads((BUILD / "compile_commands.json").read_text())[0]["command"]
    return [word for word in shlex.split(first) if word.startswith("-fsanitize")]
