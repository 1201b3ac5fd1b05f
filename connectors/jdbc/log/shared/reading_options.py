"""Holds what a reader of a log does beside what the settings of mode=log say. Values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from connectors.jdbc.log.shared.envelope import EventRules, Headers
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

if TYPE_CHECKING:
    from connectors.jdbc.log.incremental.signals import FindsSignals


def _every_table(_: TableName) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Tells one reader what else to do.

    `headers`: of the events; None: they have none. `skips_unchanged`: updates that change no column are not sent.
    `reads_first`: which tables the first read reads. `selects`: by a table's full name, the query whose rows the first
    read takes for the table's. `heartbeat_query`: a statement that runs at each heartbeat; empty: none.
    `signal_table`: rows that are inserted there are signals. `signals`: finds those that came in other ways; None: no.
    `chunk_rows`: so many rows of a table that a signal names are read at once. `transaction_topic`: where it is told
    where transactions begin and end; empty: nowhere.
    """

    headers: Headers | None = None
    skips_unchanged: bool = False
    reads_first: Callable[[TableName], bool] = _every_table
    selects: Mapping[str, str] = field(default_factory=dict)
    heartbeat_query: str = ""
    signal_table: TableName | None = None
    signals: FindsSignals | None = None
    chunk_rows: int = 1024
    transaction_topic: str = ""

    def rules(self, config: JdbcSourceConfig) -> EventRules:
        """Return what the events are made by."""
        return EventRules(
            config.tombstones_on_delete,
            frozenset(config.skipped_operations) - {"none"},
            self.headers,
            keyless=self.headers is not None,
            skips_unchanged=self.skips_unchanged,
        )


PLAIN = ReadingOptions()
"""Asks for nothing beside what the settings say."""
