"""Keys are created before values: a life that dies between them leaves keys that the next one's values must match."""

from __future__ import annotations

import io
import json

import fastavro
import pytest
from s3_http_store import TP, Store
from s3_task_runs import TaskRun, batch

from connect.api import schema as s
from connect.api.records import Batch, Column
from connectors.s3.formats.format_specs import JSON_FORMAT

SETTINGS = {"format_class": JSON_FORMAT, "store_kafka_keys": "true", "flush_size": "1000"}


def numbers(first: int, stop: int) -> Batch:
    keys = Column.from_rows(list(range(first, stop)), s.INT64)
    return batch([{"n": n} for n in range(first, stop)], first=first, keys=keys)


def files(store: Store) -> dict[str, list[int]]:
    """By the name of each object: the numbers of its rows."""
    found = {}
    for key, (body, _) in sorted(store.objects.items()):
        name = key.rpartition("/")[2].removeprefix("t%2B0%2B000000000")
        is_keys = name.endswith(".keys.avro")
        rows = fastavro.reader(io.BytesIO(body)) if is_keys else map(json.loads, body.splitlines())
        found[name] = [row if is_keys else row["n"] for row in rows]
    return found


@pytest.fixture
def orphan(store: Store) -> Store:
    """A life wrote the keys of five rows, and died before their values."""
    former = TaskRun(store, **SETTINGS)
    former.put(numbers(0, 5))
    store.faults = ["", "503"]
    former.flush_and_die()
    assert files(store) == {"0.keys.avro": [0, 1, 2, 3, 4]}
    store.faults = []
    return store


def test_values_that_are_more_than_the_keys_are_parted_where_the_keys_end(orphan: Store):
    heir = TaskRun(orphan, **SETTINGS)
    heir.put(numbers(0, 8))
    heir.written()
    assert files(orphan) == {
        "0.json": [0, 1, 2, 3, 4], "0.keys.avro": [0, 1, 2, 3, 4], "5.json": [5, 6, 7], "5.keys.avro": [5, 6, 7],
    }  # fmt: skip


def test_values_that_are_fewer_than_the_keys_wait_for_the_rest(orphan: Store):
    heir = TaskRun(orphan, **SETTINGS)
    heir.put(numbers(0, 3))
    assert heir.flush() == {}
    heir.put(numbers(3, 7))
    assert heir.flush() == {TP: 7}
    heir.written()
    assert files(orphan) == {
        "0.json": [0, 1, 2, 3, 4], "0.keys.avro": [0, 1, 2, 3, 4], "5.json": [5, 6], "5.keys.avro": [5, 6],
    }  # fmt: skip


def test_a_former_owner_that_was_only_frozen_finds_the_values_there(orphan: Store):
    frozen = TaskRun(orphan, **SETTINGS)
    frozen.put(numbers(0, 4))
    heir = TaskRun(orphan, **SETTINGS)
    heir.put(numbers(0, 6))
    heir.written()
    assert frozen.flush() == {TP: 4}
    assert files(orphan) == {
        "0.json": [0, 1, 2, 3, 4], "0.keys.avro": [0, 1, 2, 3, 4], "5.json": [5], "5.keys.avro": [5],
    }  # fmt: skip


def test_rows_that_compaction_took_are_not_waited_for(orphan: Store):
    heir = TaskRun(orphan, **SETTINGS)
    heir.put(numbers(0, 4))
    heir.put(numbers(6, 7))
    heir.flush()
    heir.written()
    assert files(orphan) == {"0.json": [0, 1, 2, 3], "0.keys.avro": [0, 1, 2, 3, 4], "6.json": [6], "6.keys.avro": [6]}
