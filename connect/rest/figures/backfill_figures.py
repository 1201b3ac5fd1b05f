"""Makes the figures of backfills for metrics. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from connect.backfill.job.states import JobState
from connect.telemetry.metric_families import BackfillFigures
from connect.telemetry.metrics import BACKFILL_METRICS

Job = Mapping[str, Any]
_SHOWN_MS: Final = 600_000
"""A job that is over is shown for this many milliseconds, so that a scrape sees its end."""


def shown_jobs(jobs: Iterable[Job], now_ms: int) -> Sequence[Job]:
    """Return the jobs of `GET /backfills` that metrics show: those that are not over or ended within `_SHOWN_MS`."""
    return [job for job in jobs if "spec" in job and (not JobState(job["state"]).is_over or _is_new(job, now_ms))]


def backfill_figures(jobs: Iterable[Job]) -> Mapping[str, BackfillFigures]:
    """Return the figures of each job; what is not known is left out. Jobs are as `GET /backfills/NAME` has them."""
    return {job["name"]: BackfillFigures(str(job["state"]).lower(), _figures(job.get("progress", {}))) for job in jobs}


def _is_new(job: Job, now_ms: int) -> bool:
    return bool(now_ms - job["updated_ms"] < _SHOWN_MS)


def _figures(progress: Mapping[str, Any]) -> Mapping[str, float]:
    found = {metric.figure: progress.get(metric.figure) for metric in BACKFILL_METRICS}
    return {figure: float(value) for figure, value in found.items() if value is not None}
