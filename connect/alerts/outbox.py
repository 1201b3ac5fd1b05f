"""Queues events for their receiver in order; a thread sends each one again until the receiver takes it."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from connect.alerts.changes import Event
from connect.alerts.webhook import UndeliveredError
from connect.lib.backoff import delays_s

MOST: Final = 10_000
"""At most this many events wait; if there are more, the oldest is dropped."""
_AGAIN_S: Final = 1.0
_AGAIN_MAX_S: Final = 60.0
_JOIN_S: Final = 2.0
_log = logging.getLogger(__name__)


class Outbox:
    """Holds events until they are taken. Any thread may add to it."""

    def __init__(
        self,
        deliver: Callable[[Event], None],
        delivered: Callable[[Event], None],
        *,
        most: int = MOST,
        again_s: float = _AGAIN_S,
    ) -> None:
        """Take `deliver`, which sends an event or raises UndeliveredError. `delivered` is told each sent event.

        Both are called on the outbox's thread.
        """
        self._deliver = deliver
        self._delivered = delivered
        self._most = most
        self._again_s = again_s
        self._waiting: deque[Event] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._counts = {"sent": 0, "failed": 0, "dropped": 0}
        self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)
        self._thread.start()

    def add(self, events: Iterable[Event]) -> None:
        """Queue events behind those that wait. Returns at once."""
        with self._changed:
            for event in events:
                if len(self._waiting) >= self._most:
                    self._drop(self._waiting.popleft(), f"{self._most} events wait for the receiver")
                self._waiting.append(event)
            self._changed.notify()

    def clear(self) -> None:
        """Forget the waiting events, as another worker sends them."""
        with self._changed:
            self._waiting.clear()
            self._changed.notify()

    def waits(self, event: Event) -> bool:
        """Return True if this event is the next one to send; False if it was forgotten meanwhile."""
        with self._changed:
            return bool(self._waiting) and self._waiting[0] is event

    def counts(self) -> Mapping[str, int]:
        """Return how many were sent and dropped, and how many tries failed."""
        with self._changed:
            return dict(self._counts)

    def close(self) -> None:
        """Send no more events; wait only a moment for a request that is under way."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        delays = delays_s(_AGAIN_MAX_S, initial_s=self._again_s)
        while (event := self._next()) is not None:
            try:
                self._deliver(event)
            except UndeliveredError as error:
                self._failed(event, error)
                if not error.is_final:
                    self._rest(next(delays))
                continue
            except Exception:  # noqa: BLE001 - one event that cannot be sent keeps no other one from it
                _log.exception("alert_not_sent", extra={"subject": event.alert.subject.key})
                self._failed(event, UndeliveredError("it cannot be sent, see the log above", is_final=True))
                continue
            delays = delays_s(_AGAIN_MAX_S, initial_s=self._again_s)
            self._taken(event)

    def _next(self) -> Event | None:
        """Wait for the first event and return it; None if no more are sent."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._waiting)
            return None if self._is_closed else self._waiting[0]

    def _rest(self, delay_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or not self._waiting, delay_s)

    def _taken(self, event: Event) -> None:
        with self._changed:
            self._counts["sent"] += 1
            self._forget(event)
        try:
            self._delivered(event)
        except Exception:  # noqa: BLE001 - it was taken; that the next leader tells it again keeps no other one waiting
            _log.exception("told_alert_not_remembered", extra={"subject": event.alert.subject.key})

    def _failed(self, event: Event, error: UndeliveredError) -> None:
        subject = event.alert.subject.key
        with self._changed:
            self._counts["failed"] += 1
            if error.is_final:
                self._forget(event)
                self._drop(event, str(error))
            else:
                _log.warning("alert_waits", extra={"subject": subject, "reason": str(error)})

    def _forget(self, event: Event) -> None:
        if self._waiting and self._waiting[0] is event:
            self._waiting.popleft()

    def _drop(self, event: Event, reason: str) -> None:
        self._counts["dropped"] += 1
        _log.error("alert_dropped", extra={"subject": event.alert.subject.key, "reason": reason})
