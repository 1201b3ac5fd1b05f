"""A connector that leaves out rows because another connector's objects hold them says so, and writes none twice."""

from __future__ import annotations

import json

import pytest
from s3_http_store import Store
from s3_task_runs import TaskRun, batch

from connectors.s3.formats.format_specs import JSON_FORMAT


def life(store: Store, connector: str, first: int, stop: int) -> tuple[str, ...]:
    """One life of a task, and its notes."""
    run = TaskRun(store, connector, format_class=JSON_FORMAT)
    run.put(batch([{"n": n, "by": connector} for n in range(first, stop)], first=first))
    run.flush()
    run.written()
    return run.context.noted


def numbers(store: Store) -> list[int]:
    return sorted(json.loads(line)["n"] for body, _ in store.objects.values() for line in body.splitlines())


@pytest.mark.parametrize("name", ["former", "fürmer näme", "x" * 600])
def test_a_connector_with_another_name_goes_on_and_says_so(store, name, caplog):
    assert life(store, name, 0, 10) == ()
    noted = life(store, "present", 0, 15)
    assert numbers(store) == list(range(15))
    if len(name) > 500:
        assert noted == (), "a name that is too long for metadata is not told"
        return
    assert f"Rows of t-0 are not written, as connector {name!r} wrote rows of these offsets to s3://bucket/" in noted[0]
    assert noted[0] in caplog.text
    assert life(store, "present", 12, 20) == (), "its own objects are no news"
    assert numbers(store) == list(range(20))


def test_two_connectors_that_write_one_folder_at_once_are_told(store):
    fast, slow = (TaskRun(store, name, format_class=JSON_FORMAT) for name in ("fast", "slow"))
    for run in (fast, slow):
        run.put(batch([{"n": n} for n in range(5)]))
    fast.flush()
    slow.flush()
    assert fast.context.noted == ()
    assert "connector 'fast' wrote rows of these offsets" in slow.context.noted[0]
    assert numbers(store) == list(range(5))


def test_objects_of_an_earlier_version_tell_no_connector(store):
    life(store, "former", 0, 10)
    for _, metadata in store.objects.values():
        del metadata["x-amz-meta-kconnect-connector"]
    assert life(store, "present", 0, 15) == ()
