"""The Cassandra source connector: checks what there is to read, and shares out token ranges among tasks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

from connect.api.bulk import BulkPlan, SplitSize
from connect.api.config import ConnectorConfig
from connect.api.deadline import Deadline
from connect.api.findings import Aspect, Finding, Weight
from connect.api.records import SourcePosition
from connectors.cassandra.bulk import CassandraBulkReader, plan_tables
from connectors.cassandra.chosen import chosen_tables
from connectors.cassandra.config import CassandraSourceConfig, CassandraTaskConfig
from connectors.cassandra.errors import MissingRightError
from connectors.cassandra.schema_reader import read_schemas
from connectors.cassandra.session import Database
from connectors.cassandra.splits import count_in
from connectors.cassandra.statements import quoted
from connectors.cassandra.task import CassandraSourceTask

log = logging.getLogger(__name__)


class CassandraSourceConnector:
    """Plans the tasks of one Cassandra source. Connects only in `check`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, CassandraSourceConfig)
        self._config = config
        self._splits = config.table_splits

    def resume(self, stored: Sequence[SourcePosition]) -> None:
        """Cut the tables as they were cut when these offsets were stored, as no offset is known of other ranges."""
        self._splits = count_in(stored) or self._config.table_splits
        if self._splits != self._config.table_splits:
            log.warning(
                "Tables stay cut into %d ranges, of which places are stored: table.splits=%d counts once the "
                "connector's offsets are reset.",
                self._splits,
                self._config.table_splits,
            )

    def check(self, deadline: Deadline) -> None:
        """Connect, and find the named tables. ConfigError: one is missing, or there is none."""
        del deadline
        database = Database(self._config)
        try:
            chosen_tables(read_schemas(database), self._config)
        finally:
            database.close()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """At most a task for each split of a table. Each task reads its share of every table."""
        shares = min(max_tasks, self._splits)
        common = {**self._config.originals, "table.splits": str(self._splits)}
        return [{**common, "share": str(share), "share.of": str(shares)} for share in range(shares)]

    def plan_bulk(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Plan all tables as ranges of tokens. The tasks then have nothing left to read."""
        del deadline
        return plan_tables(self._config, size)

    def bulk_reader(self) -> CassandraBulkReader:
        """A reader of those ranges."""
        return CassandraBulkReader(self._config)

    def examine(self, deadline: Deadline) -> Iterator[Finding]:
        """The tables that the user may not read, each with its GRANT."""
        database = Database(self._config)
        try:
            for table in chosen_tables(read_schemas(database), self._config):
                if deadline.expired:
                    return
                key = ", ".join(quoted(column.name) for column in table.partition_key)
                query = f"SELECT {key} FROM {quoted(table.keyspace)}.{quoted(table.name)} LIMIT 1"  # noqa: S608 - quoted
                try:
                    database.rows(query, doing=f"reading table {table.title}")
                except MissingRightError as error:
                    yield Finding(Aspect.REACH, error.message, error.grant, Weight.FAILS)
        finally:
            database.close()

    def task(self, config: Mapping[str, str]) -> CassandraSourceTask:
        """A task, which is not connected yet."""
        return CassandraSourceTask(CassandraTaskConfig.parse(config))
