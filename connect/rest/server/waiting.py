"""Waits for the herder's futures, and for code that may block, without blocking the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Final, ParamSpec, TypeVar

from aiohttp import web

from connect.cluster.model.statuses import Stage
from connect.cluster.validation.size import LARGE_CHARS
from connect.rest.access.client_network import network_of
from connect.rest.errors.http_error import HttpError
from connect.rest.fairness.client_turns import ClientTurns
from connect.rest.server.author import origin_of
from connect.rest.server.connections import GONE
from connect.rest.server.context import context_of, remaining_s

T = TypeVar("T")
P = ParamSpec("P")
LARGE: Final = web.AppKey("large_work", ClientTurns)
MASKING: Final = "masking secrets"
"""This is the work that a time-out message names if a request waits for the masking of configurations."""


class WaitTimeoutError(Exception):
    """Raised if a future is not done in time; its work goes on."""


async def finished(request: web.Request, future: Future[T], doing: str | None = None) -> T:
    """Return the future's result within the request's time. If it is not done by then, HttpError 500 names what the
    worker is doing.

    `doing` names the work of the future if it is not the herder's, as "reading the offsets of connector c".
    """
    started_ms = time.time_ns() // 1_000_000
    try:
        return await within(future, remaining_s(request))
    except WaitTimeoutError:
        raise timed_out(request, doing, started_ms) from None


def timed_out(request: web.Request, doing: str | None, started_ms: int) -> HttpError:
    """Return an HttpError 500 that names what the herder is at if the herder is held up, or else what the request waits
    for.
    """
    stage = context_of(request).operations.worker.stage
    if doing is not None and stage.finished_ms is not None:
        stage = Stage(doing, started_ms)
    return HttpError(500, f"Request timed out. {stage_text(stage)}")


async def within(future: Future[T], timeout_s: float) -> T:
    """Return the future's result. WaitTimeoutError: it is not done within `timeout_s`; the work itself is not
    cancelled.
    """
    waiting = asyncio.wrap_future(future)
    done, _ = await asyncio.wait({waiting}, timeout=timeout_s)
    if not done:
        waiting.add_done_callback(_retrieved)
        raise WaitTimeoutError
    return waiting.result()


def apart(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Run code that may block, such as a plug-in's, on a daemon thread of its own.

    A pool would be used up by calls that never return, and would hold up the end of the process.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # A waiter that gives up does not cancel the call.

    def run() -> None:
        try:
            future.set_result(call(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - the waiter gets it
            future.set_exception(error)

    threading.Thread(target=run, name=f"rest-{getattr(call, '__name__', 'call')}", daemon=True).start()
    return future


async def large(request: web.Request, doing: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a long computation, run on another thread, one at a time, clients in turn."""
    async with request.app[LARGE].of(network_of(origin_of(request))):
        return await finished(request, apart(call, *args, **kwargs), doing)


async def of_configs(
    request: web.Request,
    configs: Iterable[Mapping[str, str]],
    doing: str,
    call: Callable[P, T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Return the result of a call about configurations; run it on another thread if they have many characters."""
    left = LARGE_CHARS
    for config in configs:
        left -= sum(len(key) + len(value) for key, value in config.items())
        if left < 0:
            return await large(request, doing, unless_gone(request, call), *args, **kwargs)
    return call(*args, **kwargs)


def unless_gone(request: web.Request, call: Callable[P, T]) -> Callable[P, T]:
    """Return a function that makes the call, or raises HttpError 408 if the client is gone by then."""

    def in_turn(*args: P.args, **kwargs: P.kwargs) -> T:
        if request.transport is None:
            raise HttpError(408, GONE)
        return call(*args, **kwargs)

    return in_turn


def stage_text(stage: Stage) -> str:
    """Return the text about what the herder does, in the words of Kafka Connect."""
    started = _instant(stage.started_ms)
    if stage.finished_ms is None:
        return f"The worker is currently {stage.description}, which began at {started}."
    finished = _instant(stage.finished_ms)
    return (
        f"The last operation the worker completed was {stage.description}, which began at {started} and completed at "
        f"{finished}."
    )


def _instant(epoch_ms: int) -> str:
    moment = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _retrieved(waiting: asyncio.Future[T]) -> None:
    """Read the exception of a future that nobody waits for any more, so that asyncio does not report it as lost."""
    if not waiting.cancelled():
        waiting.exception()
