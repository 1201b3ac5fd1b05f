"""Checks records of every kind: bad, without schema, with any key, of a changed schema, of several topics and tasks.

The law of all tests here: each row is readable in the target or was refused by its offset, whatever the batches were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import pytest

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.plugin import Capability
from connect.lib.deadline import Deadline
from connect.testing.drivers import ROW_SCHEMA, BadRows, Row, SchemalessBadRows, SinkDriver, SinkTopics
from connect.testing.equality import difference
from connect.testing.rows import make_rows, unwritten, written_twice
from connect.testing.sink_restarts import CUT, PER_PARTITION, SinkRestarts
from connect.testing.sink_run import FakeLog, KeyOf, SinkRun
from connect.testing.suite import requires

COLUMNS = tuple(field.name for field in ROW_SCHEMA.fields)
MakeBad = Callable[[Row], Row]
BAD_AT = (5, 6, 17, 27)
"""Gives the offsets of the bad rows among good ones: two in a row, and one at the end."""
CUTS = (1, 5, PER_PARTITION + len(BAD_AT))
KEYS: Final[Mapping[str, KeyOf]] = MappingProxyType(
    {
        "none": lambda _: None,
        "null": lambda _: (None, s.STRING.as_optional()),
        "string": lambda row_id: (f"row {row_id}", s.STRING),
        "int64": lambda row_id: (row_id, s.INT64),
        "bytes": lambda row_id: (row_id.to_bytes(8, "big"), s.BYTES),
        "schemaless-string": lambda row_id: (f"row {row_id}", None),
        "schemaless-map": lambda row_id: ({"id": row_id}, None),
    }
)
"""Gives by name what makes the key of a row from its id, and the key's schema."""


