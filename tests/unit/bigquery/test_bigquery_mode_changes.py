"""Random logs through dedup modes that follow each other, in DuckDB, with processes that are killed or stand still.

Whoever writes the next batch may do it in another mode than those before. A process that is killed leaves its
statements where they are, and its records come again; one that stands still goes on later with those that it had left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import pytest
from bigquery_oracle import Message, behind_tombstones, histories, latest
from bigquery_sql import config, texts, wanted
from bigquery_sql_log import SqlLog
from drawn_cases import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck)}
MODES = ("merge", "compact")
WAYS = (
    {}, {"delete": "soft"}, {"delete": "gone=true"}, {"window": "10s"}, {"null_key": "append"},
    {"order_by": "version"}, {"order_by": "version", "delete": "soft"}, {"order_by": "version", "delete": "gone=true"},
)  # fmt: skip
HARD = (0, 3, 4)
"""Ways in which a tombstone takes its row out."""
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(3600)]
Step = Callable[[], Any]


@cache
def table_of(number: int) -> SqlLog:
    return SqlLog(config(mode="compact", **WAYS[number]))


def writing(table: SqlLog, mode: str, runs: Sequence[Sequence[Message]]) -> Iterator[Step]:
    """What a process does that has these runs to write: in mode merge it takes over what it finds in the log."""
    if mode == "compact":
        yield lambda: table.load(runs)
        return
    yield from compacting(table)
    yield from table.merging(table.staged(runs))


def compacting(table: SqlLog) -> Iterator[Step]:
    if listed := table.listed():
        yield from table.statements(listed)


class Processes:
    """The processes that write one table, each with what it has left to do. known: the records of written batches."""

    def __init__(self, table: SqlLog, data: st.DataObject, history: Sequence[Sequence[Sequence[Message]]]) -> None:
        self._table, self._draw, self._frozen = table, data.draw, list[Iterator[Step]]()
        self._left, self.known = list(history), list[Message]()

    def write_next(self) -> bool:
        """Write a batch in the mode of the moment, as often as its process ends before; False where none is left."""
        if not self._left:
            return False
        runs = self._left.pop(0)
        while not self.done(writing(self._table, self._draw(st.sampled_from(MODES)), runs)):
            pass
        self.known += [message for run in runs for message in run]
        return True

    def compact(self) -> None:
        self.done(compacting(self._table))

    def done(self, steps: Iterator[Step]) -> bool:
        """Do the steps, between which others do theirs; False where the process ends before its work."""
        fate = self._draw(st.sampled_from(["lives", "lives", "killed", "frozen", "frozen"]))
        last = self._draw(st.integers(0, 5))
        for number, run in enumerate(steps):
            if fate != "lives" and number == last:
                if fate == "frozen":
                    self._frozen.append(chain_of(run, steps))
                return False
            run()
            match self._draw(st.sampled_from(["nothing", "nothing", "thaw", "load"])):
                case "thaw":
                    self.thaw()
                case "load" if self._left:  # by another task, which has another partition
                    runs = self._left.pop(0)
                    self._table.load(runs)
                    self.known += [message for run in runs for message in run]
        return True

    def thaw(self) -> None:
        """One that was frozen does some of what it had left."""
        if not self._frozen:
            return
        one = self._draw(st.integers(0, len(self._frozen) - 1))
        for _ in range(self._draw(st.integers(1, 5))):
            run = next(self._frozen[one], None)
            if run is None:
                del self._frozen[one]
                return
            run()

    def end(self) -> None:
        while self._frozen:
            self.thaw()


def chain_of(first: Step, others: Iterator[Step]) -> Iterator[Step]:
    yield first
    yield from others


def model_of(known: Sequence[Message], way: dict[str, str], *, clears: bool) -> list[tuple[Any, ...]]:
    by_version = way.get("order_by") == "version"
    counted = behind_tombstones(known) if by_version and clears else known
    return wanted(latest(counted, by_version=by_version, field_deletes="=" in way.get("delete", "")))


def check(number: int, history: list[list[Sequence[Message]]], data: st.DataObject) -> None:
    """Write batch after batch, each in the mode of the moment; readers see the model whenever one is written."""
    way, table = WAYS[number], table_of(number)
    table.clear()
    processes = Processes(table, data, history)
    while processes.write_next():
        look(table, processes.known, way)
        if data.draw(st.booleans()):
            processes.compact()
            look(table, processes.known, way)
    processes.end()
    look(table, processes.known, way)
    settle(table)
    look(table, processes.known, way)
    # The group's offsets are reset: all comes again, by way of the log, behind deletes that the log has no more.
    for runs in history:
        table.load(runs)
        look(table, processes.known, way)
    settle(table)
    look(table, processes.known, way)
    assert table.listed() == []
    assert len(table.rows()) == len(table.shown())


def settle(table: SqlLog) -> None:
    for run in compacting(table):
        run()


def look(table: SqlLog, known: Sequence[Message], way: dict[str, str]) -> None:
    rows = [row for row in table.shown() if not row.get("_deleted")]
    keyed = [row for row in rows if row["id"] is not None]
    assert texts(keyed) == model_of(known, way, clears=table.settings.dedup.clears)
    own = sorted((row["_kafka_partition"], row["_kafka_offset"]) for row in rows if row["id"] is None)
    has_own = way.get("null_key") == "append"
    assert own == sorted({(m.partition, m.offset) for m in known if has_own and m.id is None and m.text is not None})


@settings(max_examples=cases(40, drawn=500), **SLOW)
@given(number=st.integers(0, len(WAYS) - 1), data=st.data())
def test_rows_are_exact_whichever_modes_follow_each_other_and_whoever_is_killed_or_frozen(number, data):
    check(number, data.draw(histories(own_keys=WAYS[number].get("order_by") == "version")), data)


@settings(max_examples=cases(10, drawn=100), **SLOW)
@given(number=st.sampled_from(HARD), time_s=st.integers(0, 5), later_s=st.integers(1, 4))
def test_an_older_record_that_comes_by_the_log_stays_hidden_by_a_delete_that_was_merged(number, time_s, later_s):
    table = table_of(number)
    table.clear()
    older, delete = Message(0, 0, 1, time_s, text="older"), Message(0, 1, 1, time_s + later_s, text=None)
    for run in writing(table, "merge", [[older, delete]]):
        run()
    table.load([[older]])
    look(table, [older, delete], WAYS[number])
