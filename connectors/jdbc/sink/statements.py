"""Defines what differs between databases when rows are written: types of new columns, forms of values, statements.

The base class writes to any database row by row, with SQLAlchemy's statements. Subclasses use quicker ways of drivers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
import sqlalchemy as sa

from connect.api import schema as s
from connectors.jdbc.sink.folded_keys import may_meet
from connectors.jdbc.sink.shape import Member
from connectors.jdbc.sink.texts import Zones

if TYPE_CHECKING:
    from connectors.jdbc.sink.target_tables import Target, TargetColumn

Type = sa.types.TypeEngine[Any]


@dataclass(frozen=True, slots=True)
class StatementRows:
    """Holds the rows of one statement: for each column of the table its values, in the form that the database takes."""

    columns: pa.Table
    keys: Sequence[str]
    """Rows are found by these columns. There are none if the rows have no key."""

    @property
    def values(self) -> list[str]:
        """Return the names of the columns that are no keys."""
        return [name for name in self.columns.column_names if name not in self.keys]

    def parameter(self, name: str) -> str:
        """Return the name of a column's parameter in statements that are bound to one row."""
        return f"cell_{self.columns.column_names.index(name)}"

    def bound(self, names: Sequence[str]) -> dict[str, sa.BindParameter[Any]]:
        """Return the parameters of these columns."""
        return {name: sa.bindparam(self.parameter(name)) for name in names}

    def records(self) -> list[dict[str, Any]]:
        """Return the bound values, row by row."""
        names = [self.parameter(name) for name in self.columns.column_names]
        found: list[dict[str, Any]] = self.columns.rename_columns(names).to_pylist()
        return found

    def parts(self, rows: int) -> Iterator[StatementRows]:
        """Yield the rows in their order, in parts of at most `rows` rows."""
        for start in range(0, len(self.columns), rows):
            yield StatementRows(self.columns.slice(start, rows), self.keys)


class SinkStatements(ABC):
    """Holds the statements by which the sink writes to a kind of database. Stateless."""

    types: ClassVar[Mapping[str, Type]]
    """Maps the logical name or the type of a schema to the type of a new column."""
    key_types: ClassVar[Mapping[str, Type]] = {}
    """Maps types of schemas to the types of primary key columns, if these differ from `types`."""
    timestamp: ClassVar[Type]
    """Columns for fields of timestamp.fields.list have this type."""

    def __init__(self, zones: Zones) -> None:
        self.zones = zones

    def column_type(self, member: Member) -> Type:
        """Return the type of a new column."""
        schema = member.schema
        if member.is_timestamp:
            return self.timestamp
        if member.is_key and schema.type in self.key_types and schema.name != s.DECIMAL:
            return self.key_types[schema.type]
        return self.type_of(schema)

    def type_of(self, schema: s.Schema) -> Type:
        """Return the type of a new column that is no key."""
        return self.types.get(schema.name or "") or self.types[schema.type]

    def default(self, value: object, kind: Type) -> sa.TextClause:
        """Return SQL of a new column's default."""
        literal = sa.literal(value, kind).compile(dialect=self.sql, compile_kwargs={"literal_binds": True})
        return sa.text(str(literal).replace(":", r"\:"))

    @property
    @abstractmethod
    def sql(self) -> sa.Dialect:
        """Return SQLAlchemy's dialect."""

    @abstractmethod
    def cells(self, array: pa.Array, schema: s.Schema, column: TargetColumn) -> pa.Array:
        """Return a column's values as statements take them. SchemaError: the column cannot hold one."""

    def insert(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Add rows."""
        connection.execute(sa.insert(target.relation).values(rows.bound(rows.columns.column_names)), rows.records())

    @abstractmethod
    def upsert(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Add rows, or change those with the same key. No two of the rows have the same key."""

    def update(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Change the rows with these keys, if they exist. No two of the rows have the same key."""
        if rows.values:
            statement = sa.update(target.relation).where(_same_key(target, rows)).values(rows.bound(rows.values))
            connection.execute(statement, rows.records())

    def empty(self, connection: sa.Connection, target: Target) -> None:
        """Delete all rows of a table."""
        connection.execute(sa.delete(target.relation))

    def folds(self, column: TargetColumn) -> bool:
        """Return True if the database may take different texts of a column for one, as those that differ in case."""
        del column
        return False

    def may_meet(self, target: Target, keys: pa.Table) -> bool:
        """Return True if the database may take two of these keys for one that have different values here."""
        texts = [field.name for field in keys.schema if _is_text(field.type) and self.folds(target.columns[field.name])]
        return may_meet(keys, texts)

    def there(self, connection: sa.Connection, target: Target, columns: pa.Table) -> set[int]:
        """Return the numbers of the rows that are in the table with the same value in each column.

        Each row has a unique key.
        """
        rows = StatementRows(columns, ())
        same = (target.relation.c[name].is_not_distinct_from(p) for name, p in rows.bound(columns.column_names).items())
        statement = sa.select(sa.literal(1)).select_from(target.relation).where(*same).limit(1)
        found = (connection.execute(statement, record).first() is not None for record in rows.records())
        return {number for number, is_there in enumerate(found) if is_there}

    def delete(self, connection: sa.Connection, target: Target, rows: StatementRows) -> None:
        """Delete the rows with these keys."""
        connection.execute(sa.delete(target.relation).where(_same_key(target, rows)), rows.records())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _same_key(target: Target, rows: StatementRows) -> sa.ColumnElement[bool]:
    return sa.and_(
        sa.true(), *(target.relation.c[name] == parameter for name, parameter in rows.bound(rows.keys).items())
    )


NUMBER: Final = "connect_number"
"""A temporary table for comparing rows has a further column of this name, with each row's number."""


def numbered(columns: pa.Table) -> StatementRows:
    """Return the rows with their numbers as a further column."""
    return StatementRows(columns.append_column(NUMBER, pa.array(range(len(columns)), pa.int64())), ())


def same_rows(target: Target, staged: str, columns: pa.Table, *, mark: str, text: str, equal: str) -> Iterator[str]:
    """Yield statements that select the numbers of staged rows which are in the table: one per unique key, to use its
    index.

    `text` is SQL that makes a text of a column's value; `equal` is SQL that is true of two equal values or two NULLs.
    """
    names = columns.column_names
    alike = []
    for name in names:
        ours, theirs = (text.format(f"{one}.{quoted(mark, name)}") for one in ("s", "t"))
        alike.append(f"{theirs} {equal} {ours}")
    for unique in dict.fromkeys(unique for unique in target.unique if unique <= set(names)):
        found = [f"t.{quoted(mark, key)} = s.{quoted(mark, key)}" for key in sorted(unique)]
        yield (
            f"SELECT s.{NUMBER} FROM {staged} s WHERE EXISTS (SELECT 1 FROM {quoted(mark, *target.name)} t "  # noqa: S608 - quoted
            f"WHERE {' AND '.join([*found, *alike])})"
        )


def quoted(mark: str, *names: str | None) -> str:
    """Return names quoted for SQL, joined by dots; None is left out. Drivers get such statements as they are."""
    return ".".join(f"{mark}{name.replace(mark, mark * 2)}{mark}" for name in names if name is not None)
