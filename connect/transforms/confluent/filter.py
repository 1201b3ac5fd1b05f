"""Keeps or drops the rows in which a JSONPath finds something (io.confluent.connect.transforms.Filter).

Source of the rules: Confluent's documentation of the transform.
"""

from __future__ import annotations

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connect.transforms.confluent.json_path import JsonPath, MissingError
from connect.transforms.settings.confluent_config import ConfluentFilterConfig
from connect.transforms.structure.sides import Side


class ConfluentFilter:
    """Looks at the key or the value of each row. Owned by one task thread."""

    def __init__(self, side: Side, config: ConfluentFilterConfig) -> None:
        self._side = side
        self._path = JsonPath(config.condition)
        self._condition = config.condition
        self._keeps_matches = config.kind == "include"
        self._on_missing = config.on_missing

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the rows that are kept. RejectedRowsError names those that lack a field that the path names."""
        dropped: list[int] = []
        rejected: dict[int, Exception] = {}
        for number, row in enumerate(self._side.of(batch).rows()):
            try:
                keeps = self._path.matches(row) is self._keeps_matches
            except MissingError as error:
                if self._on_missing == "fail":
                    rejected[number] = self._error(str(error))
                keeps = self._on_missing == "include"
            if not keeps:
                dropped.append(number)
        if rejected:
            raise RejectedRowsError(rejected)
        if not dropped:
            return [batch]
        made = batch.without(dropped)
        return [made] if len(made) else []

    def _error(self, missing: str) -> SchemaError:
        side = self._side.value.lower()
        return SchemaError(
            f"filter.condition {self._condition} names {missing}, which the {side} lacks.",
            field=missing,
            fix="Set missing.or.null.behavior to include or exclude such rows.",
        )


def key(config: ConfluentFilterConfig) -> ConfluentFilter:
    """Return the transform Filter$Key."""
    return ConfluentFilter(Side.KEY, config)


def value(config: ConfluentFilterConfig) -> ConfluentFilter:
    """Return the transform Filter$Value."""
    return ConfluentFilter(Side.VALUE, config)
