"""Checks dedup.mode=auto: what is chosen for a table and why, that it stays, and that a change of mode keeps rows
exact.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from bigquery_oracle import Message, batch_of
from drawn_cases import quick_first
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient
from test_bigquery_compaction import Life, Prompt, model_of, runs_of, shown
from test_bigquery_config import parse

from connect.api.errors import ConfigError, RetriableError
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.cost.asking import choice_for, told_of_dear_merges
from connectors.bigquery.cost.choosing import new_choice
from connectors.bigquery.cost.plan import TableSize, Traffic, plan
from connectors.bigquery.cost.prices import Prices
from connectors.bigquery.modes.auto import choice_in
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.preflight import check
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write import table_modes

pytestmark = pytest.mark.timeout(600)
LABEL = "kafka-connect-dedup-mode"
AUTO = {"dedup.mode": "auto", "dedup.compact.percent": "1000000"}
"""Tables have a few rows here, so that a log would have its part of theirs with each row."""
DAILY = {**AUTO, "dedup.compact.interval.ms": "86400000"}
WEEKLY = {**AUTO, "dedup.compact.interval.ms": "604800000"}
"""A compaction of a small log is dearer than one merge, so it costs less a day where it is seldom."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    return PlainBigQuery(Prompt(1))


def mode_of(service: PlainBigQuery) -> str | None:
    found: Any = service.tables["orders"].resource.get("labels") or {}
    return found.get(LABEL)


def costs(rows: int, total_bytes: int, *, rows_per_day: int = 100_000_000, partitions: int = 0) -> Any:
    traffic = Traffic(rows_per_day, 1024, interval_s=60.0, batch_rows=500_000)
    return plan(TableSize(rows, total_bytes, partitions), traffic, Prices())


def test_a_large_table_is_compacted_a_small_one_merged_and_the_reason_has_the_figures():
    large = new_choice(costs(5 << 30, 5 << 40), has_window=False)
    assert large.mode == "compact"
    assert "USD" in large.why
    assert new_choice(costs(1000, 100_000, rows_per_day=10), has_window=False).mode == "merge"
    assert new_choice([], has_window=False).mode == "merge"
    windowed = new_choice(costs(5 << 30, 5 << 40, partitions=3000), has_window=True)
    assert windowed.mode == "compact"
    assert windowed.why != large.why, "a window is counted where one is set"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "auto"), ({"dedup__keep": "first", "dedup__delete": "ignore"}, "merge"),
        ({"dedup__fields": "", "upsertEnabled": "true"}, "merge"), ({"upsertEnabled": "true"}, "merge"),
        ({"dedup__fields": ""}, "none"), ({"dedup__mode": "compact"}, "compact"),
    ],
)  # fmt: skip
def test_auto_chooses_only_where_both_modes_are_possible_and_java_has_none(given, name):
    assert parse(**given).mode.name == name


def test_more_load_jobs_than_a_project_takes_are_noted_with_the_interval_that_fits():
    def noted(**given: str) -> str:
        notes = parse(topics="a,b,c,d", **given).notes()
        return " ".join(note.message for note in notes if note.key == "dedup.merge.interval.ms")

    # 10 tasks x 4 tables x 86,400 s a day, by 10 s: 345,600; by 38.4 s nine tenths of 100,000.
    told = noted(tasks__max="10", dedup__merge__interval__ms="10000")
    assert "345,600 load jobs a day" in told
    assert "Set dedup.merge.interval.ms to 38400 or more" in told
    assert noted(tasks__max="10", dedup__merge__interval__ms="38400") == ""
    assert noted() == ""


def test_a_task_that_rests_says_once_why_it_compacts_nothing(service, caplog):
    caplog.set_level("INFO")
    life = Life(service)
    for _ in range(3):
        life.writer.collect()
    assert sum("No log is compacted yet" in record.message for record in caplog.records) == 1
    life.load(runs_of(3)[0])
    life.writer.collect()
    assert service.rows("_orders_log") == []


