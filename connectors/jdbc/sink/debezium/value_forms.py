"""Gives values of Debezium's own types the forms that a database's columns take. Pure.

A field keeps the name of its type, by which a new column is made.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Column
from connectors.jdbc.dialects.known import family
from connectors.jdbc.sink.debezium.geometry import POINT, SHAPES, mysql_shapes, postgres_points
from connectors.jdbc.sink.debezium.source_columns import UNSIGNED, column_type
from connectors.jdbc.sink.debezium.structs import member, structs
from connectors.jdbc.values.java_zones import zone

if TYPE_CHECKING:
    from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig

BITS: Final = "io.debezium.data.Bits"
VARIABLE: Final = "io.debezium.data.VariableScaleDecimal"
DURATION: Final = "io.debezium.time.MicroDuration"
ZONED_TIME: Final = "io.debezium.time.ZonedTime"
ZONED: Final = "io.debezium.time.ZonedTimestamp"
_ENDS: Final = {"infinity": "2038-01-19T03:14:07Z", "-infinity": "1970-01-01T00:00:01Z"}
"""MariaDB and MySQL have no infinities: as with Debezium they get the first and last moment of a TIMESTAMP."""
ANY_LENGTH: Final = 2**31 - 1
"""Bits of a column without a length have this one."""
Form = Callable[[pa.Array, s.Schema], tuple[pa.Array, s.Type]]
"""Returns the values in another form, and the type that this form has."""


@dataclass(frozen=True, slots=True)
class ValueForms:
    """Holds the forms of a database by the names of types.

    `unsigned` is that of fields that are an unsigned BIGINT at the source.
    """

    forms: Mapping[str, Form] = field(default_factory=dict)
    unsigned: Form | None = None

    def _of(self, schema: s.Schema) -> Form | None:
        if schema.type is s.Type.INT64 and column_type(schema) in UNSIGNED:
            return self.unsigned
        return self.forms.get(schema.name or "")

    def formed(self, column: Column, schema: s.Schema) -> Column:
        """Return structs whose fields have their forms. SchemaError: a value has none."""
        if all(self._of(f.schema) is None for f in schema.fields):
            return column
        array, columns, fields = column.arrow(), [], []
        for f in schema.fields:
            values, formed = member(array, schema, f.name), f.schema
            form = self._of(f.schema)
            if form is not None:
                try:
                    default = form(pa.array([f.schema.default], values.type), f.schema)[0][0].as_py()
                    values, kind = form(values, f.schema)
                    formed = replace(f.schema, type=kind, fields=(), default=default)
                except (ValueError, ArithmeticError, pa.ArrowInvalid) as error:
                    raise SchemaError(f"A value of {f.schema.name} is none: {error}", field=f.name) from error
            columns.append(values)
            fields.append(s.Field(f.name, formed))
        made = replace(schema, fields=tuple(fields))
        return Column.from_arrow(structs(columns, fields, array.is_null()), made)


def value_forms(config: DebeziumSinkConfig) -> ValueForms:
    """Return the forms of the database that a sink writes to."""
    own = zone(config.time_zone)
    every: dict[str, Form] = {VARIABLE: _each(_decimal)}
    mysql = {
        **every, BITS: _bits_as_number, ZONED_TIME: _each(lambda text: _wall_clock(text, own)), ZONED: _with_ends,
        **dict.fromkeys(SHAPES, mysql_shapes),
    }  # fmt: skip
    postgres = {**every, BITS: _bits_as_text, DURATION: _each(_seconds), POINT: postgres_points}
    of_database = {
        "postgresql": ValueForms(postgres), "mysql": ValueForms(mysql, _unsigned),
        "mariadb": ValueForms(mysql, _unsigned),
    }  # fmt: skip
    return of_database.get(family(config.connection_url), ValueForms(every))


def _each(text_of: Callable[[Any], str]) -> Form:
    def form(array: pa.Array, schema: s.Schema) -> tuple[pa.Array, s.Type]:
        del schema
        texts = [None if value is None else text_of(value) for value in array.to_pylist()]
        return pa.array(texts, pa.string()), s.Type.STRING

    return form


def _decimal(value: Mapping[str, Any]) -> str:
    return str(Decimal(int.from_bytes(value["value"], signed=True)).scaleb(-value["scale"]))


def _seconds(microseconds: int) -> str:
    return f"{Decimal(microseconds).scaleb(-6):f} seconds"


def _wall_clock(text: str, own: ZoneInfo) -> str:
    moment = dt.datetime.combine(dt.datetime.now(own).date(), dt.time.fromisoformat(text))
    return moment.astimezone(own).time().isoformat()


def _bits(value: bytes, length: int) -> str:
    """Return bits as digits; the first byte has the last eight of them."""
    number = int.from_bytes(value, "little")
    return f"{number:0{length}b}" if length != ANY_LENGTH else f"{number:b}"


def _bits_as_text(array: pa.Array, schema: s.Schema) -> tuple[pa.Array, s.Type]:
    length = int(schema.parameters.get("length", ANY_LENGTH))
    return _each(lambda value: _bits(value, length))(array, schema)


def _bits_as_number(array: pa.Array, schema: s.Schema) -> tuple[pa.Array, s.Type]:
    del schema
    numbers = [None if value is None else int.from_bytes(value, "little") for value in array.to_pylist()]
    # Arrow's numbers of 64 bits have a sign, and a column of bits takes a negative one as its bits.
    signed = [number if number is None or number < 2**63 else number - 2**64 for number in numbers]
    return pa.array(signed, pa.int64()), s.Type.INT64


def _unsigned(array: pa.Array, schema: s.Schema) -> tuple[pa.Array, s.Type]:
    """Return numbers with a sign as those without one that have the same bits."""
    del schema
    return array.view(pa.uint64()).cast(pa.string()), s.Type.STRING


def _with_ends(array: pa.Array, schema: s.Schema) -> tuple[pa.Array, s.Type]:
    for endless, end in _ENDS.items():
        array = pc.if_else(pc.equal(array, endless), end, array)
    return array, schema.type
