"""Lets a job wait for a right that the brokers took away while it ran, and tells in the job's record what to grant."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from connect.api.errors import ConnectError
from connect.backfill.job.chunk import Signal
from connect.backfill.job.job import Job
from connect.backfill.job.job_store import JobStore
from connect.backfill.job.states import JobState
from connect.backfill.ownership import KAFKA_S, JobOwnership
from connect.kafka.client.errors import DeniedError
from connect.lib.deadline import Deadline

_log = logging.getLogger(__name__)
_TRY_S: Final = 10.0
"""The lanes are tried again after so many seconds."""
_LOOK_S: Final = 1.0
"""While it waits, it looks once in so many seconds for what the job's owner wants."""
_MARKERS_S: Final = 5.0
"""While lanes try again, it looks once in so many seconds if they have written chunks."""


class AwaitedRight:
    """Lets a job wait while the brokers deny it a right. Owned by the driver's thread.

    The job's record says which right to grant until a chunk is written again: lanes that try in vain need some time for
    it, and people who look at the job meanwhile have to see what to grant.
    """

    def __init__(self, store: JobStore, ownership: JobOwnership) -> None:
        self._store = store
        self._ownership = ownership
        self._told: str | None = None

    def was_there(self) -> bool:
        """Return True if the job has written rows before, so that the right was taken away and not merely forgotten."""
        try:
            return bool(self._store.all_markers(Deadline.after(KAFKA_S)))
        except DeniedError:  # The job was begun by reading them.
            return True

    def wait(self, job: Job, denial: str) -> Signal:
        """Wait, and return GO_ON when it is time to try again, or else the signal of the job's owner.

        The job stays RUNNING, and its record says why nothing moves. ConnectError: the record cannot be written.
        """
        _log.warning("Backfill %s waits for a right, and tries again every %.0f s: %s", job.name, _TRY_S, denial)
        if denial != self._told:
            self._ownership.say_waiting(job, denial)
            self._told = denial
        rest = Deadline.after(_TRY_S)
        while (signal := self._signal(job)) is Signal.GO_ON and rest.wait(_LOOK_S):
            pass
        return signal

    @contextmanager
    def trying(self, job: Job) -> Iterator[None]:
        """Remove the denial from the job's record once the lanes, which run inside the block, have written a chunk."""
        if self._told is None:
            yield
            return
        ended = threading.Event()
        watching = threading.Thread(target=self._take_back, args=(job, self._count(), ended), name="awaited-right")
        watching.start()
        try:
            yield
        finally:
            ended.set()
            watching.join()

    def _take_back(self, job: Job, before: int | None, ended: threading.Event) -> None:
        while self._told is not None and not ended.wait(_MARKERS_S):
            now = self._count()
            if now is None or now == before:
                before = now if before is None else before
                continue
            try:
                self._ownership.say(job, JobState.RUNNING)
            except ConnectError as error:  # The driver meets it itself, and its last word replaces this one.
                _log.warning("Backfill %s runs again, which its record does not say: %s", job.name, error)
            self._told = None

    def _count(self) -> int | None:
        """Return the number of markers in the marker topic; None if they cannot be read now."""
        try:
            return len(self._store.all_markers(Deadline.after(KAFKA_S)))
        except ConnectError as error:
            _log.debug("The markers cannot be read now: %s", error)
            return None

    def _signal(self, job: Job) -> Signal:
        try:
            return self._store.jobs(Deadline.after(KAFKA_S)).signal(job.name, job.run)
        except DeniedError:
            return Signal.GO_ON
