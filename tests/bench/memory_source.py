"""Provides a source whose rows are in memory already, so that what is left is the framework's own cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connect.api.config import ConnectorConfig, Int, String, key
from connect.api.plugin import Capability, Plugin, PluginKind
from connect.api.records import Batch, Column, SourcePosition
from tests.bench.rows import SCHEMA, struct_array


class MemoryConfig(ConnectorConfig):
    topic: String = key("topic", doc="Topic to write to.")
    rows: Int = key("rows", doc="Rows to give.")
    batch: Int = key("batch.max.rows", 10_000, doc="Rows per poll.")


class MemoryConnector:
    def __init__(self, config: MemoryConfig) -> None:
        self._config = config

    def check(self, deadline) -> None:
        return None

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [dict(self._config.originals)]

    def task(self, config: Mapping[str, str]):
        return MemoryTask(self._config)


class MemoryTask:
    def __init__(self, config: MemoryConfig) -> None:
        self._config = config
        self._given = 0
        self._batch = struct_array(config.batch)

    def open(self, ctx) -> None:
        stored = ctx.stored_offset({"memory": 0})
        self._given = int(stored["given"]) if stored else 0

    def poll(self, deadline) -> Batch | None:
        if self._given >= self._config.rows:
            deadline.wait(0.02)
            return None
        self._given += len(self._batch)
        position = SourcePosition({"memory": 0}, {"given": self._given})
        return Batch(self._config.topic, Column.from_arrow(self._batch, SCHEMA), position=position)

    def stored(self, positions) -> None:
        return None

    def close(self) -> None:
        return None


PLUGIN = Plugin(
    PluginKind.SOURCE,
    "bench.MemorySource",
    "tests.bench.memory_source:MemoryConnector",
    MemoryConfig,
    "1",
    capabilities=frozenset({Capability.EXACTLY_ONCE}),
)
