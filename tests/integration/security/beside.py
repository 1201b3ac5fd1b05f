"""Runs a worker that is attacked, and somebody else's connector in it, which must not lose anything."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from attacked import Target
from e2e_worker import WorkerProcess, wait_for
from hostile_texts import MIB
from victims import TEXT, values

SAMPLE_S = 0.1
ARRIVE_S = 120.0
CHECK_S = 10.0
"""A worker with `QUICK_CHECKS` waits this many seconds for a check, which gets half a request's time and at most 30
s.
"""
QUICK_CHECKS = {"rest.request.timeout.ms": str(round(2000 * CHECK_S))}


class Beside(Target):
    """Stands for the worker under attack, with a connector that copies lines of a file."""

    def __init__(self, worker: WorkerProcess, folder: Path, bootstrap_servers: str, name: str) -> None:
        super().__init__(worker, folder, bootstrap_servers, name)
        self._lines = folder / "lines.txt"
        self._lines.touch()
        self._written = 0
        config = {"connector.class": "FileStreamSource", "file": str(self._lines), "topic": f"{name}-lines",
                  "value.converter": TEXT}  # fmt: skip
        assert self.create("somebody", config).status_code == 201

    @contextmanager
    def unharmed(self) -> Iterator[None]:
        """Fail if REST is slow inside the block, or if the other connector does not deliver its lines after it."""
        with self.answering():
            yield
        self._written += 1
        with self._lines.open("a") as lines:
            lines.write(f"{self._written}\n")
        wanted = {str(number).encode() for number in range(1, self._written + 1)}
        wait_for(
            lambda: wanted <= set(values(self.bootstrap_servers, f"{self.name}-lines")),
            ARRIVE_S, f"lines of the connector beside: {self.worker.status('somebody')}",
        )  # fmt: skip

    @contextmanager
    def within_memory(self, most_mib: int) -> Iterator[None]:
        """Fail if a process of the worker used more memory at any time inside the block."""
        over, seen = threading.Event(), [0]

        def look() -> None:
            worker = psutil.Process(self.worker.pid)
            while not over.wait(SAMPLE_S):
                for process in (worker, *worker.children(recursive=True)):
                    with suppress(psutil.NoSuchProcess):
                        seen[0] = max(seen[0], process.memory_info().rss)

        looking = threading.Thread(target=look)
        looking.start()
        try:
            yield
        finally:
            over.set()
            looking.join()
        assert seen[0] < most_mib * MIB, f"a process held {seen[0] // MIB} MiB"
