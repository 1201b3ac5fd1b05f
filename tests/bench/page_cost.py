"""Measures what a worker's pages, and a scrape of it, cost with 200 connectors that run.

CPU time of the worker's own process, which others on the machine do not change; the least wall time beside it.
"""

from __future__ import annotations

import http
import re
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urljoin

import psutil
import requests
from rich.table import Table

from connect.lib.deadline import Deadline
from connect.tools.services.java_connect import InternalTopics
from connect.tools.services.kafka import KafkaEndpoint
from tests.bench.cluster.cluster_workers import WAIT_S, OurConnectService
from tests.bench.page_calls import calls, slowest
from tests.chromium import CHROMIUM

CONNECTORS, PAGES, CALLS, WATCH_S = 200, 20, 10, 30.0
CALL_MS, SCRAPE_MS, PAINT_MS, DOCTOR_MS, SHARE, PAGE_KB = 200.0, 100.0, 1000.0, 10_000.0, 0.05, 150.0
ADDRESSES = {
    "scrape of /metrics": ("/metrics", SCRAPE_MS),
    "page of all connectors": ("/ui", CALL_MS),
    "page of one connector": ("/ui/connector?name=page-7", CALL_MS),
    "page of the flow": ("/ui/flow", CALL_MS),
    "GET /connectors with all": ("/connectors?expand=status&expand=info", CALL_MS),
}


class Cost(NamedTuple):
    """A figure and the most that it may be; `least_ms`: the least wall time of a call, where it is one."""

    name: str
    value: float
    unit: str
    most: float
    least_ms: float | None = None


def page_costs(kafka: KafkaEndpoint, say: Callable[[str], None]) -> list[dict]:
    """Return each figure as a dictionary of `Cost`."""
    name = f"pages-{uuid.uuid4().hex[:6]}"
    topics = InternalTopics(f"{name}-configs", f"{name}-offsets", f"{name}-status")
    with OurConnectService(kafka.bootstrap_servers, group_id=name, topics=topics) as service:
        url = service.endpoint.url
        _fill(url, name, say)
        worker = psutil.Process(listener(url))
        found = [_call(worker, url, what, path, most) for what, (path, most) in ADDRESSES.items()]
        found += [Cost("page with its files", _weight_kb(url), "KB", PAGE_KB), *_open_pages(worker, url)]
        found += _slowest_calls(worker, url, say)
        found.append(_doctor(worker, url))
        if CHROMIUM is not None:
            found.append(Cost("first paint", _first_paint_ms(url), "ms", PAINT_MS))
    return [cost._asdict() for cost in found]


def page_table(found: Sequence[dict]) -> Table:
    """Return the costs for people."""
    table = Table("what", "costs", "least wall ms", "must")
    for one in found:
        least = "" if one["least_ms"] is None else f"{one['least_ms']:.0f}"
        table.add_row(one["name"], f"{one['value']:.3g} {one['unit']}", least, f"< {one['most']:g}")
    return table


def wait_until_ready(url: str) -> None:
    """Return as soon as a worker says that it is ready."""
    until_s = time.monotonic() + 5 * WAIT_S
    while requests.get(f"{url}/health/ready", timeout=WAIT_S).status_code != http.HTTPStatus.OK:
        assert time.monotonic() < until_s, "the worker does not get ready"
        _rest(1.0)


def _fill(url: str, topic: str, say: Callable[[str], None]) -> None:
    wait_until_ready(url)
    until_s = time.monotonic() + 5 * WAIT_S
    config = {
        "connector.class": "io.confluent.kafka.connect.datagen.DatagenConnector",
        "quickstart": "orders",
        "kafka.topic": topic,
        "max.interval": "1000",
    }
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(
            lambda number: requests.post(
                f"{url}/connectors", json={"name": f"page-{number}", "config": config}, timeout=WAIT_S
            ),
            range(CONNECTORS),
        ):
            assert answer.status_code == 201, answer.text
    say(f"{CONNECTORS} connectors are created")
    while (running := _running(url)) < CONNECTORS:
        assert time.monotonic() < until_s, f"{running} of {CONNECTORS} run"
        _rest(1.0)
    say(f"{CONNECTORS} connectors run")


def _running(url: str) -> int:
    found = requests.get(f"{url}/connectors?expand=status", timeout=WAIT_S).json().values()
    return sum([task["state"] for task in one["status"]["tasks"]] == ["RUNNING"] for one in found)


def listener(url: str) -> int:
    """Return the process that answers there."""
    port = int(url.rpartition(":")[2])
    pids = [one.pid for one in psutil.net_connections("tcp") if one.laddr.port == port and one.status == "LISTEN"]
    assert pids
    assert pids[0] is not None
    return pids[0]


