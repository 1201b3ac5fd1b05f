"""How long each call to a worker takes while 200 connectors run and pages are open, and how much of it is its own.

The wall time decides on a quiet machine. On a busy one the worker's own time does: the CPU time that the kernel counts
for its threads, in nanoseconds. What its threads waited for a core is told beside it, as others take that away.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import requests

ROUNDS: Final = 20
READS: Final = (
    "/ui", "/ui/flow", "/ui/connector?name=page-7", "/ui/edit?name=page-7", "/ui/edit", "/ui/offsets?name=page-7",
    "/ui/letters?name=page-7", "/ui/history?name=page-7", "/ui/plugins", "/ui/backfills", "/ui/reports", "/",
    "/health", "/health/ready", "/connectors", "/connectors?expand=status&expand=info", "/connectors/page-7",
    "/connectors/page-7/config", "/connectors/page-7/status", "/connectors/page-7/history", "/connectors/page-7/tasks",
    "/connectors/page-7/tasks/0/status", "/connectors/page-7/topics", "/connectors/page-7/why",
    "/connectors/page-7/offsets", "/connector-plugins", "/connector-plugins/DatagenConnector/config", "/admin/loggers",
    "/backfills", "/flow", "/metrics",
)  # fmt: skip
"""All that may be read but for the doctor, who has a limit of his own, and live rows, which are waited for."""
CHANGES: Final = (
    ("PUT", "/connectors/page-8/pause"), ("PUT", "/connectors/page-8/resume"),
    ("POST", "/connectors/page-8/restart?includeTasks=true"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its wall time, the worker's CPU time meanwhile, and how long its threads waited for a core."""

    name: str
    wall_ms: float
    cpu_ms: float
    waited_ms: float


class Slowest(NamedTuple):
    """The 99th percentile of a time of all calls, and the worst one with its name."""

    p99_ms: float
    worst_ms: float
    worst: str


def calls(url: str, pid: int, wait_s: float) -> list[Call]:
    """Return the calls of all rounds but the first: what is made once is made there."""
    asked = [*(("GET", path) for path in READS), *CHANGES]
    found = [[_call(url, pid, method, path, wait_s) for method, path in asked] for _ in range(ROUNDS + 1)]
    return [call for round_ in found[1:] for call in round_]


def slowest(found: list[Call], kind: str) -> Slowest:
    """Return the extremes of `wall_ms` or `cpu_ms`."""
    times = sorted((float(getattr(one, kind)), one.name) for one in found)
    at = math.ceil(0.99 * len(times)) - 1
    return Slowest(times[at][0], *times[-1])


def _call(url: str, pid: int, method: str, path: str, wait_s: float) -> Call:
    ran_ns, waited_ns = _scheduled_ns(pid)
    asked_s = time.perf_counter()
    requests.request(method, url + path, timeout=wait_s).raise_for_status()
    wall_ms = (time.perf_counter() - asked_s) * 1e3
    now_ran_ns, now_waited_ns = _scheduled_ns(pid)
    return Call(f"{method} {path}", wall_ms, (now_ran_ns - ran_ns) / 1e6, (now_waited_ns - waited_ns) / 1e6)


def _scheduled_ns(pid: int) -> tuple[int, int]:
    """Return how long a process' threads have run, and how long they were ready and had no core."""
    of_threads = list(_schedstats(pid))
    return sum(ran for ran, _ in of_threads), sum(waited for _, waited in of_threads)


def _schedstats(pid: int) -> Iterator[tuple[int, int]]:
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            ran, waited, _ = path.read_text().split()
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
        yield int(ran), int(waited)
