"""Numbers the rows that a transform makes of one record. Pure.

They share the record's offset, so without a number a sink could take them for one row that came twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from connect.api.errors import SchemaError
from connect.api.records import Batch, Consumed

if TYPE_CHECKING:
    import pyarrow as pa

_EACH: Final = 1 << 20
"""A numbered row that is divided again has at most so many rows, whose numbers follow its own times this."""
_DIVIDED_MOST: Final = (1 << 43) - 1


def with_row_numbers(made: list[Batch], given: Batch) -> list[Batch]:
    """Return the batches that a transform made of another one, in which rows of one record have numbers of their own.

    A row that was not divided keeps its number, 0 at first; the rows of one that was divided count from 1 behind it. So
    what is read beside a record changes nothing. Raise SchemaError where no number is left.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    places = [batch.consumed for batch in made if batch.consumed is not None]
    before = given.consumed
    if before is None or len(places) < len(made) or _are_apart(places, before):
        return made
    offsets = pa.concat_arrays([one.offsets for one in places])
    numbers = pa.concat_arrays([_numbers_of(one) for one in places])
    rows = len(offsets)
    keys = [("offset", "ascending"), ("number", "ascending")]
    order = pc.sort_indices(pa.table({"offset": offsets, "number": numbers}), sort_keys=keys).cast(pa.int64())  # stable
    offsets, numbers = offsets.take(order), numbers.take(order)
    is_repeated = pc.and_(pc.equal(offsets[1:], offsets[:-1]), pc.equal(numbers[1:], numbers[:-1]))
    if not pc.any(is_repeated, min_count=0).as_py():
        return made
    begins = pa.concat_arrays([pa.array([True]), pc.invert(is_repeated)])
    record = pc.subtract(pc.cumulative_sum(begins.cast(pa.int64())), 1)
    first = pc.indices_nonzero(begins).cast(pa.int64())
    sizes = pc.subtract(pa.concat_arrays([first[1:], pa.array([rows], pa.int64())]), first)
    counts = pc.subtract(pa.arange(1, rows + 1, 1), first.take(record))
    is_divided = pc.greater(sizes.take(record), 1)
    is_beyond = pc.or_(pc.greater(numbers, _DIVIDED_MOST), pc.greater_equal(counts, _EACH))
    if pc.any(pc.and_(pc.and_(is_divided, pc.greater(numbers, 0)), is_beyond)).as_py():
        raise SchemaError(
            f"A record of topic {given.topic} was divided into more rows than can be numbered.",
            fix="Divide it once, not by several transforms.",
        )
    sorted_found = pc.if_else(is_divided, pc.add(pc.multiply(numbers, _EACH), counts), numbers)
    found = sorted_found.take(pc.inverse_permutation(order))
    ends = list(accumulate(len(one.offsets) for one in places))
    parts = [found[end - len(place.offsets) : end] for place, end in zip(places, ends, strict=True)]
    return [
        replace(batch, consumed=replace(place, row_numbers=part))
        for batch, place, part in zip(made, places, parts, strict=True)
    ]


def _are_apart(places: Sequence[Consumed], before: Consumed) -> bool:
    """Return True if it is seen at once that no two rows are of the same place, as those of most transforms."""
    if len(places) != 1:
        return not places
    offsets = places[0].offsets
    if offsets is before.offsets:
        return True
    import pyarrow.compute as pc

    return bool(pc.all(pc.greater(offsets[1:], offsets[:-1]), min_count=0).as_py())


def _numbers_of(place: Consumed) -> pa.Int64Array:
    import pyarrow as pa

    numbers = place.row_numbers
    return pa.repeat(pa.scalar(0, pa.int64()), len(place.offsets)) if numbers is None else numbers
