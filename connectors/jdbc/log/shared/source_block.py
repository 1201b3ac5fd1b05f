"""Makes the source block of events from members that have one value for all events, or one for each change. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Indices = npt.NDArray[np.int64]


def source_block(
    fields: Sequence[pa.Field], members: Mapping[str, object], size: int, change: Indices | None = None
) -> pa.StructArray:
    """Return the source blocks of `size` events.

    `members` holds values by name: one for all events, or an array. Arrays have a value per event, or, with `change`, a
    value per change, and `change` names the change of each event.
    """
    columns = []
    for field in fields:
        value = members.get(field.name)
        if isinstance(value, np.ndarray):
            columns.append(pa.array(value if change is None else value[change], field.type))
        elif isinstance(value, pa.Array):
            columns.append(value if change is None else value.take(pa.array(change)))
        else:
            columns.append(repeated(value, field.type, size))
    return pa.StructArray.from_arrays(columns, fields=list(fields))


def repeated(value: object, kind: pa.DataType, size: int) -> pa.Array:
    """Return an array that holds one value `size` times. Arrays are remembered, as the same few are asked for again."""
    if isinstance(value, int) and not isinstance(value, bool):
        return pa.repeat(pa.scalar(value, kind), size)
    return _constant(value, kind, 1 << max(size - 1, 1).bit_length()).slice(0, size)


@lru_cache(256)
def _constant(value: object, kind: pa.DataType, size: int) -> pa.Array:
    return pa.nulls(size, kind) if value is None else pa.repeat(pa.scalar(value, kind), size)
