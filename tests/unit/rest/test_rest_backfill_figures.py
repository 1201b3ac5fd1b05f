"""Checks the figures of backfills as a scrape has them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from connect.backfill.job.progress import JobProgress
from connect.backfill.job.states import JobState
from connect.rest.figures.backfill_figures import backfill_figures, shown_jobs
from connect.telemetry.exposition import exposition
from connect.telemetry.metric_families import WorkerFigures, families
from connect.telemetry.metrics import BACKFILL_METRICS

NOW_MS = 10_000_000


def job(name: str, state: str, updated_ms: int = 0, progress: dict[str, Any] | None = None) -> dict[str, Any]:
    found = {"name": name, "state": state, "updated_ms": updated_ms, "spec": {}}
    return found | ({"progress": progress} if progress else {})


def samples(*jobs: dict[str, Any]) -> dict[tuple[str, str], float]:
    text = exposition(families(WorkerFigures({}, backfills=backfill_figures(jobs)))).decode()
    return {
        (one.name, one.labels["backfill"] + one.labels.get("status", "")): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if "backfill" in one.labels
    }


def test_what_a_progress_tells_is_shown_and_what_is_not_known_is_left_out() -> None:
    told = JobProgress(JobState.RUNNING, None, 10, 4, 1000, 400, 5000, 2, 12.5, eta_s=None, silent_s=1.5)
    assert {metric.figure for metric in BACKFILL_METRICS} <= asdict(told).keys()
    found = samples(job("flights", "RUNNING", progress=asdict(told)), job("away", "FAILED"))
    name = "kafka_connect_backfill_"
    assert found == {
        (f"{name}status", "flightsrunning"): 1, (f"{name}status", "awayfailed"): 1,
        (f"{name}done_rows", "flights"): 400, (f"{name}planned_rows", "flights"): 1000,
        (f"{name}done_chunks", "flights"): 4, (f"{name}planned_chunks", "flights"): 10,
        (f"{name}written_bytes", "flights"): 5000, (f"{name}lanes", "flights"): 2,
        (f"{name}rows_per_second", "flights"): 12.5, (f"{name}silent_seconds", "flights"): 1.5,
    }  # fmt: skip
    assert samples(job("f", "RUNNING", progress=asdict(told) | {"rows_done": 0}))[f"{name}done_rows", "f"] == 0
    assert samples(job("f", "RUNNING", progress=asdict(told) | {"eta_s": 48.0}))[f"{name}eta_seconds", "f"] == 48


def test_a_job_that_is_over_is_told_of_for_ten_minutes() -> None:
    jobs = [
        job("old", "DONE", NOW_MS - 600_001), job("new", "DONE", NOW_MS - 599_000), job("gone", "CANCELLED"),
        job("failed", "FAILED"), job("copied", "COPIED"), {"name": "other", "unreadable": "why"},
    ]  # fmt: skip
    assert [one["name"] for one in shown_jobs(jobs, NOW_MS)] == ["new", "failed", "copied"]
