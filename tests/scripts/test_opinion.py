"""What scripts/second-opinion makes of the sources, of GenMC's words, and of the document."""
import os
import subprocess

import pytest

from mutation import TREE, Trouble
from opinion import figures, genmc, subjects


def test_every_row_of_the_table_is_a_subject():
    found = subjects.read_subjects()
    listed = (TREE / subjects.TABLE).read_text().count(".is = {.name")
    assert len([name for name in found if not name.endswith("-try")]) == listed > 0
    assert found["tas-try"].source == found["tas"].source == subjects.LOCKS / "tas.c"
    assert "#define TRY(lock, seat, i) baton_mcs_try(lock, seat)" in found["mcs-try"].macros
    filter_fme1 = found["filter-fme1"].macros
    assert "#define ENTER(lock, seat, i) baton_filter_fme1_enter(lock, i)" in filter_fme1
    assert "#define BYTES BATON_FILTER_SIZE(PROCESSES)" in filter_fme1
    assert "#define SEAT baton_dt2_participant" in found["dt2"].macros


def test_no_violation():
    said = "No errors were detected.\nNumber of complete executions explored: 18\n"
    assert genmc.opinion_of(said, 0) == genmc.Opinion("", 18, 0)
    said += "Number of blocked executions seen: 6\n"
    assert genmc.opinion_of(said, 0) == genmc.Opinion("", 18, 6)


@pytest.mark.parametrize("error, violated", genmc.PROPERTIES.items())
def test_a_violation(error, violated):
    said = f"Error detected: {error}!\nEvent (1, 2)\nNumber of complete executions explored: 3\n"
    assert genmc.opinion_of(said, 42).violated == violated


@pytest.mark.parametrize(
    "said, code",
    [
        ("", 5),
        ("Number of complete executions explored: 1\n", 139),
        ("Error detected: Double-free error!", 42),
    ],
)
def test_other_trouble_is_no_opinion(said, code):
    with pytest.raises(Trouble):
        genmc.opinion_of(said, code)


def test_the_document_has_figures_of_every_lock():
    known = figures.read_figures()
    assert {name for name, _ in known} == set(subjects.read_subjects())
    assert known["dt1", "2x1"][1:] == ["18", "18"]


def test_a_cell():
    assert figures.cell_of(genmc.Opinion("", 18)) == "18"
    assert figures.cell_of(genmc.Opinion("deadlock freedom")) == "deadlock freedom violated"
    assert figures.cell_of(None) == figures.TOO_LONG


def test_rows_that_differ():
    assert not figures.differ(["1", "2", "2"], ["1", "2", "2"])
    assert figures.differ(["1", "2", "3"], ["1", "2", "2"])
    assert not figures.differ(["1", "2", figures.TOO_LONG], ["1", "2", "2"])


def test_without_genmc_it_says_how_to_get_it():
    environment = {**os.environ, "GENMC": "/nowhere/genmc"}
    command = [TREE / "scripts/second-opinion"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 69
    assert done.stderr.startswith("second-opinion: GenMC is not installed: build v0.9")
