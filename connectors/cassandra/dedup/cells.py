"""What of an event is newer than all that was sent before, cell by cell. Pure.

Of two writes of a cell the later one wins; at the same time a removal wins over a value, and one that expires over one
that stays (Cassandra: Cells.resolveRegular). Two values of one time are both passed on, as which one is greater is told
by bytes that an event does not have. What a deletion of the row or partition covers is not passed on. Ranges are
compared as a whole, never with the cells in them: a value in a topic's format may be in another order than Cassandra's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Protocol

Event = Mapping[str, Any]
NEVER_US: Final = -(2**63)
_PLAIN, _EXPIRING, _REMOVED = 0, 1, 2
_SAME_MOST: Final = 8
"""At most so many values of one cell with the same time are remembered."""


class Memory(Protocol):
    """Keeps bytes by key."""

    def get(self, key: bytes) -> bytes | None:
        """The bytes of a key; None where there are none."""

    def put(self, key: bytes, value: bytes) -> None:
        """Keep the bytes of a key."""


@dataclass(frozen=True, slots=True)
class _Order:
    """The order of the writes of a cell: the larger one is newer."""

    writetime_us: int
    rank: int
    expires_s: int

    @property
    def comparable(self) -> tuple[int, int, int]:
        return self.writetime_us, self.rank, self.expires_s


class CellMerge:
    """Finds in events what is newer than all before, for a partition of a topic. Owned by the task thread."""

    def __init__(self, memory: Memory, name: Sequence[object]) -> None:
        """`name` tells this topic and partition from others that share the memory."""
        self._memory = memory
        self._name = list(name)

    def newer(self, partition_key: object, event: Event) -> Event | None:
        """The event with only what is newer than all before; None where nothing is."""
        partition = _State(self._memory, self._key("partition", partition_key))
        match event["op"]:
            case "partition_delete":
                return event if partition.delete(event["deletion"]) else None
            case "range_delete":
                return event if partition.delete_range(event["range"], event["deletion"]["writetime_us"]) else None
        kind = "static" if event["op"] == "static" else "row"
        row = _State(self._memory, self._key(kind, partition_key if kind == "static" else event["key"]))
        made = self._row(event, row, partition.deleted_us)
        row.save()
        return made

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

    def _key(self, kind: str, key: object) -> bytes:
        return _text([*self._name, kind, key])


class _State:
    """What is remembered of a row, or of a partition as a whole."""

    def __init__(self, memory: Memory, key: bytes) -> None:
        self._memory = memory
        self._key = key
        kept = memory.get(key)
        self._kept: dict[str, Any] = {} if kept is None else json.loads(kept)
        self._changed = False

    @property
    def deleted_us(self) -> int:
        return int(self._kept.get("deleted", NEVER_US))

    def delete(self, deletion: Mapping[str, int]) -> bool:
        """Note that all before a time is deleted; False where that was known."""
        writetime_us = deletion["writetime_us"]
        if writetime_us <= self.deleted_us:
            return False
        self._kept |= {"deleted": writetime_us, "deleted_s": deletion["local_s"]}
        cells = self._cells("cells")
        self._kept["cells"] = {name: cell for name, cell in cells.items() if cell[0] > writetime_us}
        ranges = self._cells("ranges")
        self._kept["ranges"] = {name: at for name, at in ranges.items() if at > writetime_us}
        self._keep()
        return True

    def delete_range(self, bounds: object, writetime_us: int) -> bool:
        """Note that a range is deleted; False where that was known."""
        name = blake2b(_text(bounds), digest_size=16).hexdigest()
        ranges = self._cells("ranges")
        if writetime_us <= max(self.deleted_us, ranges.get(name, NEVER_US)):
            return False
        ranges[name] = writetime_us
        self._keep()
        return True

    def write(self, name: str, order: _Order, value: object) -> bool:
        """Note that a cell was written; False where this write, or a newer one, was known."""
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
        cells[name] = [*order.comparable, digests]
        self._changed = True
        return True

    def clear(self, name: str, writetime_us: int) -> bool:
        """Note that a collection was replaced; False where that was known."""
        cleared = self._cells("cleared")
        if writetime_us <= cleared.get(name, NEVER_US):
            return False
        cleared[name] = writetime_us
        self._changed = True
        return True

    def cleared_us(self, name: str) -> int:
        """The time before which all elements of a collection are gone."""
        return int(self._cells("cleared").get(name, NEVER_US))

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


def is_only_deleted(value: bytes, before_s: float) -> bool:
    """Whether remembered bytes are only a deletion that is older than `before_s`, in seconds since 1970."""
    kept = json.loads(value)
    return set(kept) == {"deleted", "deleted_s"} and kept["deleted_s"] < before_s


def _change(row: _State, deleted_us: int, name: str, change: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The part of a column's change that is newer than all before; None where nothing is."""
    if "cleared_us" not in change:
        return change if _cell(row, deleted_us, [name], change) else None
    cleared = change["cleared_us"]
    if cleared is not None and (cleared <= deleted_us or not row.clear(name, cleared)):
        cleared = None
    gone_us = max(deleted_us, row.cleared_us(name))
    made = {"cleared_us": cleared, **dict(_parts(row, gone_us, name, change))}
    return made if cleared is not None or any(_has_any(made[part]) for part in made if part != "cleared_us") else None


def _parts(row: _State, gone_us: int, name: str, change: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The newer elements of a collection, or fields of a user-defined type, by the part of the change they are in."""
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
    # When a removal was taken may be stamped anew where data is streamed: it tells nothing.
    if removed:
        return _Order(cell["writetime_us"], _REMOVED, 0)
    expires_s = cell.get(expires)
    return _Order(cell["writetime_us"], _PLAIN if expires_s is None else _EXPIRING, expires_s or 0)


def _text(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_encoded).encode()


def _encoded(value: object) -> object:
    """A text for values that JSON has no form for."""
    return value.hex() if isinstance(value, bytes) else str(value)
