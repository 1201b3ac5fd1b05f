"""Names the columns that an update changed in headers (io.debezium.transforms.ExtractChangedRecordState).

Source of the rules: Debezium 3's documentation. Records that are no updates pass unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from connect.api import schema as s
from connect.api.records import Batch, Header
from connect.transforms.settings.debezium_config import ExtractChangedRecordStateConfig


class ExtractChangedRecordState:
    """Adds headers to updates whose events hold the former row. It is owned by one task thread."""

    def __init__(self, config: ExtractChangedRecordStateConfig) -> None:
        self._changed, self._unchanged = config.changed_header.strip(), config.unchanged_header.strip()

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch with its headers. A header is a Python object in every batch, so they are made row by
        row.
        """
        schema = batch.values.schema
        if schema is None or not (schema.name or "").endswith(".Envelope"):
            return [batch]
        before = batch.headers if batch.headers is not None else [()] * len(batch)
        added = [self._of(row) for row in batch.values.rows()]
        return [replace(batch, headers=[(*own, *new) for own, new in zip(before, added, strict=True)])]

    def _of(self, row: Mapping[str, Any] | None) -> Sequence[Header]:
        before, after = (None, None) if row is None else (row.get("before"), row.get("after"))
        if before is None or after is None:
            return ()
        changed = [name for name, value in after.items() if value != before.get(name)]
        unchanged = [name for name in after if name not in changed]
        names = ((self._changed, changed), (self._unchanged, unchanged))
        return [Header(name, columns, _listed(name)) for name, columns in names if name]


def _listed(name: str) -> s.Schema:
    return replace(s.array(s.STRING.as_optional()).as_optional(), name=name)
