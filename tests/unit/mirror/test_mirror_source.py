"""The mirror source reads on behind the record that was stored last, and shares partitions out to tasks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from mirror_clusters import Cluster, mirror

from connect.api import schema as s
from connect.api.errors import ConfigError, ConnectError
from connect.api.records import Batch, Column, Consumed, SourcePosition, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext
from connectors.mirror.source import ASSIGNED


def test_partitions_go_round_the_tasks_and_none_is_left_out() -> None:
    connector = mirror(Cluster({"o-1": 3, "u": 2}))
    shares = [config[ASSIGNED].split(",") for config in connector.task_configs(2)]
    assert shares == [["o-1-0", "o-1-2", "u-1"], ["o-1-1", "u-0"]]
    assert len(connector.task_configs(9)) == 5
    assert mirror(Cluster({})).task_configs(3) == []


def test_a_task_reads_on_behind_what_is_stored_and_stores_what_it_copied_last() -> None:
    source = Cluster({"o": 2})
    connector = mirror(source)
    task = connector.task(connector.task_configs(1)[0])
    context = FakeSourceContext()
    first, second = TopicPartition("o", 0), TopicPartition("o", 1)
    context.store.store([SourcePosition({"cluster": "a", "partition": 1, "topic": "o"}, {"offset": 41})])
    task.open(context)
    assert source.starts == {first: None, second: 42}
    values = Column.from_arrow(pa.array([b"x", None], pa.binary()), s.BYTES.as_optional())
    source.found = [Batch("o", values, partition=1, consumed=Consumed(second, pa.array([42, 44]), 45))]
    [copied] = task.poll(Deadline.after(1)) or ()
    assert (copied.topic, copied.partition, list(copied.values.rows())) == ("a.o", 1, [b"x", None])
    assert copied.position == SourcePosition({"cluster": "a", "partition": 1, "topic": "o"}, {"offset": 44})


def test_a_stored_offset_below_0_says_that_nothing_was_copied() -> None:
    source = Cluster({"o": 1})
    connector = mirror(source)
    task = connector.task(connector.task_configs(1)[0])
    context = FakeSourceContext()
    context.store.store([SourcePosition({"cluster": "a", "partition": 0, "topic": "o"}, {"offset": -1})])
    task.open(context)
    assert source.starts == {TopicPartition("o", 0): None}


def test_records_that_were_deleted_before_they_were_copied_are_told() -> None:
    source = Cluster({"o": 1})
    connector = mirror(source)
    task = connector.task(connector.task_configs(1)[0])
    context = FakeSourceContext()
    task.open(context)
    source.losses = ["7 rows of o-0 were deleted before they were read."]
    assert task.poll(Deadline.after(1)) is None
    assert list(context.noted) == source.losses


def test_a_stored_offset_that_is_none_is_told_and_a_given_one_refused() -> None:
    connector = mirror(Cluster({"o": 1}))
    place = {"cluster": "a", "partition": 0, "topic": "o"}
    context = FakeSourceContext()
    context.store.store([SourcePosition(place, {"offset": "x"})])
    with pytest.raises(ConnectError, match="no whole number"):
        connector.task(connector.task_configs(1)[0]).open(context)
    assert connector.alter_offsets([SourcePosition(place, {"offset": 3}), SourcePosition(place, None)])
    for partition, offset in ((place, {"offset": -1}), (place, {}), ({"topic": "o"}, {"offset": 1})):
        with pytest.raises(ConfigError):
            connector.alter_offsets([SourcePosition(partition, offset)])
