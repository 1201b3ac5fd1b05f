"""Answers slow requests on threads of its own: they wait for tasks to stop, for Kafka and for connectors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from connect.cluster.hosts.supervisor import KILL_GRACE_S
from connect.cluster.loop.herder_parts import HerderParts
from connect.lib.deadline import Deadline

TIMEOUT_S: Final = 60.0
"""A request has this time beside what its tasks may take to stop. A killed sink stays in its group for up to 45 s."""
NOTICE_S: Final = 10.0
"""A busy worker may take note of the end of a host that was killed this many seconds later."""
LOOK_S: Final = 0.1
_THREADS: Final = 4

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Background:
    """Carries out slow requests on threads of its own. Any thread may ask."""

    def __init__(self, parts: HerderParts, has_runs: Callable[[str], bool]) -> None:
        """Take the herder's parts. `has_runs` tells if tasks of a connector run or have not ended yet."""
        self._parts = parts
        self._has_runs = has_runs
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="request")

    def submit(self, request: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Carry out a request on one of the threads; the future tells the outcome."""
        return self._threads.submit(request, *args, **kwargs)

    def deadline(self) -> Deadline:
        """Return the deadline of a request that begins now."""
        return Deadline.after(TIMEOUT_S + self._stop_s, self._closing)

    def await_stopped(self, name: str, deadline: Deadline) -> bool:
        """Return True when no task of the connector runs any more. False: the time is over, and one may still run.

        Tasks that do not stop in time are killed meanwhile.
        """
        stopped_by = deadline.sooner(self._stop_s + NOTICE_S)
        while self._has_runs(name) and stopped_by.wait(LOOK_S):
            pass
        return not self._has_runs(name)

    def close(self) -> None:
        """Begin no more requests, and do not wait for those that are begun."""
        self._closing.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def _stop_s(self) -> float:
        return self._parts.limits.stop_s + 2 * KILL_GRACE_S
