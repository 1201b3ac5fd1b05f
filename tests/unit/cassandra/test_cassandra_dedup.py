"""Copies of a change become one event, whatever dies in between: topics in memory, each batch a transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import pytest

from connect.api.errors import ConfigError, RetriableError
from connect.api.records import Batch, SourcePosition, TopicPartition
from connect.api.state import StateEntry
from connect.lib.deadline import Deadline
from connect.testing.fake_topics import FakeTopics
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connectors.cassandra.dedup.config import CassandraDedupConfig, CassandraDedupTaskConfig
from connectors.cassandra.dedup.partition_events import source_partition
from connectors.cassandra.dedup.task import CassandraDedupTask

TOPIC = "raw.shop.orders"
NOW_S = int(time.time())
PLACE = TopicPartition(TOPIC, 0)


def event(text: str, node: str = "n1", **members: Any) -> tuple[Any, Any]:
    """An insert of a row of partition 1, or what `members` make of it."""
    columns = {"v": {"value": text, "writetime_us": 5, "ttl_s": None, "local_deletion_s": None, "deleted": False}}
    value = {
        "op": "insert", "writetime_us": 5, "key": {"k": 1, "c": 2}, "columns": columns,
        "liveness": {"writetime_us": 5, "ttl_s": None, "expires_s": None}, "deletion": None, "range": None,
        "event_id": blake2b(text.encode(), digest_size=16).hexdigest(), "source": {"node": node},
    }  # fmt: skip
    return {"k": 1}, {**value, **members}


def named(text: str, **members: Any) -> tuple[Any, Any]:
    """As `event`, with an id of its own."""
    key, value = event("v", **members)
    return key, {**value, "event_id": blake2b(text.encode(), digest_size=16).hexdigest()}


class Life:
    """Kafka that outlives tasks: what they commit, batch by batch."""

    def __init__(self, rows: list[tuple[Any, Any]], **settings: str) -> None:
        self.kafka = FakeTopics({PLACE: rows}, batch_rows=7)
        self.offsets = OffsetStore()
        self.settings = {
            "topics": TOPIC, "input.prefix": "raw.", "share": "0", "share.of": "1", "remember.ids": "1000", **settings
        }  # fmt: skip
        self.written: list[Any] = []
        self.headers: list[Any] = []
        self.context = FakeSourceContext()
        self.now_s = 0.0
        self.day_s = float(NOW_S)

    def task(self) -> CassandraDedupTask:
        """A task that is open."""
        self.context = FakeSourceContext(store=self.offsets, kafka=self.kafka, connector="dedup")
        config = CassandraDedupTaskConfig.parse(self.settings)
        task = CassandraDedupTask(config, clock=lambda: self.now_s, now_s=lambda: self.day_s)
        task.open(self.context)
        return task

    def run(self, batches: int | None = None) -> None:
        """Run a task until it has nothing more, or dies after so many commits with one more batch on its way."""
        task = self.task()
        self.take(task, batches)
        task.close()

    def take(self, task: CassandraDedupTask, batches: int | None = None) -> None:
        """Commit what a task gives, until it has nothing more or so many batches are committed."""
        while (batch := task.poll(Deadline.after(0.0))) is not None and batches != 0:
            self._commit(batch)
            batches = None if batches is None else batches - 1

    def remembered(self) -> dict[bytes, bytes]:
        """The entries of rows and partitions that the state topic has once it is compacted."""
        newest = {entry.key: entry.value for entry in self.kafka.states.get(TopicPartition("dedup-state", 0), ())}
        return {key: value for key, value in newest.items() if value is not None and key.startswith(b"[")}

    def _commit(self, batch: Batch) -> None:
        assert batch.topic == "shop.orders"
        self.written += batch.values.rows()
        self.headers += batch.headers or [()] * len(batch)
        self.kafka.commit(batch.state)
        if batch.position is not None:
            self.offsets.store([batch.position])


def copies(count: int, nodes: int = 3) -> list[tuple[Any, Any]]:
    """Each change from each node, the nodes at different paces."""
    rows = [(i + 5 * n, n, event(str(i), f"n{n}")) for i in range(count) for n in range(nodes)]
    return [row for *_, row in sorted(rows, key=lambda r: r[:2])]


def texts(life: Life) -> list[str]:
    return [row["columns"]["v"]["value"] for row in life.written]


def test_a_change_comes_once_in_the_order_of_its_first_copy() -> None:
    life = Life(copies(100))
    life.run()
    assert texts(life) == [str(i) for i in range(100)]
    assert life.context.gauges["duplicates_by_id_total"] == 200


@pytest.mark.parametrize("settings", [{}, {"copies.required": "2"}, {"merge.cells": "true"}])
def test_a_death_behind_any_commit_neither_loses_nor_repeats(settings: dict[str, str]) -> None:
    rows = copies(40)
    commits = 1
    while True:
        life = Life(list(rows), **settings)
        life.run(commits)
        done = len(life.written)
        life.run()
        assert sorted(texts(life), key=int) == [str(i) for i in range(40)], f"death behind commit {commits}"
        if done == 40:
            break
        commits += 1
    assert commits > 5


def test_what_is_remembered_is_bounded_by_the_number_of_ids() -> None:
    life = Life([event(str(i)) for i in range(5000)])
    life.run()
    keys = {entry.key for entry in life.kafka.states[TopicPartition("dedup-state", 0)]}
    assert len(keys) == 5, "1000 ids and a slot that fills"
    life.kafka.rows[PLACE] += [event(str(i)) for i in range(4000, 5000)]
    life.run()
    assert len(life.written) == 5000
    life.kafka.rows[PLACE].append(event("0"))
    life.run()
    assert len(life.written) == 5001, "so old an id is forgotten"


@pytest.mark.parametrize(("before", "after"), [(1000, 3000), (3000, 1000), (1000, 1250)])
def test_another_number_of_ids_forgets_none_that_fits(before: int, after: int) -> None:
    """The ring has come round, so that its slots have keys of its size."""
    life = Life([event(str(i)) for i in range(10_000)], **{"remember.ids": str(before)})
    life.run()
    life.settings["remember.ids"] = str(after)
    known = min(before, after)
    for more in (1, 600, 1):
        # Each life begins with what the one before it stored.
        first = len(set(texts(life)))
        life.kafka.rows[PLACE] += [event(str(i)) for i in range(first - known + 300, first)]
        life.kafka.rows[PLACE] += [event(str(i)) for i in range(first, first + more)]
        life.run()
        assert texts(life) == [str(i) for i in range(first + more)]
    newest = {e.key: e.value for e in life.kafka.states[TopicPartition("dedup-state", 0)]}
    assert len([key for key, value in newest.items() if value is not None]) <= after // 250 + 1


def test_an_event_waits_for_copies_from_as_many_nodes_as_are_asked_for() -> None:
    life = Life(
        [event("a", "n1"), event("a", "n1"), event("b", "n2"), event("b", "n1")],
        **{"copies.required": "2", "copies.wait.ms": "1000"},
    )
    life.run()
    assert texts(life) == ["b"], "two copies of one node are one"
    life.run()
    assert texts(life) == ["b"], "read again from the one that waits, and not sent again"
    life.kafka.rows[PLACE].append(event("a", "n3"))
    life.run()
    assert texts(life) == ["b", "a"]
    assert not any(life.headers)


def test_a_restart_knows_what_was_sent_behind_an_event_that_waits() -> None:
    def both(numbers: range) -> list[tuple[Any, Any]]:
        return [event(str(i), node) for i in numbers for node in ("n1", "n2")]

    late = [event(str(i), node) for i in range(100, 200) for node in ("n3", "n4")]
    rows = [*both(range(1000)), event("alone"), *late, *both(range(1000, 3000))]
    life = Life(rows, **{"copies.required": "2", "copies.wait.ms": "3600000", "remember.ids": "1000"})
    for commits in (620, 5, 300, None):
        # The first deaths are shortly before the event is let go: all that was read since is read again.
        life.run(commits)
    assert sorted(texts(life)) == sorted(["alone", *map(str, range(3000))]), "something was sent twice"
    assert [bool(found) for found in life.headers].count(True) == 1
    assert 1000 < texts(life).index("alone") < 2000, "it waits for no more records than a restart would know"


def test_an_event_whose_copies_do_not_come_is_sent_and_marked() -> None:
    life = Life([event("a"), event("s", op="snapshot")], **{"copies.required": "2", "copies.wait.ms": "1000"})
    clock = iter([0.0, 0.0, 0.0, 0.0])

    def later() -> float:
        return next(clock, 5.0)

    context = FakeSourceContext(store=life.offsets, kafka=life.kafka, connector="dedup")
    task = CassandraDedupTask(CassandraDedupTaskConfig.parse(life.settings), clock=later)
    task.open(context)
    found = [task.poll(Deadline.after(0.0)), task.poll(Deadline.after(0.0))]
    sent = [
        (row["columns"]["v"]["value"], bool(batch.headers)) for batch in found if batch for row in batch.values.rows()
    ]
    assert sent == [("s", False), ("a", True)]
    assert found[1] is not None
    assert found[1].headers is not None
    assert found[1].headers[0][0].key == "cassandra.unconfirmed"
    assert found[1].position is not None
    assert found[1].position.offset == {"next_offset": 2}


def cell(value: Any, at: int, **more: Any) -> dict[str, Any]:
    return {"value": value, "writetime_us": at, "ttl_s": None, "local_deletion_s": None, "deleted": False, **more}


def element(at: int, **more: Any) -> dict[str, Any]:
    return {"writetime_us": at, "ttl_s": None, "local_deletion_s": None, **more}


def change(name: str, **members: Any) -> tuple[Any, Any]:
    return named(name, **{"op": "update", "liveness": None, "columns": None, **members})


@pytest.mark.parametrize(
    ("first", "second", "newer"),
    [
        # The same cells, packed anew.
        ({"columns": {"v": cell(1, 5), "w": cell(2, 6)}}, {"columns": {"v": cell(1, 5), "w": None}}, None),
        ({"columns": {"v": cell(1, 5), "w": None}}, {"columns": {"v": cell(1, 5), "w": cell(2, 6)}},
         {"v": None, "w": cell(2, 6)}),
        ({"columns": {"v": cell(1, 5)}}, {"columns": {"v": cell(2, 4)}}, None),
        ({"columns": {"v": cell(1, 5)}}, {"columns": {"v": cell(2, 5)}}, {"v": cell(2, 5)}),
        ({"columns": {"v": cell(1, 5)}}, {"columns": {"v": cell(None, 5, deleted=True)}},
         {"v": cell(None, 5, deleted=True)}),
        ({"columns": {"v": cell(None, 5, deleted=True)}}, {"columns": {"v": cell(1, 5)}}, None),
        ({"deletion": {"writetime_us": 7, "local_s": NOW_S}}, {"columns": {"v": cell(1, 7)}}, None),
        ({"deletion": {"writetime_us": 7, "local_s": NOW_S}}, {"columns": {"v": cell(1, 8)}}, {"v": cell(1, 8)}),
        ({"columns": {"t": {"cleared_us": 4, "set": [element(5, element="a")], "removed": []}}},
         {"columns": {"t": {"cleared_us": None, "set": [element(5, element="a"), element(6, element="b")],
                            "removed": [element(5, element="c")]}}},
         {"t": {"cleared_us": None, "set": [element(6, element="b")], "removed": [element(5, element="c")]}}),
        ({"columns": {"t": {"cleared_us": 4, "set": [], "removed": []}}},
         {"columns": {"t": {"cleared_us": 3, "set": [element(4, element="a")], "removed": []}}}, None),
        ({"columns": {"u": {"cleared_us": None, "fields": {"s": cell("x", 5), "n": None}}}},
         {"columns": {"u": {"cleared_us": None, "fields": {"s": cell("x", 5), "n": cell(1, 5)}}}},
         {"u": {"cleared_us": None, "fields": {"s": None, "n": cell(1, 5)}}}),
    ],
)  # fmt: skip
def test_of_a_second_event_what_is_newer_goes_on(first: Any, second: Any, newer: Any) -> None:
    life = Life([change("1", **first), change("2", **second)], **{"merge.cells": "true"})
    life.run()
    assert [row["columns"] for row in life.written][1:] == ([] if newer is None else [newer])
    again = Life([change("1", **first)], **{"merge.cells": "true"})
    again.run()
    again.kafka.rows[PLACE].append(change("2", **second))
    again.run()
    assert again.written == life.written, "a task that begins anew knows the same"


def test_a_deleted_row_is_forgotten_once_no_copy_can_be_so_late() -> None:
    old_s = NOW_S - 21 * 86_400
    for at_s, remembered in ((old_s, False), (NOW_S, True)):
        life = Life([change("1", deletion={"writetime_us": 7, "local_s": at_s})], **{"merge.cells": "true"})
        life.run()
        life.kafka.rows[PLACE].append(change("2", columns={"v": cell(1, 6)}))
        life.run()
        assert len(life.written) == (1 if remembered else 2)
        rows = {e.key: e.value for e in life.kafka.states[TopicPartition("dedup-state", 0)] if e.key.startswith(b"[")}
        assert all(value is not None for value in rows.values())


def test_deleted_partitions_and_ranges_are_known() -> None:
    def deleted(at: int) -> dict[str, Any]:
        return {"deletion": {"writetime_us": at, "local_s": NOW_S}}

    bounds = {"start": {"c": 1}, "start_inclusive": True, "end": None, "end_inclusive": True}
    life = Life(
        [
            change("1", op="range_delete", range=bounds, **deleted(5)),
            change("2", op="range_delete", range=bounds, **deleted(5)),
            change("3", columns={"v": cell(1, 5)}),
            change("4", op="partition_delete", **deleted(6)),
            change("5", op="partition_delete", **deleted(6)),
            change("6", columns={"v": cell(1, 6)}),
            change("7", op="range_delete", range=bounds, **deleted(6)),
            change("8", op="static", columns={"s": cell(1, 7)}),
            change("9", columns={"s": cell(1, 7)}),
        ],
        **{"merge.cells": "true"},
    )
    life.run()
    # A cell in a range goes on: whether it is in the range is for the reader to say.
    assert [row["op"] for row in life.written] == ["range_delete", "update", "partition_delete", "static", "update"]


def test_a_record_that_is_no_event_is_one_bad_row() -> None:
    life = Life([event("a"), ({"k": 1}, {"other": 1}), ({"k": 1}, None), ({"k": 1}, "text"), event("b")])
    life.run()
    assert texts(life) == ["a", "b"]
    assert [rejected.record.value for rejected in life.context.rejected] == [{"other": 1}, "text"]


def test_topics_that_do_not_exist_are_waited_for() -> None:
    life = Life([event("a")])
    rows = life.kafka.rows.pop(PLACE)
    life.context = FakeSourceContext(store=life.offsets, kafka=life.kafka, connector="dedup")
    now: Callable[[], float] = lambda: life.now_s  # noqa: E731
    task = CassandraDedupTask(CassandraDedupTaskConfig.parse(life.settings), clock=now)
    task.open(life.context)
    assert task.poll(Deadline.after(0.0)) is None
    assert TOPIC in (life.context.explained or "")
    life.kafka.rows[PLACE] = rows
    life.now_s = 60.0
    found = task.poll(Deadline.after(0.0))
    assert found is not None
    assert len(found) == 1
    assert life.context.explained is None


class _Open(FakeTopics):
    """Has a transaction open in its state topic, until it is told that it ended."""

    is_open = False

    def state(
        self, topic: str, partition: int, deadline: Deadline, *, committed_only: bool = False
    ) -> Iterator[StateEntry]:
        if self.is_open and not committed_only:
            raise RetriableError("A transaction is open.")
        return super().state(topic, partition, deadline)


def test_a_partition_that_came_later_is_read_though_its_state_could_not_be_read_at_once() -> None:
    life = Life([event("a")])
    life.kafka = kafka = _Open({PLACE: [event("a")]}, batch_rows=7)
    task = life.task()
    life.take(task)
    later = TopicPartition(TOPIC, 1)
    kafka.rows[later] = [event("b")]
    life.offsets.store([SourcePosition(source_partition(later), {"next_offset": 0})])
    kafka.is_open, life.now_s = True, 60.0
    for _ in range(2):
        with pytest.raises(RetriableError):
            task.poll(Deadline.after(0.0))
    kafka.is_open = False
    life.take(task)
    task.close()
    assert texts(life) == ["a", "b"]


def test_a_topic_that_appears_is_read_while_the_task_s_own_transaction_is_open() -> None:
    """The task has written nothing of a partition without a stored position, so no transaction holds it up."""
    life = Life([event("a")])
    life.kafka = kafka = _Open({PLACE: [event("a")]}, batch_rows=7)
    task = life.task()
    life.take(task)
    kafka.rows[TopicPartition(TOPIC, 1)] = [event("b")]
    kafka.is_open, life.now_s = True, 60.0
    life.take(task)
    task.close()
    assert texts(life) == ["a", "b"]


def test_a_task_that_begins_waits_for_an_open_transaction_also_without_a_position() -> None:
    """A task may die between a transaction with entries and the one with the position behind them."""
    life = Life([event("a")])
    life.kafka = kafka = _Open({PLACE: [event("a")]}, batch_rows=7)
    kafka.is_open = True
    with pytest.raises(RetriableError):
        life.task()


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"topics": "raw.a"}, "topic.prefix"),
        ({"topics": "raw.a,b", "input.prefix": "raw."}, "input.prefix"),
        ({}, "topics"),
    ],
)
def test_a_configuration_that_would_read_what_it_writes_is_refused(settings: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CassandraDedupConfig.parse(settings)
    assert key in {problem.key for problem in caught.value.problems}
