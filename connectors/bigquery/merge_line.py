"""Merges of several processes into one table, one after the other, without a lock that a dead process could hold.

BigQuery runs two MERGEs of a table side by side as long as both only insert, so two of them could insert the same key.
The id of a job is used once in a project. So a statement is submitted under the first number of its table that has no
job, and only once the job of the number before it has ended.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable

from connectors.bigquery.job_facts import Changed, Counts
from connectors.bigquery.warehouse import Warehouse


class MergeLine:
    """Where the statements of one backfill stand in line, for each table. Owned by one thread."""

    def __init__(self, warehouse: Warehouse, backfill: str) -> None:
        self._warehouse = warehouse
        self._backfill = backfill
        self._ends: dict[str, int] = {}

    def run(self, target: str, sql: str, doing: str) -> Changed:
        """Run a statement once all those before it have ended. RetriableError: nobody knows whether it ran."""
        text = json.dumps([self._backfill, target])
        line = f"kafka-connect-backfill-{hashlib.sha256(text.encode()).hexdigest()[:24]}"
        end = self._ends.get(line)
        if end is None:
            end = first_free(lambda number: self._warehouse.has_attempt(line, number))
        # The last one may still run: who asks for its number waits for its end.
        changed = self._warehouse.run(sql, line, doing, Counts.NEVER, first_attempt=max(0, end - 1))
        self._ends[line] = changed.attempt + 1
        return changed


def first_free(is_taken: Callable[[int], bool]) -> int:
    """The first number that is not taken, where all before a taken one are; asked about few of them."""
    high = 1
    while is_taken(high - 1):
        high *= 2
    return bisect_left(range(high), True, lo=high // 2, hi=high - 1, key=lambda number: not is_taken(number))
