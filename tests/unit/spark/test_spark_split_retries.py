"""A split whose source was away for a moment gives each row once, or fails, so that Spark reads it as a whole again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest

from connect.api.errors import RetriableError
from connect.api.optional.bulk import Split
from connect.api.records import Batch, Column, SourcePosition
from connect.spark.reader import _split_batches

SPLIT = Split("t-0", {}, 3)


class Away:
    """Gives rows 1, 2 and 3, each in a batch; it is away once behind row `away_behind`. Rows in `places` have one."""

    def __init__(self, places: Sequence[int], away_behind: int) -> None:
        self._places = places
        self._away_behind: int | None = away_behind

    def read(self, split: Split, after: Mapping[str, int] | None) -> Iterator[Batch]:
        for row in range(1 if after is None else after["row"] + 1, 4):
            offset = {"row": row} if row in self._places else None
            yield Batch("t", Column.from_rows([row], None), position=SourcePosition({}, offset))
            if row == self._away_behind:
                self._away_behind = None
                raise RetriableError("away")


def rows(reader: Away) -> list[int]:
    return [row for batch in _split_batches(reader, SPLIT, 5.0) for row in batch.values.rows()]


@pytest.mark.parametrize("away_behind", [1, 3])
def test_reading_goes_on_behind_the_last_place(away_behind: int):
    assert rows(Away([1, 3], away_behind)) == [1, 2, 3]


def test_rows_without_a_place_are_not_given_twice():
    with pytest.raises(RetriableError, match="away"):
        rows(Away([1, 3], 2))
