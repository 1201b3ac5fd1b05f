"""Finds, makes and widens the tables that rows go to, as the settings allow. The catalog tells about tables."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Protocol

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy import schema as ddl
from sqlalchemy.engine.interfaces import ReflectedIndex
from sqlalchemy.sql.elements import quoted_name

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import ConnectError, SchemaError
from connect.api.time_types import TIME_TYPES
from connectors.jdbc.dialects.generic.writing import Writing
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.sink.database import TargetDatabase
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.shape import Member, Shape
from connectors.jdbc.sink.statements import SinkStatements
from connectors.jdbc.values.types import Raw, TypeRules, plan_column

_log = logging.getLogger(__name__)
NAME_PARTS: Final = re.compile(r'"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([^.]+)')
"""Matches one part of a table's name; parts are separated by dots, and may be in quotes."""
_TIMES: Final = frozenset({s.DATE, s.TIME, s.TIMESTAMP, *(schema.name for schema in TIME_TYPES.values())})


class ColumnTypes(Protocol):
    """Chooses types of new columns."""

    def of(self, member: Member) -> sa.types.TypeEngine[Any] | None:
        """Return the type of a new column, or None if the statements' own choice is right."""


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """Describes a column of a table as the catalog tells it, and the kind of values it holds."""

    name: str
    type: sa.types.TypeEngine[Any]
    raw: Raw


@dataclass(frozen=True)
class Target:
    """Describes a table or view that rows are written to.

    `unique` holds the columns of its primary key and of each unique index that covers all rows. `late_keys` are those
    that the database checks only at the end of a statement or transaction, each with the statement that changes this.
    """

    name: TableName
    columns: Mapping[str, TargetColumn]
    unique: Sequence[frozenset[str]]
    is_view: bool
    late_keys: Mapping[frozenset[str], str]

    @cached_property
    def relation(self) -> sa.TableClause:
        """Return the table for use in statements. Its columns have no types, so that values are written as they are
        given.
        """
        columns: list[sa.ColumnClause[Any]] = [sa.column(quoted_name(name, quote=True)) for name in self.columns]
        schema = None if self.name.schema is None else quoted_name(self.name.schema, quote=True)
        return sa.table(quoted_name(self.name.name, quote=True), *columns, schema=schema)

    def column(self, name: str) -> TargetColumn | None:
        """Return the column of a field: the one of its name, or else the only one whose name differs in case only."""
        if name in self.columns:
            return self.columns[name]
        alike = [column for own, column in self.columns.items() if own.lower() == name.lower()]
        return alike[0] if len(alike) == 1 else None

    def missing(self, members: Sequence[Member]) -> list[Member]:
        """Return the members that have no column."""
        return [member for member in members if self.column(member.name) is None]

    def lacks(self, members: Sequence[Member]) -> SchemaError:
        """Return the error that says which members have no column."""
        return SchemaError(
            f"Table {self.name.full} has no column {', '.join(member.name for member in members)}.", key="auto.evolve",
            fix="Add it, set auto.evolve=true, or leave the field out by fields.whitelist.",
        )  # fmt: skip

    def upsert_refusal(self, keys: frozenset[str]) -> str | None:
        """Return why no upsert can find rows by these columns, with the statement that helps.

        Return None if an upsert can.
        """
        if keys not in self.late_keys:
            return None
        return (
            f"insert.mode=upsert cannot find rows of table {self.name.full} by {', '.join(sorted(keys))}: that key is "
            f"DEFERRABLE, and ON CONFLICT takes none that is looked at late. Run: {self.late_keys[keys]}"
        )


def table_name(config: JdbcSinkConfig, topic: str, writing: Writing) -> TableName:
    """Return the table of a topic, by topics.to.tables.mapping or table.name.format.

    SchemaError: no table can have that name.
    """
    mapped = dict(pair.partition(":")[::2] for pair in config.topic_tables)
    shown = re.sub(r"[^a-zA-Z0-9_]", "_", topic) if config.table_name_normalize else topic
    text = mapped.get(topic) or config.table_name_format.replace("${topic}", shown)
    found = ["".join(filter(None, parts)).replace('""', '"') for parts in NAME_PARTS.findall(text)]
    for name in found[-2:] or [""]:
        _require_no(writing.name_problem(name), f"Topic {topic!r} becomes table {text!r}", "table.name.format")
    named = TableName(found[-2] if len(found) > 1 else None, found[-1])
    return writing.table(named, keeps_case=config.keeps_case)


