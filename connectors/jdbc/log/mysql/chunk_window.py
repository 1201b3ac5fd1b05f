"""Tells the chunked reading of tables which rows the binary log changes, and passes it the signals that the log
holds.
"""

from __future__ import annotations

import numpy as np

from connectors.jdbc.log.binlog.packets import Operation
from connectors.jdbc.log.mysql.binlog_changes import Changes, Collected
from connectors.jdbc.log.mysql.binlog_records import BinlogRecords
from connectors.jdbc.log.mysql.segments import keys_of
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.unconvertible_rows import text_of

_CODES = {Operation.INSERT: "c", Operation.UPDATE: "u", Operation.DELETE: "d"}
_COLUMNS = 3
"""The signal table has three columns: an identifier, a type and data."""


def tell_changes(
    records: BinlogRecords, changes: Changes, collected: Collected, signal_table: TableName | None
) -> None:
    """Tell the chunked reading of the changes of one table."""
    chunked = records.chunked
    if chunked is None or not len(changes):
        return
    name = changes.rows.table.name
    if chunked.watches(name.full):
        sent = [operation for operation, code in _CODES.items() if code not in records.rules.skipped]
        told = changes.take(np.isin(changes.operation, sent))
        for places in (told.before, told.after):
            keys = keys_of(told, places[places >= 0])
            if keys is None:
                # The key has other columns by now, so that the changed rows are not known: each row of the chunk may
                # have a newer one in the log, and all are dropped.
                chunked.emptied(name.full)
            else:
                chunked.touched(keys)
    if name == signal_table:
        inserted = changes.take(changes.operation == Operation.INSERT)
        fields = inserted.images.take(inserted.after)[:_COLUMNS]
        columns = [inserted.rows.column(number, column) for number, column in enumerate(fields)]
        for row, event in enumerate(inserted.event.tolist()):
            place = f"{collected.files[event]}/{collected.told[event].pos}/{inserted.in_event[row]}"
            chunked.told([text_of(column, row) for column in columns], place)