def test_a_new_table_is_merged_and_keeps_its_mode_until_its_user_names_another(service):
    runs = runs_of(3)
    Life(service, **AUTO).load(*runs[:2])
    assert mode_of(service) == "merge"
    assert "_orders_log" not in service.tables
    Life(service, **AUTO).load(runs[2])
    assert mode_of(service) == "merge"
    Life(service, **{"dedup.mode": "compact"}).load(runs[3])
    assert mode_of(service) == "compact"
    Life(service, **AUTO).load(runs[4])
    assert mode_of(service) == "compact"
    assert service.rows("_orders_log")
    assert shown(service, "orders_latest") == model_of(runs[:5], {})
    Life(service, **{"dedup.mode": "merge"}).load(runs[5])
    assert mode_of(service) == "merge"
    assert shown(service, "orders") == model_of(runs[:6], {})


def test_an_existing_table_keeps_what_wrote_it_before_there_was_a_choice(service):
    Life(service, **{"dedup.mode": "merge"}).load(runs_of(5)[0])
    assert mode_of(service) is None
    Life(service, **AUTO).load(runs_of(5)[1])
    assert mode_of(service) == "merge"


def test_a_log_without_a_choice_is_compacted_on(service):
    Life(service, **{"dedup.mode": "compact"}).load(runs_of(5)[0])
    Life(service, **AUTO).load(runs_of(5)[1])
    assert mode_of(service) == "compact"
    assert shown(service, "orders_latest") == model_of(runs_of(5)[:2], {})


def test_a_table_of_somebody_else_is_chosen_for_by_what_it_costs(service, monkeypatch):
    Life(service, **{"dedup.mode": "merge"}).load(runs_of(5)[0])
    service.drop("_orders_merges")  # nothing of the sink is beside it
    one = Life(service, **DAILY)
    choice = choice_for(one.config, one.warehouse, Prices(), "orders", 0.0)
    assert choice.mode == "merge"
    assert "a day of merges costs about" in choice.why
    costly = choice_for(one.config, one.warehouse, Prices(query_tib=10_000_000), "orders", 0.0)
    assert costly.mode == "compact"
    assert mode_of(service) is None, "validation writes nothing"


def test_tasks_that_may_have_no_partition_of_a_table_do_not_make_it_dear(service):
    Life(service, **{"dedup.mode": "merge"}).load(runs_of(5)[0])
    service.drop("_orders_merges")
    once_a_day = {**DAILY, "dedup.merge.interval.ms": "86400000", "tasks.max": "20"}
    one, dear = Life(service, **once_a_day), Prices(query_tib=30_000)
    choice = choice_for(one.config, one.warehouse, dear, "orders", 0.0)
    assert choice.mode == "merge", choice.why
    found = one.warehouse.table("orders")
    assert found is not None
    assert told_of_dear_merges(one.config, one.warehouse, dear, found, 0.0) == ""


def test_compact_is_not_chosen_where_its_view_would_have_the_name_of_another_topics_table(service):
    Life(service, **{"dedup.mode": "merge"}).load(runs_of(5)[0])
    service.drop("_orders_merges")
    one = Life(service, **WEEKLY, topics="orders,orders_latest")
    dear = Prices(query_tib=10_000_000)
    choice = choice_for(one.config, one.warehouse, dear, "orders", 0.0)
    assert choice.mode == "merge"
    assert "would have the name of another topic's table (dedup.view.suffix)" in choice.why
    found = one.warehouse.table("orders")
    assert found is not None
    assert told_of_dear_merges(one.config, one.warehouse, dear, found, 0.0) == ""
    other = Life(service, **WEEKLY, topics="orders,orders_latest", **{"dedup.view.suffix": "_now"})
    assert choice_for(other.config, other.warehouse, dear, "orders", 0.0).mode == "compact"
    assert "set dedup.mode=compact" in told_of_dear_merges(other.config, other.warehouse, dear, found, 0.0)


def test_a_table_that_auto_goes_on_to_compact_is_refused_where_a_topic_has_its_views_name(service):
    Life(service, **{"dedup.mode": "compact"}).load(runs_of(5)[0])
    one = Life(service, **AUTO, topics="orders,orders_latest")
    with pytest.raises(ConfigError, match=r"The view of topic orders is orders_latest, .* topic orders_latest"):
        check(one.config, one.warehouse)
    other = Life(service, **AUTO, topics="orders,others")
    check(other.config, other.warehouse)


