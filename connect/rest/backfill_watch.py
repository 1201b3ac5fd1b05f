"""Backfills whose worker has died go on in another one: the leader looks whenever the workers change, and each worker
when a process of its own was killed.

Two runs of a job harm nobody, as the later one fences the earlier one. So nothing has to be certain here but that
somebody looks in the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Final, NoReturn

from connect.api.errors import ConnectError
from connect.cluster.operations import Operations, RequestError

_log = logging.getLogger(__name__)
_LOOK_S: Final = 1.0
_AGAIN_S: Final = 5.0
_AGAIN_MAX_S: Final = 300.0


class BackfillWatch:
    """Owned by the event loop of the REST server. Asks nobody anything where no worker comes or goes."""

    def __init__(
        self, operations: Operations, adopt: Callable[[Collection[str] | None], None], has_died: Callable[[], bool]
    ) -> None:
        """`adopt`: go on with the jobs of workers that are not among these, None: with those of this one alone; it
        blocks. `has_died`: a process of this worker was killed.
        """
        self._operations = operations
        self._adopt = adopt
        self._has_died = has_died
        self._seen: int | None = None

    async def run(self) -> NoReturn:
        """Let this worker go on with the jobs of workers that are gone, until cancelled."""
        pause_s = _LOOK_S
        while True:
            await asyncio.sleep(pause_s)
            number, alive = self._workers()
            if number == self._seen and not self._has_died():
                pause_s = _LOOK_S
                continue
            # What cannot go on, or dies again and again, is tried ever more seldom.
            pause_s = min(max(_AGAIN_S, pause_s * 2), _AGAIN_MAX_S)
            try:
                await asyncio.to_thread(self._adopt, alive)
            except ConnectError as error:
                _log.warning("Backfills of workers that are gone cannot go on yet: %s", error)
            else:
                self._seen = number

    def _workers(self) -> tuple[int | None, Collection[str] | None]:
        """The number of the newest rebalance and who was there then; nothing new where another worker leads."""
        rebalances = self._operations.rebalances()
        try:
            self._operations.require_leader()
        except RequestError:
            return self._seen, None
        return (rebalances[-1].number, rebalances[-1].workers) if rebalances else (self._seen, None)
