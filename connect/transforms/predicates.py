"""Holds TopicNameMatches, HasHeaderKey and RecordIsTombstone, and Filter, which drops rows that a predicate selects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connect.api.records import Batch
from connect.lib.javatext.regex import compile_pattern
from connect.transforms.settings.config import HasHeaderKeyConfig, NoConfig, TopicNameMatchesConfig
from connect.transforms.structure.sides import null_rows

if TYPE_CHECKING:
    import pyarrow as pa


class Filter:
    """Drops every row it is given. Implements DropsEveryRow."""

    drops_every_row: Final = True

    def __init__(self, _: NoConfig) -> None:
        """Take no settings, as the transform has none."""

    def apply(self, _: Batch) -> list[Batch]:
        """Drop all rows."""
        return []


class TopicNameMatches:
    """Selects rows whose whole topic name matches a pattern."""

    def __init__(self, config: TopicNameMatchesConfig) -> None:
        self._pattern = compile_pattern(config.pattern)

    def test(self, batch: Batch) -> pa.BooleanArray:
        """Return the same answer for every row: true if the whole topic name matches the pattern."""
        import pyarrow as pa

        return pa.repeat(pa.scalar(self._pattern.fullmatch(batch.topic) is not None), len(batch))


class HasHeaderKey:
    """Selects rows that have a header of this name."""

    def __init__(self, config: HasHeaderKeyConfig) -> None:
        self._name = config.name

    def test(self, batch: Batch) -> pa.BooleanArray:
        """Return for each row if it has the header."""
        import pyarrow as pa

        if batch.headers is None:
            return pa.repeat(pa.scalar(False), len(batch))
        return pa.array([any(h.key == self._name for h in row) for row in batch.headers], pa.bool_())


class RecordIsTombstone:
    """Selects rows whose value is null."""

    def __init__(self, _: NoConfig) -> None:
        """Take no settings, as the predicate has none."""

    def test(self, batch: Batch) -> pa.BooleanArray:
        """Return for each row if it is a tombstone."""
        import pyarrow as pa

        if batch.values.is_arrow:
            return batch.values.arrow().is_null()
        nulls = frozenset(null_rows(batch.values))
        return pa.array([i in nulls for i in range(len(batch))], pa.bool_())
