"""Records of a cluster's topics that are none are named in the log, each key once, however many were planted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from connect.cluster.offsets.source_offsets import StoredSourceOffsets
from connect.cluster.store.config_store import ConfigStore
from connect.cluster.store.record_log import OnRecord
from connect.cluster.store.skipped_records import KEYS_MAX, SkippedRecords
from connect.cluster.store.status_store import StatusStore
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.quick
PLANTED = [(b"worker-nobody", b"[]"), (b"unknown-kind", b"{}"), (b"\xff\xfe", b"{}"), (b"", b"{}"), (None, b"{}")]


class PlantedLog:
    """A topic in which each record was planted a hundred times."""

    def __init__(self, on_record: OnRecord) -> None:
        self._on_record = on_record

    def start(self, deadline: Deadline) -> None:
        for offset in range(100):
            for key, value in PLANTED:
                self._on_record(key, value, 0, offset, 0)

    def read_to_end(self, deadline: Deadline) -> None:
        """Nothing more was written."""

    def close(self) -> None:
        """Nothing is held."""


def read_config() -> None:
    ConfigStore(PlantedLog, object()).start(Deadline.after(60))


def read_status() -> None:
    StatusStore(PlantedLog).start(Deadline.after(60))


def read_offsets() -> None:
    def never(*_: Any) -> Future[Any]:
        raise AssertionError("The worker's own topic has them")

    StoredSourceOffsets(PlantedLog, never, lambda _: False, never).read("c", {}, Deadline.after(60))


@pytest.mark.parametrize("read", [read_config, read_status, read_offsets])
def test_a_planted_record_is_named_once(read: Callable[[], None], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        read()
    named = [record.__dict__["key"] for record in caplog.records if record.msg.endswith("_record_skipped")]
    assert sorted(named) == ["", "\\xff\\xfe", "unknown-kind", "worker-nobody"]


def test_keys_without_number_are_not_named_each(caplog: pytest.LogCaptureFixture) -> None:
    skipped = SkippedRecords("config")
    with caplog.at_level(logging.WARNING):
        for number in range(3 * KEYS_MAX):
            skipped.add(b"unknown-%d" % number, 0, number, "unknown kind of key")
    assert len(caplog.records) == KEYS_MAX + 1
    assert caplog.records[-1].__dict__["reason"].endswith("further keys that are none are not named")