def _call(worker: psutil.Process, url: str, what: str, path: str, most: float) -> Cost:
    requests.get(url + path, timeout=WAIT_S).raise_for_status()  # what is made once is made
    idle = _share(worker, float(CALLS))
    spent_s, least_s, began_s = cpu_s(worker), float("inf"), time.monotonic()
    for _ in range(CALLS):
        asked_s = time.monotonic()
        requests.get(url + path, timeout=WAIT_S).raise_for_status()
        least_s = min(least_s, time.monotonic() - asked_s)
    own_s = cpu_s(worker) - spent_s - idle * (time.monotonic() - began_s)
    return Cost(what, max(0.0, own_s) * 1000 / CALLS, "CPU ms", most, least_s * 1000)


def _slowest_calls(worker: psutil.Process, url: str, say: Callable[[str], None]) -> Iterator[Cost]:
    """While pages are open, too: the wall time decides on a quiet machine, the worker's own time on any."""
    with _streams(url):
        found = calls(url, worker.pid, WAIT_S)
    for kind, unit in (("wall_ms", "wall ms"), ("cpu_ms", "CPU ms")):
        told = slowest(found, kind)
        yield Cost(f"p99 of {len(found)} calls", told.p99_ms, unit, CALL_MS)
        yield Cost(f"worst: {told.worst}", told.worst_ms, unit, CALL_MS)
    waited = max(found, key=lambda call: call.waited_ms)
    say(f"the longest time for which others kept the worker from a core: {waited.waited_ms:.0f} ms, in {waited.name}")


def _doctor(worker: psutil.Process, url: str) -> Cost:
    """The wall time of `connect doctor` is bounded, whatever the load; beside it what the worker spends."""
    spent_s, asked_s = cpu_s(worker), time.monotonic()
    answer = requests.get(f"{url}/doctor", timeout=WAIT_S)
    answer.raise_for_status()
    errors = [found for found in answer.json()["findings"] if found["severity"] == "error"]
    assert not errors, f"the system is sound, and the doctor finds {errors}"
    wall_ms = (time.monotonic() - asked_s) * 1000
    return Cost("GET /doctor", (cpu_s(worker) - spent_s) * 1000, "CPU ms", DOCTOR_MS, wall_ms)


def _open_pages(worker: psutil.Process, url: str) -> Iterator[Cost]:
    idle = _share(worker, WATCH_S)
    with _streams(url):
        watched = _share(worker, WATCH_S)
    yield Cost("worker with no page open", idle, "of a core", 1.0)
    yield Cost(f"{PAGES} open pages, beside that", max(0.0, watched - idle), "of a core", SHARE)


@contextmanager
def _streams(url: str) -> Iterator[None]:
    headers = {"Accept": "text/event-stream"}
    addresses = [f"{url}/ui/live/overview", f"{url}/ui/live/connector?name=page-7"]
    opened = [
        requests.get(addresses[number % len(addresses)], headers=headers, stream=True, timeout=WAIT_S)
        for number in range(PAGES)
    ]
    with ThreadPoolExecutor(PAGES) as pool:
        reading = [pool.submit(_read, answer) for answer in opened]
        yield
        for answer in opened:
            answer.raw._fp.fp.raw._sock.shutdown(2)  # ends a read in another thread
    assert all(one.result() > 0 for one in reading), "a page was sent nothing"


def _read(answer: requests.Response) -> int:
    """Read a stream until it is closed; how many bytes came."""
    size = 0
    try:
        for part in answer.iter_content(65_536):
            size += len(part)
    except requests.RequestException:  # it is closed from outside
        return size
    return size


def _share(worker: psutil.Process, seconds: float) -> float:
    """The part of a core that the worker's process takes for so long."""
    spent_s, began_s = cpu_s(worker), time.monotonic()
    _rest(seconds)
    return (cpu_s(worker) - spent_s) / (time.monotonic() - began_s)


def _rest(seconds: float) -> None:
    Deadline.after(seconds).wait(seconds)


def cpu_s(worker: psutil.Process) -> float:
    """Return what a process has spent of the CPU."""
    times = worker.cpu_times()
    return times.user + times.system


def _weight_kb(url: str) -> float:
    html = requests.get(f"{url}/ui", timeout=WAIT_S).text
    files = set(re.findall(r'(?:href|src)="(/ui/[^"?]+\.(?:css|js|svg)[^"]*)"', html))
    assert len(files) == 3, files
    return (
        len(html.encode()) + sum(len(requests.get(urljoin(url, one), timeout=WAIT_S).content) for one in files)
    ) / 1e3


def _first_paint_ms(url: str) -> float:
    from playwright.sync_api import sync_playwright

    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as browser,
    ):
        found = []
        for _ in range(3):
            # The page's own policy forbids the evaluation by which the driver waits.
            page = browser.new_context(bypass_csp=True).new_page()
            page.goto(f"{url}/ui")
            page.wait_for_function(f"{paint} > 0")
            found.append(float(page.evaluate(paint)))
    return min(found)
