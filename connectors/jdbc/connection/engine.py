"""How a configuration connects: the parts of its URL, an engine that prepares each session, errors without secrets."""

from __future__ import annotations

import sqlite3
from typing import Any, Protocol
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import NullPool

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connect.lib.secrets import is_suspect, secrets_in
from connectors.jdbc.connection import tls
from connectors.jdbc.connection.errors import Border
from connectors.jdbc.settings.connection_keys import ConnectionKeys
from connectors.jdbc.settings.drivers import files_of
from connectors.jdbc.settings.url import parse

CONNECT_S = 4
"""How long a server may take to answer who is asking; whole seconds, as drivers take them."""
REACH_S = 5.0
"""How long a database is tried before whoever asked is told that it cannot be reached. Tasks try on and on."""
_EXTRAS = {
    "postgresql+psycopg": "jdbc-postgres", "mysql+pymysql": "jdbc-mariadb", "mariadb+pymysql": "jdbc-mariadb",
}  # fmt: skip
"""The extra of this product that has a driver."""
_TIMED = {"postgresql+psycopg", "mysql+pymysql", "mariadb+pymysql"}
"""Drivers that take `connect_timeout` in seconds."""


def url_of(config: ConnectionKeys, *, connect_timeout_s: int | None = None, creates_file: bool = False) -> sa.URL:
    """Where to connect. ConfigError: no usable URL, or one that names a file that the worker does not allow.

    `connect_timeout_s`: how long a server may take to answer, unless the URL says so; None: the driver's own.
    `creates_file`: whether a SQLite file that is missing is made.
    """
    try:
        parts = parse(config.connection_url, config.driver_properties)
        files = dict(files_of(parts))
    except ValueError as error:
        raise ConfigError(f"connection.url: {error}", key="connection.url") from None
    # As they are now: a link may lead elsewhere than when the configuration was checked.
    real = {parameter: str(config.allowed.require("connection.url", path)) for parameter, path in files.items()}
    url = sa.URL.create(**{name: getattr(parts, name) for name in parts.__dataclass_fields__})
    url = url.update_query_dict({parameter: path for parameter, path in real.items() if parameter})
    if "" in real:
        url = url.set(database=real[""])
    if config.connection_user is not None:
        url = url.set(username=config.connection_user)
    if config.connection_password is not None:
        url = url.set(password=config.connection_password.get_secret_value())
    if url.get_backend_name() == "sqlite":
        return _file(url, "rwc" if creates_file else "rw")
    if connect_timeout_s is not None and url.drivername in _TIMED and "connect_timeout" not in url.query:
        return url.update_query_dict({"connect_timeout": str(connect_timeout_s)})
    return url


def _file(url: sa.URL, mode: str) -> sa.URL:
    # mode=rw never creates a file; mode=ro could not read a WAL database that nobody has open.
    path = url.database or ":memory:"
    if path in {":memory:", "file::memory:"}:
        return url
    return url.set(database=f"file:{quote(path)}", query={"mode": mode, **url.query, "uri": "true"})


def engine_of(
    url: sa.URL, session: tuple[str, ...], secured: dict[str, Any], *, isolation: str | None = None
) -> sa.Engine:
    """An engine whose sessions begin with these statements. ConfigError: its driver is not there.

    `secured`: arguments of TLS, see `tls.take_tls`. `isolation`: SQLAlchemy's name of a level; None: the server's own.
    """
    options: dict[str, Any] = {"connect_args": secured}
    if isolation is not None:
        options["isolation_level"] = isolation
    if url.get_backend_name() == "sqlite":
        # The connection is used by the reading thread and interrupted by another.
        options["connect_args"] = {"check_same_thread": False}
    if url.drivername == "postgresql+psycopg":
        # Else names come as bytes where the database is in SQL_ASCII.
        options["client_encoding"] = "utf8"
    try:
        engine = sa.create_engine(url, poolclass=NullPool, hide_parameters=True, **options)
    except (ImportError, sa.exc.ArgumentError, sa.exc.NoSuchModuleError) as error:
        # SQLAlchemy's own message may repeat the URL.
        why = str(error).rstrip(".") if isinstance(error, ImportError) else type(error).__name__
        raise ConfigError(
            f"connection.url: the driver of {url.drivername} cannot be used: {why}.",
            key="connection.url",
            fix=_installation(url),
        ) from None

    if url.drivername in tls.DRIVERS:

        @event.listens_for(engine, "do_connect")
        def connect(_dialect: sa.Dialect, _record: object, arguments: tuple[Any], settings: dict[str, Any]) -> Any:
            return tls.connect(*arguments, **settings)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            # No statement opens another file.
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        cursor = connection.cursor()
        for statement in session:
            cursor.execute(statement)
        cursor.close()
        connection.commit()

    return engine


def _installation(url: sa.URL) -> str:
    extra = _EXTRAS.get(url.drivername)
    what = f"Run: pip install 'connect-for-kafka[{extra}]'" if extra else "Install the driver's package"
    return f"{what} in the worker's environment, or name another driver in a SQLAlchemy URL."


def driver_error_of(engine: sa.Engine) -> type[Exception]:
    """The base class of the driver's errors."""
    dbapi = engine.dialect.dbapi
    found: type[Exception] = dbapi.Error if dbapi else sa.exc.DBAPIError
    return found


def border_of(url: sa.URL, config: ConnectionKeys, driver_error: tuple[type[Exception], ...]) -> Border:
    """Where the driver's errors become ours, without the connection's secrets."""
    given = (value for name, value in config.driver_properties.items() if is_suspect(name))
    return Border(_shown(url), driver_error, (url.password or "", *given, *secrets_in(config.connection_url)))


def _shown(url: sa.URL) -> str:
    if url.get_backend_name() == "sqlite":
        return f"SQLite database {(url.database or ':memory:').removeprefix('file:')}"
    where = f"{url.host or 'localhost'}{f':{url.port}' if url.port else ''}/{url.database or ''}"
    return f"{url.get_backend_name()} database {where}"


class Connecting(Protocol):
    """What connects when it is asked for its connection."""

    @property
    def dialect_name(self) -> str:
        """SQLAlchemy's name of the kind of database."""

    @property
    def connection(self) -> sa.Connection:
        """An open connection. RetriableError: not now. ConnectError: refused."""


def reach(database: Connecting, config: ConnectionKeys, deadline: Deadline) -> None:
    """Connect, as often as connection.attempts says. ConfigError: the database is not reached by the deadline."""
    for attempt in range(1, config.connection_attempts + 1):
        try:
            database.connection.exec_driver_sql(
                "SELECT 1" if database.dialect_name != "oracle" else "SELECT 1 FROM dual"
            )
        except (RetriableError, ConnectError) as error:
            backoff_s = config.connection_backoff_ms / 1000
            last = attempt == config.connection_attempts or not isinstance(error, RetriableError)
            # A person waits: there is no use in a wait that no further try can follow.
            if last or backoff_s >= deadline.remaining_s or not deadline.wait(backoff_s):
                raise ConfigError(
                    f"{error.message} Check that the database runs and is reachable from the worker, and "
                    "connection.url, connection.user and connection.password.",
                    key="connection.url",
                ) from error
        else:
            return
