"""Finds out which parts of an event are newer than everything sent before, cell by cell. Pure.

The later one of two writes of a cell wins. At the same time a removal wins over a value, and a value that expires over
one that stays (Cassandra: Cells.resolveRegular). Two values of the same time are both passed on: their bytes decide
which is greater, and an event does not have these. A cell that a deletion of its row or partition covers is not passed
on. Range deletions are compared as a whole, never with the cells in them: a value in a topic's format may be in another
order than Cassandra's. Rows are known by the id of their table, too: what is remembered of a table that was dropped
does not concern one that was made anew under its name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Protocol

from connect.api.state import require_known

Event = Mapping[str, Any]
NEVER_US: Final = -(2**63)
_PLAIN, _EXPIRING, _REMOVED = 0, 1, 2
_TIMED_CELL: Final = 5
"""A removed cell that is stored with the time of its removal has so many members."""
_SAME_MOST: Final = 8
"""At most so many values of one cell with the same time are remembered."""


class Memory(Protocol):
    """Keeps bytes by key."""

    def get(self, key: bytes) -> bytes | None:
        """Return the bytes that are stored for a key; None if there are none."""

    def put(self, key: bytes, value: bytes) -> None:
        """Store the bytes for a key in place of earlier ones."""

    def forget(self, key: bytes) -> None:
        """Delete a key and its bytes."""


@dataclass(frozen=True, slots=True)
class _Order:
    """Orders the writes of a cell: the one that compares as larger is newer."""

    writetime_us: int
    rank: int
    expires_s: int

    @property
    def comparable(self) -> tuple[int, int, int]:
        return self.writetime_us, self.rank, self.expires_s


class CellMerge:
    """Finds the parts of events that are newer than all before, for one topic partition. Owned by the task thread."""

    def __init__(self, memory: Memory, name: Sequence[object], now_s: Callable[[], float]) -> None:
        """Take the memory to use; `name` tells this topic and partition from others that share it."""
        self._memory = memory
        self._name = list(name)
        self._now_s = now_s
        self._partition_columns: Sequence[str] = ()

    def newer(self, partition_key: object, event: Event) -> Event | None:
        """Return the event with only those parts that are newer than all before; None if no part is."""
        table_id = _table_id(event)
        partition = self._state(table_id, "partition", partition_key)
        self._partition_columns = list(partition_key) if isinstance(partition_key, Mapping) else ()
        match event["op"]:
            case "partition_delete":
                return event if partition.delete(event["deletion"]) else None
            case "range_delete":
                return event if partition.delete_range(event["range"], event["deletion"]) else None
        kind = "static" if event["op"] == "static" else "row"
        row = self._state(table_id, kind, partition_key if kind == "static" else event["key"])
        made = self._row(event, row, partition.deleted_us)
        row.save()
        return made

    def still_needed(self, key: bytes, value: bytes, before_s: float) -> bytes | None:
        """Return an entry of the memory without the parts that no copy can concern any more; None if no part is left.

        No copy is older than `before_s`, which counts seconds since 1970.
        """
        *ids, kind, of = json.loads(key)[len(self._name) :]
        deleted_us = NEVER_US
        if kind != "partition" and isinstance(of, dict) and self._partition_columns:
            partition_key = {name: of.get(name) for name in self._partition_columns}
            deleted_us = self._state(ids[0] if ids else None, "partition", partition_key).deleted_us
        kept = with_times(json.loads(value), self._now_s())
        left = without_old(kept, before_s, deleted_us)
        return _text(left) if left else None

    def _row(self, event: Event, row: _State, partition_deleted_us: int) -> Event | None:
        deletion, liveness = event.get("deletion"), event.get("liveness")
        if deletion is not None and (deletion["writetime_us"] <= partition_deleted_us or not row.delete(deletion)):
            deletion = None
        deleted_us = max(partition_deleted_us, row.deleted_us)
        if liveness is not None:
            order = _order(liveness, "expires_s", removed=False)
            if order.writetime_us <= deleted_us or not row.write("", order, None):
                liveness = None
        columns: dict[str, Any] = {}
        for name, change in (event.get("columns") or {}).items():
            columns[name] = None if change is None else _change(row, deleted_us, name, change)
        if deletion is None and liveness is None and not any(change is not None for change in columns.values()):
            return None
        return {**event, "deletion": deletion, "liveness": liveness,
                "columns": columns if event.get("columns") is not None else None}  # fmt: skip

    def _state(self, table_id: str | None, kind: str, key: object) -> _State:
        without_id = _text([*self._name, kind, key])
        if table_id is None:
            return _State(self._memory, without_id, self._now_s)
        return _State(self._memory, _text([*self._name, table_id, kind, key]), self._now_s, without_id)


class _State:
    """Holds the times and values of the cells of one row, or the deletions of one partition, as the memory has them."""

    def __init__(self, memory: Memory, key: bytes, now_s: Callable[[], float], former_key: bytes | None = None) -> None:
        """Take the entry of `key`. Where there is none that of `former_key`, which 0.1.0 stored, becomes it."""
        self._memory = memory
        self._key = key
        self._now_s = now_s
        kept, is_former = memory.get(key), False
        if kept is None and former_key is not None:
            kept = memory.get(former_key)
            is_former = kept is not None
        self._kept: dict[str, Any] = {} if kept is None else with_times(json.loads(kept), now_s())
        require_known(self._kept, "An entry of the state topic")
        if is_former and kept is not None and former_key is not None:
            # The first table that asks takes it over, so that no later table of the name does.
            memory.put(key, kept)
            memory.forget(former_key)
        self._changed = False

    @property
    def deleted_us(self) -> int:
        return int(self._kept.get("deleted", NEVER_US))

    def delete(self, deletion: Mapping[str, int]) -> bool:
        """Remember that everything up to a time is deleted; return False if that was known already."""
        writetime_us = deletion["writetime_us"]
        if writetime_us <= self.deleted_us:
            return False
        self._kept |= {"deleted": writetime_us, "deleted_s": deletion["local_s"]}
        cells = self._cells("cells")
        self._kept["cells"] = {name: cell for name, cell in cells.items() if cell[0] > writetime_us}
        for marks in ("ranges", "cleared"):
            self._kept[marks] = {name: mark for name, mark in self._cells(marks).items() if mark[0] > writetime_us}
        self._keep()
        return True

    def delete_range(self, bounds: object, deletion: Mapping[str, int]) -> bool:
        """Remember that a range is deleted; return False if that was known already."""
        writetime_us = deletion["writetime_us"]
        name = blake2b(_text(bounds), digest_size=16).hexdigest()
        ranges = self._cells("ranges")
        if writetime_us <= max(self.deleted_us, _mark_us(ranges, name)):
            return False
        ranges[name] = [writetime_us, deletion["local_s"]]
        self._keep()
        return True

    def write(self, name: str, order: _Order, value: object) -> bool:
        """Remember that a cell was written; return False if this write, or a newer one, was known already."""
        cells = self._cells("cells")
        before, digest = cells.get(name), blake2b(_text(value), digest_size=6).hexdigest()
        digests = [digest]
        if before is not None:
            known = tuple(before[:3])
            if order.comparable < known:
                return False
            if order.comparable == known:
                if order.rank == _REMOVED or digest in before[3]:
                    return False
                digests = [*before[3][-_SAME_MOST + 1 :], digest]
        since = [int(self._now_s())] if order.rank == _REMOVED else []
        cells[name] = [*order.comparable, digests, *since]
        self._changed = True
        return True

    def clear(self, name: str, writetime_us: int) -> bool:
        """Remember that a collection was replaced at a time; return False if that was known already."""
        cleared = self._cells("cleared")
        if writetime_us <= _mark_us(cleared, name):
            return False
        cleared[name] = [writetime_us, int(self._now_s())]
        begin = _text([name]).decode()[:-1] + ","
        cells = self._cells("cells")
        for gone in [one for one, cell in cells.items() if one.startswith(begin) and cell[0] <= writetime_us]:
            del cells[gone]
        self._changed = True
        return True

    def cleared_us(self, name: str) -> int:
        """Return the writetime up to which all elements of a collection are gone, in microseconds since 1970."""
        return _mark_us(self._cells("cleared"), name)

    def save(self) -> None:
        """Write what has changed to the memory."""
        if self._changed:
            self._keep()

    def _keep(self) -> None:
        self._changed = False
        self._memory.put(self._key, _text({name: kept for name, kept in self._kept.items() if kept not in ({}, None)}))

    def _cells(self, name: str) -> MutableMapping[str, Any]:
        found: MutableMapping[str, Any] = self._kept.setdefault(name, {})
        return found


def _table_id(event: Event) -> str | None:
    source = event.get("source")
    found = source.get("table_id") if isinstance(source, Mapping) else None
    return found if isinstance(found, str) else None


def without_old(kept: Mapping[str, Any], before_s: float, deleted_us: int) -> dict[str, Any]:
    """Return what is remembered of a row or partition, without the parts that no copy can be older than any more.

    Left out are cells and marks up to `deleted_us`, as their partition was deleted then, and removals, expired values
    and marks from before `before_s`.
    """
    left = dict(kept)
    if left.get("deleted_s", before_s) < before_s:
        del left["deleted"], left["deleted_s"]
    left["cells"] = {
        name: cell for name, cell in kept.get("cells", {}).items()
        if cell[0] > deleted_us and not _ends_s(cell) < before_s
    }  # fmt: skip
    for marks in ("ranges", "cleared"):
        left[marks] = {
            name: mark for name, mark in kept.get(marks, {}).items() if mark[0] > deleted_us and mark[1] >= before_s
        }
    return {name: part for name, part in left.items() if part not in ({}, None)}


def with_times(kept: dict[str, Any], now_s: float) -> dict[str, Any]:
    """Add the time of now to removals and marks that version 0.1.0 stored without one, so that none goes too early."""
    since = int(now_s)
    for cell in kept.get("cells", {}).values():
        if cell[1] == _REMOVED and len(cell) < _TIMED_CELL:
            cell.append(since)
    for marks in ("ranges", "cleared"):
        for name, mark in kept.get(marks, {}).items():
            if not isinstance(mark, list):
                kept[marks][name] = [mark, since]
    return kept


def _ends_s(cell: Sequence[Any]) -> float:
    """Return when a cell ceased, or will cease, to have a value, in seconds since 1970; infinity if it stays."""
    if cell[1] == _REMOVED:
        return float(cell[4])
    return float(cell[2]) if cell[1] == _EXPIRING else math.inf


def _mark_us(marks: Mapping[str, Sequence[int]], name: str) -> int:
    mark = marks.get(name)
    return NEVER_US if mark is None else mark[0]


def _change(row: _State, deleted_us: int, name: str, change: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the part of a column's change that is newer than all before; None if no part is."""
    if "cleared_us" not in change:
        return change if _cell(row, deleted_us, [name], change) else None
    cleared = change["cleared_us"]
    if cleared is not None and (cleared <= deleted_us or not row.clear(name, cleared)):
        cleared = None
    gone_us = max(deleted_us, row.cleared_us(name))
    made = {"cleared_us": cleared, **dict(_parts(row, gone_us, name, change))}
    return made if cleared is not None or any(_has_any(made[part]) for part in made if part != "cleared_us") else None


