"""Run requests to a store side by side, each wait with a deadline. The module knows no buckets and no objects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextvars import Context
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

from connect.api.errors import ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connectors.s3.stores.store_errors import StoreErrors

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Request = Callable[[], Awaitable[T]]
"""Sends a request, and waits for its answer."""
_CONCURRENT_UPLOADS: Final = 8
_CONCURRENT_QUESTIONS: Final = 32
"""More than uploads: they are small, and after a restart each path has one before its first row."""
_STOP_CHECK_S: Final = 0.1
_LOCK_S: Final = 0.001
"""The time, about, that a thread spends on getting the interpreter's lock."""


class _Loop(asyncio.SelectorEventLoop):
    """Knows which threads of the client are about to tell it a result.

    Such a thread lets go of the interpreter's lock while it wakes the loop. When it comes back to an interpreter that
    has begun to end, CPython before 3.14 ends the thread, and the client, which is not written in Python, then ends the
    whole process by SIGABRT (PyEval_RestoreThread, "Changed in version 3.14").
    """

    def __init__(self) -> None:
        super().__init__()
        self._telling: dict[int, None] = {}

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call a function in the loop's thread, as asyncio does."""
        thread = threading.get_ident()
        self._telling[thread] = None
        try:
            return super().call_soon_threadsafe(callback, *args, context=context)
        finally:
            # The last that is done in Python: the thread keeps the lock from here to its end.
            del self._telling[thread]

    def close(self) -> None:
        """Wait for those threads, and end."""
        while self._telling:
            threading.Event().wait(_LOCK_S)
        super().close()


class RequestLoop:
    """A loop that runs requests and is owned by one thread.

    The client sends and receives in threads of its own, so what was started goes on while nobody runs the loop.
    """

    def __init__(self, errors: StoreErrors) -> None:
        self._errors = errors
        self._loop = _Loop()
        self._uploads = asyncio.Semaphore(_CONCURRENT_UPLOADS)
        self._questions = asyncio.Semaphore(_CONCURRENT_QUESTIONS)

    def close(self) -> None:
        """Give up what is under way and release the loop; idempotent."""
        if not self._loop.is_closed():
            self.give_up(asyncio.all_tasks(self._loop))
            self._loop.close()

    def start_upload(self, request: Request[T]) -> asyncio.Task[T | ConnectError]:
        """Begin an upload. It goes on in the background, also while nobody waits for it."""
        return self._loop.create_task(self._bounded(request, self._uploads))

    def start_question(self, request: Request[T]) -> asyncio.Task[T | ConnectError]:
        """Begin a request of which the answer is small, as `start_upload` does."""
        return self._loop.create_task(self._bounded(request, self._questions))

    def wait_for_one(self, started: Collection[asyncio.Task[Any]], deadline: Deadline) -> None:
        """Return as soon as one of these has ended, and when the deadline is over."""
        self._loop.run_until_complete(_ended(started, deadline, asyncio.FIRST_COMPLETED))

    def give_up(self, started: Collection[asyncio.Task[Any]]) -> None:
        """End these now. What was sent already may still come into being."""
        for task in started:
            task.cancel()
        if started:
            self._loop.run_until_complete(asyncio.wait(started))

    def one(self, request: Request[T], deadline: Deadline) -> T:
        """Return the answer to a request.

        ConnectError: what went wrong, RetriableError where there was no answer in time.
        """
        (result,) = self.all([request], deadline)
        if isinstance(result, ConnectError):
            raise result
        return result

    def all(self, requests: Sequence[Request[T]], deadline: Deadline) -> list[T | ConnectError]:
        """Return the answers to requests made side by side, or what went wrong."""
        return self._loop.run_until_complete(self._gather(requests, deadline))

    async def _gather(self, requests: Sequence[Request[T]], deadline: Deadline) -> list[T | ConnectError]:
        tasks = [asyncio.ensure_future(self._bounded(request, self._questions)) for request in requests]
        await _ended(tasks, deadline, asyncio.ALL_COMPLETED)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        return [self._answer(result) for result in results]

    async def _bounded(self, request: Request[T], most: asyncio.Semaphore) -> T | ConnectError:
        from obstore.exceptions import BaseError

        async with most:
            try:
                return await request()
            except ConnectError as error:
                return error
            except (BaseError, OSError) as error:
                return self._errors.translated(error)

    def _answer(self, result: T | ConnectError | BaseException) -> T | ConnectError:
        if isinstance(result, asyncio.CancelledError):
            return RetriableError(f"{self._errors.where} did not answer in time.")
        if isinstance(result, BaseException) and not isinstance(result, ConnectError):
            raise result
        return result


async def _ended(tasks: Collection[asyncio.Task[Any]], deadline: Deadline, when: str) -> None:
    pending = set(tasks)
    while pending and not deadline.expired:
        # Stop is an event of another thread, so the loop looks for it.
        timeout_s = min(_STOP_CHECK_S, deadline.remaining_s)
        done, pending = await asyncio.wait(pending, timeout=timeout_s, return_when=when)
        if done and when == asyncio.FIRST_COMPLETED:
            return
