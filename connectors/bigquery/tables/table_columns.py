"""Decides which columns a table gets, how it is clustered, and which changes of existing columns are allowed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch
from connectors.bigquery.dedup.rules import (
    CLEARS,
    DELETED_AT,
    IS_APPEND,
    IS_DELETE,
    KAFKA_OFFSET,
    KAFKA_PARTITION,
    KAFKA_TOPIC,
    KAFKA_TOPIC_ID,
    flat,
)
from connectors.bigquery.dedup.side_tables import LOG_BATCH, LOG_BOUND
from connectors.bigquery.rows.paths import schema_of
from connectors.bigquery.rows.table_schema import (
    NULLABLE,
    REPEATED,
    REQUIRED,
    Columns,
    ColumnSchema,
    ColumnType,
    by_name,
)
from connectors.bigquery.rows.types import TypeRules, columns_of

CLUSTERED_BY_MOST: Final = 4
_CLUSTERABLE: Final = frozenset(ColumnType) - {
    ColumnType.BYTES, ColumnType.FLOAT, ColumnType.JSON, ColumnType.RECORD, ColumnType.TIME
}  # fmt: skip


class UnusableSchemaError(SchemaError):
    """No table can have the columns of this schema, whatever is allowed."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """Says what may be changed on an existing table.

    `new_columns` is allowNewBigQueryFields, and `relaxation` is allowBigQueryRequiredFieldRelaxation. With
    `ignores_unknown` a field without a column is left out. With `first_values` a table that has only dedup's columns
    gets those of the first records with values, as this sink created it when it had only seen deletes.
    """

    new_columns: bool
    relaxation: bool
    ignores_unknown: bool = False
    first_values: bool = False


def value_columns(batch: Batch, rules: TypeRules) -> Columns:
    """Return the columns of the records' fields; none if the batch holds only tombstones."""
    schema = schema_of(batch.values)
    if schema.type is s.Type.STRUCT:
        columns = columns_of(schema, rules)
        check_told_apart(batch.topic, columns, "")
        return columns
    if batch.values.arrow().null_count == len(batch):
        return ()
    raise SchemaError(
        f"Values of topic {batch.topic} are no structs but {schema.name or schema.type}, and a row needs columns.",
        key="value.converter",
        fix="Set a value converter that reads fields, or wrap values by the transform HoistField$Value.",
    )


def check_told_apart(topic: str, columns: Columns, path: str) -> None:
    """Raise UnusableSchemaError if two columns, or members of a record, are one for BigQuery, which ignores case."""
    seen: dict[str, str] = {}
    for column in columns:
        other = seen.setdefault(column.name.lower(), column.name)
        if other is not column.name:
            raise UnusableSchemaError(
                f"Records of topic {topic} have two fields for one column, as BigQuery ignores case in names: "
                f"{path}{other} and {path}{column.name}.",
                field=f"{path}{column.name}",
                fix="Rename or drop one of them by the transform ReplaceField$Value.",
            )
        check_told_apart(topic, column.fields, f"{path}{column.name}.")


@dataclass(frozen=True, slots=True)
class Needed:
    """Holds the columns that records need in their table.

    `values` has the columns of their fields; it is empty if all records are deletes. `own` has the columns that dedup
    and stored keys need, which are always added, with their members. `keys` has the names, in lower case, of the
    columns that tell rows apart.
    """

    values: Columns
    own: Columns
    keys: frozenset[str]


def widened(table: str, existing: Columns, needed: Needed, allowed: Allowed) -> Columns:
    """Return the columns that a table needs to take these records; `existing` itself if nothing has to change.

    Raise SchemaError that names all changes that are needed and not allowed.
    """
    for_dedup = {column.name.lower() for column in needed.own} | needed.keys
    if allowed.first_values and all(column.name.lower() in for_dedup for column in existing):
        allowed = replace(allowed, new_columns=True)
    refused: list[str] = []
    found = _widened(existing, needed.values, allowed, "", refused) if needed.values else existing
    if refused:
        raise SchemaError(
            f"Table {table} does not take the records: {'; '.join(refused)}.",
            fix="Change the table, or let the connector: allowNewBigQueryFields=true adds columns, "
            "allowBigQueryRequiredFieldRelaxation=true makes REQUIRED ones NULLABLE.",
        )
    # Nobody has to allow columns that settings ask for by name.
    result = completed(found, needed.own)
    return existing if result == existing else result


def completed(existing: Columns, wanted: Columns) -> Columns:
    """Return the existing columns with the wanted columns and members that they lack, at any depth."""
    new = by_name(wanted)
    kept = [_with_members(column, new.pop(column.name.lower(), column)) for column in existing]
    return (*kept, *(column.relaxed() for column in new.values()))


