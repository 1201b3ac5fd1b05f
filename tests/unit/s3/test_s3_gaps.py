"""A sink that began at a later offset and is reset writes the rows that no task has read, and no other row twice."""

from __future__ import annotations

import json
import logging

import pytest
from s3_http_store import Store
from s3_task_runs import TaskRun, batch

from connect.api.errors import ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connectors.s3.formats.format_specs import JSON_FORMAT
from connectors.s3.paths.object_chain import PAGE
from connectors.s3.settings.classes import FIELD_PARTITIONER
from connectors.s3.stores.store import Bucket

BY_PATH = {"partitioner_class": FIELD_PARTITIONER, "partition_field_name": "p"}


def rows(first: int, stop: int) -> list[dict]:
    return [{"p": f"p{n % 3}", "n": n} for n in range(first, stop)]


def life(store: Store, first: int, stop: int, *, step: int = 10, **settings: str) -> None:
    """One life of a task, which reads the rows from `first` to `stop` and puts some of them into each object."""
    run = TaskRun(store, format_class=JSON_FORMAT, **settings)
    for start in range(first, stop, step):
        run.put(batch(rows(start, min(stop, start + step)), first=start))
        run.flush()
    run.written()


def numbers(store: Store) -> list[int]:
    lines = [line for body, _ in store.objects.values() for line in body.splitlines()]
    return sorted(json.loads(line)["n"] for line in lines)


def told(store: Store, name: str) -> list[int]:
    return [int(metadata[f"x-amz-meta-kconnect-{name}"]) for _, (_, metadata) in sorted(store.objects.items())]


def forget_begins(store: Store) -> None:
    """Make the objects those of a version that did not tell where they begin."""
    for _, metadata in store.objects.values():
        del metadata["x-amz-meta-kconnect-begin-offset"]


@pytest.mark.parametrize("step", [3, 7, 100])
@pytest.mark.parametrize("paths", [{}, BY_PATH], ids=["one path", "paths"])
@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
def test_rows_before_a_late_beginning_are_written_after_a_reset(store, paths, is_old, step):
    life(store, 40, 70, **paths)
    if is_old:
        forget_begins(store)
    life(store, 0, 100, step=step, **paths)
    assert numbers(store) == list(range(100))
    life(store, 65, 110, step=step, **paths)
    assert numbers(store) == list(range(110)), "no object reaches over those that follow it"


def test_rows_that_altered_offsets_passed_over_are_written_after_a_reset(store):
    life(store, 0, 20)
    life(store, 50, 70)
    life(store, 90, 95)
    life(store, 7, 60, step=13)
    assert numbers(store) == [*range(70), *range(90, 95)]
    life(store, 0, 120, step=120)
    assert numbers(store) == list(range(120))


def test_an_object_tells_where_its_unbroken_run_began(store):
    life(store, 40, 60)
    life(store, 60, 80)
    life(store, 90, 100)
    assert told(store, "start-offset") == [40, 50, 60, 70, 90]
    assert told(store, "begin-offset") == [40, 40, 40, 40, 90]


def test_a_gap_that_was_written_is_a_gap_no_more(store):
    life(store, 40, 60)
    life(store, 0, 80)
    assert (told(store, "start-offset")[-1], told(store, "begin-offset")[-1]) == (70, 0)
    asked = store.lists
    life(store, 0, 90)
    assert store.lists - asked == 1, "the last object tells that nothing is missing"


def test_a_restart_at_the_commit_asks_for_the_last_object_alone(store):
    life(store, 0, 30, **BY_PATH)
    asked = store.lists
    life(store, 30, 60, **BY_PATH)
    assert store.lists - asked == 3, "one listing for each path"


def test_a_gap_among_very_many_objects_is_found(store):
    life(store, 5000, 5000 + PAGE + 200, step=1)
    life(store, 4990, 5005)
    life(store, 7000, 7010)
    life(store, 4980, 7020, step=500)
    assert numbers(store) == list(range(4980, 7020))


def test_the_log_names_the_rows_that_objects_hold(store, caplog):
    life(store, 0, 20)
    life(store, 50, 70)
    caplog.set_level(logging.INFO, "connectors.s3.files.last_object")
    life(store, 10, 75, step=100)
    assert "those of the offsets 10 to 19, 50 to 69" in caplog.text


def test_a_store_that_fails_while_many_objects_are_asked_is_not_asked_for_the_same_again(store, monkeypatch):
    life(store, 100, 300, step=1)
    forget_begins(store)
    asked: list[str] = []
    real = Bucket.metadata

    def failing(bucket: Bucket, keys: list[str], deadline: Deadline) -> list:
        answers = real(bucket, keys, deadline)
        is_late = len(asked) >= 80 and "failed" not in asked
        asked.extend([*keys[:10], "failed"] if is_late else keys)
        return [*answers[:10], *[RetriableError("away")] * (len(keys) - 10)] if is_late else answers

    monkeypatch.setattr(Bucket, "metadata", failing)
    run = TaskRun(store, format_class=JSON_FORMAT)
    given = batch(rows(50, 310), first=50)
    with pytest.raises(RetriableError, match="away"):
        run.put(given)
    run.put(given)
    run.written()
    assert numbers(store) == list(range(50, 310))
    assert len(asked) == len(set(asked)) == 200


def test_an_object_that_looks_like_a_joined_one_of_another_topic_is_passed_over(store):
    life(store, 40, 60)
    (key, (body, metadata), *_) = next(iter(sorted(store.objects.items())))
    other = {**metadata, "x-amz-meta-kconnect-topic": "t+0"}
    store.objects[key.replace("0000000040", "0000000007-0000000009")] = (body, other)
    life(store, 0, 60)
    del store.objects[key.replace("0000000040", "0000000007-0000000009")]
    assert numbers(store) == list(range(60))


def test_an_object_of_somebody_else_in_a_gap_stops_the_task(store):
    life(store, 40, 60)
    life(store, 0, 10)
    (first, *_) = sorted(store.objects)
    store.objects[first] = (b"x", {})
    with pytest.raises(ConnectError, match="not written by this sink"):
        life(store, 0, 60)
