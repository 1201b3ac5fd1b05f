"""A folder that fills up is said before the node refuses writes, once each time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

import pytest

from connectors.cassandra.log.segments import disk
from connectors.cassandra.log.segments.disk import DiskWatch, Limit, limit_of

CONNECTOR: ContextVar[str] = ContextVar("connector")
"""What a task's own thread knows."""


@dataclass
class Folder:
    """A folder that is as large as it says."""

    size_bytes: Callable[[], int]

    def count_damaged(self) -> int:
        return 3


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ({"cdc_total_space": "256MiB", "cdc_block_writes": "true"}, Limit(256 << 20, blocks_writes=True)),
        ({"cdc_total_space": "4GiB", "cdc_block_writes": "false"}, Limit(4 << 30, blocks_writes=False)),
        ({"cdc_total_space_in_mb": "4096"}, Limit(4 << 30, blocks_writes=True)),
        ({"cdc_total_space": "0MiB"}, None),
        ({"cdc_total_space": None}, None),
        ({}, None),
    ],
)
def test_the_limit_is_read_from_the_settings_of_each_version(settings: dict, limit: Limit | None) -> None:
    assert limit_of(settings) == limit


def test_each_level_is_said_when_it_is_reached(caplog: pytest.LogCaptureFixture) -> None:
    size = 0
    gauges: dict[str, float] = {}
    watch = DiskWatch(Folder(lambda: size), Limit(100, blocks_writes=False), gauges.__setitem__)
    said: list[list[str]] = []
    alarms: list[int] = []
    for size in (10, 49, 50, 60, 80, 99, 85, 60, 40, 90):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            watch.look()
        assert gauges == {
            "cdc_raw_bytes": size,
            "cdc_raw_limit_bytes": 100,
            "cdc_raw_alarm": watch.alarm,
            "damaged_segments": 3,
        }
        alarms.append(watch.alarm)
        said.append([record.levelname for record in caplog.records])
    assert said == [[], [], ["WARNING"], [], ["ERROR"], [], [], [], ["INFO"], ["ERROR"]]
    assert alarms == [0, 0, 1, 1, 2, 2, 2, 1, 0, 2]
    assert "cdc_raw holds 90 of 100 bytes (90 %): when it is full the node deletes what was not read." in caplog.text


def test_the_folder_is_watched_though_nobody_polls_and_one_that_is_gone_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(disk, "_LOOK_S", 0.001)
    sizes: list[int | OSError] = [10, OSError("gone"), OSError("gone"), 90]
    looked, seen, others = threading.Event(), threading.Event(), set(threading.enumerate())

    def measure() -> int:
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        if isinstance(size, OSError):
            raise size
        looked.set()
        return size

    def gauge(name: str, value: float) -> None:
        if (name, value) == ("cdc_raw_alarm", 2) and CONNECTOR.get(None) == "orders":
            seen.set()

    watch = DiskWatch(Folder(measure), Limit(100, blocks_writes=True), gauge)
    watch.close()
    watch = DiskWatch(Folder(measure), Limit(100, blocks_writes=True), gauge)
    CONNECTOR.set("orders")
    with caplog.at_level(logging.WARNING):
        watch.start()
        assert looked.is_set(), "the first look is the caller's"
        assert seen.wait(60)
    for _ in range(2):
        watch.close()
    assert set(threading.enumerate()) <= others
    assert caplog.text.count("How full cdc_raw is cannot be seen: gone") == 1
