"""Decodes Avro's binary encoding to Arrow columns: every step reads one field of all rows.

A decoder is built once per schema.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.schema import Schema, Type
from connect.convert.avro.model import AvroType
from connect.convert.avro.settings import AvroSettings
from connect.convert.avro.to_connect import connect_of, nullable_branch
from connect.convert.json.recursive import RecursiveTexts
from connect.convert.plain.columns import NotColumnarError, decimals_of
from connect.convert.vectors.cursor import Cursor, Mask, Positions, ordered_by_row, spread, text_of

Decoder = Callable[[Cursor], pa.Array]
"""Reads the next value of every row. Rows that hold no such value are noted in the cursor's failures."""

_LIMITS: Final = {Type.INT8: 2**7, Type.INT16: 2**15, Type.INT32: 2**31}
_DAY_MS: Final = 86_400_000


def decoder(schema: Schema, avro: AvroType, settings: AvroSettings) -> Decoder:
    """Return a decoder of an Avro type that gives arrays of `arrow_type(schema)`; `schema` is `connect_of(avro, …)`."""
    if avro.kind == "union":
        single = nullable_branch(avro)
        if single is not None:
            return _nullable(decoder(schema, single, settings), avro)
        if len(avro.branches) == 1 and not _is_struct_union(schema, avro):
            return _branch_of_one(decoder(schema, avro.branches[0], settings))
        return _union(schema, avro, settings)
    if schema.name == s.RECURSIVE and avro.kind == "record":
        return _recursive(avro, settings)
    match schema.type:
        case Type.STRUCT:
            return _record(schema, avro, settings)
        case Type.ARRAY:
            assert schema.items is not None
            return _list(schema, decoder(schema.items, avro.member, settings))
        case Type.MAP:
            return _map(schema, avro, settings)
    return _leaf(schema, avro)


@lru_cache(maxsize=64)
def _recursive(avro: AvroType, settings: AvroSettings) -> RecursiveTexts:
    """Return the decoder of a type as it is inside of itself; there is one for each type."""

    def make() -> tuple[Schema, Decoder]:
        own = connect_of(avro, settings)
        return own, decoder(own, avro, settings)

    return RecursiveTexts(make)


def decode_raw_bytes(schema: Schema) -> Decoder:
    """Return a decoder that gives all bytes that are left of each row, as they are."""
    return _binary(schema, lambda cursor: cursor.take_bytes(cursor.end - cursor.at))


def _is_struct_union(schema: Schema, avro: AvroType) -> bool:
    return schema.type is Type.STRUCT and avro.branches[0].kind != "record"


def _leaf(schema: Schema, avro: AvroType) -> Decoder:
    match avro.kind:
        case "int" | "long":
            return _integers(schema)
        case "float" | "double":
            width, target = (4, pa.float32()) if avro.kind == "float" else (8, pa.float64())
            return lambda cursor: cursor.fixed(width, target)
        case "boolean":
            return _booleans
        case "enum":
            return _enum(avro)
        case "fixed":
            size = avro.size
            return _binary(schema, lambda cursor: cursor.take_bytes(np.full(len(cursor), size)))
        case "bytes":
            return _binary(schema, lambda cursor: cursor.take_bytes(cursor.signed_varints()))
    return lambda cursor: text_of(cursor.take_bytes(cursor.signed_varints()), cursor)


def _integers(schema: Schema) -> Decoder:
    target = arrow_type(schema)
    limit = _LIMITS.get(schema.type)
    is_time = schema.name == s.TIME
    logical = pa.types.is_temporal(target)
    narrow = target if not logical else pa.int64() if limit is None else pa.int32()

    def decode(cursor: Cursor) -> pa.Array:
        numbers = cursor.signed_varints()
        if limit is not None:
            low, high = (0, _DAY_MS) if is_time else (-limit, limit)
            bad = (numbers < low) | (numbers >= high)
            if bad.any():
                cursor.fail(bad, f"a number is out of range for {schema.name or schema.type}")
                numbers[bad] = 0
        array = pa.array(numbers).cast(narrow)
        return array.view(target) if logical else array

    return decode


