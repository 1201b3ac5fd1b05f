"""Finds the bad rows of a refused batch by writing halves of it. It writes only through the function that it is given.

BigQuery refuses a load job or a MERGE as a whole and names no row. Halves also help where a job would exceed a limit,
such as that of the partitions it may change. If a batch without rows is refused as well, the rows are not at fault.
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
"""At most so many bad rows of a batch are searched. Each costs a few jobs, and a table takes 1,500 loads a day."""


def write_by_halves(batch: SealedBatch, write: Callable[[SealedBatch], None]) -> Refusals:
    """Write a batch, in parts if BigQuery refuses it as a whole. Return the rows that it refuses even alone.

    Raise RefusedJobError if a batch without rows is refused as well, and ConnectError if more than REFUSED_MOST rows
    are refused.
    """
    try:
        write(batch)
    except RefusedJobError as error:
        return write_parts(batch, write, error)
    return {}


def write_parts(batch: SealedBatch, write: Callable[[SealedBatch], None], error: RefusedJobError) -> Refusals:
    """Write a batch in parts, after BigQuery refused the whole with `error`; see `write_by_halves`."""
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
