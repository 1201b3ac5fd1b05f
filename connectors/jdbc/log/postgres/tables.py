"""Plans tables of PostgreSQL as the log describes them: columns, keys and event formats. Asks the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from connect.api import schema as s
from connect.api.errors import SchemaError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.database.catalog import type_rules
from connectors.jdbc.dialects.postgres.result_types import bases, type_of
from connectors.jdbc.follow.blind_spots import CutOffs
from connectors.jdbc.log.postgres.pgoutput import Relation, RelationColumn
from connectors.jdbc.log.postgres.text import driver_array, stand_in, zero
from connectors.jdbc.log.shared.cells import UNCHANGED, Buffer, Cells, Mask
from connectors.jdbc.log.shared.envelope import EventFormat, source_schema
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName, topic_of
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.temporal import Misfit
from connectors.jdbc.values.types import ColumnPlan, TypeRules, plan_column

SOURCE: Final = source_schema(
    "postgresql",
    {
        "schema": s.STRING, "table": s.STRING, "txId": s.INT64.as_optional(), "lsn": s.INT64.as_optional(),
        "xmin": s.INT64.as_optional(), "origin": s.STRING.as_optional(), "origin_lsn": s.INT64.as_optional(),
    },
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogTable:
    """Describes a table with the columns it had when its changes were made. `bases` are the types of which domains are
    made.
    """

    name: TableName
    relation: Relation
    format: RowFormat
    events: EventFormat
    bases: tuple[int, ...]

    def rows(self, buffer: Buffer, cells: Sequence[Cells], placeholder: str) -> pa.StructArray:
        """Return whole rows. SchemaError: the log does not hold a value, and no placeholder can stand for it."""
        if not cells:
            return pa.StructArray.from_arrays([], fields=[])
        return self.format.of_driver_arrays(
            [
                self._array(plan, values, column.kind == UNCHANGED, placeholder)
                for plan, values, column in zip(self.format.columns, buffer.values(cells), cells, strict=True)
            ]
        )

    def old_rows(self, buffer: Buffer, cells: Sequence[Cells]) -> pa.StructArray:
        """Return rows as they were before changes. The log may have only the columns of the replica identity.

        The other columns are null, or, if they are NOT NULL, zero as in Debezium.
        """
        arrays = []
        for plan, found in zip(self.format.columns, buffer.values(cells), strict=True):
            values = found
            if values.null_count and not plan.schema.optional:
                values = values.fill_null(zero(plan))
            arrays.append(self._driver_array(plan, values))
        return self.format.of_driver_arrays(arrays)

    def null_columns(self, cells: Sequence[Cells], kind: int) -> list[str]:
        """Return the columns that are declared NOT NULL and in which a row is null."""
        pairs = zip(self.format.columns, cells, strict=True)
        return [p.name for p, c in pairs if not p.schema.optional and (c.kind == kind).any()]

    def _array(self, plan: ColumnPlan, values: pa.BinaryArray, unknown: Mask, placeholder: str) -> pa.Array:
        if unknown.any():
            text = stand_in(plan, placeholder)
            if text is None:
                raise SchemaError(
                    f"An update of table {self.name.full} left a large value as it was, and the log does not hold it.",
                    field=plan.name,
                    fix=f"ALTER TABLE {self.name.quoted} REPLICA IDENTITY FULL.",
                )
            values = pc.if_else(pa.array(unknown), pa.scalar(text, pa.binary()), values)
        return self._driver_array(plan, values)

    def _driver_array(self, plan: ColumnPlan, values: pa.BinaryArray) -> pa.Array:
        try:
            return driver_array(plan, values)
        except (Misfit, pa.ArrowException, ValueError) as error:
            why = f": {error}" if isinstance(error, Misfit) else ""
            raise SchemaError(
                f"Table {self.name.full} holds a text that is not of kind {plan.raw}{why}.",
                field=plan.name,
                fix=plan.fix or "Mend the row.",
            ) from error


class LogTables:
    """Plans tables; remembers which columns turned out to hold NULL. Owned by the reading thread."""

    def __init__(self, database: Database, config: JdbcSourceConfig) -> None:
        self.database = database
        self._config = config
        self._rules: TypeRules | None = None
        self._cuts = CutOffs(config)
        self._nullable: dict[int, set[str]] = {}

    def plan(self, relation: Relation) -> LogTable:
        """Plan a table as the log describes it. Facts that the log leaves out (NOT NULL, the primary key) are the
        present ones.
        """
        doing = f"reading the columns of table {relation.schema}.{relation.table}"
        found = {str(row[0]): bool(row[1]) for row in self.database.rows(_columns(relation.oid), doing)}
        unique = unique_columns(self.database, relation.oid)
        found_bases = bases(self.database, [(c.type_oid, c.modifier) for c in relation.columns])
        self.database.end_transaction()
        name = TableName(relation.schema, relation.table)
        nullable = self._nullable.get(relation.oid, set())
        rules = self._rules = self._rules or type_rules(self.database, self._config)
        plans = []
        for column, (oid, modifier) in zip(relation.columns, found_bases, strict=True):
            may_be_null = not found.get(column.name, False) or column.name in nullable
            plans.append(plan_column(column.name, type_of(oid, modifier), may_be_null, rules))
        config = self._config
        topic = topic_of(name, config)
        times = TimeRules.of(config)
        self._cuts.tell(name, plans)
        form = RowFormat(name.full, f"{topic}.Value", plans, times)
        events = EventFormat(topic, form.schema, key_of(relation, unique), SOURCE)
        return LogTable(name, relation, form, events, tuple(oid for oid, _ in found_bases))

    def widened(self, table: LogTable, columns: Sequence[str]) -> LogTable:
        """Return the table with these columns made nullable: rows from before they became NOT NULL hold NULL."""
        self._nullable.setdefault(table.relation.oid, set()).update(columns)
        plans = [
            replace(p, schema=p.schema.as_optional(True)) if p.name in columns else p for p in table.format.columns
        ]
        form = RowFormat(table.format.table, table.format.schema.name or "", plans, table.format.times)
        return replace(table, format=form, events=replace(table.events, row=form.schema))

    def describe(self, name: TableName) -> Relation:
        """Return a table as the log would describe it now. ConnectError: there is no such table."""
        doing = f"reading the columns of table {name.full}"
        rows = self.database.rows(_relation(name), doing)
        self.database.end_transaction()
        columns = tuple(RelationColumn(str(r[2]), int(r[3]), int(r[4]), bool(r[5])) for r in rows if r[2] is not None)
        if not rows:
            raise SchemaError(
                f"Table {name.full} does not exist.", fix="Create it, or take it out of the table filter."
            )
        return Relation(int(rows[0][0]), name.schema or "", name.name, str(rows[0][1]), columns)


def unique_columns(database: Database, oid: int) -> list[tuple[str, ...]]:
    """Return the columns of each index that names a row of the table, the primary key's first."""
    found = database.rows(_unique(oid), "reading the keys of a table")
    return [tuple(map(str, row[0])) for row in found]


