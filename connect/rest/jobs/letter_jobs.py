"""Reads and replays dead letters in a process of its own, as replays run converters and transforms."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.lib.answering_child import AnsweringChild
from connect.rest.errors.http_error import HttpError

MODULE: Final = "connect.dlq.job"
_AT_ONCE: Final = 2
_ANSWERS_S: Final = 2.0
"""The child gives up this many seconds before the request does, and says what it was waiting for."""


class LetterJobs:
    """Answers two requests at a time at most. It is owned by the event loop."""

    def __init__(self, worker: Mapping[str, str]) -> None:
        """Take this worker's properties. Secrets in them go to the child through its standard input."""
        self._worker = dict(worker)
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def ask(self, request: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Return the child's answer, or raise the child's own error as ConnectError. HttpError 409: another replay of
        the topic took over; 500: the child did not answer in time.

        A child that is killed replays no part of its letters: nobody reads a transaction that was not committed.
        """
        async with self._free:
            answered: Future[dict[str, Any]] = Future()

            def hear(told: Mapping[str, Any]) -> None:
                if "conflict" in told:
                    answered.set_exception(HttpError(409, str(told["conflict"])))
                elif "error" in told:
                    answered.set_exception(ConnectError(str(told["error"])))
                else:
                    answered.set_result(told["answer"])

            def ended(exit_code: int) -> None:
                if not answered.done():
                    answered.set_exception(ConnectError(f"The process for the letters ended with {exit_code}."))

            asked = {**request, "worker": self._worker, "timeout_s": max(1.0, timeout_s - _ANSWERS_S)}
            child = await asyncio.to_thread(AnsweringChild, MODULE, asked, hear=hear, ended=ended, own_session=True)
            try:
                return await asyncio.wait_for(asyncio.wrap_future(answered), timeout_s)
            except TimeoutError:
                raise HttpError(
                    500, f"The letters were not all read or replayed in {timeout_s:.0f} s. What was replayed is marked."
                ) from None
            finally:
                child.kill()
