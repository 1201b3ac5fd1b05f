"""Tells which columns have rounded Decimals: a FLOAT keeps about 15 digits, and no value is refused for that."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

from connect.api.records import Batch
from connectors.bigquery.dedup.staged_rows import Admission

_log = logging.getLogger(__name__)
_TOLD_MOST: Final = 5


class RoundedDecimals:
    """Holds the fields, by table, whose Decimals lost digits since the task began. Several threads add to it."""

    def __init__(self) -> None:
        self._fields: defaultdict[str, set[str]] = defaultdict(set)

    def look(self, admission: Admission, batch: Batch) -> None:
        """Note the fields of a batch whose Decimals are rounded, and warn in the log when they are the first."""
        if not admission.may_round:
            return
        told = self._fields[admission.name]
        found = set(admission.rounded(batch, told))
        if found:
            told |= found
            _log.warning("%s", _sentence(admission.name, found))

    def told(self) -> Sequence[str]:
        """Return a sentence for each table."""
        return [_sentence(table, set(fields)) for table, fields in list(self._fields.items()) if fields]


def _sentence(table: str, fields: Collection[str]) -> str:
    shown = ", ".join(sorted(fields)[:_TOLD_MOST])
    more = f" and {len(fields) - _TOLD_MOST} more" if len(fields) > _TOLD_MOST else ""
    return (
        f"Table {table} has FLOAT columns for Decimals of more than 15 digits, which are rounded there: {shown}{more}. "
        "decimalHandlingMode=NUMERIC or BIGNUMERIC makes columns of a new table that keep all digits."
    )
