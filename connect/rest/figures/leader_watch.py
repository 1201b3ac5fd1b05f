"""Lets the leader ask a question once a minute and keep the answer for all scrapes. Other workers ask nothing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final, Generic, NoReturn, TypeVar

from connect.cluster.model.operations import WorkerState
from connect.cluster.model.request_errors import RequestError
from connect.rest.server.waiting import apart

T = TypeVar("T")
_LOOK_S: Final = 60.0
_LEADS_S: Final = 5.0
"""After each interval of this many seconds a worker looks if it leads; one that has just begun asks nothing before."""
_log = logging.getLogger(__name__)


class LeaderWatch(Generic[T]):
    """Keeps the last answer. It is owned by the event loop of the REST server, whose threads ask."""

    def __init__(self, worker: WorkerState, ask: Callable[[], T], *, nothing: T, trouble: str) -> None:
        """Take `ask`, which may block. `nothing` is the value on other workers; errors are logged as `trouble`."""
        self._worker = worker
        self._ask = ask
        self._nothing = nothing
        self._trouble = trouble
        self.known = nothing

    async def run(self) -> NoReturn:
        """Look until cancelled. No error ends it."""
        due_s = 0.0
        while True:
            await asyncio.sleep(_LEADS_S)
            try:
                self._worker.require_leader()
            except RequestError:
                self.known, due_s = self._nothing, 0.0
                continue
            if time.monotonic() < due_s:
                continue
            due_s = time.monotonic() + _LOOK_S
            try:
                self.known = await asyncio.wrap_future(apart(self._ask))
            except Exception:  # noqa: BLE001 - whatever it was, the next look is made
                _log.exception("%s", self._trouble)
                self.known = self._nothing
