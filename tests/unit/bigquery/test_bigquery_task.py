"""Checks the task between the framework and what lands its batches."""

from __future__ import annotations

from concurrent.futures import wait
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.settings.config import TASKS_KEY, BigQuerySinkConfig
from connectors.bigquery.warehouse.service_clock import ServiceClock
from connectors.bigquery.write.first_records import FirstRecords
from connectors.bigquery.write.tables_ready import TargetTables


class Staging:
    """A dataset and a way to land batches, of which the looks for other tasks' staging tables fail as listed."""

    loads = 0

    def __init__(self, *failures: Exception | None) -> None:
        self.clock = ServiceClock()
        self.failures = list(failures)
        self.looks = 0
        self.threads = 2
        self.collects = True

    def collect(self) -> None:
        self.looks += 1
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure

    def within(self, _: Deadline) -> Any:
        return nullcontext()

    def look(self) -> None: ...

    def doing(self, target: str) -> str:
        return f"nothing is done for {target}"

    def sweep(self) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def clock_s() -> list[float]:
    return [100.0]


def task_of(staging: Staging, clock_s: list[float], monkeypatch: pytest.MonkeyPatch) -> sink.BigQuerySinkTask:
    given = {"project": "p", "defaultDataset": "d", "dedup.fields": "id", "dedup.merge.interval.ms": "500"}
    monkeypatch.setattr(sink, "open_warehouse", lambda _: staging)
    monkeypatch.setattr(sink, "table_writer_of", lambda *_, **__: staging)
    task = sink.BigQuerySinkTask(BigQuerySinkConfig.parse({**given, TASKS_KEY: "2"}), lambda: clock_s[0])
    task.open(FakeSinkContext())
    return task


def end_of_the_look(task: sink.BigQuerySinkTask, clock_s: list[float]) -> None:
    assert task._collecting is not None
    wait([task._collecting], timeout=10)
    clock_s[0] += 2


def test_a_look_for_other_tasks_batches_that_failed_for_now_is_told_once_and_made_again(clock_s, monkeypatch):
    staging = Staging(RetriableError("503"), None)
    task = task_of(staging, clock_s, monkeypatch)
    task.flush(Deadline.after(1))
    end_of_the_look(task, clock_s)
    with pytest.raises(RetriableError, match="503"):
        task.flush(Deadline.after(1))
    task.flush(Deadline.after(1))
    end_of_the_look(task, clock_s)
    assert staging.looks == 2
    task.close()


def test_a_task_closes_what_it_opened_once(clock_s, monkeypatch):
    staging = Staging()
    told: list[str] = []
    for name in ("stop", "close"):
        monkeypatch.setattr(staging, name, lambda name=name: told.append(name))
    task = task_of(staging, clock_s, monkeypatch)
    task.close()
    task.close()
    assert told == ["stop", "stop", "close", "close"]  # of the way to land batches, then of the dataset


def test_what_to_do_about_a_table_that_waits_is_told_before_the_words_of_the_service():
    failure = RetriableError("Quota exceeded: see\nhttps://cloud.google.com", fix="It passes within a day.")
    assert sink._waiting("orders", failure).text == (
        "Table orders waits, and is tried again. It passes within a day. Quota exceeded: see https://cloud.google.com"
    )


@pytest.mark.parametrize(("is_at", "restored"), [(True, []), (False, ["orders"])])
def test_a_table_that_another_thread_widens_is_not_made_again_meanwhile(clock_s, monkeypatch, is_at, restored):
    task = task_of(Staging(), clock_s, monkeypatch)
    told: list[str] = []
    buffer = SimpleNamespace(
        target="orders", refused=[], failure=RetriableError("503"), is_writing=False, held_bytes=0,
        advance=lambda *_: RetriableError("503"), due_in_s=lambda _: None,
    )  # fmt: skip
    monkeypatch.setitem(task._buffers, "orders", buffer)
    monkeypatch.setattr(FirstRecords, "is_at", lambda _, target: is_at and target == "orders")
    monkeypatch.setattr(TargetTables, "restore", lambda _, one: told.append(one.target))
    with pytest.raises(RetriableError, match="503"):
        task.flush(Deadline.after(1))
    assert told == restored
    task.close()
