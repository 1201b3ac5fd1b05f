"""Threads of the client that tell a loop their results are done with Python before the loop is closed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from connect.lib.deadline import Deadline
from connectors.s3.stores.request_loop import RequestLoop
from connectors.s3.stores.store_errors import StoreErrors


def test_a_loop_is_closed_once_the_thread_that_told_the_last_answer_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    at_close, done = threading.Event(), threading.Event()
    tell = asyncio.SelectorEventLoop.call_soon_threadsafe

    def telling(loop: Any, *args: Any, **named: Any) -> asyncio.Handle:
        handle = tell(loop, *args, **named)
        at_close.wait(60)  # the loop has the answer, and its owner goes on
        at_close.clear()
        at_close.wait(0.2)
        done.set()
        return handle

    monkeypatch.setattr(asyncio.SelectorEventLoop, "call_soon_threadsafe", telling)
    requests = RequestLoop(StoreErrors("Bucket b", ("aws.access.key.id",), None))

    async def request() -> int:
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        threading.Thread(target=lambda: loop.call_soon_threadsafe(answer.set_result, 7)).start()
        return int(await answer)

    assert requests.one(request, Deadline.after(60)) == 7
    assert not done.is_set()
    at_close.set()
    requests.close()
    assert done.is_set()
