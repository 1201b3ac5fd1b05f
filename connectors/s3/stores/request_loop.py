"""Runs several requests to a store at a time; each wait for them has a deadline. It knows no buckets and no objects."""

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
"""More questions than uploads may be under way: they are small, and after a restart each path needs one before its
first row.
"""
_STOP_CHECK_S: Final = 0.1
_LOCK_S: Final = 0.001
"""It takes a thread about this time to get the interpreter's lock."""


class _Loop(asyncio.SelectorEventLoop):
    """Keeps track of the threads of the client that are about to hand it a result, and waits for them when it closes.

    Such a thread releases the interpreter's lock while it wakes the loop. If the interpreter has begun to end when the
    thread wants the lock again, CPython before 3.14 ends the thread. The client, which is not written in Python, then
    ends the whole process by SIGABRT (PyEval_RestoreThread, "Changed in version 3.14").
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
            # This is the last step in Python: from here on the thread keeps the lock until it leaves Python.
            del self._telling[thread]

    def close(self) -> None:
        """Wait until no thread is handing over a result, and close the loop."""
        while self._telling:
            threading.Event().wait(_LOCK_S)
        super().close()


class RequestLoop:
    """Keeps an asyncio loop that runs requests. Owned by one thread.

    The client sends and receives in its own threads. So requests that were started go on while nobody runs the loop.
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
        """Begin a request that has a small answer. It goes on in the background, as an upload does."""
        return self._loop.create_task(self._bounded(request, self._questions))

    def wait_for_one(self, started: Collection[asyncio.Task[Any]], deadline: Deadline) -> None:
        """Return as soon as one of these has ended, or when the deadline is over."""
        self._loop.run_until_complete(_ended(started, deadline, asyncio.FIRST_COMPLETED))

    def give_up(self, started: Collection[asyncio.Task[Any]]) -> None:
        """Cancel these now. An object whose data was sent already may still be created."""
        for task in started:
            task.cancel()
        if started:
            self._loop.run_until_complete(asyncio.wait(started))

    def one(self, request: Request[T], deadline: Deadline) -> T:
        """Return the answer to a request. ConnectError: the request failed; RetriableError: no answer came in time."""
        (result,) = self.all([request], deadline)
        if isinstance(result, ConnectError):
            raise result
        return result

    def all(self, requests: Sequence[Request[T]], deadline: Deadline) -> list[T | ConnectError]:
        """Run requests at the same time, and return the answer of each, or its error."""
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
                answer = await request()
            except ConnectError as error:
                return error
            except (BaseError, OSError) as error:
                return self._errors.translated(error)
        self._errors.answered()
        return answer

    def _answer(self, result: T | ConnectError | BaseException) -> T | ConnectError:
        if isinstance(result, asyncio.CancelledError):
            return RetriableError(f"{self._errors.where} did not answer in time.")
        if isinstance(result, BaseException) and not isinstance(result, ConnectError):
            raise result
        return result


async def _ended(tasks: Collection[asyncio.Task[Any]], deadline: Deadline, when: str) -> None:
    pending = set(tasks)
    while pending and not deadline.expired:
        # Another thread may ask to stop by an event, on which the loop cannot wait. So it looks at intervals.
        timeout_s = min(_STOP_CHECK_S, deadline.remaining_s)
        done, pending = await asyncio.wait(pending, timeout=timeout_s, return_when=when)
        if done and when == asyncio.FIRST_COMPLETED:
            return
