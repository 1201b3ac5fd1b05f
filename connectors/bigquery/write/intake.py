"""Makes rows of the records of one `put`, and tells which records are bad. Used by the task thread.

Records without a schema are judged one by one. A record with a value of another type, a scalar, or a number beyond 64
bits is bad, and the records beside it are not. The same holds for a record with a schema whose key does not fit into
its column. If no table can have the columns of a schema, all records of that schema are bad.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connectors.bigquery.dedup.dedup_values import MisfitError
from connectors.bigquery.dedup.staged_rows import Admitted
from connectors.bigquery.tables.table_columns import UnusableSchemaError
from connectors.bigquery.write.table_buffers import TableBuffer
from connectors.bigquery.write.tables_ready import TargetTables


@dataclass(slots=True)
class Intake:
    """Holds the rows that were made of a batch, and the errors of its bad records.

    `parts` has the rows in order, each part with the buffer of its table. `bad` has errors by the row in the batch.
    """

    parts: list[tuple[TableBuffer, Admitted]] = field(default_factory=list)
    bad: dict[int, Exception] = field(default_factory=dict)


def taken_in(batch: Batch, targets: TargetTables) -> Intake:
    """Make rows of the records; no buffer takes them yet. Raise SchemaError if the table refuses their schema."""
    intake = Intake()
    _take(batch, 0, targets, intake)
    intake.bad = dict(sorted(intake.bad.items()))
    return intake


def _take(batch: Batch, first: int, targets: TargetTables, intake: Intake) -> None:
    """Make rows of a part of a batch. `first` is the row of the whole batch at which the part begins."""
    bad: Mapping[int, Exception]
    try:
        if targets.leaves_out(batch):
            return
        ready = targets.prepare(batch)
        newest = next((a.newest_us for one, a in reversed(intake.parts) if one is ready.buffer), None)
        admitted = ready.admission.admit(batch, ready.buffer.newest_us if newest is None else newest)
        intake.parts.append((ready.buffer, admitted))
        targets.rounded.look(ready.admission, batch)
        bad = admitted.bad
    except RejectedRowsError as error:
        bad = error.rows
    except SchemaError as error:
        by_row = isinstance(error, MisfitError) or _is_judged_by_row(batch)
        if not by_row and not isinstance(error, UnusableSchemaError):
            raise
        if by_row and len(batch) > 1:
            middle = len(batch) // 2
            _take(batch.slice(0, middle), first, targets, intake)
            _take(batch.slice(middle, len(batch)), first + middle, targets, intake)
            return
        bad = dict.fromkeys(range(len(batch)), error)
    intake.bad |= {first + row: error for row, error in bad.items()}


def _is_judged_by_row(batch: Batch) -> bool:
    return batch.values.schema is None or (batch.keys is not None and batch.keys.schema is None)