def test_no_mode_is_chosen_by_a_look_that_failed(service, monkeypatch):
    Life(service, **{"dedup.mode": "merge"}).load(runs_of(5)[0])
    service.drop("_orders_merges")  # nothing of the sink is beside it
    one, look, asked = Life(service, **DAILY), Warehouse.table, Counter[str]()

    def fail_later(warehouse: Warehouse, name: str) -> Any:
        asked[name] += 1
        if asked["orders"] > 1:
            raise RetriableError("the service is away")
        return look(warehouse, name)

    monkeypatch.setattr(Warehouse, "table", fail_later)
    choice = choice_for(one.config, one.warehouse, Prices(query_tib=10_000_000), "orders", 0.0)
    assert choice.mode == "compact", "it is chosen by the one look that there was"


def test_a_mode_that_another_task_has_chosen_meanwhile_stays(service, monkeypatch):
    Life(service, **{"dedup.mode": "merge"}).load(runs_of(5)[0])
    one = Life(service, **AUTO)

    def choose_late(*asked: Any) -> Any:
        choice = choice_for(*asked)
        one.warehouse.label("orders", {LABEL: "compact"})
        return choice

    monkeypatch.setattr(table_modes, "choice_for", choose_late)
    one.load(runs_of(5)[1])
    assert mode_of(service) == "compact"
    assert service.rows("_orders_log")
    assert shown(service, "orders_latest") == model_of(runs_of(5)[:2], {})


@pytest.mark.parametrize("others", [{}, {"dedup.order.by": "version"}], ids=["time", "version"])
@pytest.mark.parametrize("seed", quick_first(3, of=8))
def test_modes_that_change_in_mid_flow_keep_the_rows(service, seed, others):
    draw, runs, loaded = random.Random(seed), runs_of(seed), list[list[Message]]()
    for run in runs:
        mode = draw.choice(["auto", "compact", "merge"])
        life = Life(service, **{"dedup.mode": mode, **others})
        life.load(run, *draw.sample(loaded, min(len(loaded), 1)))
        loaded.append(run)
        if life.writer.collects and draw.random() < 0.5:
            life.writer.collect()
        has_log = "_orders_log" in service.tables and bool(service.rows("_orders_log"))
        assert shown(service, "orders_latest" if has_log else "orders") == model_of(loaded, others), (mode, loaded)


def noted_by(service: PlainBigQuery, monkeypatch: pytest.MonkeyPatch, *batches: Any, **others: str) -> tuple[str, ...]:
    """A life of a task that takes these batches, and what it notes."""
    monkeypatch.setattr(
        sink, "open_warehouse", lambda _: Warehouse(PlainClient(service), PROJECT, DATASET, timeout_s=9)
    )
    given = {
        "project": PROJECT, "defaultDataset": DATASET, "topics": "orders", "dedup.fields": "id",
        "timePartitioningType": "NONE", "dedup.merge.interval.ms": "0", **others,
    }  # fmt: skip
    task, context = sink.BigQuerySinkTask(BigQuerySinkConfig.parse(given)), FakeSinkContext()
    task.open(context)
    for batch in batches:
        task.put(batch, Deadline.after(10))
        deadline = Deadline.after(30)
        while task.flush(Deadline.after(10))[batch.consumed.topic_partition] < batch.consumed.next_offset:
            assert deadline.wait(0.01), "the rows do not land"
    task.close()
    return context.noted


def test_the_choice_for_a_table_and_its_reason_are_noted_and_after_a_restart_too(service, monkeypatch):
    batch = batch_of([Message(0, 0, 1, 0)])
    first = noted_by(service, monkeypatch, batch, **AUTO)
    why = "it had no rows when that was chosen, and nothing was known of what would come"
    assert first == (f"dedup.mode=auto takes merge for table p.d.orders: {why}.",)
    assert noted_by(service, monkeypatch, **AUTO) == first, "before a row comes"
    assert noted_by(service, monkeypatch, batch, **AUTO) == first
    assert noted_by(service, monkeypatch, batch, **{"dedup.mode": "merge"}) == ()


