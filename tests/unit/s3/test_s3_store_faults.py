"""Checks what a store may do wrong: ignore the condition, stay silent, lose the answer, be overloaded."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import pyarrow as pa
import pytest
from s3_http_store import TP, Store, config

from connect.api import schema as s
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.findings import Aspect, Weight
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkConnector, S3SinkTask

pytestmark = pytest.mark.thorough


def rows(start: int, stop: int, place: TopicPartition = TP, at_ms: int | None = 1_600_000_000_000) -> Batch:
    values = Column.from_rows([str(n).encode() for n in range(start, stop)], s.BYTES)
    times = None if at_ms is None else pa.array(range(at_ms + start, at_ms + stop), pa.int64())
    consumed = Consumed(place, pa.array(range(start, stop), pa.int64()), stop)
    return Batch("t", values, timestamps_ms=times, consumed=consumed)


def open_task(
    store: Store, context: FakeSinkContext | None = None, now_ms: Callable[[], int] = lambda: 0, **others: str
) -> S3SinkTask:
    task = S3SinkTask(ConfluentPlan(config(store, **others)), now_ms=now_ms)
    task.open(context or FakeSinkContext())
    return task


def until(answer: Callable[[], Any]) -> Any:
    """The first true answer within a minute; a call that is to be made again is."""
    limit = Deadline.after(60)
    while limit.wait(0.01):
        with suppress(RetriableError):
            if found := answer():
                return found
    pytest.fail("there was no answer in a minute")


def test_a_store_that_ignores_the_condition_is_refused(store):
    store.is_conditional = False
    with pytest.raises(ConfigError, match="ignores If-None-Match") as raised:
        S3SinkConnector(config(store)).check(Deadline.after(60))
    assert raised.value.key == "enable.conditional.writes"
    assert store.objects == {}
    S3SinkConnector(config(store, enable_conditional_writes="false")).check(Deadline.after(60))


def test_a_store_is_not_refused_because_an_answer_to_the_check_was_lost(store):
    store.faults = ["lost answer"]
    S3SinkConnector(config(store, s3_part_retries="3")).check(Deadline.after(60))
    assert (store.faults, store.objects) == ([], {})


def test_a_right_that_lacks_is_told_with_the_policy_that_gives_it(store):
    store.faults = ["403"]
    (found,) = S3SinkConnector(config(store)).examine(Deadline.after(60))
    assert (found.aspect, found.weight) == (Aspect.REACH, Weight.FAILS)
    assert "403 Forbidden AccessDenied" in found.text
    bucket, objects = json.loads(found.remedy)["Statement"]
    assert (bucket["Action"], bucket["Resource"]) == (["s3:ListBucket"], "arn:aws:s3:::bucket")
    assert "s3:PutObject" in objects["Action"]
    assert objects["Resource"] == "arn:aws:s3:::bucket/*"


def test_a_wrong_secret_key_is_told_and_answered_with_no_policy(store):
    store.faults = ["403 SignatureDoesNotMatch"]
    (found,) = S3SinkConnector(config(store)).examine(Deadline.after(60))
    assert (found.weight, found.remedy) == (Weight.FAILS, "")
    assert "the secret key is not that of the access key ID" in found.text
    assert "Check aws.access.key.id and aws.secret.access.key." in found.text


def test_an_upload_whose_answer_was_lost_is_found_again_and_not_doubled(store):
    store.faults = ["lost answer"]
    task = open_task(store)
    task.put(rows(0, 2), Deadline.after(60))
    with pytest.raises(RetriableError, match="not reachable"):
        task.flush(Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {TP: 2}
    assert [body for body, _ in store.objects.values()] == [b"0\n1\n"]
    task.close()


def test_an_overloaded_store_is_retriable_and_keeps_the_rows(store):
    store.faults = ["503", "503"]
    task = open_task(store)
    task.put(rows(0, 2), Deadline.after(60))
    task.put(rows(2, 4), Deadline.after(60))  # its own upload fails, yet the rows are taken
    with pytest.raises(RetriableError, match="503 Service Unavailable SlowDown"):
        task.put(rows(4, 6), Deadline.after(60))
    task.put(rows(4, 6), Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {TP: 6}
    assert sorted(body for body, _ in store.objects.values()) == [b"0\n1\n", b"2\n3\n", b"4\n5\n"]
    task.close()


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (("A", 1000), ("A", 1000), None),
        (("A", 1000), ("B", 1000), "they are of the topic with the id A, ours has B"),
        (("A", 1000), (None, 2000), r"the first is of 1970.*01\.000\+00:00, ours of .*02\.000"),
        ((None, 1000), ("A", 1000), None),
        ((None, None), ("A", 1000), None),
        ((None, 1000), (None, None), None),
    ],
)
def test_objects_of_a_topic_that_was_made_anew_are_not_taken_for_these_records(store, before, now, words, caplog):
    caplog.set_level("INFO")
    former, present = (open_task(store, FakeSinkContext(topic_ids={"t": topic_id})) for topic_id, _ in (before, now))
    former.put(rows(0, 2, at_ms=before[1]), Deadline.after(60))
    assert former.flush(Deadline.after(60)) == {TP: 2}
    with nullcontext() if words is None else pytest.raises(ConnectError, match=f"with these offsets: {words}"):
        for n in range(2):
            present.put(rows(n, n + 1, at_ms=now[1]), Deadline.after(60))
        assert present.flush(Deadline.after(60)) == {TP: 2}
        assert re.search(r"ows of t-0 .* read again are in s3://bucket/topics/t/partition=0/t\+0\+0", caplog.text)
    former.close()
    present.close()


@pytest.mark.parametrize("head", [1, 2, 5, 9])
def test_rows_in_objects_are_not_written_again_where_retention_moved_the_head(store, head):
    former, present = open_task(store), open_task(store)
    former.put(rows(0, 8), Deadline.after(60))
    assert former.flush(Deadline.after(60)) == {TP: 8}
    present.put(rows(head, 12), Deadline.after(60))
    present.flush(Deadline.after(60))
    written = b"".join(body for body, _ in store.objects.values()).split()
    assert written == [str(n).encode() for n in range(12) if n < 8 or n >= head][: len(written)]
    assert len(written) >= 10
    former.close()
    present.close()


def test_rows_in_objects_are_not_written_again_where_compaction_took_their_first(store):
    former, present = open_task(store), open_task(store)
    former.put(rows(0, 8), Deadline.after(60))
    assert former.flush(Deadline.after(60)) == {TP: 8}
    present.put(rows(0, 12).take([1, 3, 4, 6, 7, 9, 11]), Deadline.after(60))
    assert present.flush(Deadline.after(60)) == {TP: 12}
    written = b"".join(body for body, _ in store.objects.values()).split()
    assert written == [str(n).encode() for n in (*range(8), 9, 11)]
    former.close()
    present.close()


def test_a_create_that_met_another_one_under_way_is_tried_again(store):
    store.faults = ["409"]
    task = open_task(store)
    task.put(rows(0, 2), Deadline.after(60))
    with pytest.raises(RetriableError, match="was being created by another writer"):
        task.flush(Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {TP: 2}
    assert [body for body, _ in store.objects.values()] == [b"0\n1\n"]
    task.close()


def test_an_upload_that_a_silent_store_never_answers_is_tried_anew(store):
    store.faults = ["silence"]
    task = open_task(store, s3_request_timeout_ms="1000")
    task.put(rows(0, 2), Deadline.after(60))
    with pytest.raises(RetriableError, match="not reachable"):
        task.flush(Deadline.after(60))
    assert until(lambda: task.flush(Deadline.after(60))) == {TP: 2}
    task.close()


def test_an_upload_that_needs_longer_than_a_flush_is_begun_once_and_lands(store):
    store.faults = ["slow"]
    context = FakeSinkContext()
    task = open_task(store, context)
    task.put(rows(0, 2), Deadline.after(0.2))
    for _ in range(3):
        assert task.flush(Deadline.after(0.1)) == {}
    assert context.flush_requests == 3
    with pytest.raises(RetriableError, match="1 objects are still on their way to s3://bucket"):
        task.put(rows(2, 4), Deadline.after(0.1))
    store.released.set()
    assert task.flush(Deadline.after(60)) == {TP: 2}
    assert (store.puts, [body for body, _ in store.objects.values()]) == (1, [b"0\n1\n"])
    task.close()


@pytest.mark.parametrize("fault", ["slow", "503"])
def test_what_is_durable_is_claimed_while_another_file_is_not(store, fault):
    clock = [0]
    task = open_task(store, now_ms=lambda: clock[0], rotate_schedule_interval_ms="1000")
    other = TopicPartition("t", 1)
    task.put(rows(0, 1), Deadline.after(60))
    task.put(rows(0, 1, other), Deadline.after(60))
    clock[0], store.faults = 1000, [fault]
    first = until(lambda: task.flush(Deadline.after(0.2 if fault == "slow" else 60)))
    assert first in ({TP: 1}, {other: 1})
    store.released.set()
    assert task.flush(Deadline.after(60)) == {TP: 1, other: 1}
    assert len(store.objects) == 2
    task.close()


def test_stop_ends_a_wait_for_a_silent_store_early(store):
    store.faults = ["silence"]
    task = open_task(store)
    stop = threading.Event()
    deadline = Deadline.after(60, stop)
    task.put(rows(0, 2), deadline)
    stopper = threading.Thread(target=lambda: until(lambda: store.puts) and stop.set())
    stopper.start()
    assert task.flush(deadline) == {}
    task.close()
    stopper.join()
    assert time.monotonic() < deadline.at_s, "the flush ended with its time, not with the stop"


def test_revoked_rows_are_never_written(store):
    store.faults = ["silence"]
    task = open_task(store)
    task.assigned([TP])
    task.put(rows(0, 2), Deadline.after(60))
    assert until(lambda: task.flush(Deadline.after(0.2)) == {} and store.puts) == 1
    task.revoked([TP])
    assert task.flush(Deadline.after(60)) == {}
    task.assigned([TP])
    task.put(rows(0, 2), Deadline.after(60))
    task.revoked([TP])
    assert task.flush(Deadline.after(60)) == {}
    assert (store.objects, store.puts) == ({}, 1)
    task.close()
    task.close()


def test_a_proxy_is_given_its_user_and_password(store):
    proxy = {
        "s3_proxy_url": f"http://127.0.0.1:{store.server_port}",
        "s3_proxy_user": "me",
        "s3_proxy_password": "p@:/",
    }
    task = open_task(store, store_url="http://s3.invalid", **proxy)
    task.put(rows(0, 2), Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {TP: 2}
    task.close()
    assert store.proxy_authorizations == {"Basic " + base64.b64encode(b"me:p@:/").decode()}


def test_keys_may_begin_with_the_topic(store):
    S3SinkConnector(config(store, topics_dir="")).check(Deadline.after(60))
    task = open_task(store, topics_dir="")
    task.put(rows(0, 2), Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {TP: 2}
    task.close()
    assert list(store.objects) == ["/bucket/t/partition%3D0/t%2B0%2B0000000000.bin"]


def test_no_thread_is_left_after_close(store):
    open_task(store).close()  # the client's own runtime starts with its first request and is shared by all tasks
    before = threading.active_count()
    task = open_task(store)
    task.put(rows(0, 2), Deadline.after(60))
    task.flush(Deadline.after(60))
    task.close()
    own = [thread for thread in threading.enumerate() if "process_request" not in thread.name]
    assert len(own) <= before


def test_open_files_are_held_to_their_bytes_and_the_largest_end_first(store):
    context = FakeSinkContext()
    task = open_task(store, context, flush_size="1000000", buffer_max_bytes="1000")
    small, large = TopicPartition("t", 1), TopicPartition("t", 2)
    task.put(rows(100, 103, small), Deadline.after(60))
    for start in range(100, 300, 10):
        task.put(rows(start, start + 10, large), Deadline.after(60))
        assert context.gauges["buffered_bytes"] <= 1000
    durable = task.flush(Deadline.after(60))
    assert set(durable) == {large}
    assert b"".join(body for _, (body, _) in sorted(store.objects.items())).split() == [
        str(n).encode() for n in range(100, durable[large])
    ]
    assert all("2B2%2B" in key or "+2+" in key for key in store.objects), list(store.objects)
    task.close()


def test_what_many_partitions_were_given_last_counts_too(store):
    context = FakeSinkContext()
    task = open_task(store, context, flush_size="1000000", buffer_max_bytes="1000")
    places = [TopicPartition("t", n) for n in range(20)]
    for place in places:
        task.put(rows(100, 107, place), Deadline.after(60))
        assert context.gauges["buffered_bytes"] <= 1000
    assert len(store.objects) >= 10
    assert len(task.flush(Deadline.after(60))) == len(store.objects)
    task.close()


def test_without_conditional_writes_files_keep_their_ends_whatever_they_hold(store):
    # A file that ends where memory does is written again as another one after a restart.
    task = open_task(store, flush_size="1000000", buffer_max_bytes="1", enable_conditional_writes="false")
    task.put(rows(0, 50), Deadline.after(60))
    task.put(rows(50, 60), Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {}
    assert store.objects == {}
    task.close()
