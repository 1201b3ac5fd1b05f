"""Checks when a worker looks for backfills that nobody runs: the leader after a change, any worker after a killed
child.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

import pytest

from connect.api.errors import ConnectError
from connect.cluster.model.history import Rebalance
from connect.cluster.model.request_errors import NotLeaderError
from connect.rest.jobs import backfill_watch
from connect.rest.jobs.backfill_watch import BackfillWatch


class Workers:
    """As much of a cluster as the watch asks."""

    def __init__(self) -> None:
        self.leads = True
        self.found: list[Rebalance] = []

    def change(self, *workers: str) -> None:
        self.found.append(Rebalance(len(self.found), 1, workers[0], workers, 0))

    def rebalances(self) -> list[Rebalance]:
        return self.found

    def require_leader(self) -> None:
        if not self.leads:
            raise NotLeaderError(None)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch):
    """Runs the watch until it has looked so often, and a while longer; whom it took for alive each time it looked."""
    monkeypatch.setattr(backfill_watch, "_LOOK_S", 0.001)
    monkeypatch.setattr(backfill_watch, "_AGAIN_S", 0.001)
    monkeypatch.setattr(backfill_watch, "_AGAIN_MAX_S", 0.001)

    def run(
        workers: Workers,
        times: int,
        *,
        has_died: bool = False,
        fails: Sequence[Exception | str] = (),
        on_first: Callable[[], None] = lambda: None,
    ) -> list[Collection[str] | None]:
        seen: list[Collection[str] | None] = []

        def adopt(alive: Collection[str] | None) -> Mapping[str, str]:
            seen.append(alive)
            if len(seen) == 1:
                on_first()
            if len(seen) <= len(fails):
                failure = fails[len(seen) - 1]
                if isinstance(failure, str):
                    return {failure: "it cannot be planned"}
                raise failure
            if len(fails) < len(seen) < times:
                workers.change("a", "c")
            return {}

        async def watched() -> None:
            watch = BackfillWatch(workers, workers, adopt, lambda: has_died and not seen)  # type: ignore[arg-type]  # a stand-in
            task = asyncio.create_task(watch.run())
            async with asyncio.timeout(60):
                while len(seen) < times:
                    await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)
            task.cancel()

        asyncio.run(watched())
        return seen

    return run


def test_the_leader_looks_once_after_each_change_of_workers(looked):
    workers = Workers()
    workers.change("a", "b")
    assert looked(workers, 2) == [("a", "b"), ("a", "c")]
    assert looked(Workers(), 0) == []


def test_who_does_not_lead_leaves_the_jobs_of_others_alone(looked):
    workers = Workers()
    workers.change("a", "b")
    workers.leads = False
    assert looked(workers, 0) == []
    assert looked(workers, 1, has_died=True) == [None]


@pytest.mark.parametrize("failure", [ConnectError("no broker answers"), ValueError("a defect"), "orders"], ids=repr)
def test_what_cannot_go_on_yet_is_tried_again_whatever_it_was(looked, failure):
    workers = Workers()
    workers.change("a")
    assert looked(workers, 3, fails=[failure] * 2) == [("a",)] * 3


def test_a_change_of_workers_does_not_wait_for_what_cannot_go_on(monkeypatch, looked):
    workers = Workers()
    workers.change("a", "b")
    monkeypatch.setattr(backfill_watch, "_AGAIN_S", 3600.0)

    assert looked(workers, 2, fails=["orders"], on_first=lambda: workers.change("a")) == [("a", "b"), ("a",)]
