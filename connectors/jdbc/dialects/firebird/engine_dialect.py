"""Adapts sqlalchemy-firebird, which is SQLAlchemy's dialect for Firebird.

Names keep their case as in the catalog, integers and floats have their real width, and each connection has its server.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.engine.result import IteratorResult, SimpleResultMetaData
from sqlalchemy_firebird.base import FBCompiler, FBDDLCompiler
from sqlalchemy_firebird.firebird import FBDialect_firebird
from sqlalchemy_firebird.types import (
    FBBIGINT,
    FBBINARY,
    FBBLOB,
    FBDECFLOAT,
    FBINT128,
    FBSMALLINT,
    FBTEXT,
    FBVARBINARY,
)

from connectors.jdbc.dialects.firebird.url import DEFAULT_PORT, WIRE_CRYPT

_LIKE_JDBC: dict[type, sa.types.TypeEngine[Any]] = {
    FBBIGINT: sa.BIGINT(), FBSMALLINT: sa.SMALLINT(), FBINT128: sa.NUMERIC(38, 0), FBDECFLOAT: sa.NUMERIC(),
    FBBINARY: sa.BINARY(), FBVARBINARY: sa.VARBINARY(), FBBLOB: sa.BLOB(), FBTEXT: sa.TEXT(),
}  # fmt: skip
"""Maps types of sqlalchemy-firebird whose base class is wrong to the types that JDBC has for them."""


class _Compiler(FBCompiler):  # type: ignore[misc]  # the package has no types
    def render_bind_cast(self, type_: Any, dbapi_type: Any, sqltext: str) -> str:
        """Return the parameter without a cast if it is a text without a length: a cast to BLOB would use no index."""
        if isinstance(dbapi_type, sa.String) and not dbapi_type.length:
            return sqltext
        cast: str = super().render_bind_cast(type_, dbapi_type, sqltext)
        return cast


class _DdlCompiler(FBDDLCompiler):  # type: ignore[misc]  # the package has no types
    def visit_create_table(self, create: Any, **kw: Any) -> str:
        """Return the statement without IF NOT EXISTS, which Firebird does not know before its release 6."""
        made: str = super().visit_create_table(create, **kw)
        return made.replace("CREATE TABLE IF NOT EXISTS ", "CREATE TABLE ", 1)


class _CatalogConnection:
    """Wraps a connection for the package's catalog queries, and gives columns the lower-case names that these need."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def exec_driver_sql(self, statement: str, parameters: Any = None) -> IteratorResult[Any]:
        """Run a statement, and make the names of its columns lower-case; the server gives capitals."""
        result = self._connection.exec_driver_sql(statement, parameters)
        names = list(result.keys())
        return IteratorResult(SimpleResultMetaData([key.lower() for key in names]), iter(result.all()))


_NAMING = threading.Lock()
"""The driver takes a name once in a process, and tasks may open the same database at once."""


@cache
def _named(database: str, crypt: str) -> str:
    """Return the name under which the driver knows a database and the way it is spoken to."""
    from firebird.driver import driver_config

    name = f"{database} WireCrypt={crypt}"
    with _NAMING:
        made = driver_config.get_database(name) or driver_config.register_database(name)
        made.dsn.value, made.config.value = database, f"WireCrypt = {crypt}"
    return name


class FirebirdEngineDialect(FBDialect_firebird):  # type: ignore[misc]  # the package has no types
    """Does what the package's dialect does, with the changes that the module's docstring names."""

    supports_statement_cache = True
    requires_name_normalize = False
    statement_compiler = _Compiler
    ddl_compiler = _DdlCompiler
    driver_arguments: ClassVar[frozenset[str]] = frozenset({"user", "password", "charset", "role", WIRE_CRYPT})

    def normalize_name(self, name: Any) -> Any:
        """Return a name of the catalog unchanged, as JDBC does; topics and fields get it in this form."""
        return name

    def denormalize_name(self, name: Any) -> Any:
        """Return a name unchanged for queries of the catalog."""
        return name

    def create_connect_args(self, url: sa.URL) -> tuple[list[Any], dict[str, Any]]:
        """Return the driver's arguments, with the server as a part of the database's name.

        The package would keep one server for each path of a database in the whole process, and so mix up two servers
        that have databases with the same path.
        """
        if url.host is None:
            raise sa.exc.ArgumentError("A URL of Firebird names its server.")
        host = f"[{url.host}]" if ":" in url.host else url.host
        given = {"user": url.username, "password": url.password, **url.query}
        named = {name: value for name, value in given.items() if name in self.driver_arguments and value is not None}
        return [], {"database": f"inet://{host}:{url.port or DEFAULT_PORT}/{url.database}", **named}

    def connect(self, *arguments: Any, **settings: Any) -> Any:
        """Connect; whether the wire is encrypted is a setting of Firebird's library, which takes it by a name."""
        crypt = settings.pop(WIRE_CRYPT, None)
        if crypt is not None:
            settings["database"] = _named(settings["database"], crypt)
        return super().connect(*arguments, **settings)

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        """Return True if there is a table or a view of this name."""
        return bool(super().has_table(_CatalogConnection(connection), table_name, schema, **kw))

    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> Any:
        """Return the names of the tables."""
        return super().get_table_names(_CatalogConnection(connection), schema, **kw)

    def get_temp_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> Any:
        """Return the names of the global temporary tables."""
        return super().get_temp_table_names(_CatalogConnection(connection), schema, **kw)

    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> Any:
        """Return the names of the views."""
        return super().get_view_names(_CatalogConnection(connection), schema, **kw)

    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return the columns of a table, with types of the real width."""
        found = super().get_columns(_CatalogConnection(connection), table_name, schema, **kw)
        return [{**column, "type": _LIKE_JDBC.get(type(column["type"]), column["type"])} for column in found]

    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return the primary key of a table."""
        return super().get_pk_constraint(_CatalogConnection(connection), table_name, schema, **kw)

    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return the indexes of a table."""
        return super().get_indexes(_CatalogConnection(connection), table_name, schema, **kw)

    def get_unique_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return the unique constraints of a table."""
        return super().get_unique_constraints(_CatalogConnection(connection), table_name, schema, **kw)

    def do_terminate(self, dbapi_connection: Any) -> None:
        """Close a connection, as the driver has no quicker way to end it."""
        dbapi_connection.close()

    @classmethod
    def import_dbapi(cls) -> Any:
        """Return the driver's module. ImportError: Firebird's own library is not installed."""
        found = super().import_dbapi()
        try:
            found.load_api()
        except Exception as error:  # the package's own classes differ by what is missing
            raise ImportError(
                f"libfbclient cannot be loaded ({error}), which is Firebird's own: apt-get install libfbclient2"
            ) from error
        return found
