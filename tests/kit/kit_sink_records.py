"""Holds broken sinks that lose records of one kind: bad or schemaless ones, or those of another key, schema, topic or
task.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from kit_sink import TableSink, TableSinkConnector
from kit_table import reached

from connect.api.errors import ConnectError, SchemaError
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline


class FailsOnTwoBadRowsTask(TableSink):
    """Rejects a bad row among good ones, but fails the task if a batch has two of them."""

    def reject(self, batch: Batch, rows: Mapping[int, Exception]) -> None:
        if len(rows) > 1:
            raise ConnectError("The batch is bad.")
        super().reject(batch, rows)


class DropsSchemalessTask(TableSink):
    def write(self, connection: sqlite3.Connection, batch: Batch) -> None:
        if batch.values.schema is not None:
            super().write(connection, batch)


class DropsOtherKeysTask(TableSink):
    """Leaves out rows whose key it cannot use, and tells nobody."""

    def write(self, connection: sqlite3.Connection, batch: Batch) -> None:
        if batch.keys is not None and len(batch) and isinstance(batch.keys.rows()[0], dict):
            super().write(connection, batch)


class KeepsTheFirstSchemaTask(TableSink):
    first = None

    def write(self, connection: sqlite3.Connection, batch: Batch) -> None:
        self.first = self.first or batch.values.schema
        if batch.values.schema == self.first:
            super().write(connection, batch)


class KeepsOneTopicTask(TableSink):
    def write(self, connection: sqlite3.Connection, batch: Batch) -> None:
        if batch.topic == "rows":
            super().write(connection, batch)


class EmptiesTheTableTask(TableSink):
    """Empties the table when its second task begins."""

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        if self.ctx.task == 1:
            with reached(self.config.database) as connection:
                connection.execute("DELETE FROM rows WHERE id < 24")
        return super().flush(deadline)


class RefusesBytesTask(TableSink):
    """Refuses values that its target could hold."""

    def write(self, connection: sqlite3.Connection, batch: Batch) -> None:
        if any(isinstance(member, bytes) for r in batch.rows() if r.value for member in r.value.values()):
            raise SchemaError("There is no form for bytes.", field="value")
        super().write(connection, batch)


class RefusesBytes(TableSinkConnector):
    task_class = RefusesBytesTask


class FailsOnTwoBadRows(TableSinkConnector):
    task_class = FailsOnTwoBadRowsTask


class DropsSchemaless(TableSinkConnector):
    task_class = DropsSchemalessTask


class DropsOtherKeys(TableSinkConnector):
    task_class = DropsOtherKeysTask


class KeepsTheFirstSchema(TableSinkConnector):
    task_class = KeepsTheFirstSchemaTask


class KeepsOneTopic(TableSinkConnector):
    task_class = KeepsOneTopicTask


class EmptiesTheTable(TableSinkConnector):
    task_class = EmptiesTheTableTask
