"""Find out what became of jobs for which processes that may be dead reserved bytes, so that these are free again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connectors.bigquery.spending.ledger import Job, Ledger
from connectors.bigquery.warehouse.jobs import Jobs

_AT_ONCE: Final = 20
"""At most so many jobs are asked for at a time, as a merge waits meanwhile."""


def settled_jobs(ledger: Ledger, jobs: Jobs, owner: str) -> Iterator[Job]:
    """Yield the jobs of other processes that have ended, of those that the ledger has reserved bytes for.

    A job that was never submitted gets its id taken by one that reads nothing. So a process that was frozen since it
    reserved the bytes cannot submit it any more, and finds the id taken. Jobs of today are left where there is room.
    """
    for job_id, reserved in ledger.oldest(_AT_ONCE, owner):
        billed_bytes = jobs.billed_bytes(job_id)
        if billed_bytes is None and jobs.take(job_id):
            billed_bytes = 0
        if billed_bytes is not None:
            yield Job(job_id, reserved.kind, billed_bytes, was_reserved=True)
