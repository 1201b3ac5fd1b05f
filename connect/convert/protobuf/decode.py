"""Decodes Protobuf's wire format to Arrow columns: every step reads one field of all rows that have it next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.schema import Schema, Type
from connect.convert.json.recursive import RecursiveTexts
from connect.convert.protobuf import logical
from connect.convert.protobuf import names as n
from connect.convert.protobuf.model import ProtoEnum, ProtoField, ProtoMessage
from connect.convert.protobuf.settings import ProtobufSettings
from connect.convert.protobuf.to_connect import connect_of, is_map, union_field_name
from connect.convert.vectors.cursor import Cursor, Mask, Positions, ordered_by_row, text_of
from connect.convert.vectors.wire import FIXED32, FIXED64, LENGTH, wire_type

Decoder = Callable[[Cursor], pa.Array]
"""Reads the value at the cursor in every row. A decoder of messages reads all that is left of every row."""

_NUMBERS: Final[Mapping[str, pa.DataType]] = {
    "double": pa.float64(), "float": pa.float32(), "fixed64": pa.int64(), "sfixed64": pa.int64(),
    "fixed32": pa.uint32(), "sfixed32": pa.int32(),
}  # fmt: skip
_LOGICAL: Final[Mapping[str, Callable[[list[pa.Array], Cursor], pa.Array]]] = {
    n.DATE: logical.dates_of, n.TIME: logical.times_of, n.TIMESTAMP: logical.timestamps_of,
}  # fmt: skip
_WIDTHS: Final = {FIXED64: 8, FIXED32: 4}
"""Holds the bytes of a packed number by its wire type. Numbers of other types are varints, whose length differs."""
_INT32: Final = 1 << 31


def decoder(schema: Schema, message: ProtoMessage, settings: ProtobufSettings) -> Decoder:
    """Return a decoder of messages into `arrow_type(schema)`, where `schema` is `connect_of(message)`."""
    plans = {f.number: _Plan(f, _schema_of(schema, message, f, settings), settings) for f in message.fields}
    members = list(arrow_type(schema))

    def decode(cursor: Cursor) -> pa.Array:
        found = {number: _Found() for number in plans}
        chosen = {oneof: np.zeros(len(cursor), np.int64) for oneof in message.oneofs}
        _read_fields(cursor, plans, found, chosen)
        made = {number: plan.finished(found[number], cursor) for number, plan in plans.items()}
        columns = _columns(schema, message, settings, made, chosen)
        if not columns:
            return pa.array([{}] * len(cursor), pa.struct([]))
        return pa.StructArray.from_arrays(columns, fields=members)

    return decode


@dataclass(slots=True)
class _Found:
    """Holds the pieces of one field that were read so far, with the rows of each piece."""

    places: list[Positions] = field(default_factory=list)
    pieces: list[pa.Array] = field(default_factory=list)

    def add(self, places: Positions, piece: pa.Array) -> None:
        self.places.append(places)
        self.pieces.append(piece)


_LEAST_KEY: Final = 1 << 3


def _read_fields(
    cursor: Cursor, plans: Mapping[int, _Plan], found: Mapping[int, _Found], chosen: Mapping[str, Positions]
) -> None:
    """Read all fields of all rows.

    The lowest key is read first, in every row that has it: rows that lack a field wait.
    """
    keys = np.zeros(len(cursor), np.int64)
    unread = np.arange(len(cursor))
    while True:
        unread = unread[cursor.at[unread] < cursor.end[unread]]
        if len(unread):
            part = cursor.part(unread)
            keys[unread] = read = np.minimum(part.varints(), np.uint64(1 << 40)).astype(np.int64)
            part.fail(read < _LEAST_KEY, "a field has the number 0")
            cursor.rejoin(part, unread)
        waiting = np.nonzero(keys)[0]
        if not len(waiting):
            return
        key = int(keys[waiting].min())
        places = waiting[keys[waiting] == key]
        keys[places] = 0
        part = cursor.part(places)
        plan = plans.get(key >> 3)
        if plan is None or not plan.read(part, key & 7, places, found[key >> 3]):
            _skip(part, key & 7)
        elif plan.field.oneof is not None:
            chosen[plan.field.oneof][places] = plan.field.number
        cursor.rejoin(part, places)
        unread = places


def _skip(part: Cursor, wire: int) -> None:
    match wire:
        case 0:
            part.varints()
        case 1:
            part.skip(np.full(len(part), 8))
        case 2:
            part.skip(_lengths(part))
        case 5:
            part.skip(np.full(len(part), 4))
        case _:
            part.fail(np.ones(len(part), np.bool_), "a field has a wire type that there is not")


class _Plan:
    """Decodes one field."""

    def __init__(self, proto: ProtoField, schema: Schema, settings: ProtobufSettings) -> None:
        self.field = proto
        self._schema = schema
        self._is_map = is_map(proto)
        self._value = _entry(schema, proto, settings) if self._is_map else _value(_item(schema, proto), proto, settings)
        self._type = arrow_type(schema)

    def read(self, part: Cursor, wire: int, places: Positions, found: _Found) -> bool:
        """Read the next value. Return False, and read nothing, if its wire type is not the field's."""
        if wire == wire_type(self.field.kind):
            found.add(places, self._value(part))
            return True
        if wire != LENGTH or not self.field.repeated:
            return False
        lengths = _lengths(part)
        starts = part.skip(lengths)
        items, owners = part.within(starts, part.at).items(_WIDTHS.get(wire_type(self.field.kind), 0))
        if len(items):
            found.add(places[owners], self._value(items))
        return True

    def finished(self, found: _Found, cursor: Cursor) -> pa.Array:
        """Return the column of the field."""
        size = len(cursor)
        if self.field.repeated:
            return self._lists(found, size)
        if not found.pieces:
            return self._absent(size)
        values = found.pieces[0] if len(found.pieces) == 1 else pa.concat_arrays(found.pieces)
        indices = np.full(size, -1, np.int64)
        read = 0
        for places in found.places:
            indices[places] = np.arange(read, read + len(places))
            read += len(places)
        missing = indices < 0
        if not missing.any():
            return values if len(found.pieces) == 1 and len(values) == size else values.take(pa.array(indices))
        if self._keeps_absence:
            return values.take(pa.array(indices, mask=missing))
        indices[missing] = len(values)
        return pa.concat_arrays([values, self._absent(1)]).take(pa.array(indices))

    @property
    def _keeps_absence(self) -> bool:
        return self.field.presence

    def _absent(self, size: int) -> pa.Array:
        if self._keeps_absence:
            return pa.nulls(size, self._type)
        return pa.repeat(pa.scalar(_zero(self._schema, self.field), self._type), size)

    def _lists(self, found: _Found, size: int) -> pa.Array:
        counts = np.zeros(size, np.int64)
        for places in found.places:
            np.add.at(counts, places, 1)
        offsets = np.zeros(size + 1, np.int32)
        np.cumsum(counts, out=offsets[1:])
        if not self._is_map:
            items = ordered_by_row(found.pieces, found.places, self._type.value_type)
            return pa.ListArray.from_arrays(pa.array(offsets), items, type=self._type)
        entry = pa.struct([pa.field("key", self._type.key_type), pa.field("value", self._type.item_type)])
        keys, values = ordered_by_row(found.pieces, found.places, entry).flatten()
        return pa.MapArray.from_arrays(pa.array(offsets), keys, values, type=self._type)


