"""Checks a Cassandra source against the cluster, and shares out the token ranges of its tables among tasks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from connect.api.config import ConnectorConfig
from connect.api.optional.bulk import BulkPlan, SplitSize
from connect.api.optional.findings import Aspect, Finding, Weight
from connect.api.optional.given_offsets import require_usable
from connect.api.optional.origins import OriginColumn
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.schema_reader import read_schemas
from connectors.cassandra.cql.session import Database
from connectors.cassandra.cql.splits import broken_place, count_in
from connectors.cassandra.source.bulk import CassandraBulkReader, plan_tables
from connectors.cassandra.source.config import CassandraSourceConfig, CassandraTaskConfig
from connectors.cassandra.source.origins import origin_columns
from connectors.cassandra.source.read_rights import missing_read_rights, require_some_right
from connectors.cassandra.source.sweeps import broken_window
from connectors.cassandra.source.table_choice import chosen_tables, require_numbered_tokens
from connectors.cassandra.source.task import CassandraSourceTask

log = logging.getLogger(__name__)


class CassandraSourceConnector:
    """Makes the plan of the tasks of one source.

    It connects only to check, to examine and to plan a bulk read.
    """

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, CassandraSourceConfig)
        self._config = config
        self._splits = config.table_splits

    def resume(self, stored: Sequence[SourcePosition]) -> None:
        """Cut the tables into as many ranges as when these offsets were stored, as they fit no other ranges."""
        self._splits = count_in(stored) or self._config.table_splits
        if self._splits != self._config.table_splits:
            log.warning(
                "Tables stay cut into %d ranges, of which places are stored: table.splits=%d counts once the "
                "connector's offsets are reset.",
                self._splits,
                self._config.table_splits,
            )

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> bool:
        """Refuse offsets that are no places in ranges of tokens; return False, as the framework keeps all offsets."""
        require_usable(positions, lambda partition, at: broken_place(partition, at) | broken_window(at))
        return False

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Connect, find the named tables, and ask for the right to read them; return notes on those that are refused.

        With output=events return notes on tables whose changes are in no commit log, too. ConfigError: a table is
        missing, there is none, or the user may read none.
        """
        with closing(Database(self._config)) as database:
            require_numbered_tokens(database)
            tables = chosen_tables(read_schemas(database), self._config)
            refused = list(missing_read_rights(database, tables, deadline))
        silent = [table for table in tables if self._config.output == "events" and table.cdc and not table.is_logged]
        return [
            *require_some_right(tables, refused),
            *(
                f"Table {table.title} has cdc = true in a keyspace with durable_writes = false: its changes are in no "
                "commit log, so no agent sends them behind what is read."
                for table in silent
            ),
        ]

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the settings of at most one task per split of a table. Each task reads its share of every table."""
        shares = min(max_tasks, self._splits)
        common = {**self._config.originals, "table.splits": str(self._splits)}
        return [{**common, "share": str(share), "share.of": str(shares)} for share in range(shares)]

    def plan_bulk(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Plan the reading of all tables as ranges of tokens. No row is then left for the connector's tasks to read."""
        del deadline
        return plan_tables(self._config, size)

    def bulk_reader(self) -> CassandraBulkReader:
        """Return a reader of the ranges that `plan_bulk` made."""
        return CassandraBulkReader(self._config)

    def examine(self, deadline: Deadline) -> Iterator[Finding]:
        """Yield a finding for each table that the user may not read, with the GRANT that allows it."""
        with closing(Database(self._config)) as database:
            for error in missing_read_rights(database, chosen_tables(read_schemas(database), self._config), deadline):
                yield Finding(Aspect.REACH, error.message, error.grant, Weight.FAILS)

    def origin_columns(self, deadline: Deadline) -> Iterator[OriginColumn]:
        """Yield the types of columns as Cassandra's schema names them, and how much of their values the rows keep."""
        return origin_columns(self._config, deadline)

    def task(self, config: Mapping[str, str]) -> CassandraSourceTask:
        """Return a task that is not connected yet."""
        return CassandraSourceTask(CassandraTaskConfig.parse(config))
