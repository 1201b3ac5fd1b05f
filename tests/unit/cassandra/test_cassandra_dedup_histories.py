"""Draws random histories of the dedup connector: its topic holds the same table as the agents' topics, whatever comes
twice.

Copies are packed anew, split, late and out of order; the table is dropped and made anew; the task dies and goes on with
another number of ids, and forgets what it may.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

import cassandra_state
import pytest
from cassandra_state import TableState
from histories import History, run_histories
from test_cassandra_dedup import NOW_S, PLACE, Life, named

DAY_S: Final = 86_400
KINDS: Final = {"s": "cell", "v": "cell", "d": "cell", "l": "list", "m": "map", "st": "set", "u": "udt"}
VALUES: Final = (None, "", "a", "b", 0, 1, -1, 2**63 - 1, 0.5, -0.0, 0.0, [], [1], {"a": None})
EVENTS: Final = {True: 60, False: 200}
RETENTION_DAYS: Final = 20
"""Removals and marks are remembered so long by default."""
VALUES_OF_A_TIME: Final = 8
"""The first values of one time are forgotten where there are more than these."""


class DrawnEvents:
    """Draws the events that the agents of three nodes send about a few rows, and when each copy comes."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._busy = draw.choice([3, 30, 400])
        self._table = 1

    def copies(self, day: float) -> list[tuple[float, Any]]:
        """One change: its copies with the day on which each comes.

        Now and then the table is made anew before. Its rows may be older than what is known of the former one.
        """
        self._table += self._draw.random() < 0.03
        at_us = self._draw.randrange(self._busy) + int(1000 * day)
        changes = self._change(at_us, day)
        found = []
        for node in range(self._draw.randint(1, 3)):
            late = self._draw.choice([0.0, 0.0, 0.01, 0.5, 15.0])
            # Hints, repair and streaming may pack a change anew: other ids, other parts.
            parts = self._split(changes) if self._draw.random() < 0.3 else [changes]
            for part in parts:
                text = f"{self._table} {part} {node if self._draw.random() < 0.5 else ''}"
                _, value = named(text, source={"node": f"n{node}", "table_id": str(self._table)}, **part)
                found.append((day + late, ({"k": part["key"]["k"]}, value)))
        return found

    def _change(self, at_us: int, day: float) -> dict[str, Any]:
        draw = self._draw
        row = {"k": draw.randrange(2), "c": draw.randrange(3)}
        local_s = NOW_S + int(day * DAY_S)
        base: dict[str, Any] = {
            "op": "update", "writetime_us": at_us, "key": row, "columns": dict.fromkeys(KINDS), "liveness": None,
            "deletion": None, "range": None,
        }  # fmt: skip
        kind = draw.choices(
            ["insert", "update", "static", "delete", "range_delete", "partition_delete"], [5, 9, 2, 2, 1, 1]
        )[0]
        base["op"] = kind
        deletion = {"writetime_us": at_us, "local_s": local_s}
        whole = {"k": row["k"], "c": None}
        match kind:
            case "partition_delete":
                return {**base, "key": whole, "columns": None, "deletion": deletion}
            case "range_delete":
                bounds = {"start": {"c": row["c"]}, "start_inclusive": draw.random() < 0.5, "end": None,
                          "end_inclusive": True}  # fmt: skip
                return {**base, "key": whole, "columns": None, "deletion": deletion, "range": bounds}
            case "delete":
                return {**base, "columns": None, "deletion": deletion}
            case "static":
                return {**base, "key": whole, "columns": {**base["columns"], "s": self._cell(at_us, day)}}
        if kind == "insert":
            base["liveness"] = self._expiring({"writetime_us": at_us}, "expires_s", day)
        for name in draw.sample([name for name in KINDS if name != "s"], draw.randint(0, 3)):
            base["columns"][name] = self._of_kind(KINDS[name], at_us, day)
        return base

    def _of_kind(self, kind: str, at_us: int, day: float) -> dict[str, Any]:
        draw = self._draw
        if kind == "cell":
            return self._cell(at_us, day)
        cleared = at_us - 1 if draw.random() < 0.3 else None
        if kind == "udt":
            return {
                "cleared_us": cleared,
                "fields": {n: self._cell(at_us, day) for n in draw.sample("xyz", 2)} | {"w": None},
            }
        paths = {
            "list": [f"0000000{n}-0000-1000-8000-00000000000{n}" for n in range(4)], "map": ["a", "b", 0.0, -0.0],
            "set": ["a", "b", 1],
        }[kind]  # fmt: skip
        name = {"list": "position", "map": "key", "set": "element"}[kind]
        chosen = draw.sample(paths, draw.randint(1, 2))
        removed = [path for path in chosen if draw.random() < 0.3]
        return {
            "cleared_us": cleared,
            "set": [
                {**self._cell(at_us, day, is_value=True), name: path} for path in chosen if path not in removed
            ],
            "removed": [{"writetime_us": at_us, name: path, "local_deletion_s": NOW_S} for path in removed],
        }  # fmt: skip

    def _cell(self, at_us: int, day: float, *, is_value: bool = False) -> dict[str, Any]:
        cell: dict[str, Any] = {"writetime_us": at_us, "deleted": False}
        if not is_value and self._draw.random() < 0.2:
            return {**cell, "value": None, "ttl_s": None, "local_deletion_s": NOW_S + int(day * DAY_S), "deleted": True}
        return self._expiring({**cell, "value": self._draw.choice(VALUES)}, "local_deletion_s", day)

    def _expiring(self, cell: dict[str, Any], name: str, day: float) -> dict[str, Any]:
        ttl_s = self._draw.choice([None, None, None, 60, 30 * DAY_S])
        return {**cell, "ttl_s": ttl_s, name: None if ttl_s is None else NOW_S + int(day * DAY_S) + ttl_s}

    def _split(self, change: dict[str, Any]) -> list[dict[str, Any]]:
        """The same change in two events, as repair may send it."""
        if not change["columns"]:
            return [dict(change)]
        some = {name for name in KINDS if self._draw.random() < 0.5}
        one = {n: c if n in some else None for n, c in change["columns"].items()}
        other = {n: None if n in some else c for n, c in change["columns"].items()}
        return [{**change, "columns": one}, {**change, "columns": other, "liveness": None, "op": (
            "static" if change["op"] == "static" else "update")}]  # fmt: skip