def _columns(
    schema: Schema, message: ProtoMessage, settings: ProtobufSettings, made: Mapping[int, pa.Array],
    chosen: Mapping[str, Positions],
) -> list[pa.Array]:  # fmt: skip
    """Return the columns in the order of the schema; of the members of a oneof the one read last counts."""
    by_name = {}
    for proto in message.fields:
        column = made[proto.number]
        if proto.oneof is not None:
            last = pa.array(chosen[proto.oneof] == proto.number)
            column = column if column.null_count == len(column) else _only(column, last)
        by_name[proto.name] = column
    if not settings.flatten_unions:
        for oneof in message.oneofs:
            name = union_field_name(message, oneof, settings)
            union = schema.field(name)
            assert union is not None
            members = [by_name.pop(f.name) for f in union.fields]
            mask = None if (chosen[oneof] != 0).all() else pa.array(chosen[oneof] == 0)
            by_name[name] = pa.StructArray.from_arrays(members, fields=list(arrow_type(union)), mask=mask)
    return [by_name[f.name] for f in schema.fields]


def _only(column: pa.Array, valid: pa.BooleanArray) -> pa.Array:
    keep = np.arange(len(column))
    return column.take(pa.array(keep, mask=~valid.to_numpy(zero_copy_only=False)))


def _schema_of(schema: Schema, message: ProtoMessage, proto: ProtoField, settings: ProtobufSettings) -> Schema:
    owner: Schema | None = schema
    if proto.oneof is not None and not settings.flatten_unions:
        owner = schema.field(union_field_name(message, proto.oneof, settings))
    found = owner.field(proto.name) if owner is not None else None
    assert found is not None, "the schema was made of the message"
    return found