class TargetTables:
    """Keeps the tables of one configuration, and asks the catalog once for each. Owned by the task thread."""

    def __init__(
        self,
        config: JdbcSinkConfig,
        database: TargetDatabase,
        statements: SinkStatements,
        new_columns: ColumnTypes | None = None,
    ) -> None:
        """Connect to nothing. `new_columns` chooses types of new columns that differ from those of `statements`."""
        self._config = config
        self._new_columns = new_columns
        self._database = database
        self._statements = statements
        self._known: dict[str, Target] = {}

    def forget(self) -> None:
        """Ask the catalog again for each table that is written next."""
        self._known.clear()

    def find(self, topic: str) -> Target | None:
        """Return the table of a topic as it is, or None if there is no such table."""
        if topic not in self._known:
            found = self._look(table_name(self._config, topic, self._database.writing))
            if found is None:
                return None
            self._known[topic] = found
        return self._known[topic]

    def ready(self, topic: str, shape: Shape | None) -> Target:
        """Return the table of a topic with a column for each member. It is made or widened if the settings allow that.

        `shape` is None if the records have no schema; then nothing is made. ConnectError: there is no table.
        SchemaError: it has no column for a member.
        """
        target = self.find(topic) or self._made(topic, shape)
        missing = [] if shape is None else target.missing(shape.members)
        if missing:
            # Somebody may have added the columns meanwhile.
            self._known.pop(topic)
            target = self.find(topic) or self._made(topic, shape)
            missing = target.missing(missing)
        if not missing:
            return target
        self._require_evolvable(target, missing)
        statements = [self._add_column(target, member) for member in missing]
        return self._changed(topic, statements, f"adding columns to table {target.name.full}", missing)

    def _made(self, topic: str, shape: Shape | None) -> Target:
        name = table_name(self._config, topic, self._database.writing)
        if self._config.auto_create and shape is None:
            raise SchemaError(f"Table {name.full} is missing, and of a record without a schema none is made.")
        if shape is None or not self._config.auto_create:
            raise ConnectError(
                f"There is no table {name.full} for topic {topic}.", key="auto.create",
                fix="Create it, or set auto.create=true, by which it is made from records that have a schema.",
            )  # fmt: skip
        columns = [self._column(member) for member in shape.members]
        keys = [c.name for c, member in zip(columns, shape.members, strict=True) if member.is_key]
        table = sa.Table(
            quoted_name(name.name, quote=True), sa.MetaData(), *columns,
            *([sa.PrimaryKeyConstraint(*keys)] if keys else []),
            schema=None if name.schema is None else quoted_name(name.schema, quote=True),
        )  # fmt: skip
        statement = str(ddl.CreateTable(table, if_not_exists=True).compile(dialect=self._database.sql_dialect))
        return self._changed(topic, [statement], f"creating table {name.full}", shape.members)

    def _changed(self, topic: str, statements: Sequence[str], doing: str, wanted: Sequence[Member]) -> Target:
        try:
            self._database.change(statements, doing)
        except ConnectError:
            # Another task may have done the same at the same time.
            self._known.pop(topic, None)
            target = self.find(topic)
            if target is None or target.missing(wanted):
                raise
            return target
        _log.info("The sink did: %s: %s", doing, "; ".join(" ".join(one.split()) for one in statements))
        self._known.pop(topic, None)
        found = self.find(topic)
        if found is None or found.missing(wanted):
            raise ConnectError(f"After {doing} the database shows no such columns.")
        return found

    def _require_evolvable(self, target: Target, missing: Sequence[Member]) -> None:
        if not self._config.auto_evolve or target.is_view:
            raise target.lacks(missing)
        required = [m.name for m in missing if not m.schema.optional and m.schema.default is None]
        if required:
            raise SchemaError(
                f"Table {target.name.full} has no column {', '.join(required)}, and a field that is neither optional "
                "nor has a default gives none to the rows that are there.",
                fix="Add the column, or make the field optional.",
            )

    def _add_column(self, target: Target, member: Member) -> str:
        dialect = self._database.sql_dialect
        column = ddl.CreateColumn(self._column(member)).compile(dialect=dialect)
        table, adds = dialect.identifier_preparer.format_table(_named(target.name)), self._database.writing.adds_column
        return f"ALTER TABLE {table} {adds} {column}"

    def _column(self, member: Member) -> sa.Column[Any]:
        kind = None if self._new_columns is None else self._new_columns.of(member)
        kind = kind or self._statements.column_type(member)
        writing = self._database.writing
        doing = f"A field becomes column {member.name!r}"
        _require_no(writing.column_problem(member.name), doing, "fields.whitelist")
        name = writing.column(member.name, keeps_case=self._config.keeps_case)
        return sa.Column(
            quoted_name(name, quote=True), kind, nullable=member.schema.optional and not member.is_key,
            autoincrement=False,  # SQLAlchemy's default for a key of one integer column
            server_default=None if member.schema.default is None else self._default(name, member.schema, kind),
        )  # fmt: skip

    def _default(self, name: str, schema: s.Schema, kind: sa.types.TypeEngine[Any]) -> sa.TextClause:
        """Return SQL of a new column's default. One of times has the text that a row's value would have."""
        default = schema.default
        if schema.name in _TIMES:
            raw = plan_column(name, kind, True, TypeRules(self._database.dialect.types)).raw
            value = pa.array([default], arrow_type(replace(schema, default=None)))
            default = self._statements.cells(value, schema, TargetColumn(name, kind, raw))[0].as_py()
        # Some types, as JSON and BIT, render no literals.
        plain: dict[type, sa.types.TypeEngine[Any]] = {str: sa.String(), int: sa.BigInteger()}
        return self._statements.default(default, plain.get(type(default), kind))

    def _look(self, name: TableName) -> Target | None:
        with self._database.catalog(f"looking at table {name.full}") as inspector:
            is_view = name.name in inspector.get_view_names(name.schema)
            if not is_view and not inspector.has_table(name.name, name.schema):
                return None
            rules = TypeRules(self._database.dialect.types)
            columns = {
                c["name"]: TargetColumn(c["name"], c["type"], plan_column(c["name"], c["type"], True, rules).raw)
                for c in inspector.get_columns(name.name, name.schema)
            }
            keys = [frozenset(inspector.get_pk_constraint(name.name, name.schema)["constrained_columns"])]
            indexes = [index for index in inspector.get_indexes(name.name, name.schema) if index["unique"]]
            keys += [frozenset(filter(None, index["column_names"])) for index in indexes if not _is_in_part(index)]
            keys += [frozenset(u["column_names"]) for u in inspector.get_unique_constraints(name.name, name.schema)]
            bind = inspector.bind
            assert isinstance(bind, sa.Connection)
            late_keys = self._database.writing.late_keys(bind, name)
        if is_view and "VIEW" not in map(str.upper, self._config.table_types):
            raise ConnectError(
                f"{name.full} is a view.", key="table.types", fix="Set table.types=TABLE,VIEW to write to it."
            )
        return Target(name, columns, [key for key in keys if key], is_view, late_keys)


def _require_no(problem: str | None, doing: str, key: str) -> None:
    if problem is not None:
        fix = "Give it another name by a transform, or drop it."
        raise SchemaError(f"{doing}: a name that {problem} is none in this database.", key=key, fix=fix)


def _is_in_part(index: ReflectedIndex) -> bool:
    """Return True if the index covers only some rows or an expression, so that two rows may be alike in its columns."""
    options = index.get("dialect_options", {})
    is_of_some_rows = any(option.endswith("_where") and value is not None for option, value in options.items())
    return is_of_some_rows or None in index["column_names"]


def _named(name: TableName) -> sa.Table:
    schema = None if name.schema is None else quoted_name(name.schema, quote=True)
    return sa.Table(quoted_name(name.name, quote=True), sa.MetaData(), schema=schema)
