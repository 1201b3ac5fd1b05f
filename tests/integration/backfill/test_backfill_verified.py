"""Checks what verify sees on real Kafka and PostgreSQL when rows are lost, left out, doubled or other ones: planted
defects.

What is expected never comes from the lane that lost them: the database counts, and gives its rows once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backfill_job import OneAfterTheOther, Table
from click.testing import CliRunner
from confluent_kafka import Producer

from connect.api.records import Batch
from connect.backfill.job.states import JobState
from connect.backfill.verify.verdict import Verdict
from connect.backfill.verify.verify import verify
from connect.cli.backfill import backfill
from connect.runtime.records.pipeline import Encoded, SourcePipeline
from connectors.jdbc.log.postgres.snapshot import TableSnapshot
from connectors.jdbc.source import bulk
from connectors.jdbc.source.bulk import JdbcBulkReader

ROWS = 2000


def copied(table: Table, connector: dict[str, str] | None = None) -> None:
    with table.driver(connector) as driver:
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED


def verified(table: Table, connector: dict[str, str] | None = None, **how: Any) -> Verdict:
    with table.driver(connector) as driver:
        return verify(driver, **how)


def test_a_copy_that_is_good_is_good_by_the_databases_own_counts_and_values(table: Table):
    table.fill(ROWS)
    copied(table)
    verdict = verified(table, seed="s1")
    assert (verdict.line, verdict.not_compared) == ("good: 0 missing, 0 twice", ())
    ((counted,), values) = verdict.tables, verdict.values
    assert (counted.rows, counted.in_chunks, counted.left_out) == (ROWS, ROWS, 0)
    assert values is not None
    assert (values.compared, values.differ, values.seed) == (ROWS, 0, "s1")
    unlooked = verified(table, count_source=False)
    assert unlooked.is_good
    assert any("rows of the source" in text for text in unlooked.not_compared)
    assert "as far as it was compared" in unlooked.line


def test_rows_that_the_plan_left_out_are_missing(table: Table, monkeypatch: pytest.MonkeyPatch):
    table.fill(ROWS)
    with monkeypatch.context() as planted:
        cut = bulk.cut
        planted.setattr(bulk, "cut", lambda *given: cut(*given)[1:])
        copied(table)
    verdict = verified(table)
    assert (verdict.is_good, verdict.missing) == (False, 500)
    assert any("500 rows in no chunk" in fact for fact in verdict.facts())


def test_rows_that_a_reader_lost_are_missing(table: Table, monkeypatch: pytest.MonkeyPatch):
    table.fill(ROWS)

    def read(self: JdbcBulkReader, *given: Any) -> Iterator[Batch]:
        for batch in whole(self, *given):
            yield batch.slice(0, len(batch) - 1)

    with monkeypatch.context() as planted:
        whole = JdbcBulkReader.read
        planted.setattr(JdbcBulkReader, "read", read)
        copied(table)
    assert verified(table).missing == 4, "the last one of each chunk"


def test_rows_that_were_read_and_not_written_are_missing(table: Table, monkeypatch: pytest.MonkeyPatch):
    table.fill(ROWS)

    def encode(self: SourcePipeline, batch: Batch) -> Encoded:
        made = whole(self, batch)
        return Encoded([made.rows[0].slice(1, len(made.rows[0])), *made.rows[1:]], made.letters)

    with monkeypatch.context() as planted:
        whole = SourcePipeline.encode
        planted.setattr(SourcePipeline, "encode", encode)
        copied(table)
    verdict = verified(table, count_source=False)
    assert (verdict.is_good, verdict.missing) == (False, 4)
    assert all("read and not written" in chunk.finding for chunk in verdict.bad)


def test_bad_rows_that_are_tolerated_without_a_dead_letter_are_missing(table: Table):
    table.fill(ROWS)
    table.run("ALTER TABLE {t} ADD COLUMN d DATE", "UPDATE {t} SET d = 'infinity' WHERE id IN (7, 1999)")
    tolerant = table.connector() | {"errors.tolerance": "all"}
    copied(table, tolerant)
    assert (verified(table, tolerant).missing, len(table.ids())) == (2, ROWS - 2)


def test_transforms_between_reading_and_writing_are_told(table: Table):
    table.fill(ROWS)
    stamped = table.connector() | {
        "transforms": "at", "transforms.at.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.at.static.field": "by", "transforms.at.static.value": "us",
    }  # fmt: skip
    copied(table, stamped)
    verdict = verified(table, stamped)
    assert verdict.is_good
    assert any("transforms stand between" in text for text in verdict.not_compared)
    assert verdict.values is not None
    assert (verdict.values.compared, verdict.values.differ) == (ROWS, 0)


def test_a_record_that_is_there_again_without_the_jobs_headers_is_twice(table: Table):
    table.fill(ROWS)
    producer = Producer({"bootstrap.servers": table.kafka.bootstrap_servers})
    copied(table)
    first = table.records()[0]
    assert verified(table).is_good
    producer.produce(table.topic, first.value(), first.key(), partition=first.partition())
    assert producer.flush(30) == 0
    verdict = verified(table)
    assert (verdict.line, verdict.again) == ("NOT good: 0 missing, 1 twice", 1)


def test_values_that_the_source_has_other_ones_of_are_told(table: Table):
    table.fill(ROWS)
    copied(table)
    table.run("UPDATE {t} SET name = 'changed' WHERE id IN (3, 1400)")
    verdict = verified(table)
    assert (verdict.is_good, verdict.differ) == (False, 2)
    assert "2 with other values than in the source" in verdict.line


def test_rows_that_the_log_mode_lost_are_missing_by_the_servers_own_count(
    table: Table, monkeypatch: pytest.MonkeyPatch
):
    table.fill(ROWS)
    given = {"mode": "log", "slot.name": table.name, "publication.name": table.name, "topic.name.format": "bf-${table}"}
    logged = {key: text for key, text in (table.connector() | given).items() if key != "incrementing.column.name"}

    def rows(self: TableSnapshot, *given: Any) -> Iterator[Any]:
        for found in whole(self, *given):
            kept = [True] * found.count
            kept[0] = False
            yield found.take(np.array(kept))

    try:
        with monkeypatch.context() as planted:
            whole = TableSnapshot.rows
            planted.setattr(TableSnapshot, "rows", rows)
            copied(table, logged)
        verdict = verified(table, logged)
        assert (verdict.is_good, verdict.missing) == (False, len(verdict.chunks))
        assert any("values with the source: it logs its changes" in text for text in verdict.not_compared)
    finally:
        table.run(f"SELECT pg_drop_replication_slot('{table.name}')")


@pytest.fixture
def typed(table: Table, tmp_path: Path) -> Any:
    """What a command prints, and its exit code."""
    worker, spec, config = (tmp_path / one for one in ("worker.properties", "job.yaml", "c.json"))
    worker.write_text("".join(f"{key}={text}\n" for key, text in table.worker_properties().items()))
    config.write_text(json.dumps({"name": table.name, "config": table.connector()}))
    made = table.spec()
    spec.write_text(json.dumps(made.model_copy(update={
        "source": replace_config(made.source, str(config)),
    }).model_dump(mode="json", by_alias=True, exclude_defaults=True)))  # fmt: skip

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(backfill, [words[0], str(spec), "--worker", str(worker), *words[1:]])
        return done.exit_code, done.output

    return run


def replace_config(source: Any, config: str) -> Any:
    return source.model_copy(update={"config": config})


def test_a_handover_behind_a_bad_verdict_asks_for_force(table: Table, typed: Any):
    table.fill(ROWS)
    copied(table)
    table.run("UPDATE {t} SET name = 'changed' WHERE id = 3")
    code, told = typed("verify")
    assert (code, "NOT good: 0 missing, 0 twice, 1 with other values" in told) == (1, True)
    # No cluster answers here: what is refused before is refused by the verdict.
    code, told = typed("handover", "--url", "http://127.0.0.1:1")
    assert (code, "was verified, and is NOT good" in told, "--force" in told) == (1, True, True)
    code, told = typed("handover", "--force", "--url", "http://127.0.0.1:1")
    assert (code, "NOT good" in told) == (1, False)
    table.run("UPDATE {t} SET name = 'naïve 3' WHERE id = 3")
    assert typed("verify", "--seed", "x")[0] == 0
    code, told = typed("handover", "--url", "http://127.0.0.1:1")
    assert (code, "NOT good" in told) == (1, False)
