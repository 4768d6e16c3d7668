"""Builds programs with one source file changed, in a copy of the tree.

Nothing here knows which program is made of what: ninja is asked for every command of the build. A
mutant is built by those commands that lie between its source and the program, in the same words
but for the files that depend on the source: these come from, and go to, a directory of its own. So
many mutants can be built side by side, and what is not mutated is built once.
"""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

from mutation import TREE, Trouble

# A mutant may leave a variable unused. Debug information and objects for -flto only cost time.
QUICKLY = " -w -g0 -fno-lto -fdiagnostics-color=never"


def run(command, directory):
    """Runs a list of words, or a line for the shell; it must succeed."""
    line = isinstance(command, str)
    done = subprocess.run(
        command, cwd=directory, shell=line, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        shown = command if line else shlex.join(command)
        raise Trouble(f"{shown}\n{done.stdout}{done.stderr}")
    return done.stdout


@dataclasses.dataclass
class Step:
    """A command of the build."""

    command: str
    output: str
    words: list  # of the command: the files that it reads are among them


def steps_of(build):
    """Every command of a build, by what it makes."""
    listed = json.loads(run(["ninja", "-t", "compdb", "-x"], build))
    return {e["output"]: Step(e["command"], e["output"], e["command"].split()) for e in listed}


def replace_words(command, replaced):
    return re.sub(r"\S+", lambda word: replaced.get(word[0], word[0]), command)


def not_needed(tree):
    """What is not worth copying: history and other builds."""

    def of(directory, names):
        if pathlib.Path(directory) != tree:
            return []
        return [name for name in names if name == ".git" or name.startswith("build-")]

    return of


class Workshop:
    """A copy of the sources and of what is built."""

    def __init__(self, directory, programs, tree=TREE):
        if not (tree / "build/build.ninja").exists():
            run(["meson", "setup", "build"], tree)
        run(["ninja", "-C", "build", "build.ninja"], tree)  # as meson.build is now
        self.steps = steps_of(tree / "build")
        run(["ninja", "-C", "build", *(self.place_of(program) for program in programs)], tree)
        # From here on the tree may be worked on: all paths below are relative, and into the copy.
        self.tree = pathlib.Path(directory) / "tree"
        self.build = self.tree / "build"
        shutil.copytree(tree, self.tree, ignore=not_needed(tree), symlinks=True)

    def place_of(self, program):
        """Where it is, in the directory of a build."""
        places = [place for place in self.steps if os.path.basename(place) == program]
        if len(places) != 1:
            raise Trouble(f"the build makes {len(places)} programs called {program}, not one")
        return places[0]

    def outputs_between(self, source, target):
        """What must be made anew, in that order, if a source has changed; nothing if it is not in it."""
        done = {}  # output -> does it depend on the source?

        def visit(output):
            if output not in done:
                done[output] = False
                step = self.steps[output]
                inputs = [word for word in step.words if word in self.steps and word != output]
                depends = [visit(word) for word in inputs]  # all of them: each may be needed
                done[output] = any(depends) or source in step.words
                order.append(output)
            return done[output]

        order = []
        visit(target)
        return [output for output in order if done[output]]

    @contextlib.contextmanager
    def beside(self, source, text):
        """A file with that text in the directory of the source, where an #include looks first."""
        directory = (self.tree / source).parent
        with tempfile.NamedTemporaryFile("w", dir=directory, prefix="mutant.", suffix=".c") as file:
            file.write(text)
            file.flush()
            yield self.seen_from_build(pathlib.Path(file.name))

    def seen_from_build(self, path):
        return os.path.relpath(self.tree / path, self.build)

    def objects_of(self, source, programs):
        """The objects that are made of a source for programs, or at all if they have none of it."""
        source = self.seen_from_build(source)
        needed = [o for p in programs for o in self.outputs_between(source, self.place_of(p))]
        return [o for o in needed or self.steps if source in self.steps[o].words]

    def assembly(self, source, text, output):
        """What the compiler makes of a text in the place of a source, for one of its objects."""
        with self.beside(source, text) as mutated:
            source = self.seen_from_build(source)
            replaced = {source: mutated, output: "-", output + ".d": "/dev/null", "-c": "-S"}
            command = replace_words(self.steps[output].command, replaced) + QUICKLY
            made = run(f"{command} -fmacro-prefix-map={mutated}={source}", self.build)
        return "".join(line for line in made.splitlines(True) if not line.startswith("\t.file"))

    def make_program(self, source, mutated, program, directory):
        """Builds one program with another file in the place of a source."""
        outputs = self.outputs_between(source, self.place_of(program))
        if not outputs:
            raise Trouble(f"{source.removeprefix('../')} is not in {program}, which is to catch it")
        replaced = {source: mutated}
        for output in outputs:
            replaced[output] = f"{directory.name}/{output}"
            replaced[output + ".d"] = f"{directory.name}/{output}.d"
        for output in outputs:
            if (directory / output).exists():
                continue  # made for another program already
            (directory / output).parent.mkdir(parents=True, exist_ok=True)
            command = replace_words(self.steps[output].command, replaced)
            run(command + QUICKLY if output.endswith(".o") else command, self.build)

    def make(self, source, text, programs):
        """Builds programs with the text in the place of a source.

        Returns the directory that they are in, laid out like a build. Throw it away after use.
        """
        directory = pathlib.Path(tempfile.mkdtemp(dir=self.build, prefix="mutant."))
        try:
            with self.beside(source, text) as mutated:
                for program in programs:
                    self.make_program(self.seen_from_build(source), mutated, program, directory)
        except BaseException:
            shutil.rmtree(directory)
            raise
        return directory

    def complete(self, directory):
        """Adds everything that is not mutated to a directory of programs, so that it can replace a build."""
        for place in [self.build, self.build / "tests", self.build / "tests/e2e"]:
            into = directory / place.relative_to(self.build)
            into.mkdir(parents=True, exist_ok=True)
            for path in place.iterdir():
                if path.name.startswith("mutant.") or path.is_dir() or (into / path.name).exists():
                    continue
                # The names of a shared library lead to the mutated one, if there is one.
                target = os.readlink(path) if path.is_symlink() else path
                (into / path.name).symlink_to(target)
