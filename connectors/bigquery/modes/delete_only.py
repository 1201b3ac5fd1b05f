"""Implements deleteEnabled without upsertEnabled, as in Java: each record is a row, and a tombstone deletes its key's
rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from connect.api.errors import ConfigProblem
from connectors.bigquery.dedup.rules import DedupRules, NullKey
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.rows.paths import Path, Root


class DeleteOnlyMode(MergeMode):
    """Adds each record once, and remembers deletes, so that a record that is read again stays deleted."""

    @property
    def rules(self) -> DedupRules:
        """Return the rules by which tombstones find the rows of their key."""
        config = self._config
        return DedupRules(
            fields=(Path.parse("__key"),),
            order_by=tuple(map(Path.parse, config.dedup_order)),
            null_key=NullKey(config.dedup_null_key),
            appends=True,
        )

    def problems(self) -> Iterator[ConfigProblem]:
        """Yield the keys that Java requires as well, and the settings that contradict this mode."""
        config = self._config
        if not config.key_column:
            yield ConfigProblem(
                "kafkaKeyFieldName",
                "deleteEnabled=true needs kafkaKeyFieldName, the column in which a tombstone finds the rows of "
                "its key.",
            )
        for name, value in (("dedup.keep", "latest"), ("dedup.delete", "tombstone")):
            if str(config.originals.get(name, value)) != value:
                yield ConfigProblem(
                    name, f"{name} is for rows that stand for a key, and with deleteEnabled=true alone each record is "
                    "a row. Leave it out, or set upsertEnabled=true.",
                )  # fmt: skip
        if config.tombstone_retention_ms == 0:
            yield ConfigProblem(
                "dedup.tombstone.retention.ms",
                "deleteEnabled=true without upsertEnabled=true needs deletes that are remembered: leave it out.",
            )
        if any(path.root is Root.VALUE for path in self.rules.order_by):
            yield ConfigProblem(
                "dedup.order.by", "A tombstone has no fields of the value: leave it out, or name a field of the key."
            )

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield a note on the weaknesses of deletes without upserts."""
        yield ConfigProblem(
            "deleteEnabled",
            "Without upsertEnabled=true each record is a row of its own: a key has as many rows as it had values, and "
            "no row says which is the latest but by _kafka_timestamp. A tombstone deletes all rows of its key that are "
            "older by Kafka's time, so one from a producer whose clock is slow leaves rows; in Java it deletes what "
            "came before it. Set upsertEnabled=true for one row of each key.",
        )
        yield from super().notes()

    @property
    def lacks_fields(self) -> bool:
        """Return False, as the key of the record is the key of its rows."""
        return False

    @property
    def tells_by_place(self) -> bool:
        """Return True, as each record is a row, which its place in Kafka tells apart."""
        return True
