"""Exports everything that Kafka holds of a job as JSON: for an audit, for a bug report, or to compare two jobs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from connect.api.errors import ConnectError
from connect.backfill.job.job_store import JobStore
from connect.lib.deadline import Deadline


def exported(store: JobStore, name: str, deadline: Deadline) -> dict[str, Any]:
    """Return the job, signal, plan, markers and handover as JSON values. ConnectError: there is no such job."""
    jobs = store.jobs(deadline)
    if name not in jobs.jobs:
        raise ConnectError(f"There is no backfill {name}.", fix="Begin it by `connect backfill run`.")
    driver = store.driver_state(deadline)
    handover = driver.handover
    return {
        "job": asdict(jobs.jobs[name]),
        "wish": jobs.signals.get(name),
        "chunks": [asdict(split) for split in driver.splits],
        "markers": [asdict(marker) for marker in store.all_markers(deadline)],
        "handover": None if handover is None else {"written_ms": handover.written_ms},
    }
