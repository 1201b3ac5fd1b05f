"""Tells whether this worker has led without a break since its alerts were read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from connect.api.errors import ConnectError
from connect.cluster.model.operations import Operations
from connect.cluster.model.request_errors import RequestError

_NEVER: Final = -1


class LeadingTerms:
    """Knows which other worker led last, by the rebalances that leaders write down.

    A worker that was frozen may lead again before it hears that another one has led meanwhile, and has told alerts.
    The REST server's threads of looks and of the outbox use it.
    """

    def __init__(self, operations: Operations, worker_id: str) -> None:
        self._operations = operations
        self._worker_id = worker_id
        self._known = _NEVER

    def begins_anew(self, forget: Callable[[], None]) -> bool:
        """Return True if another worker has led since the last call, or at the first one.

        `forget` lets go of what was queued before. It is called before `goes_on` may be True again.
        """
        last = self._last_other()
        if last <= self._known:
            return False
        forget()
        self._known = last
        return True

    def goes_on(self) -> bool:
        """Return True if this worker leads, Kafka hears it, and nobody else has led since `begins_anew`. It blocks."""
        # Taken before anything is asked: a look may begin anew meanwhile, which is no leave for what was queued before.
        known = self._known
        worker = self._operations.worker
        try:
            worker.require_leader()
            self._operations.history.told_alerts()  # this reads what others have written
        except (RequestError, ConnectError, TimeoutError):
            return False
        return worker.is_ready and self._last_other() <= known

    def _last_other(self) -> int:
        others = (one.number for one in self._operations.history.rebalances() if one.leader != self._worker_id)
        return max(others, default=_NEVER)
