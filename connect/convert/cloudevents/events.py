"""Makes the attributes of CloudEvents of columns of change events, as Debezium 3.7 was seen to do. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.schema import Field, Schema, Type

ENVELOPE: Final = ".Envelope"
_DATA: Final = ("before", "after")
_TRANSACTION: Final = ("id", "total_order", "data_collection_order")
_PREFIX: Final = "iodebezium"
_TEXT: Final = s.STRING
_SPARE_TEXT: Final = s.STRING.as_optional()


def is_change(schema: Schema) -> bool:
    """Tell if rows of a schema are change events: heartbeats and statements are none."""
    names = {field.name for field in schema.fields}
    return schema.type is Type.STRUCT and (schema.name or "").endswith(ENVELOPE) and {"source", "op"} <= names


@dataclass(frozen=True, slots=True)
class Origin:
    """Tells what all events of a run have in common: where they come from."""

    connector: str
    server: str
    database: str

    @property
    def data_schema_name(self) -> str:
        """Return the name of the schema of the data."""
        return f"io.debezium.connector.{self.connector}.Data"

    @property
    def event_schema_name(self) -> str:
        """Return the name of the schema of events."""
        return f"{self.server}.{self.database}.CloudEvents{ENVELOPE}"


def origins(events: pa.StructArray) -> list[tuple[int, int, Origin]]:
    """Return the runs of rows of one origin, each with its first row and the one behind its last."""
    source = _member(events, "source")
    columns = [_member(source, name).to_pylist() for name in ("connector", "name", "db")]
    found = [Origin(*(str(value) for value in row)) for row in zip(*columns, strict=True)]
    starts = [row for row, one in enumerate(found) if row == 0 or one != found[row - 1]]
    return [(start, stop, found[start]) for start, stop in zip(starts, [*starts[1:], len(found)], strict=True)]


def data_of(events: pa.StructArray, schema: Schema, origin: Origin) -> tuple[pa.StructArray, Schema]:
    """Return the data of events: the row before and after."""
    fields = [field for field in schema.fields if field.name in _DATA]
    kept = s.struct(fields, name=origin.data_schema_name)
    arrays = [_member(events, field.name) for field in fields]
    return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(kept))), kept


def attributes_of(
    events: pa.StructArray,
    schema: Schema,
    origin: Origin,
    content_type: str,
    data_schema: str | None,
    *,
    extensions: bool,
) -> dict[str, tuple[pa.Array, Schema]]:
    """Return the attributes of events by name, in their order."""
    source, rows = _member(events, "source"), len(events)
    made: dict[str, tuple[pa.Array, Schema]] = {
        "id": (_IDS.get(origin.connector, _id_of_file)(source), _TEXT),
        "source": (_constant(f"/debezium/{origin.connector}/{origin.server}", rows), _TEXT),
        "specversion": (_constant("1.0", rows), _TEXT),
        "type": (_constant(f"io.debezium.connector.{origin.connector}.DataChangeEvent", rows), _TEXT),
        "time": (_times(_member(source, "ts_ms")), _TEXT),
        "datacontenttype": (_constant(content_type, rows), _TEXT),
    }
    if data_schema is not None:
        made["dataschema"] = _constant(data_schema, rows), _TEXT
    if extensions:
        made |= _extensions(events, schema, source)
    return made


def _extensions(events: pa.StructArray, schema: Schema, source: pa.StructArray) -> dict[str, tuple[pa.Array, Schema]]:
    made = {f"{_PREFIX}op": (_member(events, "op"), _TEXT)}
    told_source = schema.field("source")
    assert told_source is not None, "is_change has seen it"
    for field in told_source.fields:
        made[_PREFIX + field.name.replace("_", "")] = _attribute(_member(source, field.name), field)
    transaction = next((field for field in schema.fields if field.name == "transaction"), None)
    for name in _TRANSACTION:
        told = pa.nulls(len(events), pa.string())
        if transaction is not None:
            told = pc.cast(_member(_member(events, "transaction"), name), pa.string())
        made[f"{_PREFIX}tx{name.replace('_', '')}"] = told, _SPARE_TEXT
    return made


def _attribute(values: pa.Array, field: Field) -> tuple[pa.Array, Schema]:
    """Return an attribute: CloudEvents know integers of 32 bits alone, so longer ones are texts."""
    schema = field.schema
    if schema.type in {Type.INT32, Type.BOOLEAN}:
        return values, Schema(schema.type, optional=schema.optional)
    return pc.cast(values, pa.string()), _SPARE_TEXT if schema.optional else _TEXT


def _id_of_lsn(source: pa.StructArray) -> pa.Array:
    parts = ("name:", "name"), (";lsn:", "lsn"), (";txId:", "txId"), (";sequence:", "sequence")
    return _joined(source, parts)


def _id_of_file(source: pa.StructArray) -> pa.Array:
    return _joined(source, (("name:", "name"), (";file:", "file"), (";pos:", "pos")))


_IDS: Final[Mapping[str, Callable[[pa.StructArray], pa.Array]]] = MappingProxyType({"postgresql": _id_of_lsn})


def _joined(source: pa.StructArray, parts: tuple[tuple[str, str], ...]) -> pa.Array:
    pieces = [piece for label, name in parts for piece in (label, pc.cast(_member(source, name), pa.string()))]
    return pc.binary_join_element_wise(*pieces, "", null_handling="replace", null_replacement="null")


def _times(epoch_ms: pa.Array) -> pa.Array:
    return pc.strftime(pc.cast(epoch_ms, pa.timestamp("ms", "UTC")), format="%Y-%m-%dT%H:%M:%SZ")


def _constant(text: str, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.string()), rows)


def _member(array: pa.StructArray, name: str) -> pa.Array:
    """Return a member of structs, null where the struct is."""
    return pc.struct_field(array, [array.type.get_field_index(name)])
