"""The sink connector writes rows of topics into tables by their primary keys, and backfills in chunks."""

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
from connectors.cassandra.sink.writer import TableWriter, Writetimes


class CassandraSinkConnector:
    """The connector that plans the tasks of one sink. It connects only in `check` and `examine`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, CassandraSinkConfig)
        self._config = config

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Find the keyspace, the tables of the topics, and the right to write them. ConfigError: one is missing."""
        del deadline
        return check(self._config)

    def examine(self, deadline: Deadline) -> Iterator[Finding]:
        """Yield the tables that the user may not write, each with its GRANT."""
        del deadline
        for error in missing_rights(self._config):
            yield Finding(Aspect.REACH, error.message, error.grant, Weight.FAILS)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same settings for all tasks, as Kafka shares out the partitions."""
        return [dict(self._config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]) -> CassandraSinkTask:
        """Return a task, which is not connected yet."""
        return CassandraSinkTask(CassandraSinkConfig.parse(config))

    def trial_target(self, name: str) -> TrialKeyspace:
        """Return a keyspace beside the real one."""
        return TrialKeyspace(self._config, name)

    def bulk_writer(self, ctx: BulkSinkContext) -> CassandraBulkWriter:
        """Return a writer of chunks of a backfill."""
        return CassandraBulkWriter(self._config, ctx)


class CassandraSinkTask(WriteThroughTask):
    """Writes rows; each is in its table when `put` returns. Owned by the task thread."""

    def __init__(self, config: CassandraSinkConfig) -> None:
        super().__init__()
        self._writer = TableWriter(config)
        self._writetimes = Writetimes()

    def open(self, ctx: SinkContext) -> None:
        """Do nothing: the task connects with the first rows."""

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Write the rows; the same batch once more leaves the same rows."""
        self._done(batch, self._writer.write(batch, self._writetimes, deadline).bad if len(batch) else {})

    def close(self) -> None:
        """Close the connections."""
        self._writer.close()


class CassandraBulkWriter:
    """Rows are there once by their primary keys. A chunk that is written again has later writetimes, so that of two
    writers of it the later one's rows stay. Owned by one thread.
    """

    def __init__(self, config: CassandraSinkConfig, ctx: BulkSinkContext) -> None:
        """ConfigError: no column tells the chunks, so that nobody could see whether their rows are there."""
        if not config.chunk_column:
            raise ConfigError(
                "A backfill counts the rows of its chunks in the tables, by a column that names the chunk.",
                key="chunk.column",
                fix="Add a column of type text to the tables, name it here, and drop it once the backfill is verified.",
            )
        self._config = config
        self._ctx = ctx
        self._writer = TableWriter(config)

    def write(self, chunk: BulkChunk, batches: Iterable[Batch], deadline: Deadline) -> WrittenChunk:
        """Write the rows; see `BulkWriter`."""
        writetimes, rows = Writetimes(), 0
        for batch in batches:
            if not len(batch):
                continue
            written = self._writer.write(batch, writetimes, deadline, _mark(chunk))
            if written.bad:
                self._ctx.reject(batch, written.bad)
            rows += written.rows
        return WrittenChunk(rows, 0)

    def rows_of(self, chunks: Collection[BulkChunk], deadline: Deadline) -> Mapping[str, int]:
        """Count the rows of chunks in all tables that have the column, page by page."""
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
