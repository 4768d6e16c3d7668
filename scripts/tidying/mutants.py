"""Mutants: whether they still fit the sources, and whether each source has tests."""
import pathlib
import re

from mutation import Trouble, lists, orders, rooms
from tidying import Complaint


def complaint_of(trouble, path):
    """Trouble with a list says itself where it is."""
    first = str(trouble).splitlines()[0]
    place = re.match(r"(\S+?):(\d+): (.*)", first)
    return Complaint(place[1], int(place[2]), place[3]) if place else Complaint(path, 1, first)


def check_lists(tree):
    entries = []
    for path in tree.matching(f"{lists.LISTS}/*.mutants"):
        try:
            entries += lists.read_list(pathlib.Path(path), tree.root)
        except Trouble as trouble:
            yield complaint_of(trouble, path)
    for entry in entries:
        try:
            lists.apply(entry, tree.text(str(entry.source)))
        except Trouble as trouble:
            yield complaint_of(trouble, str(entry.list))
    try:
        lists.require_names(entries)
    except Trouble as trouble:
        yield complaint_of(trouble, "")


def check_justified(tree):
    """Whether each line of justified.txt is about one memory order."""
    try:
        orders.justify(list(orders.generated_mutants(tree.root)), tree.root)
    except Trouble as trouble:
        yield complaint_of(trouble, orders.JUSTIFIED)


def check_rooms(tree):
    """Whether each source has tests for mutants by chance, and each test is there."""
    complaints = {}
    for path in tree.matching("src/*.c"):
        try:
            rooms.tests_of(pathlib.Path(path), tree.root)
        except Trouble as trouble:
            complaints.setdefault(str(trouble), complaint_of(trouble, path))
    yield from complaints.values()
