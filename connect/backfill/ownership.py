"""Keeps the ownership of a job: the driver that took its transactional id last, and no other, writes its state.

A later driver takes the job over, and the earlier one can write nothing more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Final

from connect.api.errors import ConnectError
from connect.api.optional.bulk import Split
from connect.backfill.job.job import Job, Jobs
from connect.backfill.job.job_store import JobStore
from connect.backfill.job.markers import require_done
from connect.backfill.job.oversized_chunks import placed_chunks
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobState, JobStateError
from connect.backfill.job.stored_spec import told_to_requests
from connect.kafka.client.errors import FencedError
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

KAFKA_S: Final = 60.0
"""Kafka has so many seconds for one answer."""
OTHERS_S: Final = 120.0
"""A run that takes a job over waits so many seconds for open transactions of others that hide the job's records."""


class TakenOverError(JobStateError):
    """Says that another run owns the job now; this run has written nothing since."""


class UnwrittenStateError(ConnectError):
    """Says that a job's run has ended but its record could not be written, which still says that the job runs."""


class JobOwnership:
    """Reads the job's state, and writes it after `take_over`. Owned by the driver's thread."""

    def __init__(self, spec: BackfillSpec, store: JobStore, *, by_worker: str) -> None:
        """Take the job's spec and topics. `by_worker` is the worker that was asked for the run; empty: a command."""
        self._spec = spec
        self._store = store
        self._by_worker = by_worker
        self._stack = ExitStack()
        self._producer: BatchProducer | None = None

    def close(self) -> None:
        """Close the producer; the job stays owned by this driver until another one takes it over."""
        self._stack.close()

    def take_over(self, deadline: Deadline | None = None) -> Job | None:
        """Become the driver of the job, whoever was it before, and return the job; None if it was never planned.

        RetriableError: an open transaction of another job hides what the newest record of this one is, `OTHERS_S` long
        or until `deadline`.
        """
        until = Deadline.after(OTHERS_S) if deadline is None else deadline.sooner(OTHERS_S)
        self._store.make_topics(Deadline.after(KAFKA_S))
        # The check comes first, as taking over would shut out the driver of another cluster's job of the same name.
        self.look()
        self._store.require_markers_of(self._spec.name, Deadline.after(KAFKA_S))
        self._producer = self._store.driver_producer(self._spec.name)
        self._stack.callback(self._producer.close)
        self._producer.init_transactions(Deadline.after(KAFKA_S))
        return self._of_this_cluster(self._store.newest_jobs(until))

    def require_known(self) -> Job:
        """Return the job as it is now. ConnectError: it was never run, or belongs to another cluster."""
        return self.known(self.look())

    def planned_splits(self, job: Job) -> Sequence[Split]:
        """Return the chunks of a job as they were planned. ConnectError: the plan is lost."""
        splits = self._store.driver_state(Deadline.after(KAFKA_S)).splits
        if len(splits) < job.chunks:
            raise ConnectError(
                f"Topic {self._store.topics.markers} has {len(splits)} of {job.chunks} chunks of backfill {job.name}.",
                fix="Its records are lost. Begin again under another name, into a new topic.",
            )
        # An earlier driver may have died after it wrote a longer plan, before it wrote the job.
        return splits[: job.chunks]

    def require_written(self, job: Job) -> None:
        """Raise ConnectError if a chunk of the job has no marker that says that it is done."""
        found = self._store.all_markers(Deadline.after(KAFKA_S))
        chunks = placed_chunks(self.planned_splits(job), found, self._spec.chunking.lanes)
        require_done((chunk.split.id for chunk in chunks), found)

    def write(self, batches: Sequence[RawBatch]) -> None:
        """Write records in one transaction of the driver. TakenOverError: another driver owns the job."""
        assert self._producer is not None
        deadline = Deadline.after(KAFKA_S)
        try:
            self._producer.begin()
            for batch in batches:
                self._producer.send(batch, deadline)
            self._producer.commit(deadline)
        except FencedError as error:
            raise taken_over(self._spec.name) from error
        except ConnectError:
            with suppress(ConnectError):  # What went wrong first is told; the next driver ends what stays open.
                self._producer.abort(deadline)
            raise

    def say(self, job: Job, state: JobState, error: str | None = None) -> Job:
        """Write that the job is in this state now, and return the job."""
        now = job.now(state, time.time_ns() // 1_000_000, error)
        self.write([self._store.job_batch(now)])
        return now

    def fail(self, job: Job, error: str) -> None:
        """Write to the job's record that it failed and why, in words that suit a request or a command, as it was begun.

        UnwrittenStateError: the record could not be written, and still says that the job runs. TakenOverError: another
        run owns it.
        """
        try:
            self.say(job, JobState.FAILED, self._in_words(error))
        except TakenOverError:
            raise
        except ConnectError as unwritten:
            raise UnwrittenStateError(
                f"Its record could not be written, and still says that it runs. {error}"
            ) from unwritten

    def say_waiting(self, job: Job, reason: str) -> None:
        """Write to the record of a running job why nothing moves, in words as those of `fail`."""
        self.say(job, JobState.RUNNING, self._in_words(reason))

    def _in_words(self, error: str) -> str:
        return told_to_requests(error) if self._by_worker else error

    def look(self) -> Job | None:
        """Return the job as its record says; None if there is none.

        An open transaction of another job may hide a newer record. JobStateError: the job belongs to another cluster,
        or this version cannot read its record.
        """
        return self._of_this_cluster(self._store.jobs(Deadline.after(KAFKA_S)))

    def _of_this_cluster(self, jobs: Jobs) -> Job | None:
        job = jobs.known(self._spec.name)
        if job is not None:
            job.require_owner(self._store.worker.group_id)
        return job

    def known(self, job: Job | None) -> Job:
        """Return the job if it is there. ConnectError: it was never run."""
        if job is None:
            raise ConnectError(
                f"There is no backfill {self._spec.name}.",
                fix="Begin it by `connect backfill run`, or POST /backfills.",
            )
        return job


def taken_over(name: str) -> TakenOverError:
    """Return the error for a run whose job belongs to another run now."""
    return TakenOverError(
        f"Another run has taken backfill {name} over, or it was cancelled; this run has ended.",
        fix=f"See `connect backfill status {name}`, or GET /backfills/{name}.",
    )