def tables(events: list[Any]) -> dict[str, Any]:
    """The rows of each table by the events; a set has no order."""
    states: dict[str, TableState] = defaultdict(lambda: TableState(["k"], ["c"], KINDS, {"s"}))
    for event in events:
        states[event["source"]["table_id"]].apply([event])
    return {
        f"{table} {key}": {
            name: sorted(map(repr, value)) if name == "st" and value else value for name, value in row.items()
        }
        for table, state in states.items()
        for key, row in state.rows().items()
    }


def check(life: Life, sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written is the table that was sent, on the day that it is."""
    with monkeypatch.context() as patched:
        patched.setattr(cassandra_state.time, "time", lambda: life.day_s)
        wanted, found = tables([value for _, value in sent]), tables(life.written)
    assert found == wanted


class SentOnce:
    """Knows the elements that were sent: a copy that is younger than the retention brings none of them again.

    The table alone does not tell, as whoever applies an element twice has it once.
    """

    def __init__(self, life: Life) -> None:
        self._life = life
        self._looked_at = 0
        self._values: dict[str, set[str]] = defaultdict(set)

    def check(self) -> None:
        """Look at what was sent since the last time."""
        day = (self._life.day_s - NOW_S) / DAY_S
        for event in self._life.written[self._looked_at :]:
            for written_us, place, value in elements(event):
                known = self._values[place]
                is_old = day - written_us / 1000 > RETENTION_DAYS - 1
                assert value not in known or is_old or len(known) > VALUES_OF_A_TIME, f"{place} is sent twice: {value}"
                known.add(value)
        self._looked_at = len(self._life.written)


def elements(event: Any) -> Iterator[tuple[int, str, str]]:
    """Yield the writetime, the place with that time, and the value of each element and field that an event writes."""
    for column, change in (event["columns"] or {}).items():
        if change is None or "cleared_us" not in change:
            continue
        parts = change["fields"].items() if "fields" in change else enumerate(change["set"] or ())
        for name, cell in parts:
            if cell is not None:
                path = cell.get("key", cell.get("position", cell.get("element", name)))
                value = [cell.get("value"), cell.get("deleted"), cell.get("local_deletion_s")]
                table = event["source"]["table_id"]
                place = [table, event["op"] == "static", event["key"], column, path, cell["writetime_us"]]
                yield cell["writetime_us"], json.dumps(place, sort_keys=True), json.dumps(value)


def one_history(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = history.draw
    drawn, coming = DrawnEvents(draw), []
    day = 0.0
    for _ in range(EVENTS[history.seed < 1000]):
        day += draw.choice([0.0, 0.0, 0.0, 0.1, 3.0])
        coming += drawn.copies(day)
    coming.sort(key=lambda one: one[0])
    settings = {"merge.cells": "true", "remember.ids": "1000"}
    history.note("settings", events=len(coming), days=day, **settings)
    life = Life([], **settings)
    once = SentOnce(life)
    sent: list[Any] = []
    task = life.task()
    while coming:
        count = draw.randint(1, 12)
        batch, coming = coming[:count], coming[count:]
        sent += [event for _, event in batch]
        life.kafka.rows[PLACE] += [event for _, event in batch]
        life.day_s, life.now_s = NOW_S + batch[-1][0] * DAY_S, life.now_s + draw.choice([1.0, 20.0])
        history.note("batch", events=[event for _, event in batch], day=batch[-1][0])
        commits = draw.choice([None, None, 0, 1])
        life.take(task, commits)
        once.check()
        if commits is not None:
            history.note("killed", commits=commits)
            task.close()
            life.settings["remember.ids"] = draw.choice(["1000", "1000", "1250", "3000"])
            task = life.task()
        elif draw.random() < 0.3:
            check(life, sent, monkeypatch)
    life.take(task)
    task.close()
    life.run()
    once.check()
    check(life, sent, monkeypatch)
    ids = Counter(event["event_id"] for event in life.written)
    history.note("end", sent=len(sent), written=len(life.written), most=max(ids.values(), default=0))


@pytest.mark.thorough
@pytest.mark.histories
def test_the_topic_holds_the_same_table_in_random_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    run_histories("cassandra-dedup", lambda history: one_history(history, monkeypatch), short=20)
