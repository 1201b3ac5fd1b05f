"""Describes the columns of a table as BigQuery's REST API does. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

REQUIRED: Final = "REQUIRED"
NULLABLE: Final = "NULLABLE"
REPEATED: Final = "REPEATED"


class ColumnType(StrEnum):
    """Holds BigQuery's types, by their names in its REST API."""

    INTEGER = "INTEGER"
    FLOAT = "FLOAT"
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    BYTES = "BYTES"
    DATE = "DATE"
    TIME = "TIME"
    DATETIME = "DATETIME"
    TIMESTAMP = "TIMESTAMP"
    NUMERIC = "NUMERIC"
    BIGNUMERIC = "BIGNUMERIC"
    JSON = "JSON"
    GEOGRAPHY = "GEOGRAPHY"
    RECORD = "RECORD"


_STANDARD_SQL: Final = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN", "STRUCT": "RECORD"}
"""The REST API takes these names of standard SQL, too."""


@dataclass(frozen=True, slots=True)
class ColumnSchema:
    """Describes a column of a table, or a member of a record. `precision` and `scale` None: the type's own.

    `max_length` counts the characters of a STRING or the bytes of BYTES; None: no limit.
    """

    name: str
    type: ColumnType
    mode: str = NULLABLE
    fields: tuple[ColumnSchema, ...] = ()
    precision: int | None = None
    scale: int | None = None
    max_length: int | None = None

    @classmethod
    def from_json(cls, member: Mapping[str, Any]) -> ColumnSchema:
        """Return a column given in the form of the REST API (TableFieldSchema).

        ValueError for a type that is not known here.
        """
        kind, _, arguments = str(member["type"]).upper().partition("(")
        numbers = [int(number) for number in arguments.rstrip(")").split(",") if number.strip().isdigit()]
        precision, scale = member.get("precision"), member.get("scale")
        max_length = member.get("maxLength")
        if numbers and kind in {"STRING", "BYTES"}:  # the emulator writes them into the type
            max_length = numbers[0]
        elif numbers:
            precision, scale = numbers[0], numbers[1] if len(numbers) > 1 else None
        return cls(
            name=str(member["name"]),
            type=ColumnType(_STANDARD_SQL.get(kind, kind)),
            mode=str(member.get("mode") or NULLABLE).upper(),
            fields=tuple(cls.from_json(child) for child in member.get("fields", ())),
            precision=None if precision is None else int(precision),
            scale=None if scale is None else int(scale),
            max_length=None if max_length is None else int(max_length),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the column in the form of the REST API."""
        found: dict[str, Any] = {"name": self.name, "type": str(self.type), "mode": self.mode}
        if self.fields:
            found["fields"] = [child.as_json() for child in self.fields]
        if self.precision is not None:
            found["precision"] = str(self.precision)
        if self.scale is not None:
            found["scale"] = str(self.scale)
        if self.max_length is not None:
            found["maxLength"] = str(self.max_length)
        return found

    def relaxed(self) -> ColumnSchema:
        """Return the same column without REQUIRED, at any depth."""
        if self.mode != REQUIRED and not self.fields:
            return self
        mode = NULLABLE if self.mode == REQUIRED else self.mode
        return replace(self, mode=mode, fields=tuple(child.relaxed() for child in self.fields))


Columns = tuple[ColumnSchema, ...]


def by_name(columns: Sequence[ColumnSchema]) -> dict[str, ColumnSchema]:
    """Return the columns by their names in lower case, as BigQuery compares names."""
    return {column.name.lower(): column for column in columns}


def has_name(columns: Columns, name: str) -> bool:
    """Tell if there is a column, or a record's member (`key.id`), of this name."""
    head, _, rest = name.partition(".")
    found = by_name(columns).get(head.lower())
    return found is not None and (not rest or has_name(found.fields, rest))


def float_names(columns: Columns) -> frozenset[str]:
    """Return the names of the columns of the type FLOAT."""
    return frozenset(column.name for column in columns if column.type is ColumnType.FLOAT)


def name_in(columns: Columns, name: str) -> str:
    """Return the name that columns have for a column or a record's member (`key.id`), whose letters may differ in case.

    A name that none of them has is returned as it is.
    """
    head, dot, rest = name.partition(".")
    found = by_name(columns).get(head.lower())
    return name if found is None else f"{found.name}{dot}{name_in(found.fields, rest)}"


def with_properties(columns: Columns, now: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return columns in the form of the REST API, with the table's own further properties of each.

    `now` are the table's columns in that form. A change without their descriptions or policy tags would remove these.
    """
    told = {str(member["name"]).lower(): member for member in now}
    found = []
    for column in columns:
        given = told.get(column.name.lower(), {})
        members = {"fields": with_properties(column.fields, given.get("fields", ()))} if column.fields else {}
        found.append({**given, **column.as_json(), **members})
    return found


def grown(columns: Columns, table: Columns) -> Columns:
    """Return the columns with all members that the table's records have now.

    A record with a member that the table's record lacks is left as it is.
    """
    now = by_name(table)
    return tuple(_grown(column, now.get(column.name.lower(), column)) for column in columns)


def _grown(column: ColumnSchema, now: ColumnSchema) -> ColumnSchema:
    is_repeated, is_repeated_now = column.mode == REPEATED, now.mode == REPEATED
    if not column.type is now.type is ColumnType.RECORD or is_repeated is not is_repeated_now:
        return column
    members = by_name(now.fields)
    if any(member.name.lower() not in members for member in column.fields):
        return column
    known = by_name(grown(column.fields, now.fields))
    return replace(column, fields=tuple(known.get(member.name.lower(), member) for member in now.fields))
