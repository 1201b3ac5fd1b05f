"""The mirror source reads on behind the record that was stored last, and shares partitions out to tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.errors import ConfigError, ConnectError
from connect.api.records import Batch, Column, Consumed, SourcePosition, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext
from connectors.mirror.config import MirrorSourceConfig
from connectors.mirror.source import ASSIGNED, MirrorSourceConnector

CONFIG = {
    "source.cluster.alias": "a", "target.cluster.alias": "b", "source.cluster.bootstrap.servers": "x:1",
    "replication.factor": "1",
}  # fmt: skip
Starts = Mapping[TopicPartition, int | None]


class Cluster:
    """Both clusters at once, in memory: topics with partitions and configs, and what was asked of them."""

    def __init__(self, topics: dict[str, int]) -> None:
        self.counts = topics
        self.configs: dict[str, dict[str, str]] = {}
        self.states: dict[str, str] = {}
        self.starts: Starts = {}
        self.losses: list[str] = []
        self.found: list[Batch] = []

    def topics(self, deadline: Deadline) -> Mapping[str, int]:
        return self.counts

    def own_configs(self, topic: str, deadline: Deadline) -> Mapping[str, str]:
        return self.configs.get(topic, {})

    def state_of(self, topic: str) -> str | None:
        return self.states.get(topic)

    def make_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str], deadline: Deadline
    ) -> bool:
        self.counts[topic] = partitions
        self.configs[topic] = dict(configs)
        return True

    def widen_topic(self, topic: str, partitions: int, deadline: Deadline) -> None:
        self.counts[topic] = partitions

    def change_configs(self, topic: str, wanted: Mapping[str, str], removed: Sequence[str], deadline: Deadline) -> None:
        kept = {name: value for name, value in self.configs.get(topic, {}).items() if name not in removed}
        self.configs[topic] = {**kept, **wanted}

    def reader(self, starts: Starts) -> Cluster:
        self.starts = starts
        return self

    def poll(self, deadline: Deadline) -> Sequence[Batch]:
        return self.found

    def take_losses(self) -> Sequence[str]:
        return self.losses

    def close(self) -> None:
        self.starts = {}


def _connector(source: Cluster, target: Cluster | None = None, **given: str) -> MirrorSourceConnector:
    config = {**CONFIG, **{name.replace("__", "."): text for name, text in given.items()}}
    connector = MirrorSourceConnector(MirrorSourceConfig.parse(config))
    connector.take_clusters(lambda client, prefix: source if prefix.startswith("source.") else target or Cluster({}))
    return connector


def test_partitions_go_round_the_tasks_and_none_is_left_out() -> None:
    connector = _connector(Cluster({"o-1": 3, "u": 2}))
    shares = [config[ASSIGNED].split(",") for config in connector.task_configs(2)]
    assert shares == [["o-1-0", "o-1-2", "u-1"], ["o-1-1", "u-0"]]
    assert len(connector.task_configs(9)) == 5
    assert _connector(Cluster({})).task_configs(3) == []


def test_topics_of_a_clusters_state_are_left_out() -> None:
    source, target = Cluster({"o": 1, "connect-offsets": 2, "table": 1}), Cluster({})
    source.configs = {"connect-offsets": {"cleanup.policy": "compact"}, "table": {"cleanup.policy": "compact"}}
    source.states = {"connect-offsets": "source offsets"}
    [task] = _connector(source, target).task_configs(1)
    assert task[ASSIGNED].split(",") == ["o-0", "table-0"]
    assert target.counts == {"a.o": 1, "a.table": 1}


def test_copies_are_made_widened_and_set_but_for_what_they_keep_for_themselves() -> None:
    source, target = Cluster({"o": 3, "new": 2}), Cluster({"a.o": 2})
    source.configs = {"o": {"retention.ms": "5", "min.insync.replicas": "2"}, "new": {"cleanup.policy": "compact"}}
    target.configs = {"a.o": {"segment.ms": "9", "min.insync.replicas": "1"}}
    _connector(source, target, target__cluster__bootstrap__servers="y:1").task_configs(1)
    assert target.counts == {"a.o": 3, "a.new": 2}
    assert target.configs == {
        "a.o": {"retention.ms": "5", "min.insync.replicas": "1"}, "a.new": {"cleanup.policy": "compact"},
    }  # fmt: skip


def test_copies_are_made_with_configs_even_where_those_are_not_kept_alike() -> None:
    source, target = Cluster({"new": 1, "o": 1}), Cluster({"a.o": 1})
    source.configs = {"new": {"cleanup.policy": "compact"}, "o": {"retention.ms": "5"}}
    off = {"sync__topic__configs__enabled": "false", "target__cluster__bootstrap__servers": "y:1"}
    _connector(source, target, **off).task_configs(1)
    assert target.configs == {"a.new": {"cleanup.policy": "compact"}}


def test_copies_that_are_there_are_not_set_by_the_workers_own_login() -> None:
    source, target = Cluster({"o": 3, "new": 1}), Cluster({"a.o": 2})
    source.configs = {"o": {"retention.ms": "5"}, "new": {"retention.ms": "6"}}
    _connector(source, target).task_configs(1)
    assert target.configs == {"a.new": {"retention.ms": "6"}}
    assert target.counts == {"a.o": 3, "a.new": 1}


def test_a_task_reads_on_behind_what_is_stored_and_stores_what_it_copied_last() -> None:
    source = Cluster({"o": 2})
    connector = _connector(source)
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
    connector = _connector(source)
    task = connector.task(connector.task_configs(1)[0])
    context = FakeSourceContext()
    context.store.store([SourcePosition({"cluster": "a", "partition": 0, "topic": "o"}, {"offset": -1})])
    task.open(context)
    assert source.starts == {TopicPartition("o", 0): None}


def test_records_that_were_deleted_before_they_were_copied_are_told() -> None:
    source = Cluster({"o": 1})
    connector = _connector(source)
    task = connector.task(connector.task_configs(1)[0])
    context = FakeSourceContext()
    task.open(context)
    source.losses = ["7 rows of o-0 were deleted before they were read."]
    assert task.poll(Deadline.after(1)) is None
    assert list(context.noted) == source.losses


def test_a_stored_offset_that_is_none_is_told_and_a_given_one_refused() -> None:
    connector = _connector(Cluster({"o": 1}))
    place = {"cluster": "a", "partition": 0, "topic": "o"}
    context = FakeSourceContext()
    context.store.store([SourcePosition(place, {"offset": "x"})])
    with pytest.raises(ConnectError, match="no whole number"):
        connector.task(connector.task_configs(1)[0]).open(context)
    assert connector.alter_offsets([SourcePosition(place, {"offset": 3}), SourcePosition(place, None)])
    for partition, offset in ((place, {"offset": -1}), (place, {}), ({"topic": "o"}, {"offset": 1})):
        with pytest.raises(ConfigError):
            connector.alter_offsets([SourcePosition(partition, offset)])
