"""Samples the figures of all tasks every two seconds for all open pages together, and only while pages are open."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from aiohttp import web

from connect.cluster.model.operations import Tasks
from connect.rest.figures.peers import Peers
from connect.rest.figures.sample_window import Sample, SampleWindow

INTERVAL_S: Final = 2.0
INTERVAL_MAX_S: Final = 30.0
_SHARE: Final = 0.03
"""Sampling and drawing may take this part of a core; if they would take more, samples are taken less often."""
_LEFT_S: Final = 60.0
"""Sampling goes on for this many seconds after the last request of a page, so that the next page has rates."""
_KEPT: Final = 150
_log = logging.getLogger(__name__)
T = TypeVar("T")


class Sampler:
    """Keeps the last samples. It is owned by the event loop of the REST server."""

    def __init__(self, tasks: Tasks, peers: Peers) -> None:
        self._tasks = tasks
        self._peers = peers
        self._samples: deque[Sample] = deque(maxlen=_KEPT)
        self._made: dict[Hashable, Any] = {}
        self._next: asyncio.Future[None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._first: asyncio.Task[None] | None = None
        self._watched = 0
        self._asked_s = 0.0
        self._spent_s = 0.0

    async def look(self) -> SampleWindow:
        """Return the last samples; if there are none, take the first one now."""
        self._asked_s = time.monotonic()
        if not self._samples or self._asked_s - self._samples[-1].at_s > INTERVAL_MAX_S:
            await self._take_first()
        self._start()
        return self._last()

    async def looks(self) -> AsyncGenerator[SampleWindow]:
        """Yield the samples after each new one from now on, without an end."""
        self._watched += 1
        try:
            yield await self.look()
            while True:
                self._start()
                assert self._next is not None
                await asyncio.shield(self._next)
                yield self._last()
        finally:
            self._watched -= 1

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returns, once for each key and sample, so that pages that show the same share it."""
        if key not in self._made:
            with self._counted():
                self._made[key] = make()
        found: T = self._made[key]
        return found

    async def close(self) -> None:
        """Take no more samples."""
        for taking in (self._running, self._first):
            if taking is not None:
                taking.cancel()
                await asyncio.wait([taking])

    def _last(self) -> SampleWindow:
        return SampleWindow(tuple(self._samples))

    def _start(self) -> None:
        if self._running is None or self._running.done():
            self._next = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self._watched or time.monotonic() - self._asked_s < _LEFT_S:
            await asyncio.sleep(min(max(INTERVAL_S, self._spent_s / _SHARE), INTERVAL_MAX_S))
            self._spent_s = 0.0
            try:
                await self._take()
            except Exception:  # noqa: BLE001 - pages go on with the next look
                _log.exception("The figures for the web UI could not be read.")
            before, self._next = self._next, asyncio.get_running_loop().create_future()
            if before is not None:
                before.set_result(None)

    async def _take_first(self) -> None:
        """Take a sample after a long pause, one for all pages that are asked for meanwhile."""
        if self._first is None or self._first.done():
            self._samples.clear()
            self._first = asyncio.create_task(self._take())
        await asyncio.shield(self._first)

    async def _take(self) -> None:
        (others, silent), own = await asyncio.gather(self._peers.figures(), asyncio.to_thread(self._tasks.figures))
        with self._counted():
            self._samples.append(Sample(time.monotonic(), {**others, **own}, silent))
            self._made.clear()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Add the time spent inside to the total; the time of nested calls counts once."""
        began_s, before_s = time.thread_time(), self._spent_s
        yield
        self._spent_s = before_s + time.thread_time() - began_s


SAMPLER: Final = web.AppKey("sampler", Sampler)
