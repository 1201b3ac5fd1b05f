"""Estimates the bytes that statements will be billed for, by a dry run and by the jobs that ran before."""

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
"""An estimate is made larger by this factor, as a table may grow between the estimate and the run."""


class Estimates:
    """Keeps the estimates of a process. Several threads use it, one table a thread."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._needs: dict[str, Mapping[str, int]] = {}
        self._factors: dict[tuple[str, str], int] = {}

    def of(self, target: str, sql: str) -> int:
        """Return the bytes that a statement of a table needs, as `keep` was given them or a dry run says now."""
        return self._needs.get(target, {}).get(sql) or self.anew(target, sql)

    def keep(self, target: str, needs: Mapping[str, int]) -> None:
        """Keep the bytes that the next statements of a table need."""
        self._needs[target] = needs

    def anew(self, target: str, sql: str) -> int:
        """Return the bytes that a statement of a table needs, by a dry run now."""
        scanned = math.ceil(self._scanned(target, sql) * _MARGIN)
        return max(3 * LEAST_BYTES, scanned) * self._factors.get(_shape(target, sql), 1)

    def note(self, target: str, sql: str, job: Ended, limit_bytes: int) -> None:
        """Learn from a job. If it was ended as `limit_bytes` was too low, the next estimate of its kind is doubled. If
        it was billed for at most half of `limit_bytes`, an estimate that was doubled before is halved.
        """
        shape = _shape(target, sql)
        factor = self._factors.get(shape, 1)
        if job.is_over_limit:
            self._factors[shape] = 2 * factor
            self._needs.pop(target, None)
        elif job.is_own and factor > 1 and 2 * job.billed_bytes <= limit_bytes:
            self._factors[shape] = factor // 2

    def forget(self, target: str) -> None:
        """Forget what was learned of a table, which may have shrunk, so that dry runs alone count again."""
        self._needs.pop(target, None)
        for shape in [one for one in list(self._factors) if one[0] == target]:
            del self._factors[shape]

    def _scanned(self, target: str, sql: str) -> int:
        """Return the bytes of a dry run, or all bytes of the table if BigQuery makes no dry run."""
        try:
            return self._warehouse.scanned_bytes(sql)
        except RetriableError:
            raise
        except ConnectError as error:
            # If BigQuery refuses the statement itself, the job will say why.
            found = self._warehouse.table(target)
            size_bytes = 0 if found is None else 2 * found.total_bytes
            _log.info(
                "BigQuery makes no dry run of a statement of table %s, and it is taken to need %d bytes: %s",
                target, size_bytes, error,
            )  # fmt: skip
            return size_bytes


def _shape(target: str, sql: str) -> tuple[str, str]:
    """Return the table and first word of a statement, such as MERGE. Statements that share both need about as much."""
    return target, sql.split(maxsplit=1)[0]
