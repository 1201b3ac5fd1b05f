"""Detects JSON rows in which each has other keys, such as an id as a key: too many for columns. Pure.

As columns they take rows times keys of memory: 10,000 rows with one key of their own each take 1.7 GiB, as rows 10 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson
import pyarrow as pa

CELLS_MAX: Final = 2**24
"""Keys that few rows have may make so many cells: 128 MiB of numbers."""
_LEAST_KEY_BYTES: Final = 6
"""A key with its value takes at least so many bytes: `"k":1,`."""
_DEPTH_MAX: Final = 8
"""Keys below so many others are not looked at."""
_NESTED: Final = (dict, list)


def is_sparse(data: pa.BinaryArray) -> bool:
    """Tell if keys that few rows have would make more than `CELLS_MAX` cells.

    Sixteen rows are enough where all rows have the same keys. Only where the keys differ are more rows looked at.
    """
    if len(data) * (data.nbytes // _LEAST_KEY_BYTES) <= CELLS_MAX:
        return False
    return all(_cells_of_rare_keys(data, sample) > CELLS_MAX for sample in (16, 64, max(256, len(data) // 8)))


def _cells_of_rare_keys(data: pa.BinaryArray, sample: int) -> float:
    """Return the cells that all rows would make, if each added as many keys as a row in the sample's second half."""
    step = -(-len(data) // sample)
    texts = [text for text in data[::step].to_pylist() if text]
    try:
        rows = [set(_paths(orjson.loads(text), ())) for text in texts]
    except orjson.JSONDecodeError:
        return 0.0  # whoever reads all rows says which one is broken
    half = len(rows) // 2
    known = set[tuple[str, ...]]().union(*rows[:half])
    added = len(known.union(*rows[half:])) - len(known)
    return added / max(1, len(rows) - half) * len(data) ** 2


def _paths(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all keys in a value; the items of a list have one path."""
    if len(path) == _DEPTH_MAX:
        return
    if isinstance(value, dict):
        for key, member in value.items():
            inner = (*path, key)
            yield inner
            if isinstance(member, _NESTED):
                yield from _paths(member, inner)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, _NESTED):
                yield from _paths(item, (*path, ""))
