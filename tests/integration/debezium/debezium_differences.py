"""Tells how two connectors' records differ, and which differences are known, each with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

Records = Mapping[str, Sequence[Mapping[str, Any]]]
_OF_NOW = {"ts_ms", "ts_us", "ts_ns"}
_OF_SNAPSHOT = {*_OF_NOW, "lsn", "txId", "sequence"}
_OF_ONE_SERVER = {*_OF_SNAPSHOT, "file", "pos", "gtid", "thread", "server_id"}


def differences(java: Records, ours: Records, names: tuple[str, str], *, of_one_log: bool = True) -> set[str]:
    """Return the differences by place.

    `names` are the texts in the prefixes of topics that tell the two connectors apart. `of_one_log` says that both read
    the log of the same server.
    """
    found: set[str] = set()
    renamed: Records = json.loads(json.dumps(ours).replace(names[1], names[0])) if names[1] else ours
    for topic in sorted({*java, *renamed}):
        table = topic.partition(".")[2]
        pairs = zip_longest(java.get(topic, ()), renamed.get(topic, ()))
        for number, (theirs, own) in enumerate(pairs):
            if theirs is None or own is None:
                found.add(f"{table}: {len(java.get(topic, ()))} records, not {len(renamed.get(topic, ()))}")
                break
            found |= {f"{table}{place}" for place in _of_record(theirs, own, number, of_one_log)}
    return found


def _of_record(theirs: Mapping[str, Any], own: Mapping[str, Any], number: int, of_one_log: bool) -> Iterator[str]:
    if theirs["key"] != own["key"]:
        yield f" key: {theirs['key']} not {own['key']}"
    if _headers(theirs) != _headers(own):
        yield f" headers: {_headers(theirs)} not {_headers(own)}"
    if theirs["value"] is None or own["value"] is None:
        if theirs["value"] != own["value"]:
            yield f" record {number}: a tombstone of one alone"
        return
    yield from _of_schema(theirs["value"]["schema"], own["value"]["schema"])
    yield from _of_payload(theirs["value"]["payload"], own["value"]["payload"], number, of_one_log)


def _headers(record: Mapping[str, Any]) -> list[Any]:
    # Each run has another identifier.
    return [[name, None if name.endswith("runId") else value] for name, value in record["headers"]]


def _of_schema(theirs: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*theirs, *own} - {"fields"}):
        if theirs.get(name) != own.get(name):
            yield f" schema {name}: {theirs.get(name)} not {own.get(name)}"
    for one, other in zip_longest(theirs["fields"], own["fields"], fillvalue={}):
        if one == other:
            continue
        if one.get("field") != other.get("field") or one.get("field") not in {"before", "after"}:
            yield f" schema: {one} not {other}"
            continue
        columns = {f["field"]: f for f in one["fields"]}
        own_columns = {f["field"]: f for f in other["fields"]}
        for column in {*columns, *own_columns}:
            if columns.get(column) != own_columns.get(column):
                yield f".{column} schema: {columns.get(column)} not {own_columns.get(column)}"
        if [*columns] != [*own_columns] and {*columns} == {*own_columns}:
            yield " schema: another order of columns"


def _of_payload(theirs: Mapping[str, Any], own: Mapping[str, Any], number: int, of_one_log: bool) -> Iterator[str]:
    if theirs["op"] != own["op"] or theirs["transaction"] != own["transaction"]:
        yield f" record {number}: op {theirs['op']} not {own['op']}"
    is_read = theirs["op"] == "r"
    leave_out = {"version", *(_OF_SNAPSHOT if is_read else ()), *(() if of_one_log else _OF_ONE_SERVER)}
    for name in {*theirs["source"], *own["source"]} - leave_out:
        one, other = theirs["source"].get(name), own["source"].get(name)
        if one != other:
            yield f" source.{name}: {one} not {other} in record {number}"
    for side in ("before", "after"):
        one, other = theirs[side], own[side]
        if (one is None) != (other is None):
            yield f" record {number}: {side} of one alone"
        elif one is not None:
            for column in {*one} & {*other}:
                if one[column] != other[column]:
                    how = "read" if is_read else "streamed" if side == "after" else "before"
                    yield f".{column} {how}: {_shown(one[column])} not {_shown(other[column])}"


def _shown(value: object) -> str:
    return f"{value!r:.200}"


_FAR = "a date beyond Java's, or before our era, is told in another way by each of its two reads"
KNOWN: Mapping[str, str] = MappingProxyType(
    {
        "source.sequence: [null,": "the first transaction behind the first read names no earlier one there",
        "doubles: large source.sequence": "a truncation that is skipped there is named by no later record",
        ".c_name streamed": "a value of type name is null there as soon as it streams",
        ".c_time_array": "a time in an array loses its microseconds there",
        ".c_date_far": _FAR,
        ".d_infinity": "the default infinity overflows there",
    }
)
"""Maps places that differ, by the text behind the table's name, to the reason."""


def unexplained(places: Iterable[str]) -> list[str]:
    """Return the differences that have no known reason."""
    return sorted(place for place in places if not any(known in place for known in KNOWN))


def applies(known: str, places: Iterable[str]) -> bool:
    """Tell if something differs for this reason."""
    return any(known in place for place in places)
