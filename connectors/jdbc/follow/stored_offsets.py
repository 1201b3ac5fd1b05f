"""Checks stored offsets as they come back from Kafka, where anybody may have written them. Pure, but for its warnings.

A member that cannot be one of ours or Confluent's is taken as absent, which repeats rows and loses none.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from typing import Final

from connect.api.optional.given_offsets import OFFSET, PARTITION
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.offsets import Offset

_log = logging.getLogger(__name__)
# These are the years 2 to 9998, so that a day more or less, by which zones may differ, is still a valid date.
_LEAST_MS: Final = -62_104_060_800_000
_MOST_MS: Final = 253_370_764_799_999
_SNAPSHOT: Final = re.compile(r"(\d{1,18}):(\d{1,18}):(?:\d{1,18}(?:,\d{1,18})*)?")


class StoredOffsets:
    """Returns the offsets that the framework has stored, without members that cannot be used. Owned by the reading
    thread.
    """

    def __init__(self, stored: Callable[[Mapping[str, object]], Offset | None]) -> None:
        self._stored = stored
        self._told: set[str] = set()

    def __call__(self, partition: Mapping[str, object]) -> Offset | None:
        """Return the offset of a partition, or None if there is none."""
        found = self._stored(partition)
        if found is None:
            return None
        broken = broken_members(found, of_range="range" in partition)
        label = f"table {partition['table']}" if "table" in partition else "the query"
        if broken and str(broken) + label not in self._told:
            self._told.add(str(broken) + label)
            for name, why in broken.items():
                _log.warning(
                    "The stored offset of %s has %s %s, and is taken as without it. Mend it with PATCH "
                    "/connectors/{name}/offsets.",
                    label,
                    name,
                    why,
                )
        return {name: value for name, value in found.items() if name not in broken} or None


def unusable(partition: Offset, offset: Offset) -> dict[str, str]:
    """Return the members of an offset that cannot be used and would count as absent, each with the reason.

    The reason is the end of a sentence about the member.
    """
    if not any(isinstance(partition.get(name), str) for name in ("table", "query")):
        return {PARTITION: 'names neither a "table" nor a "query"'}
    known = [*_CHECKS, offsets.RANGE_FINISHED]
    if not any(name in known for name in offset):
        return {OFFSET: f"has none of {', '.join(known[:3])}, so that everything would be read once more"}
    broken = broken_members(offset, of_range="range" in partition)
    return {name: f"has a value {why}" for name, why in broken.items()}


def broken_members(offset: Offset, *, of_range: bool = False) -> dict[str, str]:
    """Return the members that cannot be used, with reasons. With `of_range` the offset is of a range of a first read,
    not of a table.
    """
    checks = {name: check for name, check in _CHECKS.items() if not (of_range and name == offsets.INITIAL_READ)}
    reasons = {name: checks[name](value) for name, value in offset.items() if name in checks and value is not None}
    return {name: why for name, why in reasons.items() if why}


def _whole(least: int, most: int) -> Callable[[object], str]:
    def check(value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, int):
            return f"of type {type(value).__name__}: it must be a whole number"
        return "" if least <= value <= most else f"outside {least} to {most}"

    return check


def _parsed(check: Callable[[object], bool], what: str) -> Callable[[object], str]:
    def checked(value: object) -> str:
        if not isinstance(value, str):
            return f"of type {type(value).__name__}: it must be {what} as JSON text"
        try:
            is_right = check(json.loads(value))
        except (ValueError, RecursionError):
            is_right = False
        return "" if is_right else f"that is not {what} as JSON text"

    return checked


def _is_key(value: object) -> bool:
    return isinstance(value, list) and all(
        part is None or isinstance(part, str | float) or (isinstance(part, int) and -(2**63) <= part < 2**63)
        for part in value
    )


def _is_mark(value: object) -> bool:
    return isinstance(value, dict) and not any(
        _CHECKS[name](value[name]) for name in offsets.MARK_MEMBERS if name in value
    )


def _is_first_read(value: object) -> bool:
    if not isinstance(value, dict) or not value.get("mark") or not _is_mark(value["mark"]):
        return False
    cuts = value.get("bounds")
    return isinstance(cuts, list) and all(type(cut) is int and abs(cut) < 2**64 for cut in cuts)


def _is_snapshot(value: object) -> bool:
    found = _SNAPSHOT.fullmatch(value) if isinstance(value, str) else None
    return found is not None and int(found[1]) <= int(found[2])


def _is_pass(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    snapshots = [value[name] for name in ("ended", "pass") if value.get(name) is not None]
    at, server, table = value.get("at"), value.get("server"), value.get("table")
    are_known = isinstance(server, str | None) and (table is None or type(table) is int)
    return all(map(_is_snapshot, snapshots)) and (at is None or _is_mark(at)) and are_known


_CHECKS: Final[Mapping[str, Callable[[object], str]]] = {
    "incrementing": _whole(-(2**63), 2**63 - 1),
    "timestamp": _whole(_LEAST_MS, _MOST_MS),
    "timestamp_nanos": _whole(0, 999_999_999),
    offsets.TIE_TIMESTAMP: _whole(_LEAST_MS * 1000, _MOST_MS * 1000),
    offsets.TIE_KEY: _parsed(_is_key, "a key"),
    offsets.BULK_LAST_KEY: _parsed(_is_key, "a key"),
    offsets.BULK_FINISHED_MS: _whole(0, _MOST_MS),
    offsets.BULK_ROWS: _whole(0, 2**63 - 1),
    offsets.INITIAL_READ: _parsed(_is_first_read, "a first read"),
    offsets.SAFE_PASS: _parsed(_is_pass, "a pass"),
}
