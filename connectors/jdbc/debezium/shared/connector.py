"""Plans the one task of a Debezium connector, which runs the reader of mode=log of whichever server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from connect.api.connector import AlteredOffsets
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connectors.jdbc.debezium.shared.keys import EventKeys, TaskKeys
from connectors.jdbc.debezium.shared.translation import by_own_keys
from connectors.jdbc.log.shared.log_reader import LogReader
from connectors.jdbc.log.shared.session import LogSession, Stored
from connectors.jdbc.settings.config import JdbcTaskConfig
from connectors.jdbc.source.connector import JdbcSourceConnector

if TYPE_CHECKING:
    from connectors.jdbc.log.task import JdbcLogTask

Settings = TypeVar("Settings", bound=EventKeys)
ReaderConfig = Callable[[Settings, str], JdbcTaskConfig]
OpensLogOf = Callable[[Settings, LogSession, Stored], LogReader]


class DebeziumConnector(Generic[Settings]):
    """Plans the one task, and connects only in `check` and `task_configs`."""

    def __init__(self, config: Settings, reader_config: ReaderConfig[Settings], open_log: OpensLogOf[Settings]) -> None:
        """Take the settings. `reader_config` translates them and the task's tables for the reader; `open_log` opens the
        log.
        """
        self._config = config
        self._reader_config = reader_config
        self._open_log = open_log

    def check(self, deadline: Deadline) -> Sequence[str]:
        """Connect; check that the server, its tables and its log are as reading needs them."""
        with by_own_keys():
            return self._reader.check(deadline)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the connector's settings and the chosen tables: one task reads the log, as in Debezium."""
        with by_own_keys():
            (planned,) = self._reader.task_configs(max_tasks)
        return [{**self._config.originals, "tables": planned["tables"]}]

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> AlteredOffsets:
        """Refuse offsets from which reading the log could not go on."""
        return self._reader.alter_offsets(positions)

    def task(self, config: Mapping[str, str]) -> JdbcLogTask:
        """Return a task over the tables of `task_configs`."""
        from connectors.jdbc.log.task import JdbcLogTask  # of drivers that a worker may lack

        parsed = type(self._config).parse(config)
        reading = self._reader_config(parsed, TaskKeys.parse(config).tables)
        return JdbcLogTask(reading, partial(self._open_log, parsed))

    @property
    def _reader(self) -> JdbcSourceConnector:
        return JdbcSourceConnector(self._reader_config(self._config, ""))
