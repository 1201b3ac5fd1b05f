"""Waiting for code that may block: who gives up, and what becomes of the code."""

from __future__ import annotations

import asyncio
import threading

import pytest

from connect.rest.server.waiting import apart


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_call_goes_on_when_its_waiter_is_cancelled() -> None:
    go_on = threading.Event()

    async def give_up() -> bool:
        waiting = asyncio.ensure_future(asyncio.wrap_future(call))
        await asyncio.sleep(0)
        return waiting.cancel()

    call = apart(lambda: go_on.wait(60))
    assert asyncio.run(give_up())
    go_on.set()
    assert call.result(60)
