"""Models a table, and the change events that its committed statements make by Debezium's documentation."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from debezium_peer import Found

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""PostgreSQL's log leaves out a large value that a statement did not touch; Debezium writes this in its place."""
_LARGE_FROM: Final = 2500
DEFAULT: Final = 7
"""Rows have this value in a column that is added with a default."""
Image = Mapping[str, Any]


@dataclass(frozen=True)
class Event:
    """Holds one change of one row. `after` is None if the row was deleted."""

    op: str
    after: Image | None


@dataclass
class Table:
    """Holds the rows of a table, the types of its columns, and the events of each key, oldest first."""

    name: str
    types: dict[str, str]
    leaves_out_large: bool
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    events: dict[int, list[Event]] = field(default_factory=dict)

    def insert(self, key: int, values: Image) -> None:
        """Add a row."""
        self.rows[key] = {"id": key, **values}
        self._tell(key, Event("c", dict(self.rows[key])))

    def update(self, key: int, values: Image) -> None:
        """Change columns of a row other than its key."""
        self.rows[key] |= values
        self._tell(key, Event("u", self._seen(key, values)))

    def move(self, key: int, other: int, values: Image) -> None:
        """Change the key of a row, which becomes a deletion and a new row."""
        self.rows[other] = {**self.rows.pop(key), "id": other, **values}
        self._tell(key, Event("d", None))
        self._tell(other, Event("c", self._seen(other, values)))

    def delete(self, key: int) -> None:
        """Remove a row."""
        del self.rows[key]
        self._tell(key, Event("d", None))

    def _seen(self, key: int, touched: Image) -> Image:
        row = self.rows[key]
        if not self.leaves_out_large:
            return dict(row)
        return {c: UNAVAILABLE if _is_large(v) and c not in touched else v for c, v in row.items()}

    def _tell(self, key: int, event: Event) -> None:
        self.events.setdefault(key, []).append(event)


def _is_large(value: object) -> bool:
    return isinstance(value, str) and len(value) >= _LARGE_FROM


def value_of(draw: random.Random, sql_type: str) -> Any:
    """Draw a value of a column; a text may be too large for its row's page."""
    if draw.random() < 0.15:
        return None
    if sql_type in {"text", "varchar(60)"}:
        size = draw.choice((0, 3, 40, 3000, 9000)) if sql_type == "text" else draw.choice((0, 3, 40))
        return draw.randbytes(size).hex()[:size]
    return draw.randrange(-(2**31), 2**31 - 1) if sql_type == "int" else draw.randrange(-(2**53), 2**53)


def literal(value: Any) -> str:
    """Return a value as SQL."""
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def check(table: Table, found: Found, identity: Callable[[Mapping[str, Any]], object]) -> None:
    """Compare the records of a table's topic with the model. AssertionError: one is lost, invented, or out of order.

    After a crash a record may come again, followed by all that came after it. `identity` returns its place in the log.
    """
    read: dict[int, Event] = {}
    told: dict[int, list[Event]] = {}
    for event, key in _first_times(found.get(table.name, ()), identity):
        if event.op == "r":
            read[key] = event
            told.pop(key, None)
        else:
            told.setdefault(key, []).append(event)
    for key in {*table.events, *told, *read}:
        wanted, seen = table.events.get(key, []), told.get(key, [])
        before = wanted[: len(wanted) - len(seen)]
        was_there = bool(before) and before[-1].op != "d"
        is_right = wanted[len(before) :] == seen and (
            _fits(read[key], before) if was_there and key in read else was_there == (key in read)
        )
        shown = "; ".join(map(_shown, [*wanted, None, read.get(key), None, *seen]))
        assert is_right, f"{table.name} id={key}: what is wanted; -; the row that was read; -; what came: {shown}"


def _shown(event: Event | None) -> str:
    if event is None:
        return "-"
    values = event.after or {}
    short = {c: f"{v[:8]}… ({len(v)})" if _is_large(v) else v for c, v in values.items()}
    return f"{event.op} {short}"


def _fits(row: Event, before: list[Event]) -> bool:
    """Tell if a row that was read is the last version of a row, as far as events told that version in full.

    A column may have become text meanwhile, or have the name of a dropped one, so only values are compared.
    """
    last, image = before[-1].after or {}, row.after or {}
    return UNAVAILABLE in last.values() or {*map(str, image.values())} <= {*map(str, (*last.values(), None, DEFAULT))}


def _first_times(
    records: list[dict[str, Any]] | tuple[()], identity: Callable[[Mapping[str, Any]], object]
) -> Iterator[tuple[Event, int]]:
    known: dict[object, object] = {}
    for at, record in enumerate(records):
        key = record["key"]["payload"]["id"]
        if record["value"] is None:
            assert records[at - 1]["value"]["payload"]["op"] == "d", "A tombstone follows its deletion."
            continue
        value = record["value"]["payload"]
        event = Event(value["op"], value["after"])
        if event.op == "d":
            assert records[at + 1]["value"] is None, "A deletion has its tombstone."
        if event.op != "r":
            place = (identity(value["source"]), event.op, key)
            if place in known:
                assert known[place] == event, "A record that comes again is the same."
                continue
            known[place] = event
        yield event, key
