"""Makes columns of made up values, each a pure function of the seed, the field and the block of rows that it is for.

Rows are made in blocks, so that the row of an iteration is the same however often its task was started meanwhile.
"""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type

BLOCK_ROWS: Final = 1024
"""So many rows are made at once."""
_POOL_TEXTS: Final = 1000
"""So many texts there are for a field of random texts; its values are drawn from them."""
_PART_TEXTS: Final = 20
"""So many of these texts are made at once, when the first of them is drawn: a few rows need few texts."""


@dataclass(frozen=True, slots=True)
class Place:
    """Says for what a column is made: the seed and path of its field, the first row's number, the number of rows."""

    seed: str
    first: int
    count: int
    pools: dict[str, TextPool] = field(default_factory=dict, compare=False)
    """It holds the texts that are made once, by seed and path. The owner of the seed passes it to all its places."""

    def of(self, member: str) -> Place:
        """Return the place for a member of the field's structs."""
        return Place(f"{self.seed}.{member}", self.first, self.count, self.pools)

    def items(self, count: int) -> Place:
        """Return the place for so many items of the field's lists or maps."""
        return Place(f"{self.seed}.item", self.first, count, self.pools)

    def uniform(self) -> pa.Array:
        """Return numbers from 0 up to but not including 1."""
        # Arrow would take Python's hash of a text, which is another one in each process.
        digest = hashlib.blake2b(f"{self.seed}@{self.first}".encode(), digest_size=7).digest()
        return pc.random(self.count, initializer=int.from_bytes(digest, "big"))

    def below(self, limit: int) -> pa.Array:
        """Return whole numbers from 0 up to but not including a limit."""
        return pc.floor(pc.multiply(self.uniform(), float(limit))).cast(pa.int64())


class Values(ABC):
    """Makes the values of one field."""

    def __init__(self, schema: s.Schema) -> None:
        self.schema = schema

    @abstractmethod
    def column(self, place: Place) -> pa.Array:
        """Return a column of the schema's Arrow type."""

    @property
    def type(self) -> pa.DataType:
        """Return the Arrow type of the schema."""
        return arrow_type(self.schema)


class Choice(Values):
    """Draws each value from a list."""

    def __init__(self, schema: s.Schema, options: Sequence[Any]) -> None:
        super().__init__(schema)
        self._options = pa.array(options, self.type)

    def column(self, place: Place) -> pa.Array:
        """Return drawn values."""
        return self._options.take(place.below(len(self._options)))


class TextPool:
    """Holds the texts of one field and seed. A text depends on the seed and its number alone."""

    def __init__(self, make: Callable[[random.Random], str], seed: str, *, is_text: bool) -> None:
        self._make, self._seed, self._is_text = make, seed, is_text
        self._texts: list[str | bytes | None] = [None] * _POOL_TEXTS
        self._column: pa.Array | None = None

    def take(self, numbers: pa.Array, type_: pa.DataType) -> pa.Array:
        """Return the texts of these numbers."""
        for part in sorted(pc.unique(pc.divide(numbers, _PART_TEXTS)).to_pylist()):
            if self._texts[part * _PART_TEXTS] is None:
                self._make_part(part)
                self._column = None
        if self._column is None:
            self._column = pa.array(self._texts, type_)
        return self._column.take(numbers)

    def _make_part(self, part: int) -> None:
        dice = random.Random(f"{self._seed}#{part}")
        texts = [self._make(dice) for _ in range(_PART_TEXTS)]
        first = part * _PART_TEXTS
        self._texts[first : first + _PART_TEXTS] = texts if self._is_text else [text.encode() for text in texts]


class MadeTexts(Values):
    """Draws from texts of a length or a pattern."""

    def __init__(self, schema: s.Schema, make: Callable[[random.Random], str]) -> None:
        super().__init__(schema)
        self._make = make

    def column(self, place: Place) -> pa.Array:
        """Return drawn values; those of one seed are the same in all blocks."""
        pool = place.pools.get(place.seed)
        if pool is None:
            pool = place.pools[place.seed] = TextPool(self._make, place.seed, is_text=self.schema.type is s.Type.STRING)
        return pool.take(place.below(_POOL_TEXTS), self.type)


