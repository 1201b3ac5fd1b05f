"""Drives our connector without Kafka, and returns its records as the JSON and header texts that a worker would
write.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import RetriableError
from connect.api.records import Batch, Column
from connect.api.topics import NoRecords, TopicRecords
from connect.convert.json.converter import JsonConfig, JsonConverter
from connect.convert.plain.simple_header import SimpleHeaderConverter
from connect.lib.deadline import Deadline
from connectors.jdbc.debezium.binlog.config import DebeziumMariaDbConfig, DebeziumMySqlConfig
from connectors.jdbc.debezium.binlog.connector import DebeziumBinlogConnector
from connectors.jdbc.debezium.config import DebeziumPostgresConfig
from connectors.jdbc.debezium.connector import DebeziumPostgresConnector

PATIENCE_S = 120.0
_CONNECTORS = {
    "PostgresConnector": (DebeziumPostgresConfig, DebeziumPostgresConnector),
    "MySqlConnector": (DebeziumMySqlConfig, DebeziumBinlogConnector),
    "MariaDbConnector": (DebeziumMariaDbConfig, DebeziumBinlogConnector),
}


class OurRun:
    """Drives one connector, and keeps its records."""

    def __init__(
        self,
        config: Mapping[str, str],
        offsets: Mapping[str, Mapping[str, object]] | None = None,
        commits: Callable[[], bool] = lambda: True,
        converter: Mapping[str, str] = MappingProxyType({}),
        records_of: Callable[[str, Mapping[str, str], str], TopicRecords] = lambda *_: NoRecords(),
    ) -> None:
        """Take the configuration and the stored offsets. `commits` says for each batch if its position is stored at
        once; a later position also covers it.

        `converter` has settings of the JSON converter beside schemas.enable=true. `records_of` opens a topic of
        signals.
        """
        settings, made = _CONNECTORS[config["connector.class"].rpartition(".")[2]]
        connector = made(settings.parse({**config, **EVERYWHERE}))
        self.notes = connector.check(Deadline.after(PATIENCE_S))
        (task_config,) = connector.task_configs(1)
        self._task = connector.task({**task_config, **EVERYWHERE})
        self._commits = commits
        self._converter = converter
        self._prefix = f"{config['topic.prefix']}."
        self.found: dict[str, list[dict[str, Any]]] = {}
        self.statements: list[dict[str, Any]] = []
        """These are the records of the topic of statements, which is named topic.prefix."""
        self.unstored: Counter[str] = Counter()
        """Counts the last records of each topic that are behind the last stored position."""
        self.offsets: dict[str, Mapping[str, object]] = dict(offsets or {})
        self._task.open(_Context(self.offsets, records_of))  # type: ignore[arg-type]  # it has what these tasks ask for

    def until_true(self, done: Callable[[dict[str, list[dict[str, Any]]]], bool]) -> dict[str, list[dict[str, Any]]]:
        """Return the records once `done` is true of them."""
        limit = Deadline.after(PATIENCE_S)
        while not done(self.found):
            assert not limit.expired, {topic: len(records) for topic, records in self.found.items()}
            self.poll()
        return self.found

    def poll_once(self, deadline: Deadline) -> None:
        """Take one batch. An error of the task is raised."""
        self._take(self._task.poll(deadline))

    def poll(self) -> None:
        """Keep the records of the next batch, if one comes soon."""
        with suppress(RetriableError):
            self._take(self._task.poll(Deadline.after(0.2)))

    def _take(self, batch: Batch | None) -> None:
        if batch is None:
            return
        assert batch.position is not None
        assert batch.position.offset is not None
        is_stored = self._commits()
        if is_stored:
            self.offsets[json.dumps(batch.position.partition)] = json.loads(json.dumps(batch.position.offset))
            self._task.stored([batch.position])
            self.unstored.clear()
        keys = [None] * len(batch) if batch.keys is None else self._texts(batch.topic, batch.keys, is_key=True)
        headers = batch.headers or [()] * len(batch)
        write = SimpleHeaderConverter().encode
        for key, value, found in zip(keys, self._texts(batch.topic, batch.values), headers, strict=True):
            texts = [[header.key, (write(batch.topic, header) or b"").decode()] for header in found]
            record = {"key": key, "value": value, "headers": texts}
            if f"{batch.topic}." == self._prefix:
                self.statements.append(record)
                continue
            self.found.setdefault(batch.topic.removeprefix(self._prefix), []).append(record)
            if not is_stored:
                self.unstored[batch.topic.removeprefix(self._prefix)] += 1

    def _texts(self, topic: str, column: Column, *, is_key: bool = False) -> list[Any]:
        config = JsonConfig.parse({"schemas.enable": "true", **self._converter})
        encoded = JsonConverter(config, is_key=is_key).encode(topic, column)
        return [None if text is None else json.loads(text) for text in encoded.to_pylist()]

    def close(self) -> None:
        self._task.close()


class _Context:
    """Stands for the worker that a task can ask."""

    connector, task = "debezium", 0

    def __init__(
        self,
        offsets: Mapping[str, Mapping[str, object]],
        records_of: Callable[[str, Mapping[str, str], str], TopicRecords],
    ) -> None:
        self._offsets = offsets
        self.records_of = records_of

    def stored_offset(self, partition: Mapping[str, object]) -> Mapping[str, object] | None:
        return self._offsets.get(json.dumps(partition))

    def gauge(self, name: str, value: float | None) -> None:
        """Do nothing."""

    def caught_up(self, at_s: float, *, behind: bool = False) -> None:
        """Do nothing."""

    def explain(self, reason: str | None, *, waiting_for: str | None = None) -> None:
        """Do nothing."""

    def note(self, notes: list[str]) -> None:
        """Do nothing."""

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Fail, as errors.tolerance=none does."""
        raise next(iter(rows.values()))
