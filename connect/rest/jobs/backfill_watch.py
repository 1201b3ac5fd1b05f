"""Lets backfills whose worker has died go on in another worker.

The leader looks for them whenever the workers change, and each worker when a process of its own was killed. Two runs of
a job do no harm, as the later one fences the earlier one. So it is enough that some worker looks in the end.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NoReturn

from connect.api.errors import ConnectError
from connect.cluster.model.operations import History, WorkerState
from connect.cluster.model.request_errors import RequestError
from connect.lib.backoff import delays_s

_log = logging.getLogger(__name__)
_LOOK_S: Final = 1.0
_AGAIN_S: Final = 5.0
_AGAIN_MAX_S: Final = 300.0


class BackfillWatch:
    """Lets the backfills of dead workers go on. It is owned by the event loop of the REST server.

    It asks no questions as long as no worker comes or goes.
    """

    def __init__(
        self,
        worker: WorkerState,
        history: History,
        adopt: Callable[[Collection[str] | None], Mapping[str, str]],
        has_died: Callable[[], bool],
    ) -> None:
        """Take `adopt` and `has_died`, which tells if a process of this worker was killed.

        `adopt` goes on with the jobs of workers that are not among the given ones, or for None with those of this
        worker only. It blocks, and returns the jobs that cannot go on now, with reasons.
        """
        self._worker = worker
        self._history = history
        self._adopt = adopt
        self._has_died = has_died
        self._seen: int | None = None
        self._is_left = False
        self._delays = _delays()
        self._next_try_s = 0.0

    async def run(self) -> NoReturn:
        """Let this worker go on with the jobs of workers that are gone, until cancelled. No error ends it."""
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                await self._look()
            except ConnectError as error:
                _log.warning("Backfills of workers that are gone cannot go on yet: %s", error)
            except Exception:  # noqa: BLE001 - whatever it was, the next look is made
                _log.exception("Backfills of workers that are gone cannot go on yet.")

    async def _look(self) -> None:
        number, alive = self._workers()
        # After a change among the workers the look comes at once, even if jobs could not go on before.
        if number == self._seen and not self._is_due():
            return
        self._seen, self._is_left = number, True
        self._next_try_s = time.monotonic() + next(self._delays)
        self._is_left = bool(await asyncio.to_thread(self._adopt, alive))

    def _is_due(self) -> bool:
        """Return True if it is time to look.

        Jobs that could not go on, or that die again and again, are tried less and less often.
        """
        is_wanted, is_late = self._is_left or self._has_died(), time.monotonic() >= self._next_try_s
        if is_late and not is_wanted:
            self._delays = _delays()
        return is_wanted and is_late

    def _workers(self) -> tuple[int | None, Collection[str] | None]:
        """Return the number and the workers of the newest rebalance; if another worker leads, the number is the last
        one again.
        """
        rebalances = self._history.rebalances()
        try:
            self._worker.require_leader()
        except RequestError:
            return self._seen, None
        return (rebalances[-1].number, rebalances[-1].workers) if rebalances else (self._seen, None)


def _delays() -> Iterator[float]:
    return delays_s(_AGAIN_MAX_S, initial_s=_AGAIN_S)
