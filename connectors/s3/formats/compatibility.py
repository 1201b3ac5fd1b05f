"""Decides what happens to files when the schema of values changes, as schema.compatibility says. Pure.

The rules are those of StorageSchemaCompatibility and SchemaProjector in io.confluent.connect.storage.schema.
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
"""Values of each type can be promoted to the types after it."""
_ENUMS: Final = (
    "org.apache.kafka.connect.data.Enum", "io.confluent.connect.avro.Enum", "io.confluent.connect.protobuf.Enum",
)  # fmt: skip
"""A schema is one of an enum if it has one of these parameters."""
_REMARKS: Final = ("connect.record.doc", "connect.record.aliases", "connect.record.namespace")
_FIELD_REMARKS: Final = "io.confluent.connect.avro.field.doc."
"""Parameters with these names, or with names that begin so, tell people of a schema and have no say in what fits."""


class Compatibility(Protocol):
    """Decides how rows of one schema are written after rows of another one."""

    @property
    def widens(self) -> bool:
        """Return True if one file may hold rows of different schemas, in a schema that is merged of theirs."""

    def target(self, given: Schema | None, current: Schema | None) -> Schema | None:
        """Return the schema in which rows with the schema `given` are written, after rows in the schema `current`.

        SchemaError: they cannot be written after these.
        """


@dataclass(frozen=True, slots=True)
class AsGiven:
    """Has rows written in their own schema.

    A changed schema starts a new file (NONE), or widens the file's schema (MERGE).
    """

    widens: bool = False

    def target(self, given: Schema | None, current: Schema | None) -> Schema | None:  # noqa: ARG002 - no matter
        """Return the schema that the rows have."""
        return given


@dataclass(frozen=True, slots=True)
class ByVersion:
    """Has rows written in the schema of the file, unless their own starts a new file (BACKWARD, FULL and FORWARD).

    `starts_file` takes the version of the rows' schema and that of the file's, and returns True if the rows start a new
    file. Rows that cannot be projected to the file's schema, such as those of another record, start one, too.
    """

    name: str
    starts_file: Callable[[int, int], bool]
    widens: bool = False

    def target(self, given: Schema | None, current: Schema | None) -> Schema | None:
        """Return the current schema, or the rows' own if it starts a new file."""
        if current is None or given == current:
            return given
        if given is None:
            raise SchemaError(f"schema.compatibility={self.name}: values without a schema came behind others with one.")
        if given.version is None or current.version is None:
            raise SchemaError(
                f"schema.compatibility={self.name} needs schemas with a version, and one of two schemas has none.",
                fix="Use a converter with a schema registry, or schema.compatibility=NONE.",
            )
        return given if self.starts_file(given.version, current.version) or not can_become(given, current) else current


COMPATIBILITIES: Final[dict[str, Compatibility]] = {
    "NONE": AsGiven(),
    "MERGE": AsGiven(widens=True),
    "BACKWARD": ByVersion("BACKWARD", lambda given, current: given > current),
    "FULL": ByVersion("FULL", lambda given, current: given > current),
    "FORWARD": ByVersion("FORWARD", lambda given, current: given < current),
}
"""Maps the values of schema.compatibility to their rules."""


def can_become(source: Schema, target: Schema) -> bool:
    """Return True if all values of one schema can be projected to another one."""
    if _difference(source, target) or (source.optional and not target.optional and target.default is None):
        return False
    match source.type:
        case Type.STRUCT:
            own = {field.name for field in source.fields}
            lacking = (field.schema for field in target.fields if field.name not in own)
            pairs = [
                (field.schema, other) for field in source.fields if (other := target.field(field.name)) is not None
            ]
            are_free = all(schema.optional or schema.default is not None for schema in lacking)
            return are_free and all(can_become(one, other) for one, other in pairs)
        case Type.ARRAY | Type.MAP:
            inner = [(source.items, target.items), (source.keys, target.keys)]
            return all(can_become(one, other) for one, other in inner if one is not None and other is not None)
    return True


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
            # If a struct is null, its fields are null, too. That is allowed even if they are required.
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
    difference = _difference(source, target)
    if difference:
        raise SchemaError(f"A value of {difference} of the file's schema.", field=path)


def _difference(source: Schema, target: Schema) -> str:
    """Return why a value of one schema is none of another one, whatever is in them; an empty text if it can be."""
    is_wider = source.type in _WIDER and target.type in _WIDER[_WIDER.index(source.type) :]
    if source.type is not target.type and not is_wider:
        return f"type {source.type} is no {target.type}"
    own, others = (_parameters(one) for one in (source, target))
    if all(any(name in one for name in _ENUMS) for one in (own, others)):
        is_same = own.items() <= others.items()
    else:
        is_same = own == others
    return "" if is_same and source.name == target.name else f"{source.name} is no {target.name}"


def _parameters(schema: Schema) -> dict[str, str]:
    """Return the parameters that have a say in which values fit."""
    named = schema.parameters.items()
    return {name: text for name, text in named if name not in _REMARKS and not name.startswith(_FIELD_REMARKS)}


def _default(schema: Schema, kind: pa.DataType) -> pa.Scalar:
    return Column.from_rows([schema.default], schema).arrow().cast(kind)[0]