def _booleans(cursor: Cursor) -> pa.Array:
    values = cursor.bytes()
    bad = values > 1
    if bad.any():
        cursor.fail(bad, "a boolean is neither 0 nor 1")
    return pa.array(values == 1)


def _enum(avro: AvroType) -> Decoder:
    symbols = pa.array(avro.symbols, pa.utf8())

    def decode(cursor: Cursor) -> pa.Array:
        places = cursor.signed_varints()
        bad = (places < 0) | (places >= len(symbols))
        if bad.any():
            cursor.fail(bad, f"the enum {avro.name} has no symbol of that number")
            places[bad] = 0
        return symbols.take(pa.array(places))

    return decode


def _binary(schema: Schema, read: Decoder) -> Decoder:
    if schema.name != s.DECIMAL:
        return read
    target = arrow_type(schema)
    digits = target.precision

    def decode(cursor: Cursor) -> pa.Array:
        unscaled = read(cursor)
        if not len(unscaled):
            return pa.array([], target)
        try:
            return decimals_of(unscaled, target)
        except NotColumnarError:
            return _checked_decimals(unscaled, target, cursor, digits)

    return decode


def _checked_decimals(unscaled: pa.Array, target: pa.DataType, cursor: Cursor, digits: int) -> pa.Array:
    numbers = [int.from_bytes(value, "big", signed=True) for value in unscaled.to_pylist()]
    bad = np.array(
        [not value.as_py() or abs(number) >= 10**digits for value, number in zip(unscaled, numbers, strict=True)]
    )
    cursor.fail(bad, f"a decimal has more than {digits} digits, or no bytes")
    good = pc.if_else(pa.array(bad), pa.scalar(b"\x00"), unscaled)
    # What stays is short enough but for bytes that repeat the sign.
    width = target.byte_width
    trimmed = [value[-width:] for value in good.to_pylist()]
    return decimals_of(pa.array(trimmed, pa.binary()), target)


def _branches(cursor: Cursor, count: int) -> Positions:
    branches = cursor.signed_varints()
    bad = (branches < 0) | (branches >= count)
    if bad.any():
        cursor.fail(bad, "a union has no branch of that number")
        branches[bad] = -1
    return branches


def _nullable(decode: Decoder, avro: AvroType) -> Decoder:
    present = 0 if avro.branches[0].kind != "null" else 1

    def decode_nullable(cursor: Cursor) -> pa.Array:
        places = np.nonzero(_branches(cursor, 2) == present)[0]
        if len(places) == len(cursor):
            return decode(cursor)
        part = cursor.part(places)
        values = decode(part)
        cursor.rejoin(part, places)
        return spread(values, places, len(cursor))

    return decode_nullable


def _branch_of_one(decode: Decoder) -> Decoder:
    def decode_one(cursor: Cursor) -> pa.Array:
        _branches(cursor, 1)
        return decode(cursor)

    return decode_one


def _union(schema: Schema, avro: AvroType, settings: AvroSettings) -> Decoder:
    fields = list(arrow_type(schema))
    branches = [(i, branch) for i, branch in enumerate(avro.branches) if branch.kind != "null"]
    steps = [(i, decoder(f.schema, branch, settings)) for f, (i, branch) in zip(schema.fields, branches, strict=True)]

    def decode(cursor: Cursor) -> pa.Array:
        chosen = _branches(cursor, len(avro.branches))
        children, seen = [], np.zeros(len(cursor), np.bool_)
        for index, read in steps:
            places = np.nonzero(chosen == index)[0]
            part = cursor.part(places)
            children.append(spread(read(part), places, len(cursor)))
            cursor.rejoin(part, places)
            seen[places] = True
        mask = None if seen.all() else pa.array(~seen)
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)

    return decode


