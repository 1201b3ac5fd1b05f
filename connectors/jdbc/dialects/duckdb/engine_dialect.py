"""Changes duckdb-engine, SQLAlchemy's dialect for DuckDB: files are only read, and SQL can open no other file.

The catalog is read by DuckDB's own functions. duckdb-engine reads columns and keys by parts of PostgreSQL's dialect
that changed in SQLAlchemy 2.1.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from duckdb_engine import Dialect as DuckDbEngineBase

from connectors.jdbc.dialects.duckdb.types import type_named

FOLDERS: Final = "allowed_directories"
FILES: Final = "allowed_paths"
_IS_CLOSED: Final = "SELECT current_setting('lock_configuration')"
_HERE: Final = "database_name = current_database() AND schema_name = coalesce(?, current_schema())"
_TABLES: Final = f"SELECT table_name FROM duckdb_tables() WHERE {_HERE} AND NOT internal AND temporary = ? ORDER BY 1"  # noqa: S608 - fixed text
_VIEWS: Final = f"SELECT view_name FROM duckdb_views() WHERE {_HERE} AND NOT internal ORDER BY 1"  # noqa: S608 - fixed text
_SCHEMAS: Final = (
    "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database() "
    "AND schema_name NOT IN ('information_schema', 'pg_catalog') ORDER BY 1"
)
_COLUMNS: Final = (
    f"SELECT column_name, data_type, is_nullable, column_default FROM duckdb_columns() WHERE {_HERE} "  # noqa: S608 - fixed text
    "AND table_name = ? ORDER BY column_index"
)
_KEYS: Final = (
    f"SELECT constraint_name, constraint_column_names FROM duckdb_constraints() WHERE {_HERE} "  # noqa: S608 - fixed text
    "AND table_name = ? AND constraint_type = ? ORDER BY 1"
)


class DuckDbEngineDialect(DuckDbEngineBase):
    """Opens DuckDB's files and reads their catalog."""

    supports_statement_cache = False

    def create_connect_args(self, url: sa.URL) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the driver's arguments: the file, to be read only, and the files that SQL may open."""
        bounds = {name: url.query[name] for name in (FOLDERS, FILES) if name in url.query}
        return (), {"database": url.database or ":memory:", "read_only": True, "bounds": bounds}

    def connect(self, *cargs: Any, **cparams: Any) -> Any:
        """Connect, and keep SQL from files that the worker does not allow.

        All connections of a process to a file have these settings in common, and none can be taken back.
        """
        bounds = cparams.pop("bounds", {})
        made = super().connect(*cargs, **cparams)
        try:
            session = made.duplicate()
            if not session.execute(_IS_CLOSED).fetchone()[0]:
                for name, value in bounds.items():
                    session.execute(f"SET {name}={value}")
                session.execute("SET python_enable_replacements=false")
                session.execute("SET TimeZone='UTC'")
                session.execute("SET enable_external_access=false")
                session.execute("SET lock_configuration=true")
            session.close()
        except BaseException:
            made.close()
            raise
        return made

    def _get_default_schema_name(self, connection: sa.Connection) -> str:
        return str(connection.exec_driver_sql("SELECT current_schema()").scalar())

    def has_table(self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        """Return True if there is a table or a view of this name."""
        return table_name in {
            *self.get_table_names(connection, schema, **kw), *self.get_view_names(connection, schema, **kw),
        }  # fmt: skip

    def get_schema_names(self, connection: sa.Connection, **kw: Any) -> list[str]:
        """Return the schemas of the file."""
        del kw
        return list(connection.exec_driver_sql(_SCHEMAS).scalars())

    def get_table_names(self, connection: sa.Connection, schema: str | None = None, **kw: Any) -> list[str]:
        """Return the names of the tables."""
        del kw
        return list(connection.exec_driver_sql(_TABLES, (schema, False)).scalars())

    def get_view_names(
        self, connection: sa.Connection, schema: str | None = None, include: Any = None, **kw: Any
    ) -> list[str]:
        """Return the names of the views."""
        del include, kw
        return list(connection.exec_driver_sql(_VIEWS, (schema,)).scalars())

    def get_columns(self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return the columns of a table or a view."""
        del kw
        found = connection.exec_driver_sql(_COLUMNS, (schema, table_name)).all()
        if not found:
            raise sa.exc.NoSuchTableError(table_name)
        return [
            {"name": name, "type": type_named(kind), "nullable": nullable, "default": default}
            for name, kind, nullable, default in found
        ]

    def get_pk_constraint(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        """Return the primary key of a table."""
        del kw
        found = connection.exec_driver_sql(_KEYS, (schema, table_name, "PRIMARY KEY")).first()
        return {"name": found[0], "constrained_columns": list(found[1])} if found else {"constrained_columns": []}

    def get_indexes(self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return the indexes of a table's unique keys. DuckDB does not tell the columns of other indexes."""
        del kw
        found = connection.exec_driver_sql(_KEYS, (schema, table_name, "UNIQUE")).all()
        return [{"name": name, "column_names": list(columns), "unique": True} for name, columns in found]
