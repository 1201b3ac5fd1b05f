"""Keeps the herder's thread, which runs one step after the other, timed ones on time. It knows no connectors."""

from __future__ import annotations

import heapq
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, NamedTuple, TypeVar

from connect.api.errors import RetriableError
from connect.cluster.loop.futures import follow
from connect.cluster.model.request_errors import UnavailableError
from connect.cluster.model.statuses import Stage

ENDING: Final = "The worker is shutting down"
RETRY_S: Final = 1.0
"""After an error, `reconcile` is called again so much later."""

PAUSE_SHARE: Final = 7.0
"""After `reconcile` the loop is kept to steps for so many times the CPU time that `reconcile` took.

It takes longer the more connectors there are, and each new connector is the reason for several calls of it.
"""
PAUSE_MOST_S: Final = 1.0

_T = TypeVar("_T")
_logger = logging.getLogger(__name__)


class _Step(NamedTuple):
    """Something to do; `reconciles`: what should run may have changed by it."""

    description: str
    call: Callable[[], None]
    reconciles: bool = True


class EventLoop:
    """Runs the steps that any thread posts, one by one; after those that wait together `reconcile` is called once.

    Steps may wait for Kafka and for nothing else.
    """

    def __init__(self, name: str, reconcile: Callable[[], None]) -> None:
        self._reconcile = reconcile
        self._steps: queue.SimpleQueue[_Step | None] = queue.SimpleQueue()
        self._timers: list[tuple[float, int, _Step]] = []
        self._order = itertools.count()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._stopping = threading.Event()
        self._ended = False
        self._rests_until_s = 0.0
        self._stage = Stage("starting", _now_ms())

    @property
    def stage(self) -> Stage:
        """Return the step that the thread is at, or was at last."""
        return self._stage

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def post(self, description: str, step: Callable[[], None]) -> None:
        """Run a step as soon as possible. From any thread."""
        self._steps.put(_Step(description, step))

    def submit(self, description: str, call: Callable[[], _T]) -> Future[_T]:
        """Run a call as soon as possible; the future tells the outcome. From any thread."""
        future: Future[_T] = Future()
        if self._stopping.is_set():
            future.set_exception(UnavailableError(ENDING))
            return future

        def step() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = call()
            except Exception as error:  # noqa: BLE001 - the caller gets it
                future.set_exception(error)
            else:
                future.set_result(result)

        self.post(description, step)
        return future

    def begin(self, description: str, call: Callable[[], Future[_T]]) -> Future[_T]:
        """Run a call as soon as possible; the future ends as the future does that `call` returns. From any thread."""
        done: Future[_T] = Future()

        def refuse(begun: Future[None]) -> None:
            error = begun.exception()
            if error is not None and not done.done():
                done.set_exception(error)

        begun = self.submit(description, lambda: follow(call(), done, lambda result: result))
        begun.add_done_callback(refuse)
        return done

    def later(self, delay_s: float, description: str, step: Callable[[], None]) -> None:
        """Run a step after `delay_s` seconds. From the loop's own thread."""
        self._arm(delay_s, _Step(description, step))

    def every(self, interval_s: float, description: str, step: Callable[[], None]) -> None:
        """Run a step each `interval_s` seconds, without `reconcile` after it. From its own thread or before `start`."""

        def again() -> None:
            self._arm(interval_s, _Step(description, again, reconciles=False))
            step()

        self._arm(interval_s, _Step(description, again, reconciles=False))

    def stop(self, timeout_s: float) -> bool:
        """End the thread after the steps posted so far; return False if it is still busy after `timeout_s`."""
        self._stopping.set()
        self._steps.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _arm(self, delay_s: float, step: _Step) -> None:
        heapq.heappush(self._timers, (time.monotonic() + delay_s, next(self._order), step))

    def _run(self) -> None:
        is_due = False
        while not self._ended:
            step = self._next(self._rest_left_s() if is_due else None)
            while step is not None:
                self._do(step)
                is_due |= step.reconciles
                step = self._ready()
            if is_due and not self._ended and not self._rest_left_s():
                is_due = False
                self._reconcile_and_rest()

    def _reconcile_and_rest(self) -> None:
        # Waiting for Kafka is no reason to rest.
        began_s = time.thread_time()
        if not self._do(_Step("reconciling tasks and connectors", self._reconcile)):
            self.later(RETRY_S, "trying again", _nothing)
        took_s = time.thread_time() - began_s
        self._rests_until_s = time.monotonic() + min(PAUSE_SHARE * took_s, PAUSE_MOST_S)

    def _rest_left_s(self) -> float:
        return max(0.0, self._rests_until_s - time.monotonic())

    def _next(self, most_s: float | None) -> _Step | None:
        """Return the next step, waited for at most `most_s` (None: for ever)."""
        waits_s = [] if most_s is None else [most_s]
        if self._timers:
            waits_s.append(max(0.0, self._timers[0][0] - time.monotonic()))
        timeout_s = min(waits_s, default=None)
        if timeout_s == 0.0:
            return self._ready()
        try:
            step = self._steps.get(timeout=timeout_s)
        except queue.Empty:
            return self._ready()
        self._ended = step is None
        return step

    def _ready(self) -> _Step | None:
        if self._timers and self._timers[0][0] <= time.monotonic():
            return heapq.heappop(self._timers)[2]
        try:
            step = self._steps.get_nowait()
        except queue.Empty:
            return None
        self._ended = step is None
        return step

    def _do(self, step: _Step) -> bool:
        started_ms = _now_ms()
        self._stage = Stage(step.description, started_ms)
        try:
            step.call()
        except RetriableError as error:
            _logger.warning("herder_step_postponed", extra={"step": step.description, "error": str(error)})
            return False
        except Exception:
            # One failed step must not end the worker; what it was about is reconciled again after the next step.
            _logger.exception("herder_step_failed", extra={"step": step.description})
            return False
        finally:
            self._stage = Stage(step.description, started_ms, _now_ms())
        return True


def _nothing() -> None:
    """Do nothing: this is a step whose point is the reconciling after it."""


def _now_ms() -> int:
    return int(time.time() * 1000)
