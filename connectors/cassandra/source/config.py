"""Declares the settings of the Cassandra source. It imports no driver and does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Self

from pydantic import AfterValidator

from connect.api.config import Boolean, Int, ListOf, Long, String, at_least, between, key, non_empty, one_of
from connect.api.errors import ConfigError, ConfigProblem
from connectors.cassandra.cql.connection_keys import ConnectionKeys
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.source.kcql import translated
from connectors.cassandra.source.sweeps import MODES, Mode, Once, Repeated, Windows, moment_ms

READ = "Reading"


def _check_moment(value: str) -> str:
    try:
        moment_ms(value)
    except ValueError:
        raise ValueError("Must be a moment, such as 2024-05-01 00:00:00Z") from None
    return value


def _check_moment_or_none(value: str) -> str:
    return _check_moment(value) if value else value


class CassandraSourceConfig(ConnectionKeys):
    """Declares the settings that say how tables are read."""

    keyspace: Annotated[String, non_empty] = key(
        "keyspace", importance="high", group=READ, doc="The keyspace whose tables are read."
    )  # fmt: skip
    tables: ListOf = key(
        "tables", (), importance="high", group=READ, doc="The tables to read, by name; empty: all of the keyspace."
    )  # fmt: skip
    topic_prefix: String = key(
        "topic.prefix", "", importance="high", group=READ,
        doc="A table's topic is this prefix, the keyspace, a dot and the table.",
    )  # fmt: skip
    output: Annotated[String, one_of("rows", "events")] = key(
        "output", "rows", group=READ,
        doc="rows: as SELECT * gives them. events: as the agent's events, each value with its writetime and time to "
        "live, so that they and the changes since merge in one topic by the newest writetime, in whatever order.",
    )  # fmt: skip
    table_topics: ListOf = key(
        "table.topics", (), group=READ, doc="table:topic for tables whose topic has another name."
    )  # fmt: skip
    table_columns: ListOf = key(
        "table.columns", (), group=READ, doc="table:column|column for tables of which not all columns are wanted."
    )  # fmt: skip
    write_times: Boolean = key(
        "write.times", False, group=READ,
        doc="output=rows: beside each column when it was written and how long it lives, as fields writetime(column) "
        "in microseconds and ttl(column) in seconds. The Cassandra sink writes the column with both.",
    )  # fmt: skip
    max_rows_per_second: Annotated[Long, at_least(0)] = key(
        "max.rows.per.second", 0, importance="low", group=READ,
        doc="How many rows each task reads at most in a second, to spare the cluster; 0: as many as come.",
    )  # fmt: skip
    written_since: Annotated[String, AfterValidator(_check_moment_or_none)] = key(
        "written.since", "", group=READ,
        doc="Only rows of which something was written since this moment, as 2024-05-01 00:00:00Z; empty: all. The "
        "whole table is read all the same, and a row whose time the server does not tell counts as new.",
    )  # fmt: skip
    mode: Annotated[String, one_of(*MODES)] = key(
        "mode", "snapshot", importance="high", group=READ,
        doc="snapshot: every row once. bulk: every row again after each poll.interval.ms. timestamp, timeuuid: rows by "
        "a column that says when they were written. All tables are read whole each time: no column needs an index.",
    )  # fmt: skip
    incremental_columns: ListOf = key(
        "incremental.columns", (), group=READ,
        doc="mode=timestamp, timeuuid: the column, or table:column for each table. Rows where it is null never come.",
    )  # fmt: skip
    poll_interval_ms: Annotated[Long, at_least(0)] = key(
        "poll.interval.ms", 60_000, group=READ, doc="How long a token range rests before it is read again."
    )  # fmt: skip
    settle_time_ms: Annotated[Long, at_least(0)] = key(
        "settle.time.ms", 30_000, group=READ,
        doc="mode=timestamp, timeuuid: rows come once they are this old. More than clocks differ and writes take: a "
        "row that appears later with an earlier time is never read. output=events, write.times: what the server tells "
        "no writetime of counts as written so long before the reading began, before any change that comes later.",
    )  # fmt: skip
    initial_offset: Annotated[String, AfterValidator(_check_moment)] = key(
        "initial.offset", "1900-01-01 00:00:00.0000000Z", importance="low", group=READ,
        doc="mode=timestamp, timeuuid: rows come from this moment on.",
    )  # fmt: skip
    table_splits: Annotated[Int, between(1, 100_000)] = key(
        "table.splits", 60, group=READ,
        doc="Into how many token ranges a table is cut. Tasks share them, and each is resumed where it was. A change "
        "counts once the connector's offsets are reset: of other ranges no place would be known.",
    )  # fmt: skip
    concurrent_reads: Annotated[Int, between(1, 1000)] = key(
        "concurrent.reads", 8, group=READ,
        doc="How many token ranges each task reads at once. Each keeps one page of fetch.max.bytes in memory.",
    )  # fmt: skip
    batch_max_rows: Annotated[Int, between(1, 100_000)] = key(
        "batch.max.rows", 5000, group=READ, former=["fetch.size"], doc="The most rows of one page.",
    )  # fmt: skip
    fetch_max_bytes: Annotated[Int, between(1024, 2**30)] = key(
        "fetch.max.bytes", 4 << 20, group=READ,
        doc="How large a page should be: where rows are large it has fewer of them.",
    )  # fmt: skip

    @classmethod
    def parse(cls, properties: Mapping[str, str | None]) -> Self:
        """Return the typed settings. Settings of stream-reactor's connector count where ours are not given."""
        return super().parse(translated(properties))

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield problems that concern several keys: names that no topic can have, and modes that lack their column."""
        for name in (self.topic_prefix, *self.topics.values()):
            if len(name) > 249 or not all(c.isascii() and (c.isalnum() or c in "._-") for c in name):
                given = "topic.prefix" if name == self.topic_prefix else "table.topics"
                yield ConfigProblem(given, f"{name!r} is no name for a topic: use a-z, A-Z, 0-9, '.', '_' and '-'.")
        for given, values in (("table.topics", self.table_topics), ("table.columns", self.table_columns)):
            if wrong := [value for value in values if not all(value.partition(":")[::2])]:
                yield ConfigProblem(given, f"{given} holds {wrong[0]!r}: write table:value.")
        if self.output == "events" and (self.is_incremental or self.table_columns):
            yield ConfigProblem(
                "output", "output=events is of whole rows: use mode=snapshot or bulk, and no table.columns."
            )
        if self.output == "events" and self.write_times:
            yield ConfigProblem("write.times", "Events have the writetimes of their values: leave write.times out.")
        if self.is_incremental and not self.incremental_columns:
            yield ConfigProblem(
                "incremental.columns",
                f"mode={self.mode} needs incremental.columns: the column that says when a row came.",
            )

    @property
    def is_incremental(self) -> bool:
        """Return True if a column with a time tells which rows are new."""
        return self.mode in {"timestamp", "timeuuid"}

    @property
    def topics(self) -> Mapping[str, str]:
        """Return the topics that `table.topics` names, by table name."""
        return dict(value.partition(":")[::2] for value in self.table_topics)

    def topic_of(self, table: Table) -> str:
        """Return the name of the topic that the rows of a table go to."""
        return self.topics.get(table.name, f"{self.topic_prefix}{table.title}")

    @property
    def sweep_mode(self) -> Mode:
        """Return the mode in which tables are read: once, again and again, or by windows of time."""
        match self.mode:
            case "snapshot":
                return Once()
            case "bulk":
                return Repeated()
        return Windows(moment_ms(self.initial_offset), self.settle_time_ms)

    def columns_of(self, table: Table) -> list[TableColumn]:
        """Return the table's columns that a row's value has. ConfigError: the table lacks a column that is named."""
        wanted = dict(value.partition(":")[::2] for value in self.table_columns).get(table.name)
        return (
            list(table.columns)
            if wanted is None
            else [self._column(table, n, "table.columns") for n in wanted.split("|")]
        )

    @property
    def written_since_us(self) -> int | None:
        """Return the microseconds since 1970 since which a row must have been written; None if all rows count."""
        return moment_ms(self.written_since) * 1000 if self.written_since else None

    def time_column_of(self, table: Table) -> TableColumn | None:
        """Return the column that holds the time of a row; None if every row counts.

        ConfigError: the table has no such column, or it is of another type than the mode.
        """
        if not self.is_incremental:
            return None
        own = dict(value.partition(":")[::2] for value in self.incremental_columns if ":" in value)
        common = [value for value in self.incremental_columns if ":" not in value]
        name = own.get(table.name) or (common[0] if common else "")
        column = self._column(table, name, "incremental.columns")
        if column.type.name != self.mode:
            raise ConfigError(
                f"Column {name} of table {table.title} is of type {column.type.name}, and mode={self.mode}.",
                key="incremental.columns",
                fix=f"Name a {self.mode} column.",
            )
        return column

    @staticmethod
    def _column(table: Table, name: str, given: str) -> TableColumn:
        for column in table.columns:
            if column.name == name:
                return column
        names = ", ".join(column.name for column in table.columns)
        raise ConfigError(f"Table {table.title} has no column {name!r}.", key=given, fix=f"It has: {names}.")


class CassandraTaskConfig(CassandraSourceConfig):
    """Declares the settings of a task, which reads every `share.of`-th split of each table, from number `share` on."""

    share: Annotated[Int, between(0, 2**31 - 1)] = key("share", doc="The task's share.", internal=True)
    share_of: Annotated[Int, between(1, 2**31 - 1)] = key("share.of", doc="The number of shares.", internal=True)
