"""Keeps the JDBC source connector, which checks a configuration against the database and shares out its tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from connect.api.config import ConnectorConfig
from connect.api.connector import AlteredOffsets
from connect.api.errors import ConfigError
from connect.api.optional.bulk import (
    BulkPlan,
    BulkReader,
    HeldSnapshot,
    ReadSplit,
    RowCount,
    SourceLoad,
    Split,
    SplitSize,
)
from connect.api.optional.findings import Finding
from connect.api.optional.given_offsets import require_usable
from connect.api.optional.origins import OriginColumn
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import choose_tables, list_tables
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.follow.given_tables import unread_given
from connectors.jdbc.follow.stored_offsets import unusable
from connectors.jdbc.settings.config import JdbcSourceConfig, JdbcTaskConfig
from connectors.jdbc.settings.table_choice import parts_to_text, share_out, to_text
from connectors.jdbc.source.bulk import BulkPlanning, JdbcBulkReader
from connectors.jdbc.source.bulk_counts import count_all
from connectors.jdbc.source.check import check, topic_problems
from connectors.jdbc.source.examination import findings
from connectors.jdbc.source.origins import origin_columns
from connectors.jdbc.source.task import JdbcSourceTask

_PLANNED_BY: Final = frozenset(
    {
        "mode",
        "timestamp.column.name",
        "incrementing.column.name",
        "db.timezone",
        "topic.prefix",
        "topic.name.format",
    }
)

if TYPE_CHECKING:
    from connectors.jdbc.log.bulk.log_bulk import LogBulk
    from connectors.jdbc.log.task import JdbcLogTask


class JdbcSourceConnector:
    """Makes the tasks of one JDBC source. It connects only in `check` and `task_configs`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, JdbcSourceConfig)
        self._config = config
        self._dialect = dialect_of(config.connection_url)

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Connect; see that tables, columns, rights and types are as the settings need them."""
        return check(self._config, deadline)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return each task's settings: the selected tables in contiguous groups under `tables`; one task for a query.

        Further tasks help with first reads (`first.reads`) where initial.read.parallelism allows.

        Without any table there is one task, which fails and says so, as Confluent's does. ConfigError: several tables
        would share a topic, perhaps since a table was added; running tasks go on with their tables.
        """
        common = dict(self._config.originals)
        if self._config.query_text:
            return [common]
        database = Database(self._config)
        try:
            chosen = choose_tables(database, self._config, list_tables(database, self._config))
        finally:
            database.close()
        if problems := list(topic_problems(chosen, self._config)):
            raise ConfigError(problems)
        tasks = 1 if self._config.mode == "log" else max_tasks
        shares = share_out(chosen, tasks, self._config.initial_read_parallelism)
        return [
            {**common, "tables": to_text(own), **({"first.reads": parts_to_text(parts)} if parts else {})}
            for own, parts in shares
        ] or [{**common, "tables": ""}]

    @property
    def task_configs_interval_s(self) -> float | None:
        """Return the interval in seconds at which new and dropped tables are looked for.

        None for a query, which has no tables, and for a log, which names its tables itself.
        """
        is_fixed = self._config.query_text or self._config.mode == "log"
        return None if is_fixed else self._config.table_poll_interval_ms / 1000

    def plan_bulk(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Plan ranges of each table's key, for the rows before a safe mark, or with mode=log for all rows."""
        if self._config.mode == "log":
            return self._log_bulk.plan(size, deadline)
        return BulkPlanning(self._config).plan(size, deadline)

    def count_all(self, splits: Sequence[Split], deadline: Deadline) -> Sequence[RowCount]:
        """Count the rows before each table's mark. With mode=log return nothing: its ranges have all keys and are
        counted as they are read.
        """
        del deadline
        return [] if self._config.mode == "log" else count_all(self._config, splits)

    def begin_bulk(self, plan: BulkPlan, deadline: Deadline) -> Sequence[SourcePosition]:
        """Return where the log begins, which the server keeps from now on."""
        return self._log_bulk.begin(plan, deadline)

    def following_behind(self, begun: Sequence[SourcePosition], read: Sequence[ReadSplit]) -> Sequence[SourcePosition]:
        """Return the positions from which the connector follows its tables behind the ranges.

        They are those of `begin_bulk`; with mode=log, the log's beginning with the snapshots in which ranges were read.
        """
        return begun if self._config.mode != "log" else self._log_bulk.behind(begun, read)

    def in_one_snapshot(self, plan: BulkPlan) -> BulkPlan:
        """Return the plan to read all ranges at one moment, which PostgreSQL alone shows to many sessions."""
        return self._log_bulk.in_one_snapshot(plan)

    def hold_snapshot(self, deadline: Deadline) -> HeldSnapshot:
        """Return a session that keeps its snapshot for others."""
        del deadline
        return self._log_bulk.hold()

    def load(self, deadline: Deadline) -> SourceLoad:
        """Return how many sessions work and how far replicas are behind; a separate connection asks.

        RetriableError: the database does not answer.
        """
        database = Database(self._config, waits=True, connect_timeout_s=max(1, int(deadline.remaining_s)))
        try:
            return database.dialect.server.load(database)
        finally:
            database.close()

    @property
    def connections_per_reader(self) -> int:
        """Return how many connections a reader has. One asks the catalog, and fast reading may take a second one."""
        is_quick = self._config.mode == "log" or self._config.reader == "auto"
        return self._dialect.connecting.quick_connections if is_quick else 1

    @property
    def planned_by(self) -> Collection[str]:
        """Return the keys that decide at which mark or place a bulk read ends, and in which topic its rows are."""
        return _PLANNED_BY

    def bulk_reader(self) -> BulkReader:
        """Return the reader of the ranges that `plan_bulk` planned."""
        if self._config.mode != "log":
            return JdbcBulkReader(self._config)
        from connectors.jdbc.log.bulk.log_bulk import LogBulkReader  # of drivers that the other modes do without

        return LogBulkReader(self._config)

    @property
    def _log_bulk(self) -> LogBulk:
        from connectors.jdbc.log.bulk.log_bulk import LogBulk  # as above

        return LogBulk(self._config)

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> AlteredOffsets:
        """Refuse offsets from which reading could not go on, and note those of tables that are not read.

        The server's slot and log stay as they are.
        """
        if self._config.mode == "log":
            self._log_bulk.require_usable(positions)
        else:
            require_usable(positions, unusable)
        return AlteredOffsets(is_whole=False, notes=unread_given(self._config, positions))

    @property
    def kept_at_source(self) -> str | None:
        """Return a text about what the server keeps for the reader of its log, or None if it keeps nothing."""
        log = self._dialect.log
        return log.kept(self._config) if log is not None and self._config.mode == "log" else None

    def clean_up(self, deadline: Deadline) -> str | None:
        """Drop the slot if slot.drop.on.delete says so; other modes and databases keep nothing."""
        log = self._dialect.log
        return log.clean_up(self._config, deadline) if log is not None and self._config.mode == "log" else None

    def examine(self, deadline: Deadline) -> Iterator[Finding]:
        """Yield the rights that are missing, with their GRANTs, and the rows that the cursor does not see."""
        return findings(self._config, deadline)

    def origin_columns(self, deadline: Deadline) -> Iterator[OriginColumn]:
        """Yield the columns with the catalog's names of their types, and how much of their values the rows keep."""
        return origin_columns(self._config, deadline)

    def task(self, config: Mapping[str, str]) -> JdbcSourceTask | JdbcLogTask:
        """Return a task over the tables of one of `task_configs`."""
        parsed = JdbcTaskConfig.parse(config)
        if parsed.mode != "log":
            return JdbcSourceTask(parsed)
        from connectors.jdbc.log.task import JdbcLogTask  # of drivers that the other modes do without

        return JdbcLogTask(parsed)
