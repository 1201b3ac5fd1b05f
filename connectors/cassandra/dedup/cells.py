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
"""So many values of one cell and time are told apart."""


class Memory(Protocol):
    """What is remembered, by key."""

    def get(self, key: bytes) -> bytes | None:
        """What was kept; None: nothing."""

    def put(self, key: bytes, value: bytes) -> None:
        """Keep it."""


@dataclass(frozen=True, slots=True)
class _Order:
    """Which of two writes of a cell is the newer one."""

    writetime_us: int
    rank: int
    expires_s: int

    @property
    def comparable(self) -> tuple[int, int, int]:
        return self.writetime_us, self.rank, self.expires_s


class CellMerge:
    """The newest writes of a partition of a topic. Owned by the task thread."""

    def __init__(self, memory: Memory, name: Sequence[object]) -> None:
        """`name`: what tells this topic and partition from others that share the memory."""
        self._memory = memory
        self._name = list(name)

    def newer(self, partition_key: object, event: Event) -> Event | None:
        """The event with what is newer alone; None: nothing of it is."""
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
    """What is known of a row, or of a partition as a whole."""

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
        """All until then is gone; False: it was known."""
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
        """A range is gone; False: it was known."""
        name = blake2b(_text(bounds), digest_size=16).hexdigest()
        ranges = self._cells("ranges")
        if writetime_us <= max(self.deleted_us, ranges.get(name, NEVER_US)):
            return False
        ranges[name] = writetime_us
        self._keep()
        return True

    def write(self, name: str, order: _Order, value: object) -> bool:
        """A cell was written; False: that, or something newer, was known."""
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
        """A collection was replaced; False: that was known."""
        cleared = self._cells("cleared")
        if writetime_us <= cleared.get(name, NEVER_US):
            return False
        cleared[name] = writetime_us
        self._changed = True
        return True

    def cleared_us(self, name: str) -> int:
        """Until when everything in a collection is gone."""
        return int(self._cells("cleared").get(name, NEVER_US))

    def save(self) -> None:
        """Remember what has changed."""
        if self._changed:
            self._keep()

    def _keep(self) -> None:
        self._changed = False
        self._memory.put(self._key, _text({name: kept for name, kept in self._kept.items() if kept not in ({}, None)}))

    def _cells(self, name: str) -> MutableMapping[str, Any]:
        found: MutableMapping[str, Any] = self._kept.setdefault(name, {})
        return found


def is_only_deleted(value: bytes, before_s: float) -> bool:
    """What is remembered is a deletion that was taken before this time, and nothing else."""
    kept = json.loads(value)
    return set(kept) == {"deleted", "deleted_s"} and kept["deleted_s"] < before_s


def _change(row: _State, deleted_us: int, name: str, change: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What is newer of a column's change."""
    if "cleared_us" not in change:
        return change if _cell(row, deleted_us, [name], change) else None
    cleared = change["cleared_us"]
    if cleared is not None and (cleared <= deleted_us or not row.clear(name, cleared)):
        cleared = None
    gone_us = max(deleted_us, row.cleared_us(name))
    made = {"cleared_us": cleared, **dict(_parts(row, gone_us, name, change))}
    return made if cleared is not None or any(_has_any(made[part]) for part in made if part != "cleared_us") else None


def _parts(row: _State, gone_us: int, name: str, change: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parts of a change of a collection, or of a type's fields, with what is newer in them."""
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
    """Values of columns with a schema that JSON has no form for."""
    return value.hex() if isinstance(value, bytes) else str(value)
