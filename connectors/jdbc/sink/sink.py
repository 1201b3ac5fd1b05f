"""The JDBC sink's connector and task: each batch is a transaction, which is committed when `put` returns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from connect.api.bulk import BulkSinkContext
from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext
from connect.api.deadline import Deadline
from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.records import Batch, TopicPartition
from connectors.jdbc.sink.bulk import JdbcBulkWriter
from connectors.jdbc.sink.check import check
from connectors.jdbc.sink.config import JdbcSinkConfig
from connectors.jdbc.sink.database import TargetDatabase
from connectors.jdbc.sink.once import OnceWriter
from connectors.jdbc.sink.own_tables import WrittenOffsets
from connectors.jdbc.sink.retries import Retries
from connectors.jdbc.sink.trial import TrialTables
from connectors.jdbc.sink.writer import Bad, TableWriter


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

    def trial_target(self, name: str) -> TrialTables:
        """Tables apart."""
        return TrialTables(self._config, name)

    @property
    def chunks_in_order(self) -> bool:
        """A key's row is as its last record says; rows that are only added are there in any order."""
        return self._config.is_keyed or self._config.delete_enabled

    def bulk_writer(self, ctx: BulkSinkContext) -> JdbcBulkWriter:
        """Writes chunks of a backfill."""
        return JdbcBulkWriter(self._config, ctx)


class JdbcSinkTask:
    """Each row is in its table when `put` returns. Owned by the task thread."""

    def __init__(self, config: JdbcSinkConfig) -> None:
        self._config = config
        self._database = TargetDatabase(config)
        self._writer = TableWriter(config, self._database)
        self._retries = Retries(config.max_retries, config.retry_backoff_ms / 1000)
        self._once: OnceWriter | None = None
        self._next: dict[TopicPartition, int] = {}

    def open(self, ctx: SinkContext) -> None:
        """Connects with the first rows."""
        if self._config.exactly_once:
            offsets = WrittenOffsets(self._config, self._database, ctx.connector)
            self._once = OnceWriter(self._writer, offsets, ctx.topic_id)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Nothing is kept of them."""

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Write the rows in one transaction. RetriableError: the database is away. ConnectError: for too many tries."""
        assert batch.consumed is not None
        bad: Bad = {}
        if len(batch):
            if deadline.expired:
                raise RetriableError("There was no time left to write the rows.")
            self._retries.wait(deadline)
            bad = self._written(batch, deadline)
            self._retries.succeeded()
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
        if self._once is not None:
            self._once.forget(partitions)

    def close(self) -> None:
        """Close the connection. May be called twice."""
        self._database.close()

    def _written(self, batch: Batch, deadline: Deadline) -> Bad:
        try:
            if self._once is not None:
                return self._once.write(batch, deadline)
            admitted = self._writer.admit(batch)
            return self._writer.in_transaction(
                f"writing rows of topic {batch.topic}", lambda connection: self._writer.write(connection, admitted)
            )
        except RetriableError as error:
            self._writer.forget_tables()
            self._retries.failed(error)
            raise
