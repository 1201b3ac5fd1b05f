"""Runs Debezium's JDBC sink by the engine of this sink: each part of a batch is written as a transaction of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from connect.api.config import ConnectorConfig
from connect.api.errors import SchemaError
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.lib.halving import refused_rows
from connectors.jdbc.sink.check import check
from connectors.jdbc.sink.debezium.column_types import column_types
from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig
from connectors.jdbc.sink.debezium.events import Events, Part, Work
from connectors.jdbc.sink.debezium.translation import by_own_keys, engine_config, own_error
from connectors.jdbc.sink.debezium.value_forms import value_forms
from connectors.jdbc.sink.possible_repeats import AllReads
from connectors.jdbc.sink.sink import JdbcSinkTask
from connectors.jdbc.sink.writer import Bad


class DebeziumSinkConnector:
    """Makes the tasks of one sink. It connects only in `check`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, DebeziumSinkConfig)
        self._config = config

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Connect and check that tables, keys and rights are as the settings need them. Return notes."""
        with by_own_keys():
            return check(engine_config(self._config), deadline)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same settings for all tasks, as Kafka distributes the partitions."""
        return [dict(self._config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]) -> DebeziumSinkTask:
        """Return a task that is not connected yet."""
        return DebeziumSinkTask(DebeziumSinkConfig.parse(config))


class DebeziumSinkTask(JdbcSinkTask):
    """Puts what each event says into its table before `put` returns. Owned by the task thread."""

    def __init__(self, config: DebeziumSinkConfig) -> None:
        super().__init__(engine_config(config), column_types(config.connection_url))
        self._events = Events(config, value_forms(config))
        if self._events.have_several_tables:
            self._reads = AllReads()

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Write the rows, as the engine does. Errors name Debezium's keys."""
        with by_own_keys():
            super().put(batch, deadline)

    def _written(self, batch: Batch, deadline: Deadline) -> Bad:
        bad = Bad()
        for first, work in self._works(batch, bad):
            bad |= {first + row: why for row, why in work.bad.items()}
            for part in work.parts:
                if part.empties:
                    self._empty(part, deadline)
                    continue
                found = super()._written(part.rows, deadline)
                bad |= {first + part.numbers[row]: own_error(why) for row, why in found.items()}
        return bad

    def _works(self, batch: Batch, bad: Bad) -> Sequence[tuple[int, Work]]:
        """Return what pieces of a batch do, each with the number of its first row; it is one piece if all rows agree.

        Rows that do nothing alone, as they lack a key or have a value of no form, are added to `bad`.
        """
        works: list[tuple[int, Work]] = []

        def take(first: int, last: int) -> None:
            works.append((first, self._events.work(batch.slice(first, last))))

        try:
            take(0, len(batch))
        except SchemaError as error:
            bad |= refused_rows(0, len(batch), take, (SchemaError,), error)
        return works

    def _empty(self, part: Part, deadline: Deadline) -> None:
        """Empty a table, while this task owns the partition of the event that says so."""
        assert part.rows.consumed is not None
        place = part.rows.consumed.topic_partition
        self._require_owned(place, deadline)  # some databases cannot undo what comes next

        def work(connection: sa.Connection) -> None:
            self._writer.empty(connection, part.rows.topic)
            self._require_owned(place, deadline)

        with self._noted():
            self._writer.in_transaction(f"emptying table {part.rows.topic}", work)