def _record(schema: Schema, avro: AvroType, settings: AvroSettings) -> Decoder:
    fields = list(arrow_type(schema))
    steps = [decoder(f.schema, member.type, settings) for f, member in zip(schema.fields, avro.fields, strict=True)]
    if not steps:
        return lambda cursor: pa.StructArray.from_arrays([], fields=[]) if not len(cursor) else _empty(len(cursor))
    return lambda cursor: pa.StructArray.from_arrays([step(cursor) for step in steps], fields=fields)


def _empty(size: int) -> pa.Array:
    return pa.array([{}] * size, pa.struct([]))


def _list(schema: Schema, item: Decoder) -> Decoder:
    target = arrow_type(schema)

    def decode(cursor: Cursor) -> pa.Array:
        places, counts, pieces = _rounds(cursor, lambda part: [item(part)])
        values = ordered_by_row([made[0] for made in pieces], places, target.value_type)
        return pa.ListArray.from_arrays(_offsets(counts), values, type=target)

    return decode


def _map(schema: Schema, avro: AvroType, settings: AvroSettings) -> Decoder:
    assert schema.keys is not None
    assert schema.items is not None
    target = arrow_type(schema)
    if avro.kind == "map":
        value = decoder(schema.items, avro.member, settings)
        key = _leaf(s.STRING, AvroType("string"))
        order = (0, 1)
    else:
        members = {member.name: member.type for member in avro.member.fields}
        key, value = (
            decoder(part, members[name], settings) for part, name in ((schema.keys, "key"), (schema.items, "value"))
        )
        order = (0, 1) if avro.member.fields[0].name == "key" else (1, 0)

    def decode(cursor: Cursor) -> pa.Array:
        read = (key, value) if order == (0, 1) else (value, key)
        places, counts, pieces = _rounds(cursor, lambda part: [step(part) for step in read])
        keys = ordered_by_row([made[order[0]] for made in pieces], places, target.key_type)
        items = ordered_by_row([made[order[1]] for made in pieces], places, target.item_type)
        return pa.MapArray.from_arrays(_offsets(counts), keys, items, type=target)

    return decode


def _rounds(
    cursor: Cursor, read: Callable[[Cursor], list[pa.Array]]
) -> tuple[list[Positions], Positions, list[list[pa.Array]]]:
    """Read blocks of items, in rounds: each takes one item of every row that has more.

    Return for each round the rows that its items are of, the number of items of each row, and for each round the items.
    """
    counts = np.zeros(len(cursor), np.int64)
    left = np.zeros(len(cursor), np.int64)
    places: list[Positions] = []
    pieces: list[list[pa.Array]] = []
    open_rows: Mask = np.ones(len(cursor), np.bool_)
    while True:
        _open_blocks(cursor, left, open_rows)
        active = np.nonzero(left > 0)[0]
        if not len(active):
            return places, counts, pieces
        part = cursor.part(active)
        pieces.append(read(part))
        cursor.rejoin(part, active)
        places.append(active)
        counts[active] += 1
        left[active] -= 1
        # A row that has failed stands at its end and would go through all its items.
        left[active[part.at >= part.end]] = np.minimum(left[active[part.at >= part.end]], 1)


def _open_blocks(cursor: Cursor, left: Positions, open_rows: Mask) -> None:
    """Read the size of the next block, for rows that have read all of the one before; 0 ends a row."""
    places = np.nonzero(open_rows & (left == 0))[0]
    if not len(places):
        return
    part = cursor.part(places)
    sizes = part.signed_varints()
    sized = np.nonzero(sizes < 0)[0]
    if len(sized):
        # A negative count is followed by the block's size in bytes.
        sizes[sized] = -sizes[sized]
        inner = part.part(sized)
        inner.signed_varints()
        part.rejoin(inner, sized)
    too_many = sizes > part.end - part.at
    if too_many.any():
        part.fail(too_many, "a list has more items than there are bytes")
        sizes[too_many] = 0
    cursor.rejoin(part, places)
    left[places] = sizes
    open_rows[places] = sizes > 0


def _offsets(counts: Positions) -> pa.Array:
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.array(offsets, pa.int32())
