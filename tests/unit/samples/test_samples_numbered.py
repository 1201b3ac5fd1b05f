"""Kafka's own connectors for tests send the rows that Java's send, and go on behind the one that was stored."""

from __future__ import annotations

from typing import Any

import pytest

from connect.api import schema as s
from connect.api.errors import ConfigError, ConnectError
from connect.api.records import Record, SourcePosition, batches_of
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.testing.fakes import FakeSourceContext
from connectors.samples.numbered.config import SchemaSourceConfig, VerifiableSourceConfig
from connectors.samples.numbered.source import NumberedConnector

FAST = {"topic": "t", "throughput": "-1"}


def _rows(
    config: SchemaSourceConfig | VerifiableSourceConfig, at_least: int, offset: dict[str, Any] | None = None
) -> tuple[list[Record], list[dict[str, Any]]]:
    """Return so many rows of the second task, and the offsets behind their batches."""
    connector = NumberedConnector(config)
    made = connector.task(connector.task_configs(2)[1])
    context = FakeSourceContext()
    if offset is not None:
        context.store.store([SourcePosition({"id": 1}, offset)])
    made.open(context)
    rows: list[Record] = []
    offsets = []
    while len(rows) < at_least:
        for batch in batches_of(made.poll(Deadline.after(60))):
            rows += batch.rows()
            assert batch.position is not None
            offsets.append(dict(batch.position.offset or {}))
    made.close()
    return rows, offsets


def test_verifiable_rows_are_their_numbers_under_the_tasks_key() -> None:
    rows, offsets = _rows(VerifiableSourceConfig.parse(FAST), 600)
    assert [(row.key, row.value) for row in rows] == [(1, number) for number in range(1000)]
    assert (rows[0].key_schema, rows[0].value_schema, rows[0].partition) == (s.INT32, s.INT64, None)
    assert offsets == [{"seqno": 499}, {"seqno": 999}]
    assert _rows(VerifiableSourceConfig.parse(FAST), 1, {"seqno": 41})[0][0].value == 42


def test_whole_records_tell_connector_and_task() -> None:
    rows, _ = _rows(VerifiableSourceConfig.parse({**FAST, "complete.record.data": "true"}), 1)
    assert {**rows[1].value, "time_ms": 0} == {
        "name": "under-test", "task": 1, "topic": "t", "time_ms": 0, "seqno": 1,
    }  # fmt: skip


def test_schema_rows_end_with_their_number_and_have_two_versions() -> None:
    given = {**FAST, "num.messages": "5", "multiple.schema": "true", "partition.count": "3"}
    rows, offsets = _rows(SchemaSourceConfig.parse(given), 5, {"seqno": 9})
    assert [row.value["seqno"] for row in rows] == [10, 11, 12, 13, 14]
    assert [row.value["partitioning"] for row in rows] == [1, 2, 0, 1, 2]
    assert [(row.value_schema.name, row.value_schema.version) for row in rows if row.value_schema] == [
        ("record", 1), ("record", 2), ("record", 1), ("record", 2), ("record", 1),
    ]  # fmt: skip
    assert [row.value.get("string") for row in rows] == [None, "def", None, "def", None]
    assert {(row.key, row.partition) for row in rows} == {("key", 1)}
    assert offsets[-1] == {"seqno": 14}


def test_a_pace_is_kept() -> None:
    connector = NumberedConnector(VerifiableSourceConfig.parse({"topic": "t", "throughput": "0"}))
    task = connector.task(connector.task_configs(1)[0])
    task.open(FakeSourceContext())
    assert task.poll(Deadline.after(60)) is None


def test_an_offset_that_is_no_number_is_told() -> None:
    with pytest.raises(ConnectError, match="seqno of type str that is no whole number"):
        _rows(VerifiableSourceConfig.parse(FAST), 1, {"seqno": "9"})


def test_rows_that_no_number_limits_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        SchemaSourceConfig.parse({"topic": "t", "throughput": "1"})
    assert [problem.key for problem in caught.value.problems] == ["num.messages"]
    assert Catalog.installed().connector("SchemaSource").config is SchemaSourceConfig
