"""What a changed schema of values does to files: schema.compatibility. Pure.

Rules after io.confluent.connect.storage.schema.StorageSchemaCompatibility and, of Kafka 4.1,
org.apache.kafka.connect.data.SchemaProjector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from connect.api.errors import SchemaError
from connect.api.records import Column
from connect.api.schema import Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

_WIDER: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
"""Each is promoted to those behind it."""


class Compatibility(Protocol):
    """How rows of one schema are written behind rows of another."""

    @property
    def widens(self) -> bool:
        """Return True if one file may hold rows of different schemas, in a schema that is made of all of them."""

    def target(self, given: Schema | None, current: Schema | None) -> Schema | None:
        """Return the schema in which rows of a schema are written behind rows that were written in the current one.

        SchemaError: they cannot be.
        """


@dataclass(frozen=True, slots=True)
class AsGiven:
    """NONE, where a changed schema starts a new file; and `merge`, where it widens the file."""

    widens: bool = False

    def target(self, given: Schema | None, current: Schema | None) -> Schema | None:  # noqa: ARG002 - no matter
        """Return the schema that the rows have."""
        return given


@dataclass(frozen=True, slots=True)
class ByVersion:
    """BACKWARD, FULL and FORWARD: rows are projected to the schema of the file, unless theirs starts a new one.

    starts_file: whether rows of the first version, met behind rows of the second, start a file in their schema.
    """

    name: str
    starts_file: Callable[[int, int], bool]
    widens: bool = False

    def target(self, given: Schema | None, current: Schema | None) -> Schema | None:
        """Return the current schema, or the rows' own where that starts a file."""
        if current is None or given == current:
            return given
        if given is None:
            raise SchemaError(f"schema.compatibility={self.name}: values without a schema came behind others with one.")
        if given.version is None or current.version is None:
            raise SchemaError(
                f"schema.compatibility={self.name} needs schemas with a version, and one of two schemas has none.",
                fix="Use a converter with a schema registry, or schema.compatibility=NONE.",
            )
        return given if self.starts_file(given.version, current.version) else current


COMPATIBILITIES: Final[dict[str, Compatibility]] = {
    "NONE": AsGiven(),
    "MERGE": AsGiven(widens=True),
    "BACKWARD": ByVersion("BACKWARD", lambda given, current: given > current),
    "FULL": ByVersion("FULL", lambda given, current: given > current),
    "FORWARD": ByVersion("FORWARD", lambda given, current: given < current),
}
"""The keys are the values of schema.compatibility."""


def projected(column: Column, target: Schema) -> Column:
    """Return the values in another schema. SchemaError names the field that does not fit."""
    if column.schema is None or column.schema == target:
        return column
    return Column.from_arrow(_projected(column.arrow(), column.schema, target, ""), target)


def _projected(array: pa.Array, source: Schema, target: Schema, path: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    from connect.api.arrow import arrow_type

    if source == target:
        return array
    _check(source, target, path)
    kind = arrow_type(target, path)
    match target.type:
        case Type.STRUCT:
            found = _members(array, source, target, path)
        case Type.ARRAY:
            assert source.items is not None
            assert target.items is not None
            whole = array.take(pa.array(range(len(array)), pa.int64()))  # a slice's offsets do not go with a mask
            items = _projected(whole.values, source.items, target.items, f"{path}[]")
            mask = whole.is_null() if whole.null_count else None
            found = pa.ListArray.from_arrays(whole.offsets, items, type=kind, mask=mask)
        case Type.MAP:
            rows = [None if row is None else dict(row) for row in array.to_pylist()]
            found = Column.from_rows(rows, target.as_optional()).arrow()
        case _:
            found = array.cast(kind, safe=False)
    if target.default is not None and not target.optional:
        found = pc.coalesce(found, _default(target, kind))
    return found


def _members(array: pa.Array, source: Schema, target: Schema, path: str) -> pa.Array:
    import pyarrow as pa

    from connect.api.arrow import arrow_type

    own = {field.name: (field.schema, child) for field, child in zip(source.fields, array.flatten(), strict=True)}
    children, fields = [], []
    for field in target.fields:
        at, kind = f"{path}.{field.name}".lstrip("."), arrow_type(field.schema)
        if field.name in own:
            schema, child = own[field.name]
            # A field of a struct that is null is null too, which no schema forbids.
            if child.null_count > array.null_count and not field.schema.optional and field.schema.default is None:
                raise SchemaError("The file's schema requires a value, and a record has none.", field=at)
            children.append(_projected(child, schema, field.schema, at))
        elif field.schema.default is not None:
            children.append(pa.repeat(_default(field.schema, kind), len(array)))
        elif field.schema.optional:
            children.append(pa.nulls(len(array), kind))
        else:
            raise SchemaError("The file's schema requires a field that records of another schema lack.", field=at)
        fields.append(pa.field(field.name, kind, field.schema.optional))
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _check(source: Schema, target: Schema, path: str) -> None:
    is_wider = source.type in _WIDER and target.type in _WIDER[_WIDER.index(source.type) :]
    if source.type is not target.type and not is_wider:
        raise SchemaError(f"A value of type {source.type} is no {target.type} of the file's schema.", field=path)
    if source.name != target.name or dict(source.parameters) != dict(target.parameters):
        raise SchemaError(f"A value of {source.name} is no {target.name} of the file's schema.", field=path)


def _default(schema: Schema, kind: pa.DataType) -> pa.Scalar:
    return Column.from_rows([schema.default], schema).arrow().cast(kind)[0]
