"""Holds one figure of the bench: rows per second and CPU seconds per million rows, beside a peer measured in the same
run.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

RUNS = 3
"""Of ours and of each peer where the fastest counts. Pages of memory that a virtual machine has to get from its host
first make single runs slower by a third, whoever runs.
"""


@dataclass(frozen=True)
class Figure:
    """What one process did: `cpu_s` is its own user and system time, librdkafka's threads included.

    `profile`: where it went, in CPU seconds per million rows (see `cpu_profile`). `start_s`: what an engine took to be
    up, which is no part of `wall_s`. `first_s`: until the first rows were in Kafka, `start_s` included. `child_mb`: the
    memory of the largest process below it. `told_s`: how long a plan said that it would take; 0: it could not say.
    """

    rows: int
    wall_s: float
    cpu_s: float
    max_rss_mb: float
    profile: Mapping[str, float] = field(default_factory=dict)
    start_s: float = 0.0
    first_s: float = 0.0
    child_mb: float = 0.0
    told_s: float = 0.0

    @property
    def rows_per_s(self) -> float:
        return self.rows / self.wall_s

    @property
    def cpu_s_per_mrow(self) -> float:
        return self.cpu_s / self.rows * 1e6


def in_all(figures: Sequence[Figure]) -> Figure:
    """Several runs as one: the rows and seconds of all, and the most memory of any."""
    return Figure(
        sum(figure.rows for figure in figures), sum(figure.wall_s for figure in figures),
        sum(figure.cpu_s for figure in figures), max(figure.max_rss_mb for figure in figures),
    )  # fmt: skip


def measure(work: Callable[[], int]) -> Figure:
    """Run `work`, which returns the rows it moved."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    start_s = time.perf_counter()
    rows = work()
    wall_s = time.perf_counter() - start_s
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Figure(rows, wall_s, cpu_s, peak_rss_mb())


def peak_rss_mb() -> float:
    """The most memory that this process had at once.

    `ru_maxrss` is no measure of it: it begins with what the process that started this one had (Linux, fs/exec.c).
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def entry(
    name: str,
    ours: Figure,
    peer_name: str | None,
    peer: Figure | None,
    must: int | None = None,
    gate: float | None = None,
    rate_gate: float | None = None,
) -> dict[str, object]:
    """A row of bench.json. `ratio`: our rows/s over the peer's; `cpu_ratio`: the peer's CPU per row over ours.

    `must`: the least rows per second of one core, to be compared with 1 / CPU seconds per row. `gate`: the least
    `cpu_ratio`; `rate_gate`: the least `ratio`.
    """
    beside = None
    if peer is not None:
        beside = {"name": peer_name, "rows_per_s": peer.rows_per_s, "cpu_s_per_mrow": peer.cpu_s_per_mrow}
    return {
        "name": name,
        "rows": ours.rows,
        "wall_s": ours.wall_s,
        "rows_per_s": ours.rows_per_s,
        "cpu_s_per_mrow": ours.cpu_s_per_mrow,
        "max_rss_mb": ours.max_rss_mb,
        "profile": ours.profile,
        "peer": beside,
        "ratio": None if peer is None else ours.rows_per_s / peer.rows_per_s,
        "cpu_ratio": None if peer is None else peer.cpu_s_per_mrow / ours.cpu_s_per_mrow,
        "must_rows_per_s_per_core": must,
        "gate": None if peer is None else gate,
        "rate_gate": None if peer is None else rate_gate,
    }


def as_dict(figure: Figure) -> dict[str, float]:
    return asdict(figure)
