"""Checks that pages follow what happens: events of the server, one look for all pages, figures of other workers."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, cast

import pytest
import requests
from memory_cluster import Cluster, MemoryOperations
from rest_client import Rest, ServerMaker
from ui_reader import Reader

from connect.cluster.model.history import Rebalance
from connect.rest.figures.peers import Peers
from connect.rest.figures.sampler import Sampler

FAR_S = 60.0


class Counting(MemoryOperations):
    """A worker of several, whose tasks count rows."""

    def __init__(self, cluster: Cluster | None = None, workers: Sequence[str] = (), **rows: float) -> None:
        super().__init__(cluster)
        self.workers = list(workers)
        self.rows = dict(rows)
        self.looks = 0
        self.history.rebalances = self._rebalances  # type: ignore[method-assign]
        self.tasks.figures = self._figures  # type: ignore[method-assign]

    def _rebalances(self) -> Sequence[Rebalance]:
        return [Rebalance(1, 7, self.workers[0], tuple(self.workers), 0)] if self.workers else []

    def _figures(self) -> Mapping[str, Mapping[str, float]]:
        self.looks += 1
        return {name: {"rows_total": rows, "lag_rows": 7.0} for name, rows in self.rows.items()}


def events(rest: Rest, path: str) -> Iterator[tuple[str, str]]:
    """Each event of a page's stream."""
    headers = {"Accept": "text/event-stream"}
    with closing(requests.get(rest.url + path, headers=headers, stream=True, timeout=FAR_S)) as answer:
        assert answer.status_code == 200, answer.text
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        kind = ""
        for line in map(bytes.decode, answer.iter_lines(chunk_size=1)):
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            if line.startswith("data: "):
                yield kind, json.loads(line.removeprefix("data: "))


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look as often as a test asks, rather than as a person reads."""
    monkeypatch.setattr("connect.rest.figures.sampler.INTERVAL_S", 0.1)


@pytest.mark.usefixtures("often")
def test_a_page_is_sent_what_it_was_loaded_with_and_then_what_changes(rest: Rest) -> None:
    rest.create("a")
    address = '<div id="live" data-live="/ui/live/connector?name=a">'
    assert address in Reader(rest.url).open("/ui/connector?name=a").html
    seen = events(rest, "/ui/live/connector?name=a")
    kind, first = next(seen)
    assert kind == "live"
    assert "●</span> RUNNING" in first
    assert 'value="restart-task 0"' in first
    rest("PUT", "/connectors/a/pause")
    assert any("PAUSED" in drawn for _, drawn in seen)
    rest("DELETE", "/connectors/a")
    last = [kind for kind, _ in seen][-1]
    assert last == "gone", "the stream ends and says why"
    answer = requests.get(f"{rest.url}/ui/live/connector?name=a", headers={"Accept": "text/event-stream"}, timeout=30)
    assert answer.status_code == 404


@pytest.mark.usefixtures("often")
def test_the_list_is_live_too(rest: Rest) -> None:
    seen = events(rest, "/ui/live/overview?q=orders")
    assert "no connector yet" in next(seen)[1]
    rest.create("orders-1")
    assert any("orders-1" in drawn for _, drawn in seen)


def test_the_head_of_a_stream_is_answered_at_once(rest: Rest) -> None:
    answer = rest("HEAD", "/ui/live/overview", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.content) == (200, b"")


def test_tasks_of_other_workers_have_figures_and_a_silent_worker_is_named(serve: ServerMaker) -> None:
    cluster = Cluster()
    here, there = Counting(cluster, a=1.0), Counting(cluster, **{"far-0": 12345.0})
    here.connectors.create("far", {"connector.class": "x.FileSource", "name": "far"}, None)
    rest, other = serve(here), serve(there)
    dead = "127.0.0.1:9"
    here.workers = [rest.url.removeprefix("http://"), other.url.removeprefix("http://"), dead]
    reader = Reader(rest.url)
    assert "12,345" in reader.open("/ui/connector?name=far").text
    overview = reader.open("/ui")
    assert f"Worker {dead} tells no figures" in overview.text
    assert "far" in overview.text
    refused = requests.get(f"{other.url}/ui/figures", timeout=30)
    assert refused.status_code == 403


def test_a_worker_that_hangs_is_waited_for_a_second(serve: ServerMaker) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as hanging:
        operations = Counting()
        rest = serve(operations)
        operations.workers = [f"127.0.0.1:{hanging.getsockname()[1]}"]
        assert "did not answer in 1 s" in Reader(rest.url).open("/ui").text


class Nobody:
    """No other worker."""

    async def figures(self) -> tuple[dict[str, Any], dict[str, str]]:
        return {}, {}


def run(use: Callable[[Sampler, Counting], Any]) -> Any:
    """What `use` makes of a sampler."""

    async def main() -> Any:
        operations = Counting(**{"a-0": 0.0})
        sampler = Sampler(operations.tasks, cast("Peers", Nobody()))
        try:
            return await asyncio.wait_for(use(sampler, operations), FAR_S)
        finally:
            await sampler.close()

    return asyncio.run(main())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    from connect.rest.figures import sampler

    monkeypatch.setattr(sampler, "INTERVAL_S", 0.02)


def test_all_pages_share_one_look_and_one_drawing(quick: None) -> None:
    async def use(sampler: Sampler, operations: Counting) -> tuple[int, int, int]:
        drawn = 0

        def draw() -> str:
            nonlocal drawn
            drawn += 1
            return "x"

        async def page() -> None:
            count = 0
            async for _ in sampler.looks():
                sampler.once("list", draw)
                count += 1
                if count == 5:
                    return

        await asyncio.gather(*(page() for _ in range(20)))
        return operations.looks, drawn, sampler._watched

    looks, drawn, _ = run(use)
    assert looks <= 7, "twenty pages cost what one costs"
    assert drawn <= 7


def test_rates_are_those_of_the_last_two_looks(quick: None) -> None:
    async def use(sampler: Sampler, operations: Counting) -> list[float | None]:
        rates = []
        async for look in sampler.looks():
            rates.append(look.rate("a-0"))
            operations.rows["a-0"] += 10
            if len(rates) == 4:
                operations.rows["a-0"] = 0.0
            if len(rates) == 5:
                return rates
        raise AssertionError

    first, *grown, again = run(use)
    assert first is None
    assert all(rate is not None and rate > 0 for rate in grown)
    assert again is None, "the task began anew"


def test_a_look_that_fails_ends_nothing(quick: None) -> None:
    async def use(sampler: Sampler, operations: Counting) -> int:
        seen, figures = 0, operations.tasks.figures

        def broken() -> Mapping[str, Mapping[str, float]]:
            operations.tasks.figures = figures  # type: ignore[method-assign]
            raise RuntimeError("once")

        async for _ in sampler.looks():
            seen += 1
            if seen == 1:
                operations.tasks.figures = broken  # type: ignore[method-assign]
            if seen == 4:
                return seen
        return 0

    assert run(use) == 4


def test_what_costs_much_is_looked_at_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    from connect.rest.figures import sampler as module

    monkeypatch.setattr(module, "INTERVAL_S", 0.01)
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(delay: float) -> None:
        pauses.append(delay)
        await sleep(0)

    monkeypatch.setattr(module.asyncio, "sleep", noted)

    async def use(sampler: Sampler, operations: Counting) -> None:
        def slow() -> str:
            ends_s = time.thread_time() + 0.03
            while time.thread_time() < ends_s:
                pass
            return ""

        count = 0
        async for _ in sampler.looks():
            sampler.once("slow", slow)
            count += 1
            if count == 4:
                return

    run(use)
    assert max(pauses) >= 1.0, "three hundredths of a second are three in a hundred of one second"


def test_nobody_is_asked_while_nobody_looks(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from connect.rest.figures import sampler as module

    monkeypatch.setattr(module, "_LEFT_S", 0.0)

    async def use(sampler: Sampler, operations: Counting) -> bool:
        await sampler.look()
        assert sampler._running is not None
        await asyncio.wait([sampler._running])
        ended = operations.looks
        await sampler.look()
        return ended <= 2

    assert run(use)


@pytest.mark.usefixtures("often")
def test_there_is_an_end_of_live_pages(serve: ServerMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    from connect.rest.ui.live import stream

    monkeypatch.setattr(stream, "STREAMS_MAX", 1)
    rest = serve(MemoryOperations())
    first = events(rest, "/ui/live/overview")
    next(first)
    answer = requests.get(f"{rest.url}/ui/live/overview", headers={"Accept": "text/event-stream"}, timeout=30)
    assert answer.status_code == 503
    first.close()
    done = threading.Event()
    limit_s = time.monotonic() + FAR_S
    while time.monotonic() < limit_s and not done.wait(0.1):
        again = events(rest, "/ui/live/overview")
        try:
            next(again)
        except AssertionError:
            continue
        again.close()
        done.set()
    assert done.is_set(), "a page that is closed makes room"
