"""Finds the parts in which the records of two runs differ: key, fields of the value, headers. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from connect.kafka.raw import RawBatch


class Record(NamedTuple):
    """Holds a record as a reader of Kafka gets it."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def records_of(batches: Iterable[RawBatch], prefix: str) -> dict[str, list[Record]]:
    """Return the records by partition, as `topic-0`, in order.

    `prefix` stands before the names of the run's topics, and is removed.
    """
    found: dict[str, list[Record]] = {}
    for raw in batches:
        keys = [None] * len(raw) if raw.keys is None else raw.keys.to_pylist()
        headers = [()] * len(raw) if raw.headers is None else [tuple(one) for one in raw.headers]
        place = f"{raw.topic.removeprefix(prefix)}-{raw.partition or 0}"
        rows = zip(keys, raw.values.to_pylist(), headers, strict=True)
        found.setdefault(place, []).extend(Record(*row) for row in rows)
    return found


def differences(left: Mapping[str, list[Record]], right: Mapping[str, list[Record]]) -> Counter[str]:
    """Count the records that differ, by the part that differs, such as `value.price`.

    Records at the same place of a partition are compared.
    """
    found: Counter[str] = Counter()
    for place in {*left, *right}:
        for one, other in zip_longest(left.get(place, ()), right.get(place, ())):
            if one is None or other is None:
                found["there on one side alone"] += 1
                continue
            found.update(
                part for name in ("key", "value") for part in _parts(name, getattr(one, name), getattr(other, name))
            )
            found.update(["headers"] if one.headers != other.headers else [])
    return found


def _parts(name: str, one: bytes | None, other: bytes | None) -> Iterator[str]:
    if one == other:
        return
    try:
        parsed = json.loads(one or b"null"), json.loads(other or b"null")
    except ValueError:
        yield f"{name} (bytes)"
        return
    inside = sorted(set(_paths(name, *parsed)))
    yield from inside or [f"{name} (another text of the same JSON)"]


def _paths(path: str, one: Any, other: Any) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for member in {*one, *other}:
            yield from _paths(f"{path}.{member}", one.get(member), other.get(member))
    elif one != other or type(one) is not type(other):
        yield path
