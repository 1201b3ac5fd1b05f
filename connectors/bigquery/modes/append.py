"""Implements dedup.mode=none: each record is a row, added by insertAll, the Storage Write API or load jobs."""

from __future__ import annotations

from collections.abc import Iterator

from connect.api.errors import ConfigProblem
from connectors.bigquery.dedup.rules import DedupRules, Deletes
from connectors.bigquery.modes.mode import Mode, TableWriter, WriterFactory


class AppendMode(Mode):
    """Adds every record, and tells none apart."""

    name = "none"
    doc = "each record is a row."

    @property
    def rules(self) -> DedupRules:
        """Return rules without fields: a tombstone is left out or a bad record."""
        deletes = Deletes.IGNORE if self._config.dedup_delete == Deletes.IGNORE else Deletes.REFUSE
        return DedupRules(fields=(), deletes=deletes, has_coordinates=self._config.exactly_once)

    def table_writer(self, writers: WriterFactory) -> TableWriter:
        """Return a writer that adds rows."""
        return writers.adding()

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield a note that a record can be added twice, unless exactly.once is set."""
        if not self._config.exactly_once:
            yield ConfigProblem(
                "exactly.once",
                "A crash or a lost reply can add a record twice. exactly.once=true adds each once; dedup.fields "
                "keeps one row for each value of the fields that it names.",
            )
        yield from super().notes()

    @property
    def lacks_fields(self) -> bool:
        """Return False, as rows need no key."""
        return False
