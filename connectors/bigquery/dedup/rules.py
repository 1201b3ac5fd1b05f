"""Holds the rules of deduplication: which records are one row, and which of them stays. Values only.

Two records are one row when all their dedup fields are equal, wherever they come from: the scope is the table, not a
topic partition. Of these the one with the largest order stays (keep=latest): the tuple of the order fields, then
time, partition, offset, topic and the topic's id, which no two records share; behind it rows that a transform made of
one record have numbers. It is stored in the row, and a record takes a row's place only if its own is larger; so a
record that comes again, late or in another batch changes nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from connect.api import schema as s
from connect.api.errors import ConnectError, SchemaError
from connectors.bigquery.rows.names import FieldNames
from connectors.bigquery.rows.paths import COORDINATES, Path, Root
from connectors.bigquery.rows.table_schema import REPEATED, Columns, ColumnSchema, ColumnType, name_in

DELETE_FIELD: Final = re.compile(r"(?P<path>[^=]+)=(?P<value>.*)")
"""Takes a value of dedup.delete apart that has the form field=value: the field's value marks a delete."""
KAFKA_TOPIC: Final = "_kafka_topic"
KAFKA_TOPIC_ID: Final = "_kafka_topic_id"
KAFKA_PARTITION: Final = "_kafka_partition"
KAFKA_OFFSET: Final = "_kafka_offset"
KAFKA_TIMESTAMP: Final = "_kafka_timestamp"
KAFKA_ROW: Final = "_kafka_row"
"""This column numbers the rows that a transform made of one record, which have one offset. NULL stands for 0."""
IS_DELETE: Final = "_dedup_is_delete"
"""This column of staging tables is true if the record deletes its row."""
IS_APPEND: Final = "_dedup_is_append"
"""This column of staging tables is true if the record is appended, as a row that replaces none."""
CLEARS: Final = "_dedup_clears"
"""This column is true if the record is a tombstone without an order (a field of dedup.order.by).

It removes the rows of its key that its topic partition brought before it; later ones are rows of a new beginning.
Staging tables have it, and tables with a view.
"""
INSERT_ID: Final = "_insert_id"
"""This column of rows that are added without dedup holds the id by which BigQuery knows a row that is sent again."""
SOFT_DELETED: Final = "_deleted"
"""With dedup.delete=soft, this column is true if the row's last record was a delete."""
LATE: Final = "_dedup_late"
"""With dedup.late=append, this column is true if the row was added as one of its own: no record replaces it."""
DELETED_AT: Final = "_dedup_deleted_at"
"""This column of tables that remember deletes says when a delete was merged."""
PLACE: Final = (Path(Root.PARTITION), Path(Root.OFFSET), Path(Root.TOPIC), Path(Root.TOPIC_ID))
"""These paths tell a record from all others, also from those of a topic that was made anew."""
TIE_BREAK: Final = (Path(Root.TIMESTAMP), *PLACE)
"""By these paths records of an equal order are sorted. Time is first, as offsets of two partitions say nothing."""


class Keep(StrEnum):
    """Says which of several records of one row stays."""

    LATEST = "latest"
    FIRST = "first"


class Deletes(StrEnum):
    """Says which records delete a row, and how.

    REFUSE is for tables without dedup: no record deletes, and a tombstone is a bad record.
    """

    TOMBSTONE = "tombstone"
    FIELD = "field"
    SOFT = "soft"
    IGNORE = "ignore"
    REFUSE = "refuse"


class NullKey(StrEnum):
    """Says what becomes of a record that lacks a dedup field."""

    FAIL = "fail"
    DLQ = "dlq"
    APPEND = "append"


@dataclass(frozen=True, slots=True)
class DedupRules:
    """Holds the settings `dedup.*`; without fields there is no dedup.

    * `delete_field`: a record is a delete if this field is `delete_value` (dedup.delete=path=value).
    * `has_coordinates`: rows have columns for topic, partition and offset even without dedup.
    * `clears`: a tombstone that lacks a field of `order_by` removes the rows that its partition brought before it;
      otherwise it is a bad record.
    * `stores_clears`: the table has the column CLEARS, which marks such tombstones.
    * `marks_late`: the table has the column LATE.
    * `appends`: each record with a value is appended, and a delete removes all older rows of its key.
    """

    fields: tuple[Path, ...]
    order_by: tuple[Path, ...] = (Path(Root.TIMESTAMP),)
    keep: Keep = Keep.LATEST
    deletes: Deletes = Deletes.TOMBSTONE
    null_key: NullKey = NullKey.FAIL
    delete_field: Path | None = None
    delete_value: str = ""
    has_coordinates: bool = False
    clears: bool = False
    stores_clears: bool = False
    marks_late: bool = False
    appends: bool = False