def _item(schema: Schema, proto: ProtoField) -> Schema:
    if not proto.repeated:
        return schema
    assert schema.items is not None
    return schema.items


def _value(schema: Schema, proto: ProtoField, settings: ProtobufSettings) -> Decoder:
    match proto.kind:
        case "string":
            return lambda part: text_of(part.take_bytes(_lengths(part)), part)
        case "bytes":
            return lambda part: part.take_bytes(_lengths(part))
        case "bool":
            return lambda part: pa.array(part.varints() != 0)
        case "enum":
            return _enum(schema, proto)
        case "message":
            return _message(schema, proto, settings)
        case "sint32" | "sint64":
            return _integers(schema, lambda part: part.signed_varints())
        case "uint32":
            # Longer numbers are cut to 32 bits, as every reader of the wire format does.
            return _integers(schema, lambda part: (part.varints() & np.uint64(0xFFFFFFFF)).view(np.int64))
        case "int32" | "int64" | "uint64":
            return _integers(schema, lambda part: part.varints().view(np.int64))
    width, source = (8 if wire_type(proto.kind) == FIXED64 else 4), _NUMBERS[proto.kind]
    target = arrow_type(schema)
    if source.equals(target):
        return lambda part: part.fixed(width, target)
    return _integers(schema, lambda part: part.fixed(width, source).cast(pa.int64()).to_numpy())


def _integers(schema: Schema, read: Callable[[Cursor], Positions]) -> Decoder:
    target = arrow_type(schema)
    limit = {Type.INT8: 1 << 7, Type.INT16: 1 << 15, Type.INT32: _INT32}.get(schema.type)

    def decode(part: Cursor) -> pa.Array:
        numbers = read(part)
        if limit == _INT32:
            numbers = numbers.astype(np.int32)
        elif limit is not None:
            bad = (numbers < -limit) | (numbers >= limit)
            logical.cursor_fail(part, bad, f"a number is out of range for {schema.type}")
            numbers = np.where(bad, 0, numbers)
        return pa.array(numbers).cast(target)

    return decode


def _enum(schema: Schema, proto: ProtoField) -> Decoder:
    enum = proto.enum
    assert enum is not None
    if schema.type is Type.INT32:
        return _integers(schema, lambda part: part.varints().view(np.int64))
    by_number = {number: symbol for symbol, number in reversed(list(enum.symbols.items()))}
    numbers = np.array(sorted(by_number), np.int64)
    symbols = pa.array([by_number[int(number)] for number in numbers], pa.utf8())

    def decode(part: Cursor) -> pa.Array:
        given = part.varints().view(np.int64)
        places = np.minimum(np.searchsorted(numbers, given), len(numbers) - 1)
        bad = numbers[places] != given
        found = symbols.take(pa.array(places))
        if enum.is_open and bad.any():
            return _with_unknown(found, bad, given, enum)
        logical.cursor_fail(part, bad, f"the enum {enum.name} has no symbol of that number")
        return found

    return decode


