"""Writes rows of topics into tables by their primary keys, and writes backfills in chunks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext
from connect.api.errors import ConfigError
from connect.api.optional.bulk import BulkChunk, BulkSinkContext, WrittenChunk
from connect.api.optional.findings import Aspect, Finding, Weight
from connect.api.optional.write_through import WriteThroughTask
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.statements import quoted
from connectors.cassandra.sink.check import check, missing_rights
from connectors.cassandra.sink.config import CassandraSinkConfig
from connectors.cassandra.sink.trial import TrialKeyspace
from connectors.cassandra.sink.writer import LaneWritetimes, TableWriter, Writetimes


class CassandraSinkConnector:
    """Makes the plan of the tasks of one sink. It connects only in `check` and `examine`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, CassandraSinkConfig)
        self._config = config

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Check the keyspace, the topics' tables and the right to write them; return notes on missing tables.

        ConfigError: the keyspace has no tables, or a right is missing.
        """
        del deadline
        return check(self._config)

    def examine(self, deadline: Deadline) -> Iterator[Finding]:
        """Yield a finding for each table that the user may not write, with the GRANT that allows it."""
        del deadline
        for error in missing_rights(self._config):
            yield Finding(Aspect.REACH, error.message, error.grant, Weight.FAILS)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same settings for each task, as Kafka assigns the topics' partitions to the tasks."""
        return [dict(self._config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]) -> CassandraSinkTask:
        """Return a task, which is not connected yet."""
        return CassandraSinkTask(CassandraSinkConfig.parse(config))

    def trial_target(self, name: str) -> TrialKeyspace:
        """Return a keyspace for a trial, named `name`, beside the real one."""
        return TrialKeyspace(self._config, name)

    @property
    def chunks_in_order(self) -> bool:
        """Return True: each write gets a later time than the one before, so the record of a key that is written last
        stays.
        """
        return True

    def bulk_writer(self, ctx: BulkSinkContext) -> CassandraBulkWriter:
        """Return a writer for the chunks of a backfill."""
        return CassandraBulkWriter(self._config, ctx)


class CassandraSinkTask(WriteThroughTask):
    """Writes rows; when `put` returns, each row is in its table. Owned by the task thread."""

    def __init__(self, config: CassandraSinkConfig) -> None:
        super().__init__()
        self._writer = TableWriter(config)
        self._writetimes = Writetimes()

    def open(self, ctx: SinkContext) -> None:
        """Do nothing: the task connects with the first rows."""

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Write the rows. If the same batch is written again the tables hold the same rows."""
        self._done(batch, self._writer.write(batch, self._writetimes, deadline).bad if len(batch) else {})

    def close(self) -> None:
        """Close the connections."""
        self._writer.close()


class CassandraBulkWriter:
    """Writes the chunks of a backfill. A table holds each row once, by its primary key. Owned by one thread.

    A chunk that is written again gets later writetimes, so the rows of its later writer stay, also where an older one
    was frozen and writes on behind it.
    """

    def __init__(self, config: CassandraSinkConfig, ctx: BulkSinkContext) -> None:
        """Take the settings. ConfigError: `chunk.column` is not set, so nobody could count the rows of a chunk."""
        if not config.chunk_column:
            raise ConfigError(
                "A backfill counts the rows of its chunks in the tables, by a column that names the chunk.",
                key="chunk.column",
                fix="Add a column of type text to the tables, name it here, and drop it once the backfill is verified.",
            )
        self._config = config
        self._ctx = ctx
        self._writer = TableWriter(config)
        # A lane makes its writer before it fences the lane's older runs, so each of these has an earlier moment.
        self._writetimes = LaneWritetimes()

    def write(self, chunk: BulkChunk, batches: Iterable[Batch], deadline: Deadline) -> WrittenChunk:
        """Write the rows of a chunk, and return how many were written; see `BulkWriter`."""
        rows = 0
        for batch in batches:
            if not len(batch):
                continue
            written = self._writer.write(batch, self._writetimes, deadline, _mark(chunk))
            if written.bad:
                self._ctx.reject(batch, written.bad)
            rows += written.rows
        return WrittenChunk(rows, 0)

    def rows_of(self, chunks: Collection[BulkChunk], deadline: Deadline) -> Mapping[str, int]:
        """Return the number of rows of each chunk, counted page by page in all tables that have the chunk column."""
        del deadline  # each page has its own
        column, marks = self._config.chunk_column, {_mark(chunk): chunk.id for chunk in chunks}
        rows = dict.fromkeys(marks.values(), 0)
        for table in self._writer.tables():
            if any(one.name == column for one in table.columns):
                text = f"SELECT {quoted(column)} FROM {quoted(table.keyspace)}.{quoted(table.name)}"  # noqa: S608 - it joins quoted names, no values of rows
                for (mark,) in self._writer.database.rows(text, doing=f"counting rows of {table.title}"):
                    if mark in marks:
                        rows[marks[mark]] += 1
        return rows

    def close(self) -> None:
        """Close the connections. May be called twice."""
        self._writer.close()


def _mark(chunk: BulkChunk) -> str:
    return f"{chunk.job}/{chunk.id}"
