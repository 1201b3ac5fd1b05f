"""Computes from change events, in any order, what a table holds: the newest write of each cell, by Cassandra's rules.

It uses no code of the product on purpose, and only knows the documented form of the events.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Event = Mapping[str, Any]
NEVER = -(2**63)


@dataclass
class _Cell:
    """Holds the newest write of a cell.

    `order` compares writes: the later time wins, then a removal, then a value that expires (of several the one that
    expires last), then the greater value.
    """

    order: tuple[int, bool, int, str]
    value: Any
    expires_s: int | None


@dataclass
class _Row:
    deleted_us: int = NEVER
    live_us: int = NEVER
    live_until_s: int | None = None
    cells: dict[tuple[str, str], _Cell] = field(default_factory=dict)
    cleared_us: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: NEVER))


class TableState:
    """Holds the state of a table, built from events."""

    def __init__(
        self, partition_key: list[str], clustering: list[str], kinds: Mapping[str, str], static: set[str]
    ) -> None:
        """Take the key columns. `kinds` says for each other column if it is a cell, list, set, map or udt."""
        self._partition_key = partition_key
        self._clustering = clustering
        self._kinds = kinds
        self._static = static
        self._rows: dict[tuple[str, str], _Row] = defaultdict(_Row)
        self._partitions: dict[str, int] = defaultdict(lambda: NEVER)
        self._ranges: dict[str, list[tuple[Mapping[str, Any], int]]] = defaultdict(list)
        self._keys: dict[str, Mapping[str, Any]] = {}

    def apply(self, events: Iterable[Event]) -> None:
        for event in events:
            self._apply(event)

    def rows(self) -> dict[str, dict[str, Any]]:
        """Return the rows as `SELECT *` returns them, by their keys as JSON text."""
        found: dict[str, dict[str, Any]] = {}
        statics: dict[str, dict[str, Any]] = {}
        for (partition, clustering), row in self._rows.items():
            values, _ = self._values(partition, None, row)
            if not clustering:
                statics[partition] = {name: values.get(name) for name in self._static}
        for (partition, clustering), row in self._rows.items():
            if not clustering:
                continue
            key = json.loads(clustering)
            values, is_live = self._values(partition, key, row)
            if not is_live and not values:
                continue
            full = {name: values.get(name) for name in self._kinds if name not in self._static}
            full |= {**json.loads(partition), **key, **statics.get(partition, dict.fromkeys(self._static))}
            found[self.key_of(full)] = full
        with_rows = {json.dumps({k: row[k] for k in self._partition_key}, sort_keys=True) for row in found.values()}
        for partition, values in statics.items():
            if partition not in with_rows and any(value is not None for value in values.values()):
                full = dict.fromkeys((*self._clustering, *self._kinds))
                full |= {**json.loads(partition), **values}
                found[self.key_of(full)] = full
        return found

    def writetimes(self, column: str) -> dict[str, int]:
        """Return when a column of one cell was written, for each row with a value in it, by the rows' keys."""
        rows, found = self.rows(), {}
        for (partition, clustering), row in self._rows.items():
            key = self.key_of({**json.loads(partition), **json.loads(clustering or "{}")}) if clustering else ""
            cell = row.cells.get((column, ""))
            if cell is not None and rows.get(key, {}).get(column) is not None:
                found[key] = cell.order[0]
        return found

    def key_of(self, row: Mapping[str, Any]) -> str:
        return json.dumps({name: row[name] for name in (*self._partition_key, *self._clustering)}, sort_keys=True)

    def _apply(self, event: Event) -> None:
        partition = json.dumps({k: event["key"][k] for k in self._partition_key}, sort_keys=True)
        deletion = event["deletion"]
        if event["op"] == "partition_delete":
            self._partitions[partition] = max(self._partitions[partition], deletion["writetime_us"])
            return
        if event["op"] == "range_delete":
            self._ranges[partition].append((event["range"], deletion["writetime_us"]))
            return
        clustering = {k: event["key"][k] for k in self._clustering}
        row = self._rows[partition, "" if event["op"] == "static" else json.dumps(clustering, sort_keys=True)]
        if deletion is not None:
            row.deleted_us = max(row.deleted_us, deletion["writetime_us"])
        live = event["liveness"]
        if live is not None:
            # A mark that expires wins over one of the same time that does not. Of two that expire the later end wins.
            found, known = (
                (us, until_s is not None, until_s or 0)
                for us, until_s in ((live["writetime_us"], live["expires_s"]), (row.live_us, row.live_until_s))
            )
            if found >= known:
                row.live_us, row.live_until_s = live["writetime_us"], live["expires_s"]
        for name, change in (event["columns"] or {}).items():
            if change is not None:
                self._change(row, name, change)

    def _change(self, row: _Row, name: str, change: Mapping[str, Any]) -> None:
        kind = self._kinds[name]
        if kind == "cell":
            _write(row, (name, ""), change, change["value"], removed=change["deleted"])
            return
        if change["cleared_us"] is not None:
            row.cleared_us[name] = max(row.cleared_us[name], change["cleared_us"])
        if kind == "udt":
            for field_name, cell in change["fields"].items():
                if cell is not None:
                    _write(row, (name, json.dumps(field_name)), cell, cell["value"], removed=cell["deleted"])
            return
        path = {"list": "position", "map": "key", "set": "element"}[kind]
        for element in change["set"]:
            _write(row, (name, json.dumps(element[path])), element, element.get("value"), removed=False)
        for element in change["removed"]:
            _write(row, (name, json.dumps(element[path])), element, None, removed=True)

    def _values(self, partition: str, clustering: Mapping[str, Any] | None, row: _Row) -> tuple[dict[str, Any], bool]:
        deleted_us = max(row.deleted_us, self._partitions[partition])
        if clustering is not None:
            hits = [at for bounds, at in self._ranges[partition] if self._inside(clustering, bounds)]
            deleted_us = max([deleted_us, *hits])
        now_s = time.time()
        found: dict[str, Any] = {}
        for (name, path), cell in sorted(row.cells.items(), key=lambda item: _path_order(self._kinds, item[0])):
            written_us, removed, *_ = cell.order
            if written_us <= max(deleted_us, row.cleared_us[name]) or removed:
                continue
            if cell.expires_s is not None and cell.expires_s <= now_s:
                continue
            self._add(found, name, path, cell.value)
        is_live = row.live_us > deleted_us and (row.live_until_s is None or row.live_until_s > now_s)
        return found, is_live

    def _add(self, found: dict[str, Any], name: str, path: str, value: Any) -> None:
        match self._kinds[name]:
            case "cell":
                found[name] = value
            case "list":
                found.setdefault(name, []).append(value)
            case "set":
                found.setdefault(name, []).append(json.loads(path))
            case "map" | "udt":
                key = json.loads(path)
                # Python takes -0.0 and 0.0 for the same key.
                found.setdefault(name, {})[path if isinstance(key, float) else key] = value

    def _inside(self, clustering: Mapping[str, Any], bounds: Mapping[str, Any]) -> bool:
        key = [clustering[name] for name in self._clustering]

        def prefix(bound: Mapping[str, Any] | None) -> list[Any]:
            values = [] if bound is None else [bound[name] for name in self._clustering]
            return [value for value in values if value is not None]

        start, end = prefix(bounds["start"]), prefix(bounds["end"])
        above = key[: len(start)] > start or (key[: len(start)] == start and bounds["start_inclusive"])
        below = key[: len(end)] < end or (key[: len(end)] == end and bounds["end_inclusive"])
        return (not start or above) and (not end or below)


def _write(row: _Row, place: tuple[str, str], change: Mapping[str, Any], value: Any, *, removed: bool) -> None:
    expires_s = None if removed else change.get("local_deletion_s")
    order = (change["writetime_us"], removed, expires_s or 0, json.dumps(value, sort_keys=True))
    before = row.cells.get(place)
    if before is None or order >= before.order:
        row.cells[place] = _Cell(order, value, expires_s)


def _path_order(kinds: Mapping[str, str], place: tuple[str, str]) -> tuple[str, Any]:
    """Return the sort key of a cell's path; elements of lists are sorted by their positions, which are times."""
    import uuid

    name, path = place
    return (name, uuid.UUID(json.loads(path)).time) if kinds[name] == "list" else (name, 0)
