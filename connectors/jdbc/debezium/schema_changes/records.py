"""Makes the records of the schema changes topic. Pure.

Source of the format: the records that Debezium's MySQL connector 3.6 writes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from connect.api import schema as s
from connect.api.records import Batch, Column
from connectors.jdbc.debezium.schema_changes.declared_columns import DeclaredColumn
from connectors.jdbc.debezium.schema_changes.declared_tables import DeclaredTable
from connectors.jdbc.debezium.schema_changes.told_statements import TableChange, ToldStatement
from connectors.jdbc.log.shared.envelope import Headers

_STRING, _INT32, _BOOLEAN = s.STRING.as_optional(), s.INT32.as_optional(), s.BOOLEAN.as_optional()


def _versioned(members: Mapping[str, s.Schema], name: str) -> s.Schema:
    return replace(s.struct(members, name=name), version=1)


_COLUMN: Final = _versioned(
    {
        "name": s.STRING, "jdbcType": s.INT32, "nativeType": _INT32, "typeName": s.STRING, "typeExpression": _STRING,
        "charsetName": _STRING, "length": _INT32, "scale": _INT32, "position": s.INT32, "optional": _BOOLEAN,
        "autoIncremented": _BOOLEAN, "generated": _BOOLEAN, "comment": _STRING, "defaultValueExpression": _STRING,
        "enumValues": s.array(s.STRING, optional=True),
    },
    "io.debezium.connector.schema.Column",
)  # fmt: skip
_TABLE: Final = _versioned(
    {
        "defaultCharsetName": _STRING, "primaryKeyColumnNames": s.array(s.STRING, optional=True),
        "columns": s.array(_COLUMN), "comment": _STRING,
    },
    "io.debezium.connector.schema.Table",
).as_optional()  # fmt: skip
_CHANGE: Final = _versioned({"type": s.STRING, "id": s.STRING, "table": _TABLE}, "io.debezium.connector.schema.Change")


@dataclass(frozen=True)
class SchemaChangeRecords:
    """Makes the records of one connector. With `tells_comments` records hold the comments of tables and columns."""

    topic: str
    connector: str
    source: s.Schema
    headers: Headers
    tells_comments: bool

    @cached_property
    def _key(self) -> s.Schema:
        return _versioned({"databaseName": s.STRING}, f"io.debezium.connector.{self.connector}.SchemaChangeKey")

    @cached_property
    def _value(self) -> s.Schema:
        members = {
            "source": self.source, "ts_ms": s.INT64, "databaseName": _STRING, "schemaName": _STRING, "ddl": _STRING,
            "tableChanges": s.array(_CHANGE),
        }  # fmt: skip
        return _versioned(members, f"io.debezium.connector.{self.connector}.SchemaChangeValue")

    def batch(self, told: Sequence[ToldStatement], source: Mapping[str, object]) -> Batch | None:
        """Return the records of statements, or None if there are none.

        `source` holds the members that their source blocks share.
        """
        if not told:
            return None
        now_ms = time.time_ns() // 1_000_000
        values = [
            {
                "source": {**source, "db": one.schema, "table": one.tables}, "ts_ms": now_ms,
                "databaseName": one.schema, "schemaName": None, "ddl": one.text,
                "tableChanges": [self._change(change) for change in one.changes],
            }
            for one in told
        ]  # fmt: skip
        keys = Column.from_rows([{"databaseName": one.schema} for one in told], self._key)
        headers = self.headers(len(told), {})
        return Batch(self.topic, Column.from_rows(values, self._value), keys=keys, headers=headers)

    def _change(self, change: TableChange) -> Mapping[str, Any]:
        table = None if change.table is None else self._table(change.table)
        return {"type": change.type, "id": change.name.quoted, "table": table}

    def _table(self, table: DeclaredTable) -> Mapping[str, Any]:
        return {
            "defaultCharsetName": table.charset, "primaryKeyColumnNames": list(table.key),
            "columns": [self._column(place, column) for place, column in enumerate(table.columns, 1)],
            "comment": table.comment if self.tells_comments else None,
        }  # fmt: skip

    def _column(self, place: int, column: DeclaredColumn) -> Mapping[str, Any]:
        return {
            "name": column.name, "jdbcType": column.jdbc_type, "nativeType": None, "typeName": column.type_name,
            "typeExpression": column.type_name, "charsetName": column.charset, "length": column.length,
            "scale": column.scale, "position": place, "optional": column.is_optional,
            "autoIncremented": column.is_generated, "generated": column.is_generated,
            "comment": column.comment if self.tells_comments else None, "defaultValueExpression": column.default,
            "enumValues": list(column.members) or None,
        }  # fmt: skip