def _parts(row: _State, gone_us: int, name: str, change: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the newer elements of a collection, or fields of a user-defined type, under their names in the change."""
    if "fields" in change:
        fields = change["fields"] or {}
        yield (
            "fields",
            {n: c if c is not None and _cell(row, gone_us, [name, n], c) else None for n, c in fields.items()},
        )
        return
    yield "set", [e for e in change["set"] or () if _cell(row, gone_us, [name, _path(e)], e)]
    yield "removed", [e for e in change["removed"] or () if _cell(row, gone_us, [name, _path(e)], e, removed=True)]


def _has_any(part: Any) -> bool:
    return any(kept is not None for kept in (part.values() if isinstance(part, Mapping) else part))


def _cell(row: _State, gone_us: int, place: list[Any], cell: Mapping[str, Any], *, removed: bool = False) -> bool:
    order = _order(cell, "local_deletion_s", removed=removed or bool(cell.get("deleted")))
    return order.writetime_us > gone_us and row.write(_text(place).decode(), order, cell.get("value"))


def _path(element: Mapping[str, Any]) -> object:
    for name in ("key", "position", "element"):
        if name in element:
            return element[name]
    raise KeyError("An element of a collection has neither key, position nor element.")


def _order(cell: Mapping[str, Any], expires: str, *, removed: bool) -> _Order:
    # The time of a removal does not count here, as nodes may stamp it anew when they stream data.
    if removed:
        return _Order(cell["writetime_us"], _REMOVED, 0)
    expires_s = cell.get(expires)
    return _Order(cell["writetime_us"], _PLAIN if expires_s is None else _EXPIRING, expires_s or 0)


def _text(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_encoded).encode()


def _encoded(value: object) -> object:
    """Return a value that JSON has no form for as text: bytes in hexadecimal, others by str."""
    return value.hex() if isinstance(value, bytes) else str(value)
