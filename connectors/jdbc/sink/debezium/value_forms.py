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

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Column
from connectors.jdbc.dialects.known import family
from connectors.jdbc.sink.debezium.structs import member, structs
from connectors.jdbc.values.java_zones import zone

if TYPE_CHECKING:
    from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig

BITS: Final = "io.debezium.data.Bits"
VARIABLE: Final = "io.debezium.data.VariableScaleDecimal"
DURATION: Final = "io.debezium.time.MicroDuration"
ZONED_TIME: Final = "io.debezium.time.ZonedTime"
ANY_LENGTH: Final = 2**31 - 1
"""Bits of a column without a length have this one."""
Form = Callable[[pa.Array, s.Schema], tuple[pa.Array, s.Type]]
"""Returns the values in another form, and the type that this form has."""


@dataclass(frozen=True, slots=True)
class ValueForms:
    """Holds the forms of a database by the names of types."""

    forms: Mapping[str, Form] = field(default_factory=dict)

    def formed(self, column: Column, schema: s.Schema) -> Column:
        """Return structs whose fields have their forms. SchemaError: a value has none."""
        if not any(f.schema.name in self.forms for f in schema.fields):
            return column
        array, columns, fields = column.arrow(), [], []
        for f in schema.fields:
            values, formed = member(array, schema, f.name), f.schema
            form = self.forms.get(f.schema.name or "")
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
    mysql: dict[str, Form] = {BITS: _bits_as_number, ZONED_TIME: _each(lambda text: _wall_clock(text, own))}
    of_database: dict[str, dict[str, Form]] = {
        "postgresql": {BITS: _bits_as_text, DURATION: _each(_seconds)}, "mysql": mysql, "mariadb": mysql,
    }  # fmt: skip
    return ValueForms({VARIABLE: _each(_decimal), **of_database.get(family(config.connection_url), {})})


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
    return pa.array(numbers, pa.int64()), s.Type.INT64
