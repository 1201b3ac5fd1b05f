"""Lets a file grow by a line every few milliseconds, and notes when its lines arrive in a topic."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from confluent_kafka import Consumer

from tests.bench.cluster.cluster_workers import wait_for

LINE_EVERY_S = 0.01


class Lines:
    """Appends the time to a file until it is closed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _write(self) -> None:
        with self._file.open("a", buffering=1) as opened:
            while not self._end.wait(LINE_EVERY_S):
                opened.write(f"{time.monotonic()}\n")


class Arrivals:
    """Reads a topic on a thread: when each line was written and when it arrived, by the same clock."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers, "group.id": f"arrivals-{topic}", "fetch.wait.max.ms": 10,
                "auto.offset.reset": "earliest", "enable.auto.commit": False, "topic.metadata.refresh.interval.ms": 50,
                "topic.metadata.propagation.max.ms": 0,
            }
        )  # fmt: skip
        self._topic = topic
        self._seen: list[tuple[float, float]] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._consumer.subscribe([self._topic])
        wait_for(lambda: self._consumer.poll(0.05) is not None or self._consumer.assignment(), f"topic {self._topic}")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._consumer.close()

    def first_written_after(self, moment_s: float) -> float:
        """Seconds from then until the first line arrived that was written later."""
        arrived = wait_for(
            lambda: next((at for written, at in list(self._seen) if written > moment_s), None), "lines to flow again"
        )
        return arrived - moment_s

    def longest_gap(self, since_s: float, until_s: float) -> float:
        """The longest time without an arrival in this window."""
        times = [since_s, *(at for _, at in list(self._seen) if since_s < at < until_s), until_s]
        return longest(times)

    def steady_again(self, since_s: float, quiet_s: float = 3.0) -> None:
        """Return when lines written `quiet_s` after the moment arrive."""
        self.first_written_after(since_s + quiet_s)

    def _read(self) -> None:
        while not self._end.is_set():
            for message in self._consumer.consume(500, 0.005):
                if message.error() is None:
                    self._seen.append((float(message.value()), time.monotonic()))


def longest(times: Sequence[float]) -> float:
    """The longest step of a rising sequence."""
    return max(after - before for before, after in itertools.pairwise(times))
