"""A sink that touches every field of every row and writes nothing: the framework's own cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow.compute as pc

from connect.api.config import ConnectorConfig
from connect.api.plugin import Plugin, PluginKind
from connect.api.records import Batch, TopicPartition


class NullConfig(ConnectorConfig):
    pass


class NullConnector:
    def __init__(self, config: NullConfig) -> None:
        self._config = config

    def check(self, deadline) -> None:
        return None

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [dict(self._config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]):
        return NullTask()


class NullTask:
    def __init__(self) -> None:
        self._next: dict[TopicPartition, int] = {}
        self._extremes: list = []

    def open(self, ctx) -> None:
        return None

    def assigned(self, partitions) -> None:
        return None

    def put(self, batch: Batch, deadline) -> None:
        self._extremes = [pc.min_max(column) for column in batch.arrow().columns]
        self._next[batch.consumed.topic_partition] = batch.consumed.next_offset

    def flush(self, deadline) -> Mapping[TopicPartition, int]:
        return dict(self._next)

    def revoked(self, partitions) -> None:
        return None

    def close(self) -> None:
        return None


PLUGIN = Plugin(PluginKind.SINK, "bench.NullSink", "tests.bench.null_sink:NullConnector", NullConfig, "1")
