"""Checks that requests which compute for a moment each, as many as one client likes, hold up another client for a
moment alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from connect.rest.fairness.client_turns import ClientTurns
from connect.rest.fairness.pacer import LONG_S, Pacer

MANY = 100
HOPS = 10
"""So often the event loop is asked between a new connection and its request's handler."""


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


def compute(for_s: float) -> None:
    end_s = time.thread_time() + for_s
    while time.thread_time() < end_s:
        pass


async def requests(pacer: Pacer, client: str, done: list[str], for_s: float) -> None:
    """Make a client's requests, all at once."""

    async def one() -> None:
        await pacer.take(client)
        compute(for_s)
        done.append(client)

    await asyncio.gather(*(one() for _ in range(MANY)))


@pytest.mark.parametrize("clients", [1, 3])
def test_a_new_request_goes_on_before_those_that_wait(clients: int) -> None:
    async def story() -> None:
        pacer, done = Pacer(), []
        names = [f"attacker{number}" for number in range(clients)]
        attacks = [asyncio.create_task(requests(pacer, name, done, 2 * LONG_S)) for name in names]
        while not done:
            await asyncio.sleep(0)
        for _ in range(HOPS):
            await asyncio.sleep(0)
        before = len(done)
        await pacer.take("other")
        assert before <= 2, "the loop was asked for what is new too seldom"
        assert len(done) <= before + clients
        for attack in attacks:
            attack.cancel()

    run(story())


def test_clients_go_on_in_turn_and_all_of_them_do() -> None:
    async def story() -> None:
        pacer, done = Pacer(), []
        await asyncio.gather(*(requests(pacer, name, done, 0) for name in ("a", "b")))
        assert done == ["a", "b"] * MANY

    run(story())


def test_a_request_that_has_ended_meanwhile_takes_no_turn() -> None:
    async def story() -> None:
        pacer = Pacer()
        first, gone, last = (asyncio.create_task(pacer.take("a")) for _ in range(3))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(first, last)
        await pacer.take("a")

    run(story())


def test_large_work_is_done_one_at_a_time_and_in_turn() -> None:
    async def story() -> None:
        turns, done, at_work = ClientTurns(), [], 0

        async def one(client: str) -> None:
            nonlocal at_work
            async with turns.of(client):
                at_work += 1
                assert at_work == 1
                await asyncio.sleep(0)
                at_work -= 1
                done.append(client)

        many = [asyncio.create_task(one("attacker")) for _ in range(MANY)]
        await asyncio.sleep(0)
        await one("other")
        assert len(done) <= 3
        await asyncio.gather(*many)
        assert len(done) == MANY + 1

    run(story())