def key_of(relation: Relation, unique: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the columns of the record key, which are Debezium's: the primary key in its own order, else a unique
    index.

    If deletes hold other columns, these are the key. `unique` holds the columns of the indexes that name a row, the
    primary key's first.
    """
    present = {c.name for c in relation.columns}
    known = [columns for columns in unique if set(columns) <= present]
    told = tuple(c.name for c in relation.columns if c.in_identity)
    if relation.identity in {"f", "n"} or not told:
        return known[0] if known else ()
    return next((columns for columns in known if set(columns) == set(told)), told)


def _columns(oid: int) -> sa.TextClause:
    return sa.text(
        "SELECT attname, attnotnull FROM pg_catalog.pg_attribute WHERE attrelid = :oid AND attnum > 0 "
        "AND NOT attisdropped"
    ).bindparams(oid=oid)


def _unique(oid: int) -> sa.TextClause:
    # Debezium takes the first of two unique indexes by name. Indexes of servers before version 11 have no columns
    # beside the key.
    return sa.text(
        "SELECT array_agg(a.attname::text ORDER BY k.place) FROM pg_catalog.pg_index i "
        "JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid "
        "CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place) "
        "JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum "
        "WHERE i.indrelid = :oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL "
        "AND i.indexprs IS NULL AND k.place <= coalesce((to_jsonb(i)->>'indnkeyatts')::int, i.indnatts) "
        "GROUP BY i.indisprimary, c.relname HAVING bool_and(a.attnotnull) ORDER BY i.indisprimary DESC, c.relname"
    ).bindparams(oid=oid)


def _relation(name: TableName) -> sa.TextClause:
    # Servers before version 12 have neither generated columns nor a column that tells of them.
    return sa.text(
        "SELECT c.oid, c.relreplident, a.attname, a.atttypid, a.atttypmod, c.relreplident = 'f' "
        "OR coalesce(a.attnum = ANY((i.indkey::int2[])[0:coalesce((to_jsonb(i)->>'indnkeyatts')::int, i.indnatts) - 1])"
        ", false) FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
        "AND coalesce(to_jsonb(a)->>'attgenerated', '') = '' LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid "
        "AND CASE c.relreplident WHEN 'i' THEN i.indisreplident WHEN 'd' THEN i.indisprimary ELSE false END "
        "WHERE n.nspname = :schema AND c.relname = :name ORDER BY a.attnum"
    ).bindparams(schema=name.schema or "", name=name.name)