def _with_members(column: ColumnSchema, wanted: ColumnSchema) -> ColumnSchema:
    return replace(column, fields=completed(column.fields, wanted.fields)) if _are_records(column, wanted) else column


def _are_records(column: ColumnSchema, wanted: ColumnSchema) -> bool:
    """Return True if both are a record, or both are records that repeat."""
    is_same_shape = (column.mode == REPEATED) == (wanted.mode == REPEATED)
    return is_same_shape and column.type is wanted.type is ColumnType.RECORD


def _widened(existing: Columns, wanted: Columns, allowed: Allowed, path: str, refused: list[str]) -> Columns:
    new = by_name(wanted)
    columns = [_fitting(column, new.pop(column.name.lower(), None), allowed, path, refused) for column in existing]
    if allowed.ignores_unknown and not allowed.new_columns:
        return tuple(columns)
    for column in new.values():
        # A table that has rows takes no further REQUIRED column.
        columns.append(column.relaxed())
        if not allowed.new_columns:
            refused.append(f"it has no column {path}{column.name}")
    return tuple(columns)


def _fitting(
    column: ColumnSchema, wanted: ColumnSchema | None, allowed: Allowed, path: str, refused: list[str]
) -> ColumnSchema:
    """Return the table's column, changed so that it takes the records' values. Add to `refused` what is not allowed."""
    name = f"{path}{column.name}"
    if wanted is None:
        if column.mode == REQUIRED and not allowed.relaxation:
            refused.append(f"its column {name} is REQUIRED and the records have no such field")
        return replace(column, mode=NULLABLE) if column.mode == REQUIRED else column
    mode = column.mode
    if mode == REQUIRED and wanted.mode == NULLABLE and allowed.relaxation:
        mode = NULLABLE
    if _are_records(column, wanted):
        return replace(column, mode=mode, fields=_widened(column.fields, wanted.fields, allowed, f"{name}.", refused))
    return replace(column, mode=mode)


def clustering(chosen: Sequence[str], keys: Iterable[str], columns: Columns) -> tuple[str, ...]:
    """Return the columns to cluster a new table by: the chosen ones, else the columns of keys that allow it."""
    if chosen:
        return tuple(chosen)
    known = by_name(columns)
    usable = (k for k in keys if k.lower() in known and known[k.lower()].type in _CLUSTERABLE)
    return tuple(usable)[:CLUSTERED_BY_MOST]


def member(columns: Columns, name: str) -> ColumnSchema:
    """Return a column, or a member of a record (`key.id`) as a column of its own; not REQUIRED."""
    first, *rest = name.split(".")
    found = by_name(columns)[first.lower()]
    for part in rest:
        found = by_name(found.fields)[part.lower()]
    return replace(found.relaxed(), name=flat(name))


def deletes_columns(columns: Columns, names: Iterable[str]) -> Columns:
    """Return the columns of the table that remembers deletes: keys, order, and when the delete was merged.

    A column that the table itself has not yet is left out: nothing can be compared by it.
    """
    known = by_name(columns)
    kept = tuple(member(columns, name) for name in dict.fromkeys(names) if name.split(".")[0].lower() in known)
    return (*kept, ColumnSchema(DELETED_AT, ColumnType.TIMESTAMP))


def cleared_columns(columns: Columns, keys: Iterable[str]) -> Columns:
    """Return the columns of the table that remembers up to which offset a key's rows are deleted.

    They are the keys, the place of the tombstone, and the time at which it was merged.
    """
    return deletes_columns(columns, (*keys, KAFKA_TOPIC, KAFKA_TOPIC_ID, KAFKA_PARTITION, KAFKA_OFFSET))


def staging_columns(table: Columns, *, clears: bool = False) -> Columns:
    """Return the columns of a table of staged rows: the table's and the marks, all NULLABLE, as a delete has only keys.

    With `clears` rows also have the mark of deletes without an order.
    """
    marks = (IS_DELETE, IS_APPEND, CLEARS) if clears else (IS_DELETE, IS_APPEND)
    return (*(column.relaxed() for column in table), *(ColumnSchema(m, ColumnType.BOOLEAN) for m in marks))


def log_columns(table: Columns, *, clears: bool) -> Columns:
    """Return the columns of a log: those of `staging_columns`, and the batch and bound of each load job."""
    own = (ColumnSchema(LOG_BATCH, ColumnType.STRING), ColumnSchema(LOG_BOUND, ColumnType.STRING))
    return (*staging_columns(table, clears=clears), *own)