class SinkRecords(SinkRestarts):
    """Holds the part of SinkSuite about kinds of records; inherit SinkSuite."""

    @requires(BadRows)
    def test_bad_rows_are_rejected_whatever_the_batches(self, system: Any) -> None:
        self._check_bad_rows(system, ROW_SCHEMA, {"bad": system.bad_row})

    @requires(SchemalessBadRows)
    def test_schemaless_bad_rows_are_rejected_whatever_the_batches(self, system: Any) -> None:
        self._check_bad_rows(system, None, system.schemaless_bad_rows())

    def test_schemaless_rows_land_or_are_refused(self, system: SinkDriver) -> None:
        log = FakeLog(system.topic, {0: make_rows(PER_PARTITION)}, schema=None)
        self._check_all_accounted_for(system, log, "without a schema")

    @pytest.mark.parametrize("kind", KEYS)
    def test_rows_of_any_key_land_or_are_refused(self, system: SinkDriver, kind: str) -> None:
        log = FakeLog(system.topic, {0: make_rows(PER_PARTITION)}, key_of=KEYS[kind])
        self._check_all_accounted_for(system, log, f"with the key {kind}")

    def test_a_changed_schema_loses_no_row(self, system: SinkDriver) -> None:
        wider = replace(ROW_SCHEMA, fields=(*ROW_SCHEMA.fields, s.Field("added", s.STRING.as_optional())))
        half = PER_PARTITION // 2
        rows = make_rows(PER_PARTITION)
        later = [{**row, "added": f"added to {row['id']}"} for row in make_rows(half, start=PER_PARTITION)]
        last = make_rows(half, start=PER_PARTITION + half)
        log = FakeLog(system.topic, {0: [*rows, *later, *last]})
        changed = replace(log, schema=wider)
        with self.run_of(system) as run:
            run.assign(log.partitions)
            for first in range(0, len(log.rows[0]), CUT):
                is_wider = PER_PARTITION <= first < PER_PARTITION + half
                run.put((changed if is_wider else log).batch(0, first, first + CUT))
            self.claim(run, log.ends)
        _check_rows(system, log, run, "of a changed schema")

    @requires(SinkTopics)
    def test_rows_of_several_topics_land(self, system: Any) -> None:
        topics = [system.topic, *system.other_topics]
        assert len(topics) > 1, "The driver's other_topics names no topic."
        rows = [make_rows(PER_PARTITION, start=i * PER_PARTITION) for i in range(len(topics))]
        logs = [FakeLog(topic, {0: own}) for topic, own in zip(topics, rows, strict=True)]
        with self.run_of(system) as run:
            run.assign([p for log in logs for p in log.partitions])
            for batches in zip(*(log.batches(CUT) for log in logs), strict=True):
                for batch in batches:
                    run.put(batch)
                run.flush()
            self.claim(run, {p: end for log in logs for p, end in log.ends.items()})
        for log in logs:
            _check_rows(system, log, run, f"of the topic {log.topic} beside others")

    def test_two_tasks_write_to_one_target(self, system: SinkDriver) -> None:
        log = self.log_of(system)
        first, second = log.partitions
        runs = [self.run_of(system, max_tasks=2, task_number=number) for number in (0, 1)]
        with runs[0], runs[1]:
            for run, partition in zip(runs, (first, second), strict=True):
                run.assign([partition])
            for batch in log.batches(CUT):
                run = runs[batch.partition or 0]
                run.put(batch)
                run.try_flush()
            # In turn, as both go on in the end: a task may wait for what the other does in its flush.
            deadline = Deadline.after(self.patience_s)
            while {**runs[0].claimed, **runs[1].claimed} != log.ends and deadline.wait(0.02):
                for run in runs:
                    run.try_flush()
            for run, partition in zip(runs, (first, second), strict=True):
                self.claim(run, {partition: PER_PARTITION})
        lost = unwritten(system, [row for rows in log.rows.values() for row in rows])
        assert not lost, f"Two tasks wrote to one target, and the rows with ids {lost} are lost."
        if Capability.EXACTLY_ONCE in self.plugin.capabilities:
            twice = written_twice(system)
            assert not twice, f"Two tasks wrote to one target, and ids {twice} are there twice."

    def _check_bad_rows(self, system: SinkDriver, schema: s.Schema | None, kinds: Mapping[str, MakeBad]) -> None:
        for kind, make_bad in kinds.items():
            for cut in CUTS:
                system.reset()
                rows = make_rows(PER_PARTITION + len(BAD_AT))
                for offset in BAD_AT:
                    rows[offset] = make_bad(rows[offset])
                log = FakeLog(system.topic, {0: rows}, schema, as_arrow=False)
                with self.run_of(system) as run:
                    run.assign(log.partitions)
                    run.put_all(log, cut)
                    self.claim(run, {log.partitions[0]: BAD_AT[-1]})
                told = f"Rows that are bad by {kind}, {cut} rows a batch: bad are the offsets {list(BAD_AT)}"
                refused = run.refused_offsets
                assert refused == set(BAD_AT), f"{told}; rejected were {sorted(refused) or 'none'}"
                lost = unwritten(system, [row for i, row in enumerate(rows) if i not in BAD_AT])
                assert not lost, f"{told}; the good rows with ids {lost} are lost."

    def _check_all_accounted_for(self, system: SinkDriver, log: FakeLog, what: str) -> None:
        with self.run_of(system) as run:
            run.assign(log.partitions)
            try:
                run.put_all(log, CUT)
                self.claim(run, log.ends)
            except SchemaError:
                return  # told, and nothing claimed
        _check_rows(system, log, run, what)


def _check_rows(system: SinkDriver, log: FakeLog, run: SinkRun, what: str) -> None:
    """Check that each row of partition 0 is in the target, by the values of the suite's columns, or was refused."""
    refused = run.refused_offsets
    landed = {row["id"]: {name: row.get(name) for name in COLUMNS} for row in system.read_back()}
    wanted = [{name: row[name] for name in COLUMNS} for i, row in enumerate(log.rows[0]) if row and i not in refused]
    wrong = [d for row in wanted if (d := difference(row, landed.get(row["id"]), f"row {row['id']}"))]
    assert not wrong, f"{len(wrong)} rows {what} were neither kept nor refused: {'; '.join(wrong[:5])}"
