"""Checks how a task learns what the objects of many new paths hold: by one listing of all, where they are not too
many.
"""

from __future__ import annotations

import pytest
from s3_http_store import Store
from s3_task_runs import TaskRun, batch

from connectors.s3.formats.format_specs import JSON_FORMAT
from connectors.s3.settings.classes import FIELD_PARTITIONER

PATHS = 100
SETTINGS = {"format_class": JSON_FORMAT, "partitioner_class": FIELD_PARTITIONER, "partition_field_name": "p"}


def rows(first: int, stop: int) -> list[dict]:
    return [{"p": f"p{n % PATHS}", "n": n} for n in range(first, stop)]


@pytest.mark.parametrize(("keys_per_chain", "lists"), [(16, 2), (1, 1 + PATHS)])
def test_rows_that_are_in_objects_are_not_written_again(store: Store, monkeypatch, keys_per_chain: int, lists: int):
    monkeypatch.setattr("connectors.s3.files.last_object._KEYS_PER_CHAIN", keys_per_chain)
    former = TaskRun(store, **SETTINGS)
    for first in range(0, 1100, PATHS):
        former.put(batch(rows(first, first + PATHS), first=first))
        former.flush()
    assert len(store.objects) == 1100, "more than a listing gives at once"
    asked = store.lists
    again = TaskRun(store, **SETTINGS)
    again.put(batch(rows(50, 1150), first=50))
    assert store.lists - asked == lists
    written = again.written()
    assert sorted(int(line.split(b'"n":')[1][:-1]) for body in written.values() for line in body.splitlines()) == list(
        range(1150)
    )
    assert len(written) == 1150
