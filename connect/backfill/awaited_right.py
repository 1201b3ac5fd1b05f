"""Waits for a right that the brokers took away from a job while it ran, and tells in the job's record what to grant."""

from __future__ import annotations

import logging
from typing import Final

from connect.backfill.job.chunk import Signal
from connect.backfill.job.job import Job
from connect.backfill.job.job_store import JobStore
from connect.backfill.job.states import JobState
from connect.backfill.ownership import KAFKA_S, JobOwnership
from connect.kafka.client.errors import DeniedError
from connect.lib.deadline import Deadline

_log = logging.getLogger(__name__)
_TRY_S: Final = 10.0
"""This is how long a job waits before its lanes try again."""
_LOOK_S: Final = 1.0
"""This is how often it looks meanwhile for what its owner wants."""


class AwaitedRight:
    """Lets a job rest while a right is denied. Owned by the driver's thread."""

    def __init__(self, store: JobStore, ownership: JobOwnership) -> None:
        self._store = store
        self._ownership = ownership

    def was_there(self) -> bool:
        """Return True if the job has written rows before, so that the right was taken away, and not just forgotten."""
        try:
            return bool(self._store.all_markers(Deadline.after(KAFKA_S)))
        except DeniedError:  # The job was begun by reading them.
            return True

    def wait(self, job: Job, denial: str) -> Signal:
        """Return GO_ON when it is time to try again, or else what the job's owner wants.

        The job stays RUNNING, and its record says why nothing moves. ConnectError: the record cannot be written.
        """
        _log.warning("Backfill %s waits for a right, and tries again every %.0f s: %s", job.name, _TRY_S, denial)
        self._ownership.say_waiting(job, denial)
        rest = Deadline.after(_TRY_S)
        while (signal := self._signal(job)) is Signal.GO_ON and rest.wait(_LOOK_S):
            pass
        if signal is Signal.GO_ON:
            self._ownership.say(job, JobState.RUNNING)
        return signal

    def _signal(self, job: Job) -> Signal:
        try:
            return self._store.jobs(Deadline.after(KAFKA_S)).signal(job.name, job.run)
        except DeniedError:
            return Signal.GO_ON
