"""Which rows of a refused batch are at fault: found by landing halves. Writes through what it is given, nothing else.

BigQuery refuses a load job or a MERGE as a whole and names no row. A limit of one job, as of the partitions that it may
change, is kept by halves as well. What is refused without any row, too, is not the rows' fault.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from connect.api.errors import ConnectError
from connectors.bigquery.errors import RefusedJobError
from connectors.bigquery.sealed import Refusals, SealedBatch

_log = logging.getLogger(__name__)
REFUSED_MOST: Final = 100
"""Bad rows of one batch that are looked for: each costs a few jobs, and a table takes 1,500 loads a day."""


def land_by_halves(batch: SealedBatch, land: Callable[[SealedBatch], None]) -> Refusals:
    """Land the batch, in parts where BigQuery refuses the whole; the rows that it refuses even alone.

    RefusedJobError: it refuses a batch without rows as well. ConnectError: more than REFUSED_MOST rows are refused.
    """
    try:
        land(batch)
    except RefusedJobError as error:
        if not len(batch):
            raise
        _log.warning("A batch of %d rows is landed in parts, as BigQuery refused it: %s", len(batch), error)
        land(batch.slice(0, 0))
        search = _Search(batch, land)
        search.halve(0, len(batch), error)
        return search.refused
    return {}


@dataclass(frozen=True, slots=True)
class _Search:
    """The rows of a batch that are refused even alone, as far as they are found."""

    batch: SealedBatch
    land: Callable[[SealedBatch], None]
    refused: dict[int, Exception] = field(default_factory=dict)

    def halve(self, start: int, stop: int, error: RefusedJobError) -> None:
        """Land rows start..stop-1, which were refused together for this error."""
        if stop - start == 1:
            if len(self.refused) == REFUSED_MOST:
                raise ConnectError(
                    f"BigQuery refuses more than {REFUSED_MOST} rows of a batch of {len(self.batch)} for table "
                    f"{self.batch.target}; one of them: {error}",
                    fix="Mend the records by a transform, or change the table's columns.",
                )
            self.refused[start] = error
            return
        middle = (start + stop) // 2
        for first, last in ((start, middle), (middle, stop)):
            try:
                self.land(self.batch.slice(first, last))
            except RefusedJobError as found:
                self.halve(first, last, found)