def test_a_table_that_has_grown_is_noted_with_what_its_merges_cost_now_and_the_mode_that_costs_less(
    service, monkeypatch
):
    noted_by(service, monkeypatch, batch_of([Message(0, 0, 1, 0)]), **WEEKLY)
    monkeypatch.setattr(table_modes, "prices_of_config", lambda _: Prices(query_tib=10_000_000))
    (told,) = noted_by(service, monkeypatch, **WEEKLY)
    assert "nothing was known of what would come. As it has grown, a day of merges costs about" in told
    assert told.endswith("USD, of compact 68.12: set dedup.mode=compact, which keeps its rows, and read its view then.")
    assert mode_of(service) == "merge", "its user's word alone changes it"


def test_a_table_that_grows_dear_while_its_task_runs_is_noted_and_looked_at_four_times_a_day(service, monkeypatch):
    asked: list[str] = []

    class Counting(PlainClient):
        def get_table(self, name: str, **how: Any) -> Any:
            asked.append(name)
            return super().get_table(name, **how)

    monkeypatch.setattr(sink, "open_warehouse", lambda _: Warehouse(Counting(service), PROJECT, DATASET, timeout_s=9))
    given = {
        "project": PROJECT, "defaultDataset": DATASET, "topics": "orders", "dedup.fields": "id",
        "timePartitioningType": "NONE", "dedup.merge.interval.ms": "0", **WEEKLY,
    }  # fmt: skip
    clock, deadline = [100.0], Deadline.after(60)
    task, context = sink.BigQuerySinkTask(BigQuerySinkConfig.parse(given), lambda: clock[0]), FakeSinkContext()
    task.open(context)
    task.put(batch_of([Message(0, 0, 1, 0)]), Deadline.after(10))

    def flushed_until(is_so: Callable[[], bool]) -> None:
        while not is_so():
            task.flush(Deadline.after(10))
            clock[0] += 1
            assert deadline.wait(0.005), f"it is never so: {context.noted}"

    flushed_until(lambda: bool(service.rows("orders")) if "orders" in service.tables else False)
    monkeypatch.setattr(table_modes, "prices_of_config", lambda _: Prices(query_tib=10_000_000))
    asked.clear()
    end_s = clock[0] + 100
    flushed_until(lambda: clock[0] > end_s)
    assert asked == [], "a table that was priced a while ago"
    assert "As it has grown" not in " ".join(context.noted)
    clock[0] += 6 * 3600
    flushed_until(lambda: "As it has grown, a day of merges costs about" in " ".join(context.noted))
    assert set(asked) == {"p.d.orders"}
    task.close()


def test_a_choice_by_costs_is_noted_with_its_figures_after_a_restart_and_a_word_of_the_user_as_his(
    service, monkeypatch
):
    Life(service, **{"dedup.mode": "merge"}).load(runs_of(5)[0])
    service.drop("_orders_merges")
    first = noted_by(service, monkeypatch, batch_of(runs_of(5)[1]), **AUTO)
    assert "a day of merges costs about" in first[0]
    assert "USD, of compact" in first[0]
    assert noted_by(service, monkeypatch, **AUTO) == first
    noted_by(service, monkeypatch, batch_of(runs_of(5)[2]), **{"dedup.mode": "compact"})
    assert noted_by(service, monkeypatch, **AUTO) == (
        "dedup.mode=auto takes compact for table p.d.orders: dedup.mode named it before.",
    )


def test_a_label_of_a_choice_is_one_that_bigquery_takes_and_reads_back_as_the_same_sentence():
    for choice in (new_choice(costs(5 << 30, 5 << 40), has_window=False), new_choice([], has_window=False)):
        assert choice_in(choice.labels) == choice
        for text in (*choice.labels, *choice.labels.values()):
            assert re.fullmatch(r"[a-z0-9_-]{1,63}", text)
    kept = choice_in({LABEL: "merge", "kafka-connect-dedup-reason": "else"})
    assert kept is not None
    assert kept.why == f"its label {LABEL} says so"
