"""Runs the JDBC sink's connector and task: each batch is a transaction, which is committed when `put` returns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import sqlalchemy as sa

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext
from connect.api.errors import RetriableError
from connect.api.optional.bulk import BulkSinkContext
from connect.api.optional.write_through import WriteThroughTask
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connectors.jdbc.sink.bulk import JdbcBulkWriter
from connectors.jdbc.sink.check import check
from connectors.jdbc.sink.database import TargetDatabase
from connectors.jdbc.sink.exactly_once import OnceWriter
from connectors.jdbc.sink.own_tables import WrittenOffsets
from connectors.jdbc.sink.possible_repeats import FirstReads
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.settings.retries import Retries
from connectors.jdbc.sink.target_tables import ColumnTypes
from connectors.jdbc.sink.trial import TrialTables
from connectors.jdbc.sink.writer import Admitted, Bad, TableWriter


class JdbcSinkConnector:
    """Makes the tasks of one sink. It connects only in `check`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, JdbcSinkConfig)
        self._config = config

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Connect and check that tables, keys and rights are as the settings need them. Return notes."""
        return check(self._config, deadline)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same settings for all tasks, as Kafka distributes the partitions."""
        return [dict(self._config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]) -> JdbcSinkTask:
        """Return a task that is not connected yet."""
        return JdbcSinkTask(JdbcSinkConfig.parse(config))

    def trial_target(self, name: str) -> TrialTables:
        """Return the tables of a trial, which are apart from the real ones."""
        return TrialTables(self._config, name)

    @property
    def chunks_in_order(self) -> bool:
        """Return True if chunks have to be written in order, because the last record of a key decides its row.

        Rows that are only added may come in any order.
        """
        return self._config.is_keyed or self._config.delete_enabled

    def bulk_writer(self, ctx: BulkSinkContext) -> JdbcBulkWriter:
        """Return a writer of chunks of a backfill."""
        return JdbcBulkWriter(self._config, ctx)


class _LostError(RetriableError):
    """Says that another task has the partition by now. The next poll will tell this task so."""


class JdbcSinkTask(WriteThroughTask):
    """Puts each row into its table before `put` returns. Owned by the task thread."""

    def __init__(self, config: JdbcSinkConfig, new_columns: ColumnTypes | None = None) -> None:
        """Connect to nothing. `new_columns` chooses types of new columns that differ from the engine's own."""
        super().__init__()
        self._config = config
        self._database = TargetDatabase(config)
        self._writer = TableWriter(config, self._database, new_columns)
        self._retries = Retries(config.max_retries, config.retry_backoff_ms / 1000)
        self._once: OnceWriter | None = None
        self._reads = FirstReads()
        self._ctx: SinkContext | None = None

    def open(self, ctx: SinkContext) -> None:
        """Take the context. The task connects with the first rows."""
        self._ctx = ctx
        if self._config.exactly_once:
            offsets = WrittenOffsets(self._config, self._database, ctx.connector)
            self._once = OnceWriter(self._writer, offsets, ctx.topic_id)

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Write the rows in one transaction. RetriableError: the database is away. ConnectError: it was away for too
        many tries.
        """
        bad: Bad = {}
        if len(batch):
            if deadline.expired:
                raise RetriableError("There was no time left to write the rows.")
            self._retries.wait(deadline)
            bad = self._written(batch, deadline)
            self._retries.succeeded()
        self._done(batch, bad)

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what is known of these partitions."""
        super().revoked(partitions)
        self._reads.forget(partitions)
        if self._once is not None:
            self._once.forget(partitions)

    def close(self) -> None:
        """Close the connection. May be called twice."""
        self._database.close()

    def _written(self, batch: Batch, deadline: Deadline) -> Bad:
        with self._noted():
            if self._once is not None:
                return self._once.write(batch, deadline)
            admitted = self._writer.admit(batch)
            return self._written_again(batch, admitted, deadline)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Take note of a try that fails in the block as the database is away."""
        try:
            yield
        except _LostError:
            raise
        except RetriableError as error:
            self._writer.forget_tables()
            self._retries.failed(error)
            raise

    def _written_again(self, batch: Batch, admitted: Admitted, deadline: Deadline) -> Bad:
        """Write rows that this task or another one may have written before, or that another one may be writing now."""
        assert batch.consumed is not None
        place, next_offset = batch.consumed.topic_partition, batch.consumed.next_offset
        self._writer.may_be_there = not self._config.is_keyed and self._reads.may_be_there(place, next_offset)

        def work(connection: sa.Connection) -> Bad:
            bad = self._writer.write(connection, admitted)
            if bad or self._config.is_keyed or self._config.delete_enabled:
                self._require_owned(place, deadline)
            return bad

        try:
            bad = self._writer.in_transaction(f"writing rows of topic {batch.topic}", work)
        except RetriableError:
            self._reads.forget([place])  # it is not known which rows of it are written
            raise
        self._reads.wrote(place, next_offset, len(admitted.numbers) - len(bad), self._writer.were_there)
        return bad

    def _require_owned(self, place: TopicPartition, deadline: Deadline) -> None:
        """Raise _LostError if another task has the partition by now, as this task may have been frozen since it read
        the rows.

        The rows that this task changes are locked at this point. A row that is refused may be refused only because the
        next owner of the partition has written it; then it must not become a dead letter.
        """
        assert self._ctx is not None
        if not self._ctx.owns(place, deadline):
            raise _LostError(f"Rows of {place.topic}-{place.partition} are another task's to write by now.")
