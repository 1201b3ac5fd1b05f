"""Runs random transactions and DDL on tables, and applies them to the plain model as well."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Final

from debezium_model import DEFAULT, Table, literal, value_of
from histories import History

_TYPES: Final = ("int", "bigint", "text", "varchar(60)")
_MOST_COLUMNS: Final = 6


class Writer:
    """Runs drawn statements with `run`. A transaction that is rolled back leaves no trace in the model."""

    def __init__(self, history: History, run: Callable[[str], None], *, is_postgres: bool) -> None:
        self._history, self._draw = history, history.draw
        self._run_sql = run
        self._is_postgres = is_postgres
        self._new = 0
        self.tables: list[Table] = []

    def create(self, name: str, *, replica_identity_full: bool) -> None:
        """Make a table with a few rows."""
        types = {"a": "int", "b": "text"}
        leaves_out = self._is_postgres and not replica_identity_full
        self.tables.append(table := Table(name, types, leaves_out))
        self._run(f"CREATE TABLE {name} (id int PRIMARY KEY, a int, b text)")
        if self._is_postgres and replica_identity_full:
            self._run(f"ALTER TABLE {name} REPLICA IDENTITY FULL")
        for _ in range(self._draw.randrange(12)):
            self._insert(table)

    def step(self) -> None:
        """Run a transaction, or change a table's columns."""
        at = self._draw.randrange(len(self.tables))
        if self._draw.random() < 0.2:
            self._alter(self.tables[at])
        else:
            self._transaction()

    def last(self) -> Mapping[str, int]:
        """Add a row to each table; return the new keys by table."""
        for table in self.tables:
            self._insert(table, self._next())
        return {table.name: max(table.rows) for table in self.tables}

    def _transaction(self) -> None:
        ends = self._draw.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK"))
        before = copy.deepcopy(self.tables)
        self._run("BEGIN")
        for _ in range(self._draw.choice((1, 2, 5, 40))):
            self._change(self._draw.choice(self.tables))
        if self._draw.random() < 0.3:
            kept = copy.deepcopy(self.tables)
            self._run("SAVEPOINT here")
            for _ in range(3):
                self._change(self._draw.choice(self.tables))
            self._run("ROLLBACK TO SAVEPOINT here")
            self.tables = kept
        if self._is_postgres and self._draw.random() < 0.2:
            self._alter(self._draw.choice(self.tables))
            self._change(self._draw.choice(self.tables))
        self._run(ends)
        if ends == "ROLLBACK":
            self.tables = before

    def _change(self, table: Table) -> None:
        kind = self._draw.random()
        if kind < 0.45 or not table.rows:
            self._insert(table)
            return
        key = self._draw.choice(sorted(table.rows))
        if kind < 0.8:
            names = self._draw.sample(sorted(table.types), self._draw.randint(1, len(table.types)))
            values = {n: value_of(self._draw, table.types[n]) for n in names}
            values = {n: v for n, v in values.items() if v != table.rows[key][n]} or {names[0]: None}
            if all(table.rows[key][n] == v for n, v in values.items()):
                return  # MySQL logs nothing if nothing changes
            table.update(key, values)
            self._run(f"UPDATE {table.name} SET {_settings(values)} WHERE id = {key}")
        elif kind < 0.9:
            other = self._next()
            table.move(key, other, {})
            self._run(f"UPDATE {table.name} SET id = {other} WHERE id = {key}")
        else:
            table.delete(key)
            self._run(f"DELETE FROM {table.name} WHERE id = {key}")

    def _insert(self, table: Table, key: int | None = None) -> None:
        free = sorted(table.events.keys() - table.rows.keys())
        if key is None:
            key = self._draw.choice(free) if free and self._draw.random() < 0.3 else self._next()
        values = {name: value_of(self._draw, sql_type) for name, sql_type in table.types.items()}
        table.insert(key, values)
        texts = ", ".join(map(literal, (key, *values.values())))
        self._run(f"INSERT INTO {table.name} ({', '.join(('id', *values))}) VALUES ({texts})")

    def _alter(self, table: Table) -> None:
        kinds = ["add", "rename", "widen"]
        kinds += ["drop"] if len(table.types) > 1 else []
        kind = self._draw.choice(kinds)
        name = self._draw.choice(sorted(table.types))
        if kind == "add" and len(table.types) < _MOST_COLUMNS:
            self._add(table)
        elif kind == "drop":
            del table.types[name]
            for row in table.rows.values():
                del row[name]
            self._run(f"ALTER TABLE {table.name} DROP COLUMN {name}")
        elif kind == "rename":
            new = self._name(table)
            # The columns keep their order.
            table.types = {new if n == name else n: t for n, t in table.types.items()}
            for row in table.rows.values():
                row[new] = row.pop(name)
            self._run(f"ALTER TABLE {table.name} RENAME COLUMN {name} TO {new}")
        elif kind == "widen" and table.types[name] in {"int", "bigint"}:
            self._widen(table, name)

    def _add(self, table: Table) -> None:
        name, sql_type = self._name(table), self._draw.choice(_TYPES)
        default = DEFAULT if sql_type in {"int", "bigint"} and self._draw.random() < 0.5 else None
        table.types[name] = sql_type
        for row in table.rows.values():
            row[name] = default
        clause = "" if default is None else f" DEFAULT {default}"
        self._run(f"ALTER TABLE {table.name} ADD COLUMN {name} {sql_type}{clause}")

    def _widen(self, table: Table, name: str) -> None:
        wide = "bigint" if table.types[name] == "int" else "varchar(60)"
        table.types[name] = wide
        if wide == "varchar(60)":
            for row in table.rows.values():
                row[name] = None if row[name] is None else str(row[name])
        how = f"ALTER COLUMN {name} DROP DEFAULT, ALTER COLUMN {name} TYPE" if self._is_postgres else f"MODIFY {name}"
        self._run(f"ALTER TABLE {table.name} {how} {wide}")

    def _name(self, table: Table) -> str:
        """Draw a name for a column; one that was dropped or renamed may come back."""
        return self._draw.choice([name for name in "abcdefgh" if name not in table.types])

    def _next(self) -> int:
        self._new += 1
        return self._new

    def _run(self, sql: str) -> None:
        self._history.note("sql", sql=sql if len(sql) < 300 else f"{sql[:300]}…")
        self._run_sql(sql)


def _settings(values: dict[str, object]) -> str:
    return ", ".join(f"{name} = {literal(value)}" for name, value in values.items())
