"""Runs GenMC on a lock, and says what it has found."""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

from mutation import TREE, Trouble

PLACE = pathlib.Path("tests/second-opinion")
BACKEND = "genmc_reg.h"
MODELS = {"rc11": "-rc11", "imm": "-imm"}
# Waits are written out in the backend, so GenMC need not look for loops that wait. It explores the
# modification order too, without which it cannot tell who waits for ever. Unless the checks are
# full, it counts executions that the model forbids because of seq_cst.
OPTIONS = ["-mo", "-check-liveness", "-disable-spin-assume", "-check-consistency-type=full"]
# When to check: the result is the same. Locks of reads and writes have so many seq_cst accesses
# that most executions are forbidden soon; with read-modify-writes few are.
AT_EACH_STEP = "-check-consistency-point=step"
AT_THE_END = "-check-consistency-point=exec"

# What GenMC calls it, and what baton-check does.
PROPERTIES = {
    "Non-Atomic race": "mutual exclusion",
    "Safety violation": "mutual exclusion",
    "Liveness violation": "deadlock freedom",
    "Attempt to access non-allocated memory": "memory safety",
    "Attempt to read from uninitialized memory": "memory safety",
}


@dataclasses.dataclass(frozen=True)
class Opinion:
    """What a checker says of one bound."""

    violated: str  # a property; "" if none is
    executions: int = 0  # complete ones
    blocked: int = 0  # those in which somebody still waited

    def __str__(self):
        if self.violated:
            return f"{self.violated} VIOLATED"
        return f"fine, {self.executions:g} executions"


def find_genmc():
    """The path of GenMC, or None if it is not installed."""
    return shutil.which(os.environ.get("GENMC") or "genmc")


def defined_macros(subject, source, processes, passages):
    return (
        f'#define BATON_REG_BACKEND "{BACKEND}"\n#define SOURCE "{source}"\n'
        f"#define PROCESSES {processes}\n#define PASSAGES {passages}\n{subject.macros}\n"
    )


def opinion_of(output, code):
    """What GenMC has printed, as an opinion."""
    found = re.search(r"^Error detected: (.*?)!?$", output, flags=re.M)
    if found:
        if found[1] not in PROPERTIES:
            raise Trouble(f"GenMC found something else than what a lock promises:\n{output}")
        return Opinion(PROPERTIES[found[1]])
    complete = re.search(r"^Number of complete executions explored: (\d+)", output, flags=re.M)
    blocked = re.search(r"^Number of blocked executions seen: (\d+)", output, flags=re.M)
    if code != 0 or complete is None:
        raise Trouble(f"GenMC exits with code {code}:\n{output}")
    return Opinion("", int(complete[1]), int(blocked[1]) if blocked else 0)


class GenMC:
    """One run at a time: GenMC compiles into a file in /tmp that always has the same name."""

    def __init__(self, path, scratch, seconds, tree=TREE):
        self.path = path
        self.seconds = seconds  # for one run
        self.scratch = pathlib.Path(scratch)
        self.tree = tree

    def explore(self, model, options, program, flags):
        """The opinion on a program; None if it takes too long."""
        words = [self.path, MODELS[model], *OPTIONS, *options, "--", *flags]
        try:
            done = subprocess.run(
                [*words, str(self.tree / PLACE / program)],
                cwd=self.scratch,
                capture_output=True,
                text=True,
                timeout=self.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        return opinion_of(done.stdout + done.stderr, done.returncode)

    def permits(self, model, what):
        """Whether a program of litmus.c can fail."""
        return self.explore(model, [AT_THE_END], "litmus.c", [f"-D{what}"]).violated != ""

    def run(self, subject, model, processes, passages, text=None):
        """The opinion on a lock; `text` takes the place of its source."""
        source = self.tree / subject.source
        if text is not None:
            source = self.scratch / subject.source.name
            source.write_text(text)
        macros = self.scratch / "macros.h"
        macros.write_text(defined_macros(subject, source, processes, passages))
        places = [self.tree / "include", self.tree / "src/lock", self.tree / PLACE]
        flags = [*(f"-I{place}" for place in places), "-include", str(macros)]
        modifies = re.search(r"\breg_(swap|cas|fetch_add)\b", source.read_text())
        return self.explore(model, [AT_THE_END if modifies else AT_EACH_STEP], "passages.c", flags)