class Numbers(Values):
    """Draws numbers from a range; of whole numbers the upper bound is not among them."""

    def __init__(self, schema: s.Schema, least: float, below: float) -> None:
        super().__init__(schema)
        self._least, self._below = least, below

    def column(self, place: Place) -> pa.Array:
        """Return drawn numbers."""
        if pa.types.is_integer(self.type):
            width = max(1, int(self._below) - int(self._least))
            return pc.add(place.below(width), pa.scalar(int(self._least), pa.int64())).cast(self.type)
        return pc.add(pc.multiply(place.uniform(), float(self._below - self._least)), float(self._least)).cast(
            self.type
        )


class Booleans(Values):
    """Draws true and false."""

    def column(self, place: Place) -> pa.Array:
        """Return drawn values."""
        return pc.less(place.uniform(), 0.5)


class Counted(Values):
    """Counts from row to row, and begins again where it comes to `restart`."""

    def __init__(self, schema: s.Schema, start: int, step: int, restart: int | None) -> None:
        super().__init__(schema)
        self._start, self._step = start, step
        self._period = None if restart is None else max(1, -((start - restart) // step))

    def column(self, place: Place) -> pa.Array:
        """Return the numbers of these rows."""
        rows = pc.add(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), place.count)), place.first - 1)
        if self._period is not None:
            rows = pc.subtract(rows, pc.multiply(pc.divide(rows, self._period), self._period))
        return pc.add(pc.multiply(rows, self._step), self._start).cast(self.type)


class Structs(Values):
    """Makes structs of members."""

    def __init__(self, name: str | None, members: dict[str, Values]) -> None:
        super().__init__(s.struct({field: values.schema for field, values in members.items()}, name=name))
        self._members = members

    def column(self, place: Place) -> pa.Array:
        """Return structs of the members' columns."""
        columns = [values.column(place.of(name)) for name, values in self._members.items()]
        return pa.StructArray.from_arrays(columns, fields=list(self.type))


class Lists(Values):
    """Makes lists of a length from `least` to `most`."""

    def __init__(self, items: Values, least: int, most: int) -> None:
        super().__init__(s.array(items.schema))
        self._items, self._least, self._width = items, least, max(1, most - least + 1)

    def column(self, place: Place) -> pa.Array:
        """Return lists."""
        offsets, total = _offsets(place.of("length"), self._least, self._width)
        items = self._items.column(place.items(total))
        return pa.ListArray.from_arrays(offsets, items, type=self.type)


class Maps(Values):
    """Makes maps from texts to values."""

    def __init__(self, keys: Values, items: Values, least: int, most: int) -> None:
        super().__init__(s.map_of(keys.schema, items.schema))
        self._keys, self._items, self._least, self._width = keys, items, least, max(1, most - least + 1)

    def column(self, place: Place) -> pa.Array:
        """Return maps."""
        offsets, total = _offsets(place.of("length"), self._least, self._width)
        inner = place.items(total)
        keys, items = self._keys.column(inner.of("key")), self._items.column(inner.of("value"))
        offsets, kept = _first_of_each(offsets, keys)
        return pa.MapArray.from_arrays(offsets, keys.take(kept), items.take(kept), type=self.type)


class Nullable(Values):
    """Makes values, or nulls in half of the rows."""

    def __init__(self, values: Values) -> None:
        super().__init__(values.schema.as_optional())
        self._values = values

    def column(self, place: Place) -> pa.Array:
        """Return values and nulls."""
        column = self._values.column(place)
        is_given = pc.less(place.of("null").uniform(), 0.5)
        return column.take(pc.if_else(is_given, Counted(_LONG, 0, 1, None).column(Place("", 0, place.count)), None))


_LONG: Final = s.Schema(s.Type.INT64)


def _offsets(place: Place, least: int, width: int) -> tuple[pa.Array, int]:
    """Return where each list begins and the last one ends, and the number of all items."""
    ends = pc.cumulative_sum(pc.add(place.below(width), least)).cast(pa.int32())
    return pa.concat_arrays([pa.array([0], pa.int32()), ends]), ends[-1].as_py()


def _first_of_each(offsets: pa.Array, keys: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return where each map begins, and the places of its entries, without those whose key is there already."""
    maps = pc.list_parent_indices(pa.ListArray.from_arrays(offsets, keys))
    entries = pa.table({"map": maps, "key": keys, "place": pa.array(range(len(keys)), pa.int64())})
    firsts = entries.group_by(["map", "key"]).aggregate([("place", "min")])["place_min"].combine_chunks().sort()
    kept = maps.take(firsts).to_pylist()
    return pa.array([bisect_left(kept, number) for number in range(len(offsets))], pa.int32()), firsts
