"""Find which rows of a refused batch are at fault by writing halves. Writes through what it is given, nothing else.

BigQuery refuses a load job or a MERGE as a whole and names no row. A limit of one job, as of the partitions that it may
change, is kept by halves as well. What is refused without any row, too, is not the rows' fault.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from connect.api.errors import ConnectError
from connect.lib.halving import refused_rows
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.warehouse.errors import RefusedJobError

_log = logging.getLogger(__name__)
REFUSED_MOST: Final = 100
"""At most so many bad rows of a batch are looked for: each costs a few jobs, and a table takes 1,500 loads a day."""


def write_by_halves(batch: SealedBatch, write: Callable[[SealedBatch], None]) -> Refusals:
    """Land the batch, in parts where BigQuery refuses the whole; the rows that it refuses even alone.

    RefusedJobError: it refuses a batch without rows as well. ConnectError: more than REFUSED_MOST rows are refused.
    """
    try:
        write(batch)
    except RefusedJobError as error:
        return write_parts(batch, write, error)
    return {}


def write_parts(batch: SealedBatch, write: Callable[[SealedBatch], None], error: RefusedJobError) -> Refusals:
    """Write a batch in parts, as BigQuery refused it as a whole for `error`; see `write_by_halves`."""
    if not len(batch):
        raise error
    _log.warning("A batch of %d rows is landed in parts, as BigQuery refused it: %s", len(batch), error)
    write(batch.slice(0, 0))
    return _search(batch, write, error)


def _search(batch: SealedBatch, write: Callable[[SealedBatch], None], error: RefusedJobError) -> Refusals:
    refused: dict[int, Exception] = {}
    found = refused_rows(0, len(batch), lambda first, last: write(batch.slice(first, last)), (RefusedJobError,), error)
    for row, why in found:
        if len(refused) == REFUSED_MOST:
            raise ConnectError(
                f"BigQuery refuses more than {REFUSED_MOST} rows of a batch of {len(batch)} for table "
                f"{batch.target}; one of them: {why}",
                fix="Mend the records by a transform, or change the table's columns.",
            )
        refused[row] = why
    return refused
