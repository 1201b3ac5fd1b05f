"""Sends an alert only while this worker leads."""

from __future__ import annotations

from collections.abc import Callable

from connect.alerts.changes import Event
from connect.alerts.webhook import UndeliveredError

Deliver = Callable[[Event], None]


def while_leading(leads: Callable[[], bool], deliver: Deliver, waits: Callable[[Event], bool]) -> Deliver:
    """Return `deliver` for a leader alone. UndeliveredError: this worker does not lead, or Kafka does not hear it.

    A worker that was frozen goes on in the midst of its queue, before it has heard that another one leads and has told
    the same alerts. `waits` tells if an event was not forgotten meanwhile. It is asked last: a worker that leads again
    has forgotten what it had queued before.
    """

    def guarded(event: Event) -> None:
        if not leads():
            raise UndeliveredError("this worker does not lead now, or Kafka does not hear it")
        if not waits(event):
            raise UndeliveredError("another worker has led meanwhile, and has told it")
        deliver(event)

    return guarded
