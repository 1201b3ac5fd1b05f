"""Makes SQLAlchemy's engine for a configuration: from its URL, with statements for each session, without secrets in
error messages.
"""

from __future__ import annotations

from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import NullPool

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connect.lib.secrets import is_suspect, secrets_in
from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.dialects.dialect import Dialect
from connectors.jdbc.dialects.known import dialect_of
from connectors.jdbc.settings.connection_keys import ConnectionKeys
from connectors.jdbc.settings.drivers import files_of, is_file, sockets_of
from connectors.jdbc.settings.url import parse

CONNECT_S = 4
"""A server may take this many seconds to answer while a person waits; a whole number, as drivers require."""
REACH_S = 5.0
"""A database is tried for this many seconds before a person is told that it cannot be reached. Tasks try without
end.
"""


def url_of(config: ConnectionKeys, *, connect_timeout_s: int | None = None, creates_file: bool = False) -> sa.URL:
    """Return the URL to connect to.

    A server may take `connect_timeout_s` seconds to answer, unless the URL has a limit; None means the driver's
    default. With `creates_file` a missing SQLite file is made. ConfigError: the URL cannot be used, or it names a file
    that the worker does not allow.
    """
    try:
        parts = parse(config.connection_url, config.driver_properties)
        files = dict(files_of(parts))
    except ValueError as error:
        # The check of a configuration finds this earlier, except for drivers that the worker's file alone names: the
        # forms of their parameters are not known.
        raise ConfigError(f"connection.url: {error}", key="connection.url") from None
    # The files are looked at again, as a link may lead elsewhere than when the configuration was checked.
    real = {parameter: str(config.allowed.require("connection.url", path)) for parameter, path in files.items()}
    for _, socket in sockets_of(parts):
        config.allowed.require("connection.url", socket)
    url = sa.URL.create(**{name: getattr(parts, name) for name in parts.__dataclass_fields__})
    url = url.update_query_dict({parameter: path for parameter, path in real.items() if parameter})
    if "" in real:
        url = url.set(database=real[""])
    if not is_file(parts):  # Java's driver of SQLite passes a login over, and SQLAlchemy refuses it
        url = _with_login(url, config)
    connecting = dialect_of(config.connection_url).connecting
    url = connecting.without_own_secrets(url, config.allowed)
    return connecting.completed(url, connect_timeout_s=connect_timeout_s, creates_file=creates_file)


def _with_login(url: sa.URL, config: ConnectionKeys) -> sa.URL:
    """Return the URL with the user and the password of connection.user and connection.password."""
    if config.connection_user is not None:
        url = url.set(username=config.connection_user)
    if config.connection_password is not None:
        url = url.set(password=config.connection_password.get_secret_value())
    return url


def engine_of(
    dialect: Dialect, url: sa.URL, session: tuple[str, ...], secured: dict[str, Any], *, isolation: str | None = None
) -> sa.Engine:
    """Return an engine whose sessions begin with the statements in `session`. ConfigError: its driver is not installed.

    `secured` are the driver's TLS arguments. `isolation` is SQLAlchemy's name of an isolation level; None means the
    server's default.
    """
    connecting = dialect.connecting
    options: dict[str, Any] = {"connect_args": {**secured, **connecting.arguments}, **connecting.engine_options(url)}
    if isolation is not None:
        options["isolation_level"] = isolation
    extra = connecting.extras.get(url.drivername)
    by_extra = f"pip install 'connect-for-kafka[{extra}]'" if extra else ""
    engine = _made(url, options, connecting.installed_by.get(url.drivername, by_extra))
    connecting.prepare_engine(engine)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connecting.prepare(connection)
        if not session:
            return  # some drivers refuse to commit what was not begun
        cursor = connection.cursor()
        for statement in session:
            cursor.execute(statement)
        cursor.close()
        connection.commit()

    return engine


def _made(url: sa.URL, options: dict[str, Any], installed_by: str) -> sa.Engine:
    try:
        made = sa.create_engine(url, poolclass=NullPool, hide_parameters=True, **options)
        made.dialect.create_connect_args(url)
    except (ImportError, sa.exc.ArgumentError, sa.exc.NoSuchModuleError) as error:
        # SQLAlchemy's own message may repeat the URL.
        why = str(error).rstrip(".") if isinstance(error, ImportError) else type(error).__name__
        raise ConfigError(
            f"connection.url: the driver of {url.drivername} cannot be used: {why}.",
            key="connection.url",
            fix=_installation(installed_by),
        ) from None
    except ValueError as error:
        raise ConfigError(
            f"connection.url: a parameter of {url.drivername} has a value that is none: {error}.", key="connection.url"
        ) from None
    return made


def _installation(command: str) -> str:
    what = f"Run: {command}" if command else "Install the driver's package"
    return f"{what} in the worker's environment, or name another driver in a SQLAlchemy URL."


def driver_error_of(engine: sa.Engine) -> type[Exception]:
    """Return the base class of the driver's errors."""
    dbapi = engine.dialect.dbapi
    found: type[Exception] = dbapi.Error if dbapi else sa.exc.DBAPIError
    return found


def error_translator(
    dialect: Dialect, url: sa.URL, config: ConnectionKeys, driver_error: tuple[type[Exception], ...]
) -> ErrorTranslator:
    """Return the translator that makes the driver's errors ours, without the connection's secrets."""
    given = (value for name, value in config.driver_properties.items() if is_suspect(name))
    return ErrorTranslator(
        dialect.connecting.shown(url), driver_error, (url.password or "", *given, *secrets_in(config.connection_url))
    )


class Connectable(Protocol):
    """Defines an object that connects when it is asked for its connection."""

    @property
    def dialect(self) -> Dialect:
        """Return the dialect of the database."""

    @property
    def connection(self) -> sa.Connection:
        """Return an open connection. RetriableError: connecting fails for now. ConnectError: it is refused."""


def reach(database: Connectable, config: ConnectionKeys, deadline: Deadline) -> None:
    """Connect, as often as connection.attempts says. ConfigError: the database is not reached by the deadline."""
    for attempt in range(1, config.connection_attempts + 1):
        try:
            database.connection.exec_driver_sql(database.dialect.connecting.ping)
        except (RetriableError, ConnectError) as error:
            backoff_s = config.connection_backoff_ms / 1000
            last = attempt == config.connection_attempts or not isinstance(error, RetriableError)
            # A person waits, so there is no wait after which no time is left for another try.
            if last or backoff_s >= deadline.remaining_s or not deadline.wait(backoff_s):
                raise ConfigError(
                    f"{error.message} Check that the database runs and is reachable from the worker, and "
                    "connection.url, connection.user and connection.password.",
                    key="connection.url",
                ) from error
        else:
            return