@dataclass(frozen=True, slots=True)
class PathColumn:
    """Holds a path and the column of the table with its values. `is_own`: the column exists for dedup alone."""

    path: Path
    column: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class DedupColumns:
    """Holds the columns of the table with the values of keys and order. `order` ends with the tie-break."""

    keys: tuple[PathColumn, ...]
    order: tuple[PathColumn, ...]

    @property
    def own(self) -> tuple[PathColumn, ...]:
        """Return the columns that exist for dedup alone, each once."""
        return tuple({placed.column: placed for placed in (*self.order, *self.keys) if placed.is_own}.values())

    def with_row_numbers(self) -> DedupColumns:
        """Return the same columns for records of several rows; nothing changes where rows have no order."""
        if not self.order or any(placed.path.root is Root.ROW for placed in self.order):
            return self
        return replace(self, order=(*self.order, PathColumn(Path(Root.ROW), KAFKA_ROW, is_own=True)))

    def as_in(self, table: Columns) -> DedupColumns:
        """Return the same columns by the names that a table has for them. They may differ in case.

        A column that the table lacks keeps its name. The order ends with KAFKA_ROW if the table has that column.
        """
        found = self.with_row_numbers() if KAFKA_ROW in {column.name for column in table} else self
        return replace(self, keys=_as_in(table, self.keys), order=_as_in(table, found.order))


def _as_in(table: Columns, columns: tuple[PathColumn, ...]) -> tuple[PathColumn, ...]:
    return tuple(replace(placed, column=name_in(table, placed.column)) for placed in columns)


def placed(rules: DedupRules, names: FieldNames, key_schema: s.Schema | None, key_column: str = "") -> DedupColumns:
    """Return the columns of keys and order for records whose key has this schema (None: no key)."""
    keys = [member for path in rules.fields for member in _members(path, key_schema)]
    order: tuple[Path, ...] = PLACE if rules.has_coordinates else ()
    if rules.fields:
        order = (*rules.order_by, *TIE_BREAK)
    return DedupColumns(
        tuple(_placed(path, names, key_column, f"_dedup_key_{number}") for number, path in enumerate(keys, 1)),
        tuple(
            _placed(path, names, "", f"_dedup_order_{number}")  # what rows are ordered by is no member of a record
            for number, path in enumerate(dict.fromkeys(order), 1)
        ),
    )


def check_key_type(path: Path, schema: s.Schema, topic: str) -> None:
    """Raise SchemaError when values of this type cannot be compared for equality in SQL."""
    if schema.type in {s.Type.FLOAT32, s.Type.FLOAT64}:
        raise SchemaError(
            f"Values of topic {topic} cannot be told apart by this field: it is a {schema.type}, and two "
            "floating-point numbers that look alike need not be equal.",
            field=str(path),
            key="dedup.fields",
            fix="Name a whole number, a text or a timestamp.",
        )
    if schema.type in {s.Type.ARRAY, s.Type.MAP, s.Type.STRUCT}:
        raise SchemaError(
            f"Values of topic {topic} cannot be told apart by this field: it is a {schema.type}.",
            field=str(path),
            key="dedup.fields",
            fix="Name its members, as in order.id.",
        )


def key_column_problem(column: ColumnSchema) -> str | None:
    """Return why values of a column cannot be compared for equality in SQL, and what to do; None where they can."""
    if column.type is ColumnType.FLOAT:
        return (
            f"column {column.name}, which dedup.fields names, is a FLOAT, and two floating-point numbers that look "
            "alike need not be equal. Name a whole number, a text or a timestamp, or make the column NUMERIC."
        )
    if column.type in {ColumnType.JSON, ColumnType.GEOGRAPHY, ColumnType.RECORD} or column.mode == REPEATED:
        return (
            f"column {column.name}, which dedup.fields names, is {column.mode} {column.type}, whose values SQL does "
            "not compare. Name a number, a text or a time."
        )
    return None


def _members(path: Path, key_schema: s.Schema | None) -> list[Path]:
    """Return the fields of a key that is a struct, as SQL does not compare structs."""
    if path != Path(Root.KEY) or key_schema is None or key_schema.type is not s.Type.STRUCT:
        return [path]
    if not key_schema.fields:
        raise ConnectError(
            "The record keys are structs without fields, so they tell no rows apart.", key="dedup.fields"
        )
    return [Path(Root.KEY, (field.name,)) for field in key_schema.fields]


def flat(column: str) -> str:
    """Return the name that a member of a record (`key.id`) has as a column of its own."""
    return column.replace(".", "_")


_COORDINATE_COLUMNS: Final = {
    Root.TOPIC: KAFKA_TOPIC,
    Root.TOPIC_ID: KAFKA_TOPIC_ID,
    Root.PARTITION: KAFKA_PARTITION,
    Root.OFFSET: KAFKA_OFFSET,
    Root.TIMESTAMP: KAFKA_TIMESTAMP,
    Root.ROW: KAFKA_ROW,
}


def _placed(path: Path, names: FieldNames, key_column: str, otherwise: str) -> PathColumn:
    if path.root is Root.KEY and key_column:
        parts = (names.column(part, str(path)) for part in (key_column, *path.names))
        return PathColumn(path, ".".join(parts), is_own=False)
    if path.root in COORDINATES:
        return PathColumn(path, _COORDINATE_COLUMNS[path.root], is_own=True)
    if path.root is Root.VALUE and len(path.names) == 1:
        return PathColumn(path, names.column(path.names[0], str(path)), is_own=False)
    return PathColumn(path, otherwise, is_own=True)
