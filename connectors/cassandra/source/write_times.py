"""Tells when each value of a row was written and how long it lives, in fields beside the row's own. Pure.

The fields are named as in CQL: `writetime(column)` in microseconds since 1970, and `ttl(column)` in seconds, null if
the value lives for ever. A collection or type of many cells has one of each: the time of its newest write, and the time
to live of the element that lives longest.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.errors import SchemaError
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.pages import Cells, decode_column
from connectors.cassandra.cql.statements import quoted
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.cql.values import parts

_FIELD: Final = re.compile(r"(writetime|ttl)\((.*)\)", re.DOTALL)
_BIGINT, _INT = CqlType("bigint"), CqlType("int")


class WriteTimes:
    """Makes the fields of write times for the pages of one table."""

    def __init__(self, table: Table, columns: Collection[TableColumn], fence_us: int, *, element_times: bool) -> None:
        """Take the columns whose times are wanted.

        `element_times` says that the server tells when the elements of a collection were written, as it does from
        Cassandra 5.0 on. `fence_us` is used as the writetime of values whose own the server does not tell.
        """
        self._fence_us = fence_us
        places = {column.name: place for place, column in enumerate(table.columns)}
        keys = {column.name for column in table.primary_key}
        self._columns = [(column, places[column.name]) for column in columns if column.name not in keys]
        self._told = [c for c, _ in self._columns if element_times or not c.type.is_multicell]
        names = [quoted(column.name) for column in self._told]
        self.more = "".join(f", writetime({name}), ttl({name})" for name in names)
        """Is CQL text that is selected behind the table's columns."""

    @property
    def fields(self) -> list[s.Field]:
        """Return the fields that a row gets beside its own columns."""
        made: list[s.Field] = []
        for column, _ in self._columns:
            made.append(s.Field(f"writetime({column.name})", s.INT64.as_optional()))
            made.append(s.Field(f"ttl({column.name})", s.INT32.as_optional()))
        return made

    def arrays(self, values: Sequence[Cells], times: Sequence[Cells]) -> list[pa.Array]:
        """Return the arrays of these fields. `values` are the table's columns, `times` are the columns of `more`."""
        told = {column.name: times[2 * i : 2 * i + 2] for i, column in enumerate(self._told)}
        made: list[pa.Array] = []
        for column, place in self._columns:
            if column.name not in told:
                is_there = pa.array(values[place].sizes >= 0)
                made.append(pc.if_else(is_there, pa.scalar(self._fence_us, pa.int64()), pa.scalar(None, pa.int64())))
                made.append(pa.nulls(len(is_there), pa.int32()))
                continue
            written, left = told[column.name]
            if column.type.is_multicell:
                of_rows = [_of_elements(written.value(row), left.value(row)) for row in range(len(written.sizes))]
                made.append(pa.array([newest_us for newest_us, _ in of_rows], pa.int64()))
                made.append(pa.array([ttl_s for _, ttl_s in of_rows], pa.int32()))
            else:
                made.append(decode_column(written, _BIGINT, "writetime"))
                made.append(decode_column(left, _INT, "ttl"))
        return made


def _of_elements(written: bytes | None, left: bytes | None) -> tuple[int | None, int | None]:
    """Return the newest writetime of a value's elements and their longest time to live; None if one lives for ever."""
    times = _numbers(written)
    ttls = _numbers(left) or [None] * len(times)
    # A field of a user-defined type that was never written has no time.
    there = [(time_us, ttl_s) for time_us, ttl_s in zip(times, ttls, strict=True) if time_us is not None]
    if not there:
        return None, None
    lasting = [ttl_s for _, ttl_s in there if ttl_s is not None]
    return max(time_us for time_us, _ in there), max(lasting) if len(lasting) == len(there) else None


def _numbers(data: bytes | None) -> list[int | None]:
    """Return the numbers of a list of bigints or ints as Cassandra sends it."""
    found = [] if data is None else parts(data, 4)
    return [None if number is None else int.from_bytes(number, "big", signed=True) for number in found]


FOR_EVER_S: Final = 0
"""In CQL this time to live stands for a value that lives for ever."""


@dataclass(frozen=True, slots=True)
class Written:
    """Holds the time of a write and its time to live. `writetime_us` None stands for the moment of sending."""

    writetime_us: int | None
    ttl_s: int


@dataclass(frozen=True, slots=True)
class TimedFields:
    """Holds the values of a row's own fields, and when each was written, as far as the row tells it."""

    values: Mapping[str, Any]
    told: Mapping[str, Written]


def told_times(row: Mapping[str, Any], columns: Collection[str]) -> TimedFields | None:
    """Return the row without its fields of write times, and these times; None if it has no such fields.

    `columns` are the names of the table's own columns, which count as values. SchemaError: a time is no whole number.
    """
    fields = {name: found for name in row if name not in columns and (found := _FIELD.fullmatch(name))}
    if not fields:
        return None
    for name in fields:
        if row[name] is not None and type(row[name]) is not int:
            raise SchemaError(f"A {type(row[name]).__name__} is no time.", field=name)
    told = {
        found[2]: Written(row[name], row.get(f"ttl({found[2]})") or FOR_EVER_S)
        for name, found in fields.items()
        if found[1] == "writetime" and row[name] is not None
    }
    return TimedFields({name: value for name, value in row.items() if name not in fields}, told)
