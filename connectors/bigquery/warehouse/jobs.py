"""Submits jobs under ids that the sink chooses, so that a job whose submission got no answer is found and runs once."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

from connect.api.errors import RetriableError
from connectors.bigquery.warehouse.dataset_calls import DatasetCalls
from connectors.bigquery.warehouse.errors import OVER_LIMIT, job_error
from connectors.bigquery.warehouse.job_facts import UNMETERED, Counts, Ended, Metering

_FIRST_LOOK_S: Final = 0.05
_LAST_LOOK_S: Final = 2.0
LIFE_LABEL: Final = "kafka-connect-life"
"""This label of a job tells which run of the task has submitted it."""


class Jobs:
    """Submits the jobs of one run of a task. Used by several threads."""

    def __init__(self, calls: DatasetCalls, labels: Mapping[str, str]) -> None:
        """Take the labels that the user wants on every job."""
        self._calls = calls
        self._labels = labels
        # Ids of jobs are unique in a whole project for months, so each has a hash of the dataset.
        self._scope = hashlib.sha256(f"{calls.path}".encode()).hexdigest()[:8]
        self._life = secrets.token_hex(8)
        self._unanswered: set[str] = set()

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of the jobs of this run."""
        return {**self._labels, LIFE_LABEL: self._life}

    def has_attempt(self, job_id: str, attempt: int) -> bool:
        """Tell if a job was ever submitted under this id and number."""
        from google.api_core.exceptions import NotFound

        with self._calls.translated(f"looking at job {job_id}"):
            try:
                self._found(self._attempt_id(job_id, attempt))
            except NotFound:
                return False
        return True

    def wait_for(self, job_id: str, attempt: int) -> None:
        """Wait until the job of this id and number has ended, even with an error. Return at once if there is none."""
        from google.api_core.exceptions import NotFound

        with self._calls.translated(f"waiting for job {job_id}"):
            try:
                job = self._found(self._attempt_id(job_id, attempt))
            except NotFound:
                return
            self._wait(job)

    def once(
        self,
        job_id: str,
        submit: Callable[[str], Any],
        doing: str,
        counts: Counts,
        labels: dict[str, str],
        *,
        first_attempt: int = 0,
        metering: Metering = UNMETERED,
    ) -> Any:
        """Submit a job under `job_id`, the dataset's mark and a number, or find it there. Return it once it has ended.

        If a job of that id is there already, it is waited for, and `counts` says if it was the same work; if not, the
        next number is tried. `labels` are the job's, which tell it from others of its id. `metering` hears of each job
        of these ids that has ended.

        Raise RefusedJobError if BigQuery refuses the job, and RetriableError if nobody knows whether it ran.
        """
        from google.api_core.exceptions import Conflict

        attempt = first_attempt
        while True:
            attempt_id = self._attempt_id(job_id, attempt)
            was_lost = attempt_id in self._unanswered
            self._unanswered.add(attempt_id)
            with self._calls.translated(doing):
                try:
                    job, is_new = submit(attempt_id), True
                except Conflict:
                    job, is_new = self._found(attempt_id), False
                is_lost = was_lost and labels.items() <= job.labels.items()
                self._wait(job)
            self._unanswered.discard(attempt_id)
            metering.ended(_ended(attempt_id, job, is_own=is_new or is_lost))
            if is_new and job.error_result:
                raise job_error(job.error_result, doing)
            if is_new or (not job.error_result and _is_done(counts, is_lost=is_lost)):
                return job
            attempt += 1

    def billed_bytes(self, attempt_id: str) -> int | None:
        """Return the bytes that a job was billed for; None if no such job has ended."""
        from google.api_core.exceptions import NotFound

        with self._calls.translated(f"looking at job {attempt_id}"):
            try:
                job = self._found(attempt_id)
            except NotFound:
                return None
        return int(job.total_bytes_billed or 0) if job.state == "DONE" else None

    def take(self, attempt_id: str) -> bool:
        """Use up the id of a job for one that reads and costs nothing. Return False if a job has the id already."""
        from google.api_core.exceptions import Conflict
        from google.cloud import bigquery

        calls = self._calls
        with calls.translated(f"taking the id of job {attempt_id}"):
            try:
                calls.client.query(
                    "SELECT 1 AS taken", job_id=attempt_id, job_config=bigquery.QueryJobConfig(labels=self.labels),
                    location=calls.location, retry=None, job_retry=None, timeout=calls.limit_s,
                )  # fmt: skip
            except Conflict:
                return False
        return True

    def _attempt_id(self, job_id: str, attempt: int) -> str:
        return f"{job_id}-{self._scope}-{attempt}"

    def _found(self, attempt_id: str) -> Any:
        calls = self._calls
        return calls.client.get_job(attempt_id, location=calls.location, retry=calls.again, timeout=calls.limit_s)

    def _wait(self, job: Any) -> None:
        """Wait until the job has ended, with or without an error."""
        pause_s = _FIRST_LOOK_S
        while job.state != "DONE":
            if self._calls.stopped.wait(pause_s):
                raise RetriableError(f"Job {job.job_id} was still running when the task was stopped.")
            pause_s = min(2 * pause_s, _LAST_LOOK_S)
            job.reload(retry=None, timeout=self._calls.limit_s)


def _is_done(counts: Counts, *, is_lost: bool) -> bool:
    """Return True if a job of the same id, found at its submission, has done the work, so that none is submitted."""
    return counts is Counts.ALWAYS or (counts is Counts.LOST and is_lost)


def _ended(attempt_id: str, job: Any, *, is_own: bool) -> Ended:
    # Load jobs are free, and have no such figure.
    billed = getattr(job, "total_bytes_billed", None) or 0
    return Ended(attempt_id, int(billed), is_own, (job.error_result or {}).get("reason") == OVER_LIMIT)
