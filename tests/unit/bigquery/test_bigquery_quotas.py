"""Checks BigQuery's quotas of load jobs: they are predicted from the settings, and never gone beyond, however fast
records come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest
from bigquery_oracle import Message
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient
from test_bigquery_compaction import Prompt
from test_bigquery_spending import batch_of

from connect.api.optional.costs import TopicRate
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.cost.sentences import rate_sentences
from connectors.bigquery.settings.config import TASKS_KEY, BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkTask
from connectors.bigquery.spending.load_pace import LoadPace, PacedError
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse

pytestmark = pytest.mark.quick
DAY_S = 86_400
TABLE, OF_PROJECT = 1_500, 100_000


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def noted(key: str, **given: str) -> str:
    settings = {name.replace("__", "."): text for name, text in given.items()}
    config = BigQuerySinkConfig.parse({"project": PROJECT, "defaultDataset": DATASET, "topics": "a,b", **settings})
    return " ".join(note.message for note in config.notes() if note.key == key and "load jobs" in note.message)


def test_more_load_jobs_than_a_table_takes_are_noted_in_every_mode_that_loads():
    compact = {"dedup__fields": "id", "dedup__mode": "compact", "tasks__max": "4"}
    told = noted("dedup.merge.interval.ms", dedup__merge__interval__ms="60000", **compact)
    assert "4 tasks may load into a table each 60 s, which is 5,760 load jobs a day" in told
    assert "Set dedup.merge.interval.ms to 256000 or more" in told
    assert noted("dedup.merge.interval.ms", dedup__merge__interval__ms="256000", **compact) == ""
    for none in ("four", "", "9" * 5000, "1.5"):
        assert noted("dedup.merge.interval.ms", **compact | {"tasks__max": none}) == noted(
            "dedup.merge.interval.ms", **compact | {"tasks__max": "1"}
        )
    # Two tasks each two minutes: 1,440 of 1,500, and a tenth is kept.
    loads = {"enableBatchLoad": "a", "gcsBucketName": "b"}
    assert "1,440 load jobs a day" in noted("batchLoadIntervalSec", tasks__max="2", **loads)
    assert "Set batchLoadIntervalSec to 128 or more" in noted("batchLoadIntervalSec", tasks__max="2", **loads)
    assert noted("batchLoadIntervalSec", tasks__max="1", **loads) == ""
    assert "2,880 load jobs a day" in noted("commitInterval", tasks__max="2", enableBatchMode="true")
    assert noted("dedup.merge.interval.ms", dedup__fields="id", tasks__max="4", dedup__mode="merge") == ""


@pytest.mark.parametrize(
    ("given", "api"),
    [
        ({"dedup.mode": "cdc", "dedup.fields": "id"}, "the Storage Write API"),
        ({"exactly.once": "true"}, "the Storage Write API"),
        ({"useStorageWriteApi": "true"}, "the Storage Write API"),
        ({"dedup.mode": "view", "dedup.fields": "id"}, "insertAll"),
        ({"dedup.mode": "insert_id", "dedup.fields": "id"}, "insertAll"),
        ({}, "insertAll"),
        ({"dedup.mode": "compact", "dedup.fields": "id"}, None),
        ({"enableBatchMode": "true"}, None),
        ({"enableBatchLoad": "a,b", "gcsBucketName": "g"}, None),
    ],
)
def test_more_bytes_a_second_than_a_project_takes_are_told_by_the_api_that_is_set(given, api):
    config = BigQuerySinkConfig.parse({"project": PROJECT, "defaultDataset": DATASET, "topics": "a,b", **given})

    def told(mb_per_s: int, location: str | None) -> str:
        rates = {topic: TopicRate(mb_per_s * 500 * DAY_S, 600.0, row_bytes=1000) for topic in ("a", "b")}
        return " ".join(rate_sentences(config, rates, location))

    if api is None:
        assert told(10_000, "europe-west1") == ""
        return
    assert told(99, "europe-west1") == ""
    assert "with busy minutes of 3 times the mean" in told(150, "europe-west1")
    most = told(400, "europe-west1")
    assert f"About 400 MB a second come from the topics, and BigQuery takes 300 MB a second by {api}" in most
    assert "in the mean of a day requests are refused for now, and rows wait. Set " in most
    assert "in one region" in told(400, None)
    in_eu = {"insertAll": 1000, "the Storage Write API": 3000}[api]
    assert told(in_eu // 3, "EU") == ""
    assert f"takes {in_eu:,} MB a second" in told(in_eu, "EU")


@pytest.mark.parametrize("tasks", [1, 3, 7])
def test_tasks_that_load_as_fast_as_they_may_keep_a_tables_quota_and_use_nine_tenths_of_it(tasks):
    clock = Clock()
    paces = [LoadPace(tasks, clock) for _ in range(tasks)]
    loaded: deque[float] = deque()
    most = total = 0
    for _ in range(3 * DAY_S // 60):
        for pace in paces:
            while True:
                try:
                    pace.require("t")
                except PacedError:
                    break
                pace.count("t")
                loaded.append(clock.now_s)
                total += 1
        while loaded[0] <= clock.now_s - DAY_S:
            loaded.popleft()
        most = max(most, len(loaded))
        clock.now_s += 60
    assert most <= TABLE
    assert total > 3 * 0.85 * TABLE


def test_tables_made_for_one_job_share_the_projects_quota_alone():
    clock = Clock()
    pace = LoadPace(10, clock)
    for _ in range(OF_PROJECT // 100):
        pace.require("t", "_t_log")
        pace.count(None)
    assert pace.figures()["load_quota_table_used_percent"] == 0
    assert pace.figures()["load_quota_project_used_percent"] == pytest.approx(100)
    with pytest.raises(PacedError, match=r"100,000 of them a day of the project.*none is lost"):
        pace.require("t", "_t_log")


def test_a_batch_that_takes_several_jobs_ends_and_is_made_up_for_later():
    """The search for a bad row would never end if its jobs had to wait."""
    clock = Clock()
    pace = LoadPace(100, clock)
    pace.require("t")
    for _ in range(5):
        pace.count("t")
    with pytest.raises(PacedError, match="table t"):
        pace.require("t")
    pace.require("other")
    clock.now_s += 5 * DAY_S / (0.9 * TABLE / 100)
    pace.require("t")


def test_a_table_whose_quota_is_used_waits_is_told_and_lands_later(monkeypatch):
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    service, clock = PlainBigQuery(Prompt(1)), Clock()
    monkeypatch.setattr(
        sink, "open_warehouse", lambda _: Warehouse(PlainClient(service), PROJECT, DATASET, timeout_s=9)
    )
    given = {
        "project": PROJECT, "defaultDataset": DATASET, "enableBatchLoad": "orders", "gcsBucketName": "b",
        "batchLoadIntervalSec": "1", "timePartitioningType": "NONE", TASKS_KEY: "1500",
    }  # fmt: skip
    task, context = BigQuerySinkTask(BigQuerySinkConfig.parse(given), now_s=clock), FakeSinkContext()
    task.open(context)
    place = batch_of([Message(0, 0, 1, 0)]).consumed.topic_partition

    def flushed_until(is_so: Callable[[int], bool]) -> None:
        deadline = Deadline.after(60)
        while not is_so(task.flush(Deadline.after(10))[place]):
            clock.now_s += 1
            assert deadline.wait(0.01), "nothing comes of it"

    task.put(batch_of([Message(0, 0, 1, 0)]), Deadline.after(10))
    flushed_until(lambda next_offset: next_offset == 1)
    task.put(batch_of([Message(0, 1, 2, 0)]), Deadline.after(10))
    flushed_until(lambda _: context.explained is not None)
    assert "Table orders waits" in context.explained
    assert "1,500 of them a day of table orders" in context.explained
    assert context.gauges["load_quota_table_used_percent"] == pytest.approx(100, abs=1)
    assert context.gauges["load_quota_waits_total"] >= 1
    assert len(service.jobs) == 1, "nothing is sent that would be refused"
    clock.now_s += 2 * DAY_S
    flushed_until(lambda next_offset: next_offset == 2)
    task.close()
    assert len(service.rows("orders")) == 2
