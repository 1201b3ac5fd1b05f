"""Finds out how jobs ended whose processes may be dead, so that the bytes reserved for them are free again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connectors.bigquery.spending.ledger import Job, Ledger
from connectors.bigquery.warehouse.jobs import Jobs

_AT_ONCE: Final = 20
"""At most so many jobs are asked for at a time, as a merge waits meanwhile."""


def settled_jobs(ledger: Ledger, jobs: Jobs, owner: str) -> Iterator[Job]:
    """Yield those jobs of other processes that have ended and for which the ledger still reserves bytes.

    The id of a job that was never submitted is taken by a job that reads nothing. So a process that was frozen after
    it reserved the bytes finds the id taken, and cannot submit the job. Jobs of today are left alone if the ledger has
    room.
    """
    for job_id, reserved in ledger.oldest(_AT_ONCE, owner):
        billed_bytes = jobs.billed_bytes(job_id)
        if billed_bytes is None and jobs.take(job_id):
            billed_bytes = 0
        if billed_bytes is not None:
            yield Job(job_id, reserved.kind, billed_bytes, was_reserved=True)