def _with_unknown(found: pa.Array, unknown: Mask, numbers: Positions, enum: ProtoEnum) -> pa.Array:
    """Return the symbols, with Java's names for numbers that an open enum has no symbol of."""
    texts = [f"UNKNOWN_ENUM_VALUE_{enum.short_name}_{number}" for number in numbers[unknown].astype(np.int32).tolist()]
    return pc.replace_with_mask(found, pa.array(unknown), pa.array(texts, pa.utf8()))


def _message(schema: Schema, proto: ProtoField, settings: ProtobufSettings) -> Decoder:
    message = proto.message
    assert message is not None
    if message.name in _LOGICAL or message.name == n.DECIMAL:
        read = _embedded_columns(message, settings)
        target = arrow_type(schema)

        def decode_logical(cursor: Cursor) -> pa.Array:
            columns = read(cursor)
            if message.name == n.DECIMAL:
                return logical.decimals_of(columns, cursor, target)
            if settings.java and message.name in {n.TIME, n.TIMESTAMP}:
                columns = [*columns[:-1], logical.cut_to_ms(columns[-1])]
            return _LOGICAL[message.name](columns, cursor)

        return _delimited(decode_logical)
    if message.name in n.WRAPPED and schema.type is not Type.STRUCT:
        columns = _embedded_columns(message, settings)
        return _delimited(lambda cursor: columns(cursor)[0].cast(arrow_type(schema)))
    if schema.name == s.RECURSIVE:
        return _delimited(_recursive(message, settings))
    return _delimited(decoder(schema, message, settings))


@lru_cache(maxsize=64)
def _recursive(message: ProtoMessage, settings: ProtobufSettings) -> RecursiveTexts:
    """Return the decoder of a message as it is inside of itself; there is one for each message."""

    def make() -> tuple[Schema, Decoder]:
        own = connect_of(message, settings)
        return own, decoder(own, message, settings)

    return RecursiveTexts(make)


def _embedded_columns(message: ProtoMessage, settings: ProtobufSettings) -> Callable[[Cursor], list[pa.Array]]:
    plain = ProtobufSettings(java=settings.java)
    read = decoder(connect_of(message, plain), message, plain)
    return lambda cursor: read(cursor).flatten()


def _entry(schema: Schema, proto: ProtoField, settings: ProtobufSettings) -> Decoder:
    message = proto.message
    assert message is not None
    assert schema.keys is not None
    assert schema.items is not None
    parts = [_Plan(f, part, settings) for f, part in zip(message.entry(), (schema.keys, schema.items), strict=True)]
    plans = {plan.field.number: plan for plan in parts}
    fields = [pa.field("key", arrow_type(schema.keys)), pa.field("value", arrow_type(schema.items))]

    def decode(cursor: Cursor) -> pa.Array:
        found = {number: _Found() for number in plans}
        _read_fields(cursor, plans, found, {})
        columns = [plan.finished(found[plan.field.number], cursor) for plan in parts]
        return pa.StructArray.from_arrays(columns, fields=fields)

    return _delimited(decode)


def _delimited(read: Decoder) -> Decoder:
    """Return a decoder of values that have their length before them."""

    def decode(part: Cursor) -> pa.Array:
        starts = part.skip(_lengths(part))
        inner = part.within(starts.copy(), part.at.copy())
        return read(inner)

    return decode


def _lengths(part: Cursor) -> Positions:
    return np.minimum(part.varints(), np.uint64(1 << 40)).astype(np.int64)


def _zero(schema: Schema, proto: ProtoField) -> object:
    if proto.enum is not None:
        first = next((symbol for symbol, number in proto.enum.symbols.items() if number == 0), None)
        return 0 if schema.type is Type.INT32 else first
    match schema.type:
        case Type.STRING:
            return ""
        case Type.BYTES:
            return b""
        case Type.BOOLEAN:
            return False
        case Type.FLOAT32 | Type.FLOAT64:
            return 0.0
    return 0
