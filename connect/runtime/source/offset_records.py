"""Encodes and decodes source offsets as Kafka Connect has them in the offsets topic. Pure.

A key is `["connector",{source partition}]`, its value `{offset}`, or a tombstone if the offset was removed. Both are
compact JSON in UTF-8; characters outside the BMP are two upper-case escapes (Jackson, seen on Kafka 4.1). Java looks
keys up by their bytes, so a key that was stored once is written again with the same bytes.
"""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import orjson

from connect.api.errors import ConnectError
from connect.api.records import SourcePosition
from connect.runtime.source.ledger import partition_key

_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")
_TOMBSTONE_S: Final = 86_400.0
"""A tombstone is kept for so long: Kafka's default of delete.retention.ms, after which no new reader gets it either."""
_LEAST_INTEGER: Final = -(2**63)
_LARGEST_INTEGER: Final = 2**64 - 1
"""Whole numbers within these bounds can be read again, see `_is_storable`."""
Primitive = str | int | float | bool | None


def encode_key(connector: str, partition: Mapping[str, object]) -> bytes:
    """Return the record key of a source partition. Raise ConnectError if a member is no JSON primitive."""
    return _compact([connector, _primitives(partition, connector)])


def encode_value(connector: str, offset: Mapping[str, object] | None) -> bytes | None:
    """Return the record value of an offset; None is the tombstone that removes it."""
    return None if offset is None else _compact(_primitives(offset, connector))


def decode_key(key: bytes) -> tuple[str, dict[str, object]] | None:
    """Return the connector and source partition of a record key; None if the key is no such key."""
    try:
        parsed = json.loads(key)
    except (ValueError, RecursionError):
        return None
    match parsed:
        case [str() as connector, dict() as partition] if _is_storable(partition):
            return connector, partition
    return None


class _Stored(NamedTuple):
    key: bytes
    offset: dict[str, object] | None
    """Is None if a tombstone removed it."""
    partition: int
    timestamp_ms: int


class OffsetTable:
    """Holds the newest offset of every source partition of all connectors, read from the topic by one thread.

    A topic that is given more partitions has records of one key in two of them, which are read in any order. Then the
    later timestamp counts; within a partition the later record does. For that tombstones are kept for a day, too.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock that returns monotonic seconds."""
        self._clock = clock
        self._stored: dict[tuple[str, str], _Stored] = {}
        self._tombstones: deque[tuple[float, tuple[str, str], _Stored]] = deque()
        """Holds when each tombstone was read, the oldest first."""

    def apply(self, key: bytes, value: bytes | None, *, partition: int = 0, timestamp_ms: int = 0) -> bool:
        """Take one record. Return False if it holds no offset; the caller then logs where it is."""
        parsed = decode_key(key)
        if parsed is None:
            return False
        connector, source_partition = parsed
        try:
            offset = None if value is None else json.loads(value)
        except (ValueError, RecursionError):
            return False
        if value is not None and (not isinstance(offset, dict) or not _is_storable(offset)):
            return False
        place = (connector, partition_key(source_partition))
        former = self._stored.get(place)
        if former is None or former.partition == partition or former.timestamp_ms <= timestamp_ms:
            stored = self._stored[place] = _Stored(key, offset, partition, timestamp_ms)
            if offset is None:
                self._tombstones.append((self._clock(), place, stored))
        self._forget_tombstones()
        return True

    def _forget_tombstones(self) -> None:
        while self._tombstones and self._clock() - self._tombstones[0][0] > _TOMBSTONE_S:
            _, place, tombstone = self._tombstones.popleft()
            if self._stored.get(place) is tombstone:
                del self._stored[place]

    def get(self, connector: str, partition: Mapping[str, object]) -> dict[str, object] | None:
        """Return the stored offset of a source partition; None when there is none."""
        found = self._stored.get((connector, partition_key(partition)))
        return None if found is None or found.offset is None else dict(found.offset)

    def key(self, connector: str, partition: Mapping[str, object]) -> bytes:
        """Return the key to write: the bytes that are stored already, else newly encoded ones."""
        found = self._stored.get((connector, partition_key(partition)))
        return encode_key(connector, partition) if found is None or found.offset is None else found.key

    def of_connector(self, connector: str) -> list[SourcePosition]:
        """Return all stored positions of a connector."""
        found = [
            (decode_key(stored.key), stored.offset)
            for (name, _), stored in list(self._stored.items())
            if name == connector and stored.offset is not None
        ]
        return [SourcePosition(parsed[1], offset) for parsed, offset in found if parsed is not None]

    def record(self, connector: str, position: SourcePosition) -> tuple[bytes, bytes | None]:
        """Return the record that stores a position."""
        return self.key(connector, position.partition), encode_value(connector, position.offset)


def _is_storable(members: Mapping[str, object]) -> bool:
    """Tell if all values are storable: primitives, of which texts are Unicode and numbers have at most 64 bits.

    REST and the messages of task hosts could not carry other values.
    """
    if not all(isinstance(value, Primitive) for value in members.values()):
        return False
    try:
        orjson.dumps(members)
    except TypeError:
        return False
    return True


def _compact(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _BEYOND_BMP.sub(_surrogates, text).encode()


def _surrogates(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex().upper()}" for i in (0, 2))


def _primitives(members: Mapping[str, object], connector: str) -> dict[str, Primitive]:
    checked: dict[str, Primitive] = {}
    for name, value in members.items():
        if not isinstance(value, Primitive) or not isinstance(name, str):
            raise ConnectError(
                f"Connector {connector}: the offset member {name!r} has type {type(value).__name__}, "
                "but source partitions and offsets hold JSON primitives only.",
                fix="This is a defect of the connector plug-in.",
            )
        if isinstance(value, int) and not _LEAST_INTEGER <= value <= _LARGEST_INTEGER:
            raise ConnectError(
                f"Connector {connector}: the offset member {name!r} is a number of more than 64 bits, which nobody "
                "could read again.",
                fix="This is a defect of the connector plug-in, which keeps such a number as a text.",
            )
        checked[name] = value
    return checked
