"""Rows that transforms make of one record have numbers of their own, whatever is read or set aside beside them."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.api.schema import INT64, array, struct
from connect.api.transform import Transform
from connect.runtime.records.chain import Link, apply_chain
from connect.runtime.records.row_numbers import with_row_numbers
from connect.transforms.explode import value
from connect.transforms.settings.extra_config import ExplodeConfig

INNER = array(INT64)
SCHEMA = struct({"a": array(INNER)})


def read(first: int, rows: list[list[list[int]]]) -> Batch:
    offsets = pa.array(range(first, first + len(rows)), pa.int64())
    return Batch(
        "t",
        Column.from_rows([{"a": row} for row in rows], SCHEMA),
        partition=0,
        consumed=Consumed(TopicPartition("t", 0), offsets, first + len(rows)),
    )


class FailsAt:
    """Names no row, so that the batch is halved until the row is alone."""

    def __init__(self, bad: int) -> None:
        self.bad = bad

    def apply(self, batch: Batch) -> list[Batch]:
        if str(self.bad) in str(batch.values.rows()):
            raise ValueError("bad")
        return [batch]


class Alternating:
    """Routes rows to two topics in turn, as routing by a field does."""

    def apply(self, batch: Batch) -> list[Batch]:
        return [batch.take(list(range(start, len(batch), 2))) for start in (0, 1) if len(batch) > start]


def exploded() -> Transform:
    return value(ExplodeConfig.parse({"field": "a"}))


def places(batches: list[Batch]) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    for batch in batches:
        assert batch.consumed is not None
        numbers: Any = batch.consumed.row_numbers
        offsets = batch.consumed.offsets.to_pylist()
        listed = [0] * len(batch) if numbers is None else numbers.to_pylist()
        found += zip(offsets, listed, map(str, batch.values.rows()), strict=True)
    return sorted(found)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("behind", [None, Alternating(), FailsAt(77)], ids=["nothing", "routes", "halves"])
def test_a_row_has_its_number_whatever_is_read_beside_it(behind, seed):
    draw = random.Random(seed)
    rows = [
        [[draw.randrange(50) for _ in range(draw.randrange(4))] for _ in range(draw.randrange(4))] for _ in range(20)
    ]
    rows[7] = [[77]]
    links = [Link("one", exploded()), *([Link("behind", behind)] if behind else []), Link("two", exploded())]
    whole = places(apply_chain(links, read(0, rows), lambda *_: None))
    alone = [
        place for i in range(20) for place in places(apply_chain(links, read(i, rows[i : i + 1]), lambda *_: None))
    ]
    assert whole == alone
    assert len({place[:2] for place in whole}) == len(whole)
    assert len(whole) > 20


def test_rows_that_no_transform_divides_have_no_numbers():
    made = apply_chain([Link("route", Alternating())], read(0, [[[1]]] * 6), lambda *_: None)
    assert [batch.consumed.row_numbers for batch in made if batch.consumed] == [None, None]


def test_parts_of_a_batch_keep_the_numbers():
    batch = with_row_numbers([read(3, [[], [], []]).take([0, 1, 1, 2, 2, 2])], read(3, [[], [], []]))[0]
    assert [place[:2] for place in places([batch])] == [(3, 0), (4, 1), (4, 2), (5, 1), (5, 2), (5, 3)]
    parts = [batch.slice(0, 2), batch.slice(2, 4), batch.take([4, 5])]
    assert [[place[:2] for place in places([part])] for part in parts] == [
        [(3, 0), (4, 1)], [(4, 2), (5, 1)], [(5, 2), (5, 3)]
    ]  # fmt: skip


def test_a_row_is_not_divided_into_more_rows_than_there_are_numbers():
    def divided(batch: Batch) -> Batch:
        return with_row_numbers([batch.take([0, 0])], batch)[0]

    batch = divided(divided(divided(read(0, [[]]))))
    assert [place[1] for place in places([batch])] == [(1 << 40) + (1 << 20) + 1, (1 << 40) + (1 << 20) + 2]
    with pytest.raises(SchemaError, match="more rows than can be numbered"):
        divided(divided(batch))
