"""Runs compactions before the model of the service: killed at each request, two at once, and after a change of mode.

Readers look at the view after each request that may have changed it, and find the rows of the model.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from bigquery_oracle import EPOCH, Message, batch_of, behind_tombstones, latest
from bigquery_sql import texts, wanted
from drawn_cases import quick_first
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient, ProcessDiedError

from connect.api.errors import ConfigError, RetriableError
from connect.lib.deadline import Deadline
from connectors.bigquery.merge.compaction import CompactionRules
from connectors.bigquery.merge.staging_tables import Role
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.intake import taken_in
from connectors.bigquery.write.table_writers import table_writer_of
from connectors.bigquery.write.tables_ready import TargetTables

pytestmark = pytest.mark.timeout(600)
MINUTE = timedelta(minutes=1)
BY_VERSION = {"dedup.order.by": "version"}


class Prompt(random.Random):
    """Jobs end at the next request."""

    def choice(self, seq: Sequence[Any]) -> Any:
        return seq[0]


class Reader(PlainClient):
    """A client after whose requests a reader looks."""

    def __init__(self, service: PlainBigQuery, look: Callable[[], None]) -> None:
        super().__init__(service)
        self.look = look

    def _asked(self, do: Callable[[], Any]) -> Any:
        answer = super()._asked(do)
        self.look()
        return answer


class Life:
    """One process that loads batches, and compacts."""

    def __init__(self, service: PlainBigQuery, look: Callable[[], None] = lambda: None, **others: str) -> None:
        settings = {
            "project": PROJECT, "defaultDataset": DATASET, "dedup.fields": "id", "dedup.mode": "compact",
            "dedup.compact.interval.ms": "0", "timePartitioningType": "NONE", "dedup.null.key": "dlq", **others,
        }  # fmt: skip
        self.client = Reader(service, look)
        self.config = BigQuerySinkConfig.parse(settings)
        self.warehouse = Warehouse(self.client, PROJECT, DATASET, timeout_s=10)
        self.figures: dict[str, int] = {}
        self.writer = table_writer_of(self.config, self.warehouse, Role("c", 0, 1, "tmp"), self.figures.update)

    def load(self, *runs: Sequence[Message]) -> None:
        for run in runs:
            batch = batch_of(run)
            assert batch.consumed is not None
            for buffer, admitted in taken_in(batch, TargetTables(self.config, self.warehouse)).parts:
                buffer.take(batch.consumed.topic_partition, admitted, 0.0)
                assert not self.writer.write(buffer.seal())


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    return PlainBigQuery(Prompt(1))


def runs_of(seed: int) -> list[list[Message]]:
    """Runs of two partitions about few ids of their own, with deletes, and versions out of order."""
    chance, offsets, runs = random.Random(seed), [0, 0], []
    for _ in range(8):
        partition, run = chance.randrange(2), []
        for _ in range(4):
            offset = offsets[partition]
            text = None if chance.random() < 0.3 else f"{partition}@{offset}"
            number = chance.randrange(3) + 10 * partition
            run.append(Message(partition, offset, number, chance.randrange(9), chance.randrange(4), text))
            offsets[partition] += 1
        runs.append(run)
    return runs


def model_of(runs: Sequence[Sequence[Message]], others: dict[str, str]) -> list[tuple[Any, ...]]:
    log = [message for run in runs for message in run]
    by_version = bool(others)
    return wanted(latest(behind_tombstones(log) if by_version else log, by_version=by_version))


def shown(service: PlainBigQuery, table: str) -> list[tuple[Any, ...]]:
    return texts(sorted(service.rows(table), key=lambda row: row["id"]))


@pytest.mark.parametrize("part", quick_first(1, of=3))
@pytest.mark.parametrize("others", [{}, BY_VERSION], ids=["time", "version"])
def test_the_view_is_exact_after_each_request_wherever_a_compaction_is_killed(service, others, part):
    """A third of the requests in each part."""
    runs = runs_of(3)
    Life(service, **others).load(*runs[:4])
    Life(service, **others).load(*runs[4:])
    model = model_of(runs, others)

    looked: dict[str, int] = {}

    def look() -> None:
        """Rows are what they were where no job has ended since."""
        versions = {name: table.version for name, table in service.tables.items()}
        if versions != looked:
            looked.clear()
            looked.update(versions)
            assert shown(service, "orders_latest") == model

    died = 0
    for calls in range(part, 200, 3):
        life = Life(service, **others)
        life.load(runs[calls % len(runs)])  # read again, as its offsets were not committed
        life.client.look, life.client.calls_left = look, calls
        try:
            life.writer.collect()
        except ProcessDiedError:
            died += 1
            continue
        break
    assert life.figures["compactions_total"] == 1
    assert died > 10, "it was killed at each of its requests"
    assert shown(service, "orders") == model
    assert service.rows("_orders_log") == []


def test_two_compactions_at_once_are_as_one_and_meet_new_rows(service):
    runs = runs_of(5)
    Life(service).load(*runs[:6])
    two = [Life(service), Life(service)]
    for life in two:
        life.load(runs[0])
    threads = [threading.Thread(target=life.writer.collect) for life in two]
    for thread in threads:
        thread.start()
    Life(service).load(*runs[6:])
    for thread in threads:
        thread.join(60)
    assert shown(service, "orders_latest") == model_of(runs, {})
    last = Life(service)
    last.load(*runs)
    last.writer.collect()
    assert shown(service, "orders") == shown(service, "orders_latest") == model_of(runs, {})


@pytest.mark.parametrize("is_merged", [False, True], ids=["before the merge", "behind the merge"])
def test_a_partition_that_expires_while_it_is_compacted_takes_no_other_row_with_it(service, is_merged):
    """Its rows are gone at once where BigQuery finds them: those of the table, and those that are merged after it."""
    old = [Message(0, offset, offset, 0, text=f"old {offset}", at_s=0) for offset in range(3)]
    live = [Message(0, offset, offset, 9, text=f"live {offset}", at_s=90) for offset in range(3, 9)]
    first = Life(service)
    first.load(old[:2], live[:3])
    first.writer.collect()
    first.load(old[2:], live[3:], [replace(live[0], offset=20, time_s=10, text="newer")])
    before = service.tables["orders"].version

    def expire() -> None:
        if not is_merged or service.tables["orders"].version > before:
            service.database.execute(
                f"DELETE FROM {PROJECT}.{DATASET}.orders WHERE \"at\" < TIMESTAMPTZ '{EPOCH + MINUTE}'"
            )

    wanted_rows = [(number, f"live {number}") for number in range(4, 9)]
    second = Life(service, look=expire)
    second.load([live[1]])
    second.writer.collect()
    expire()
    assert shown(service, "orders") == shown(service, "orders_latest") == [(3, "newer"), *wanted_rows]
    assert service.rows("_orders_log") == []


def test_batches_whose_delete_was_refused_are_not_merged_again(service, monkeypatch):
    life = Life(service)
    life.load(*runs_of(7))
    run, merged = life.warehouse.run, []

    def refused_once(sql: str, *args: Any, **named: Any) -> Any:
        if sql.startswith("DELETE") and not merged.count("refused"):
            merged.append("refused")
            raise RetriableError("Quota exceeded")
        if not sql.startswith("SELECT"):
            merged.append(sql.split()[2])
        return run(sql, *args, **named)

    monkeypatch.setattr(life.warehouse, "run", refused_once)
    with pytest.raises(RetriableError, match="Quota"):
        life.writer.collect()
    before = len(merged)
    life.writer.collect()
    assert merged[before:] == ["`p`.`d`.`_orders_log`"]
    assert shown(service, "orders") == model_of(runs_of(7), {})


def test_a_change_to_merge_takes_the_log_over_and_other_modes_are_refused(service):
    runs = runs_of(9)
    Life(service).load(*runs[:7])
    with pytest.raises(ConfigError, match=r"lacks \d+ rows that dedup.mode=compact has written to _orders_log"):
        Life(service, **{"dedup.mode": "none", "allowNewBigQueryFields": "true"}).load(runs[7])
    Life(service, **{"dedup.mode": "merge"}).load(runs[7])
    assert shown(service, "orders") == model_of(runs, {})
    assert service.rows("_orders_log") == []


def test_a_view_that_a_log_held_back_goes_on_once_it_was_merged_as_the_refusal_says(service):
    runs = runs_of(9)
    Life(service).load(*runs[:6])
    with pytest.raises(ConfigError, match=r"lacks \d+ rows .*_orders_log") as refused:
        Life(service, **{"dedup.mode": "view"}).load(runs[6])
    assert refused.value.fix.startswith("Set dedup.mode=merge, which merges them with its first batch")
    Life(service, **{"dedup.mode": "merge"}).load(runs[6])
    Life(service, **{"dedup.mode": "view"}).load(runs[7])
    assert shown(service, "orders_latest") == model_of(runs, {})


def test_a_log_is_merged_by_its_age_or_size_once(service):
    rules = CompactionRules(interval_ms=86_400_000, percent=25)

    def log(rows: int, **labels: int) -> TableFacts:
        named = {f"kafka-connect-{name}-ms": str(value) for name, value in labels.items()}
        return TableFacts("_orders_log", (), named, "", rows=rows)

    day = 86_400_000
    assert not rules.is_due(log(0), 0, now_ms=9 * day)
    assert not rules.is_due(log(24, compacted=9 * day), 100, now_ms=9 * day + 1)
    assert rules.is_due(log(25, compacted=9 * day), 100, now_ms=9 * day + 1)
    assert rules.is_due(log(1, compacted=8 * day), 100, now_ms=9 * day)
    assert not rules.is_due(log(25, compacted=8 * day, compacting=9 * day), 100, now_ms=9 * day + 1)
    assert rules.is_due(log(25, compacted=8 * day, compacting=9 * day), 100, now_ms=9 * day + 600_000)


def test_a_compaction_of_a_stopped_task_asks_for_no_further_table(service):
    asked = list[int]()
    life = Life(service, lambda: asked.append(1))
    life.load(*runs_of(3)[:2])
    before = len(asked)
    life.warehouse.stop()
    with pytest.raises(RetriableError, match="the task was stopped"):
        life.writer.collect()
    assert len(asked) == before
    with life.warehouse.within(Deadline.after(9)):
        assert life.warehouse.table("orders") is not None, "what is bounded is still asked, as the ledger at the end"
