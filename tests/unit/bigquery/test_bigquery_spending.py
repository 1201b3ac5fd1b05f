"""Budgets of merges before the model of the service: never more is billed in a day, and no row is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from bigquery_oracle import Message
from drawn_cases import quick_first
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient, ProcessDiedError
from test_bigquery_compaction import Prompt, model_of, runs_of, shown

from connect.api.errors import ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.cost.prices import Prices
from connectors.bigquery.merge.compaction import Compaction
from connectors.bigquery.merge.staging_tables import Role
from connectors.bigquery.merge.writers_by_table import WritersByTable
from connectors.bigquery.rows.sizes import bytes_told
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkTask
from connectors.bigquery.spending.budget_keys import budget_key_of
from connectors.bigquery.spending.budget_sentences import BudgetSpentError
from connectors.bigquery.spending.connector_spending import ConnectorSpending
from connectors.bigquery.spending.ledger import Kind, Ledger
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.intake import taken_in
from connectors.bigquery.write.table_writers import table_writer_of
from connectors.bigquery.write.tables_ready import TargetTables

pytestmark = pytest.mark.timeout(600)
DAY_S = 86_400
MIB = 1 << 20
BEGIN_S = 20_000.0 * DAY_S
LEDGER = "_kafka_connect_spending_c"


class Clock:
    def __init__(self) -> None:
        self.now_s = BEGIN_S

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> PlainBigQuery:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    made = PlainBigQuery(Prompt(1))
    made.now_s = clock
    return made


class Life:
    """One process that writes batches within a budget."""

    def __init__(self, service: PlainBigQuery, clock: Clock, budget_bytes: int | None, **others: str) -> None:
        given = {
            "project": PROJECT, "defaultDataset": DATASET, "dedup.fields": "id", "timePartitioningType": "NONE",
            "dedup.compact.interval.ms": "0", **others,
        }  # fmt: skip
        self.client = PlainClient(service)
        self.config = BigQuerySinkConfig.parse(given)
        self.warehouse = Warehouse(self.client, PROJECT, DATASET, timeout_s=10)
        self.spending = ConnectorSpending(
            self.warehouse, LEDGER, budget_bytes, clock, budget_key=budget_key_of(self.config, Prices())
        )
        self.writer = table_writer_of(
            self.config, self.warehouse, Role("c", 0, 1, "tmp"), lambda _: None, spending=self.spending
        )

    def load(self, *runs: list[Message]) -> None:
        for run in runs:
            batch = batch_of(run)
            assert batch.consumed is not None
            for buffer, admitted in taken_in(batch, TargetTables(self.config, self.warehouse)).parts:
                buffer.take(batch.consumed.topic_partition, admitted, 0.0)
                assert not self.writer.write(buffer.seal())


def batch_of(run: list[Message]) -> Any:
    from bigquery_oracle import batch_of as made

    return made(run)


def by_day(service: PlainBigQuery) -> Counter[int]:
    days: Counter[int] = Counter()
    for at_s, _, billed in service.billed:
        days[int(at_s // DAY_S)] += billed
    return days


def patiently(clock: Clock, act: Callable[[], object], *, step_s: float = 3600.0) -> int:
    """Do it again, as time goes by, until the budget has what it needs; how often it waited."""
    for waited in range(400):
        try:
            act()
        except BudgetSpentError:
            clock.now_s += step_s
        else:
            return waited
    raise AssertionError("it waits for ever")


def kept(service: PlainBigQuery) -> Ledger:
    return Ledger.parse(service.tables[LEDGER].resource["description"])


def test_merges_come_further_apart_and_no_day_is_billed_for_more(service, clock):
    runs, budget = runs_of(3), 400 * MIB
    life = Life(service, clock, budget)
    waits = [patiently(clock, lambda run=run: life.load(run)) for run in runs * 3]
    assert sum(waits) > 5, "the budget is less than the merges"
    assert max(by_day(service).values()) <= budget
    assert shown(service, "orders") == model_of(runs, {})
    (first_day, *_), _ = sorted(by_day(service)), waits
    moments = sorted({at_s for at_s, _, _ in service.billed if at_s // DAY_S == first_day})
    assert moments[-1] - moments[0] > DAY_S / 4, "they follow the day, and do not end at its beginning"


@pytest.mark.parametrize("part", quick_first(1, of=3))
@pytest.mark.parametrize("mode", ["merge", "compact"])
def test_a_day_is_kept_wherever_its_processes_are_killed(service, clock, mode, part):
    """A third of the places in each part."""
    runs, budget, died = runs_of(5), 500 * MIB, 0

    def once(life: Life, run: list[Message]) -> None:
        life.load(run)
        if mode == "compact":
            life.writer.collect()

    for calls in range(3 + 2 * part, 90, 6):
        life = Life(service, clock, budget, **{"dedup.mode": mode})
        life.client.calls_left = calls
        try:
            once(life, runs[calls % len(runs)])
        except ProcessDiedError:
            died += 1
        except BudgetSpentError:
            clock.now_s += 7200.0
    assert died > 5
    life = Life(service, clock, budget, **{"dedup.mode": mode})
    for run in runs:
        patiently(clock, lambda run=run: once(life, run))
    assert max(by_day(service).values()) <= budget
    assert shown(service, "orders") == model_of(runs, {})
    life.spending.save()
    assert kept(service).reserved == {}
    assert sum(kept(service).day.billed_bytes.values()) == by_day(service)[int(clock.now_s // DAY_S)]


def test_what_is_billed_is_counted_once_by_whoever_finds_the_job(service, clock):
    budget, runs = 100_000 * MIB, runs_of(7)
    two = [Life(service, clock, budget) for _ in range(2)]
    clock.now_s += DAY_S - 60  # nothing waits any more
    for number, run in enumerate(runs):
        two[number % 2].load(run)  # each finds the numbers of the other taken
    for life in two:
        life.spending.save()
    assert kept(service).reserved == {}
    assert sum(kept(service).day.billed_bytes.values()) == sum(billed for _, _, billed in service.billed)
    assert kept(service).month.billed_bytes == kept(service).day.billed_bytes
    assert kept(service).day.jobs["load"] == len(runs)


def test_without_a_budget_jobs_are_counted_by_kind_and_outlive_the_process(service, clock):
    life = Life(service, clock, None, **{"dedup.mode": "compact"})
    life.load(*runs_of(9))
    life.writer.collect()
    life.spending.save()
    assert set(kept(service).day.billed_bytes) == {"load", "compaction"}
    clock.now_s += 3 * DAY_S
    later = Life(service, clock, None, **{"dedup.mode": "merge"})
    later.load(runs_of(9)[0])
    later.spending.save()
    found = later.spending.figures()
    assert found["merge_billed_day_bytes"] > 0
    assert found["compaction_billed_day_bytes"] <= 10 * MIB, "it looks once whether the log is empty"
    assert found["compaction_billed_month_bytes"] > 0
    total = sum(billed for _, _, billed in service.billed)
    assert found["merge_billed_month_bytes"] + found["compaction_billed_month_bytes"] == total


def test_a_job_that_needs_more_than_was_estimated_is_not_run_and_tried_with_more(service, clock, monkeypatch):
    life = Life(service, clock, 5000 * MIB)
    monkeypatch.setattr(life.warehouse, "scanned_bytes", lambda _: 0)
    big = [Message(0, offset, offset, 0) for offset in range(60)]
    with pytest.raises(RetriableError, match="or higher required"):
        life.load(big)
    for _ in range(8):
        with suppress(RetriableError):
            life.load(big)
    assert len(service.rows("orders")) == 60
    assert max(by_day(service).values()) <= 5000 * MIB


def test_a_budget_below_one_merge_is_told_and_a_larger_one_goes_on(service, clock):
    life, runs = Life(service, clock, 25 * MIB), runs_of(11)
    with pytest.raises(BudgetSpentError, match=r"not merged, as one merge needs about .*none is lost"):
        life.load(runs[0])
    assert "bigquery.budget.bytes.per.day" in str(life.spending.spent())
    assert life.spending.notice() is None, "nothing is used of it"
    asked = len(service.jobs)
    with pytest.raises(BudgetSpentError):
        life.load(runs[0])
    assert len(service.jobs) == asked, "nothing is staged again meanwhile"
    assert service.billed == []
    Life(service, clock, 10_000 * MIB).load(*runs[:1])
    assert shown(service, "orders") == model_of(runs[:1], {})


def test_the_status_tells_a_waiting_table_and_others_go_on(service, clock, monkeypatch):
    monkeypatch.setattr(
        sink, "open_warehouse", lambda _: Warehouse(PlainClient(service), PROJECT, DATASET, timeout_s=9)
    )
    given = {
        "project": PROJECT, "defaultDataset": DATASET, "dedup.fields": "id", "timePartitioningType": "NONE",
        "bigquery.budget.bytes.per.day": str(25 * MIB), "dedup.merge.interval.ms": "0",
    }  # fmt: skip
    now_s = [100.0]
    task = BigQuerySinkTask(BigQuerySinkConfig.parse(given), now_s=lambda: now_s[0], wall_s=clock)
    context = FakeSinkContext()
    task.open(context)
    batch = batch_of([Message(0, 0, 1, 0)])
    task.put(batch, Deadline.after(10))
    deadline = Deadline.after(60)
    while context.explained is None:
        assert task.flush(Deadline.after(10)) == {batch.consumed.topic_partition: 0}
        assert deadline.wait(0.01), "the status never tells"
    now_s[0] += 20
    task.flush(Deadline.after(10))
    task.close()
    assert "Table orders is not merged" in context.explained
    assert context.waiting_for is None, "no day brings what one merge needs: somebody has to see to it"
    assert context.gauges["budget_bytes"] == 25 * MIB
    assert context.gauges["budget_wait_s"] > 0


def test_the_metrics_of_a_day_end_with_it(service, clock):
    life = Life(service, clock, 1000 * MIB)
    life.load(runs_of(3)[0])
    assert min(life.spending.figures()[name] for name in ("merge_billed_day_bytes", "budget_used_percent")) > 0
    clock.now_s += DAY_S
    found = life.spending.figures()
    assert (found["merge_billed_day_bytes"], found["budget_used_percent"]) == (0, 0)
    assert found["merge_billed_month_bytes"] > 0


def test_a_job_that_finds_the_budget_spent_waits_until_the_next_day(service, clock, monkeypatch):
    life = Life(service, clock, 50 * MIB)
    monkeypatch.setattr(life.warehouse, "scanned_bytes", lambda _: 0)
    clock.now_s += 3600
    assert life.spending.reserve("orders", "one", Kind.MERGE, "j1") == 30 * MIB
    with pytest.raises(BudgetSpentError, match="merged again at 00:00 UTC") as waits:
        life.spending.reserve("orders", "two", Kind.MERGE, "j2")
    assert waits.value.waiting_for == "budget", "it goes on by itself"
    assert life.spending.spent() is waits.value
    assert life.spending.figures()["budget_wait_s"] == DAY_S - 3600
    with pytest.raises(BudgetSpentError):
        life.spending.require("orders")


def test_a_ledger_that_somebody_wrote_over_is_told_with_its_table(service, clock):
    life = Life(service, clock, 1000 * MIB)
    life.load(runs_of(3)[0])
    for text in ("mine", "[]", '{"day": {"size": 1}}', '{"reserved": {"j": 1}}', '{"day": 5}'):
        service.tables[LEDGER].resource["description"] = text
        with pytest.raises(ConnectError, match=f"description of table {LEDGER} .*holds no ledger") as told:
            life.spending.begin("orders", ["SELECT 1"])
        assert "Drop the table" in str(told.value)
    counted = Life(service, clock, None)
    counted.load(runs_of(5)[0])
    counted.spending.save()
    assert service.tables[LEDGER].resource["description"] == '{"day": 5}', "what only counts ends no task"


def test_a_sink_that_merges_nothing_keeps_no_ledger(service, monkeypatch):
    monkeypatch.setattr(
        sink, "open_warehouse", lambda _: Warehouse(PlainClient(service), PROJECT, DATASET, timeout_s=9)
    )
    given = {
        "project": PROJECT, "defaultDataset": DATASET, "enableBatchLoad": "orders", "gcsBucketName": "b",
        "timePartitioningType": "NONE",
    }  # fmt: skip
    task, context = (
        BigQuerySinkTask(BigQuerySinkConfig.parse(given), now_s=count(0.0, 60.0).__next__),
        FakeSinkContext(),
    )
    task.open(context)
    batch, deadline = batch_of([Message(0, 0, 1, 0)]), Deadline.after(60)
    task.put(batch, Deadline.after(10))
    while task.flush(Deadline.after(10)) != {batch.consumed.topic_partition: 1}:
        assert deadline.wait(0.01), "the row never lands"
    task.close()
    assert len(service.rows("orders")) == 1
    assert list(service.tables) == ["orders"]


def test_a_table_that_waits_for_the_budget_hides_no_failure_of_another_one(service, clock, monkeypatch):
    def fail(_: Compaction, facts: Any, rules: object) -> bool:
        raise BudgetSpentError("it waits") if facts.target == "a" else ConnectError("no right")

    monkeypatch.setattr(Compaction, "run_if_due", fail)
    waits, fails = (Life(service, clock, None, **{"dedup.mode": "compact"}).writer for _ in range(2))
    waits._facts = {"a": SimpleNamespace(target="a")}
    fails._facts = {**waits._facts, "b": SimpleNamespace(target="b")}
    with pytest.raises(BudgetSpentError):
        waits.collect()
    for writer in (fails, WritersByTable(service, {"merge": waits, "compact": fails})):
        with pytest.raises(ConnectError, match="no right"):
            writer.collect()


def test_what_comes_into_a_log_while_its_take_over_waits_for_the_budget_is_merged_too(service, clock):
    runs = runs_of(13)[:4]
    former = Life(service, clock, None, **{"dedup.mode": "compact"})
    former.load(runs[0])
    life = Life(service, clock, 1000 * MIB, **{"dedup.mode": "merge"})
    with pytest.raises(BudgetSpentError):
        life.load(runs[2])
    former.load(runs[1])  # its task was slow to end
    patiently(clock, lambda: life.load(runs[2]))
    patiently(clock, lambda: life.load(runs[3]))
    assert shown(service, "orders") == model_of(runs, {})


def test_who_sets_a_budget_of_money_is_told_by_that_key(service, clock):
    life = Life(service, clock, MIB, **{"bigquery.budget.usd.per.day": "0.000006"})
    with pytest.raises(BudgetSpentError, match=r"and bigquery\.budget\.usd\.per\.day has 1\.00 MiB for a whole day"):
        life.load(runs_of(13)[0])


def test_bytes_are_told_in_the_unit_that_fits():
    sizes = (0, 999, 1_000_000, 5 << 20, 1003 << 20, 3 << 39)
    assert [bytes_told(size) for size in sizes] == ["0 B", "999 B", "976.56 KiB", "5.00 MiB", "0.98 GiB", "1.50 TiB"]
