"""Holds the options of a log's reader that the settings of mode=log do not have. Values only."""

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
    """Tells one reader what it does beside the settings of mode=log.

    `headers` makes the events' headers, or None if they have none. With `skips_unchanged`, updates that change no
    column are not sent. `reads_first` selects the tables that the first read reads. `selects` maps a table's full name
    to the query whose rows the first read takes for the table's. `heartbeat_query` is a statement that runs at each
    heartbeat, or is empty if there is none. Rows that are inserted into `signal_table` are signals; `signals` finds
    signals that came in other ways, or is None if there are none. `chunk_rows` is the number of rows that are read at
    once of a table that a signal names. `transaction_topic` gets the records of where transactions begin and end, or is
    empty if none are made. With `reads_whole_log`, a connector without a place reads no table, and begins where the
    server's log begins. With `moves_slot` PostgreSQL may forget the log before the stored place.
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
    reads_whole_log: bool = False
    moves_slot: bool = True

    def rules(self, config: JdbcSourceConfig) -> EventRules:
        """Return the rules by which events are made."""
        return EventRules(
            config.tombstones_on_delete,
            frozenset(config.skipped_operations) - {"none"},
            self.headers,
            keyless=self.headers is not None,
            skips_unchanged=self.skips_unchanged,
        )


PLAIN = ReadingOptions()
"""These options are empty: they add nothing to the settings."""
