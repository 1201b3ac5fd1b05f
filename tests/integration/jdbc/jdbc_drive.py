"""Drives the JDBC source without Kafka: a context stores offsets as JSON, and loops poll until nothing comes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from connect.api.allowed_paths import EVERYWHERE
from connect.api.records import Batch, SourcePosition
from connect.api.topics import NoRecords
from connect.lib.deadline import Deadline
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.connector import JdbcSourceConnector
from connectors.jdbc.source.task import JdbcSourceTask


class OffsetStore:
    """Stands for a SourceContext whose offsets have been JSON, as they are in the offsets topic."""

    connector = "jdbc"
    task = 0

    def __init__(self) -> None:
        self.offsets: dict[str, str] = {}
        self.gauges: dict[str, float] = {}
        self.explained: str | None = None
        self.caught_up_s, self.is_behind = 0.0, False
        self.tolerates = False
        self.rejected: list[tuple[dict[str, str | None], str]] = []

    def stored_offset(self, partition: Mapping[str, object]) -> Mapping[str, object] | None:
        text = self.offsets.get(json.dumps(partition))
        return None if text is None else json.loads(text)

    def stored_positions(self) -> list[SourcePosition]:
        return [SourcePosition(json.loads(partition), json.loads(offset)) for partition, offset in self.offsets.items()]

    def records_of(self, topic: str, client: Mapping[str, str], prefix: str) -> NoRecords:
        return NoRecords()

    def gauge(self, name: str, value: float | None) -> None:
        self.gauges.pop(name, None)
        if value is not None:
            self.gauges[name] = value

    def caught_up(self, at_s: float, *, behind: bool = False) -> None:
        self.caught_up_s, self.is_behind = at_s, behind

    def explain(self, reason: str | None, *, waiting_for: str | None = None) -> None:
        self.explained = reason

    def note(self, notes: list[str]) -> None:
        self.noted = list(notes)

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        """Take the rejected rows as errors.tolerance says."""
        if not self.tolerates:
            raise next(iter(rows.values()))
        self.rejected += [(batch.values.rows()[i], str(reason)) for i, reason in rows.items()]

    def store(self, batch: Batch) -> None:
        assert batch.position is not None
        key = json.dumps(dict(batch.position.partition))
        if batch.position.offset is None:
            self.offsets.pop(key, None)
        else:
            self.offsets[key] = json.dumps(dict(batch.position.offset))


def run_sql(path: Path, *statements: str) -> None:
    """Run statements and commit."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def connector(path: Path, **settings: object) -> JdbcSourceConnector:
    """Return a connector for a SQLite file; `__` in a setting's name stands for a dot."""
    return JdbcSourceConnector(JdbcSourceConfig.parse({**properties(path, **settings), **EVERYWHERE}))


def properties(path: Path, **settings: object) -> dict[str, str]:
    given = {"connection.url": f"jdbc:sqlite:{path}", "topic.prefix": "db-", "poll.linger.ms": "60"}
    return given | {name.replace("__", "."): str(value) for name, value in settings.items()}


def opened(path: Path, store: OffsetStore, **settings: object) -> JdbcSourceTask:
    """Return the connector's only task, opened."""
    planned = connector(path, **settings)
    (config,) = planned.task_configs(1)
    task = planned.task({**config, **EVERYWHERE})
    task.open(store)
    return task


def batches(task: JdbcSourceTask, store: OffsetStore, at_most: int = 10_000, quiet_s: float = 0.3) -> list[Batch]:
    """Yield batches until nothing comes for `quiet_s` seconds; each is stored as delivered."""
    result: list[Batch] = []
    while len(result) < at_most:
        batch = task.poll(Deadline.after(quiet_s))
        if batch is None:
            if task._ahead is None:
                break
            continue
        store.store(batch)
        result.append(batch)
    return result


def rows(read: list[Batch]) -> list[dict[str, Any]]:
    """Return the rows of batches as dicts."""
    return [row for batch in read for row in batch.values.rows()]
