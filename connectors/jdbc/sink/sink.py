"""The JDBC sink's connector and task: each batch is a transaction, which is committed when `put` returns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext
from connect.api.deadline import Deadline
from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.records import Batch, TopicPartition
from connectors.jdbc.sink.check import check
from connectors.jdbc.sink.config import JdbcSinkConfig
from connectors.jdbc.sink.database import TargetDatabase
from connectors.jdbc.sink.writer import TableWriter


class JdbcSinkConnector:
    """Plans the tasks of one sink. Connects in `check` alone."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, JdbcSinkConfig)
        self._config = config

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Connect; see that tables, keys and rights are as the settings need them."""
        return check(self._config, deadline)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """All alike: Kafka shares out the partitions."""
        return [dict(self._config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]) -> JdbcSinkTask:
        """A task, not yet connected."""
        return JdbcSinkTask(JdbcSinkConfig.parse(config))


class JdbcSinkTask:
    """Each row is in its table when `put` returns. Owned by the task thread."""

    def __init__(self, config: JdbcSinkConfig) -> None:
        self._database = TargetDatabase(config)
        self._writer = TableWriter(config, self._database)
        self._next: dict[TopicPartition, int] = {}

    def open(self, ctx: SinkContext) -> None:
        """Connects with the first rows."""

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Nothing is kept of them."""

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Write the rows in one transaction. RetriableError: the database is away."""
        assert batch.consumed is not None
        if len(batch):
            if deadline.expired:
                raise RetriableError("There was no time left to write the rows.")
            bad = self._write(batch)
        else:
            bad = {}
        self._next[batch.consumed.topic_partition] = batch.consumed.next_offset
        if bad:
            raise RejectedRowsError(bad)

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        """All that was put."""
        del deadline
        return dict(self._next)

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """They are another task's now."""
        for partition in partitions:
            self._next.pop(partition, None)

    def close(self) -> None:
        """Close the connection. May be called twice."""
        self._database.close()

    def _write(self, batch: Batch) -> Mapping[int, Exception]:
        try:
            admitted = self._writer.admit(batch)
            with self._database.transaction(f"writing rows of topic {batch.topic}") as connection:
                return self._writer.write(connection, admitted)
        except RetriableError:
            self._writer.forget_tables()
            raise
