"""Numbers the rows that a transform makes of one record. Pure.

They share the record's offset, so without a number a sink could take them for one row that came twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from connect.api.errors import SchemaError
from connect.api.records import Batch, Consumed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EACH: Final = 1 << 20
"""A numbered row that is divided again has at most so many rows, whose numbers follow its own times this."""
_DIVIDED_MOST: Final = (1 << 43) - 1


def with_row_numbers(made: list[Batch], given: Batch) -> list[Batch]:
    """Return the batches that a transform made of another one, in which rows of one record have numbers of their own.

    A row that was not divided keeps its number, 0 at first; the rows of one that was divided count from 1 behind it. So
    what is read beside a record changes nothing. Raise SchemaError where no number is left.
    """
    import numpy as np
    import pyarrow as pa

    places = [batch.consumed for batch in made if batch.consumed is not None]
    before = given.consumed
    if before is None or len(places) < len(made) or _are_apart(places, before):
        return made
    offsets = np.concatenate([one.offsets.to_numpy(zero_copy_only=False) for one in places])
    numbers = np.concatenate([_numbers_of(one) for one in places])
    order = np.lexsort((numbers, offsets))  # it is stable
    sorted_offsets, sorted_numbers = offsets[order], numbers[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (sorted_offsets[1:] != sorted_offsets[:-1]) | (sorted_numbers[1:] != sorted_numbers[:-1])
    if begins.all():
        return made
    first = np.flatnonzero(begins)
    sizes = np.diff(first, append=len(order))
    counts = np.arange(1, len(order) + 1) - np.repeat(first, sizes)
    is_divided = np.repeat(sizes > 1, sizes)
    is_again = is_divided & (sorted_numbers > 0)
    if (is_again & ((sorted_numbers > _DIVIDED_MOST) | (counts >= _EACH))).any():
        raise SchemaError(
            f"A record of topic {given.topic} was divided into more rows than can be numbered.",
            fix="Divide it once, not by several transforms.",
        )
    found = np.empty(len(order), np.int64)
    found[order] = np.where(is_divided, sorted_numbers * _EACH + counts, sorted_numbers)
    cuts = np.cumsum([len(one.offsets) for one in places])[:-1]
    parts = [pa.array(part) for part in np.split(found, cuts)]
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
    own = offsets.to_numpy(zero_copy_only=False)
    return bool((own[1:] > own[:-1]).all())


def _numbers_of(place: Consumed) -> NDArray[np.int64]:
    import numpy as np

    numbers = place.row_numbers
    return np.zeros(len(place.offsets), np.int64) if numbers is None else numbers.to_numpy(zero_copy_only=False)
