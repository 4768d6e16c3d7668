"""A small checker of histories of Jepsen, by their definition alone: it knows nothing of Baton.

    complaints(lines)    what is wrong with a history of list-append or of a counter, in words

An operation is a pair of lines of one process, `invoke` and then `ok`, `fail` or `info`. What is
`ok` has happened between the two, what is `fail` has not, what is `info` or open may have at any
time after its `invoke`.
"""

import collections
import json
import math

Operation = collections.namedtuple("Operation", "f value result type begin end")


def pair(lines):
    """The operations of a history, and what is wrong with its form."""
    operations, wrong, running, gone, last = [], [], {}, set(), -1
    for event in map(json.loads, lines):
        index, process = event["index"], event["process"]
        if index <= last:
            wrong.append(f"line {index} comes after line {last}")
        last = index
        if event["type"] == "invoke":
            if process in running or process in gone:
                wrong.append(f"line {index}: process {process} has not ended, or is gone")
            running[process] = event
            continue
        begin = running.pop(process, None)
        if begin is None or begin["f"] != event["f"]:
            wrong.append(f"line {index} ends nothing")
            continue
        if event["type"] == "info":
            gone.add(process)
        operations.append(Operation(event["f"], begin["value"], event["value"], event["type"],
                                    begin["index"], index))
    for begin in running.values():
        operations.append(
            Operation(begin["f"], begin["value"], None, "info", begin["index"], math.inf))
    return operations, wrong


# ---- lists: each element is appended once, each read sees the whole list ----


def appends(operation):
    return [(key, element) for f, key, element in operation.value if f == "append"]


def reads(operation):
    return [(key, seen) for f, key, seen in operation.result if f == "r"]


def check_read(operation, key, seen, operations):
    for other in operations:
        for _, element in (pair for pair in appends(other) if pair[0] == key):
            there = element in seen
            if there and other.type == "fail":
                yield f"line {operation.end} reads {element}, which was not appended"
            if there and other.begin > operation.end:
                yield f"line {operation.end} reads {element} before it is appended"
            if not there and other.type == "ok" and other.end < operation.begin:
                yield f"line {operation.end} does not read {element}, appended before"
            if not there and other is operation:
                yield f"line {operation.end} does not read {element}, which it has appended"
    known = {element for other in operations for k, element in appends(other) if k == key}
    for element in seen:
        if element not in known:
            yield f"line {operation.end} reads {element}, which nobody has appended"
    if len(set(seen)) < len(seen):
        yield f"line {operation.end} reads an element twice"


def check_lists(operations):
    done = [operation for operation in operations if operation.type == "ok"]
    longest = {}
    for operation in done:
        for key, seen in reads(operation):
            yield from check_read(operation, key, seen, operations)
            if len(seen) > len(longest.get(key, [])):
                longest[key] = seen
    for operation in done:
        for key, seen in reads(operation):
            if seen != longest.get(key, [])[:len(seen)]:
                yield f"line {operation.end} reads another order"
            for other in done:
                for _, older in (pair for pair in reads(other) if pair[0] == key):
                    if other.end < operation.begin and len(older) > len(seen):
                        yield f"line {operation.end} reads less than line {other.end} before it"


# ---- counters: what is read is between what must and what can have been added ----


def check_counter(operations):
    adds = [operation for operation in operations if operation.f == "add"]
    for operation in operations:
        if operation.f != "read" or operation.type != "ok":
            continue
        least = sum(a.value for a in adds if a.type == "ok" and a.end < operation.begin)
        most = sum(a.value for a in adds if a.type != "fail" and a.begin < operation.end)
        if not least <= operation.result <= most:
            yield f"line {operation.end} reads {operation.result}, not {least} to {most}"


def complaints(lines):
    operations, wrong = pair(lines)
    lists = any(operation.f == "txn" for operation in operations)
    return wrong + list((check_lists if lists else check_counter)(operations))
