"""Implements dedup.mode=insert_id: insertAll with the dedup fields as insertId, which BigQuery compares for about a
minute.
"""

from __future__ import annotations

from collections.abc import Iterator

from connect.api.errors import ConfigProblem
from connectors.bigquery.modes.append import AppendMode
from connectors.bigquery.modes.mode import Mode
from connectors.bigquery.rows.paths import Path


class InsertIdMode(AppendMode):
    """Adds every record, and lets BigQuery drop a record that comes again soon."""

    name = "insert_id"
    doc = (
        "by insertAll with the dedup.fields as insertId, which BigQuery compares for about a minute, as well as it can."
    )
    has_own_way = True

    def writing_problems(self) -> Iterator[ConfigProblem]:
        """Yield a problem if each record has to be added exactly once, as BigQuery forgets insertIds."""
        if self._config.exactly_once:
            yield ConfigProblem(
                "exactly.once",
                "exactly.once=true cannot be kept by dedup.mode=insert_id, as BigQuery forgets insertIds within about "
                "a minute. Set dedup.mode=merge.",
            )
        yield from super().writing_problems()

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield a note on how long BigQuery remembers insertIds."""
        yield ConfigProblem(
            "dedup.mode",
            "dedup.mode=insert_id drops what comes again within about a minute, as well as BigQuery can. "
            "dedup.mode=merge keeps one row per key for ever.",
        )
        yield from Mode.notes(self)

    @property
    def lacks_fields(self) -> bool:
        """Return True if dedup.fields is empty, also with upsertEnabled: an insertId is made of these fields only."""
        return not self._config.dedup_fields

    @property
    def insert_id(self) -> tuple[Path, ...]:
        """Return the paths of the dedup fields."""
        return tuple(map(Path.parse, self._config.dedup_fields))
