"""Estimate what statements will be billed for: by a dry run, and by what became of jobs before them."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connectors.bigquery.cost.billing import LEAST_BYTES
from connectors.bigquery.warehouse.job_facts import Ended
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)
_MARGIN: Final = 1.1
"""A table may grow between the estimate of a statement and its run."""


class Estimates:
    """Keeps the estimates of a process. Several threads use it, one table a thread."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._needs: dict[str, Mapping[str, int]] = {}
        self._factors: dict[tuple[str, str], int] = {}

    def of(self, target: str, sql: str) -> int:
        """Return the bytes that a statement of a table needs: as `note` keeps them, else by a dry run now."""
        return self._needs.get(target, {}).get(sql) or self.anew(target, sql)

    def keep(self, target: str, needs: Mapping[str, int]) -> None:
        """Keep the bytes that the next statements of a table need."""
        self._needs[target] = needs

    def anew(self, target: str, sql: str) -> int:
        """Return the bytes that a statement of a table needs, by a dry run now."""
        scanned = math.ceil(self._scanned(target, sql) * _MARGIN)
        return max(3 * LEAST_BYTES, scanned) * self._factors.get(_shape(target, sql), 1)

    def note(self, target: str, sql: str, job: Ended, limit_bytes: int) -> None:
        """Learn from a job: one that was ended for too little needs twice as much, one that took less than half less.

        limit_bytes: what it was allowed.
        """
        shape = _shape(target, sql)
        factor = self._factors.get(shape, 1)
        if job.is_over_limit:
            self._factors[shape] = 2 * factor
            self._needs.pop(target, None)
        elif job.is_own and factor > 1 and 2 * job.billed_bytes <= limit_bytes:
            self._factors[shape] = factor // 2

    def forget(self, target: str) -> None:
        """Begin anew with the dry run's word for a table, which may have shrunk."""
        self._needs.pop(target, None)
        for shape in [one for one in list(self._factors) if one[0] == target]:
            del self._factors[shape]

    def _scanned(self, target: str, sql: str) -> int:
        """Return what a dry run says; where BigQuery makes none, all bytes of the table, as those are the most."""
        try:
            return self._warehouse.scanned_bytes(sql)
        except RetriableError:
            raise
        except ConnectError as error:
            # The job itself tells what is wrong with a statement that BigQuery refuses.
            found = self._warehouse.table(target)
            size_bytes = 0 if found is None else 2 * found.total_bytes
            _log.info(
                "BigQuery makes no dry run of a statement of table %s, and it is taken to need %d bytes: %s",
                target, size_bytes, error,
            )  # fmt: skip
            return size_bytes


def _shape(target: str, sql: str) -> tuple[str, str]:
    """Return what statements have in common that need about the same: a MERGE of a table, a DELETE, a SELECT."""
    return target, sql.split(maxsplit=1)[0]
