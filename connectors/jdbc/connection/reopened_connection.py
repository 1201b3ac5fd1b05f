"""Keeps the one connection of a database object: opens it when it is first asked for, and again when it is gone."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from connect.api.errors import ConnectError, RetriableError
from connectors.jdbc.connection.engine import driver_error_of, error_translator
from connectors.jdbc.dialects.dialect import Dialect
from connectors.jdbc.settings.connection_keys import ConnectionKeys


class ReopenedConnection:
    """Opens and closes the connection. Owned by one thread."""

    def __init__(
        self,
        dialect: Dialect,
        engine: sa.Engine,
        config: ConnectionKeys,
        secured: dict[str, Any],
        readers_errors: tuple[type[Exception], ...],
        *,
        waits: bool,
    ) -> None:
        """Connect to nothing. `secured` are the driver's TLS arguments. With `waits` a user whom the server refuses is
        tried again, as it may be let in later.
        """
        self.engine = engine
        self.driver_errors = (driver_error_of(engine), *readers_errors)
        self.errors = error_translator(dialect, engine.url, config, self.driver_errors)
        self.current: sa.Connection | None = None
        """This is the connection, which may be broken, or None if there is none."""
        self._secured = secured
        self._waits = waits

    @property
    def is_open(self) -> bool:
        """Return True if there is a connection that works as far as is known."""
        return self.current is not None and not (self.current.invalidated or self.current.closed)

    @property
    def connection(self) -> sa.Connection:
        """Return the connection, which was opened before."""
        assert self.current is not None
        return self.current

    @property
    def driver(self) -> Any:
        """Return the driver's own connection."""
        return self.connection.connection.driver_connection

    @property
    def driver_arguments(self) -> dict[str, Any]:
        """Return the driver's arguments, for connections that SQLAlchemy does not make. They hold the password."""
        given = {**self.engine.dialect.create_connect_args(self.engine.url)[1], **self._secured}
        return {name: value for name, value in given.items() if isinstance(value, str | int) or name == "ssl"}

    def open(self) -> None:
        """Connect. RetriableError: connecting fails for now."""
        try:
            with self.errors.translated("connecting", "Check connection.url, connection.user and connection.password."):
                self.current = self.engine.connect()
        except RetriableError:
            raise
        except ConnectError as error:
            if not self._waits:
                raise
            raise RetriableError(f"{error.message} {error.fix}") from error

    def end_transaction(self) -> None:
        """End the transaction, which releases its snapshot and every lock."""
        if self.current is not None and self.current.in_transaction():
            with self.errors.translated("ending the read transaction"):
                self.current.rollback()

    def close(self) -> None:
        """Close the connection; errors of a connection that is already closed are ignored."""
        connection, self.current = self.current, None
        if connection is not None:
            with suppress(sa.exc.SQLAlchemyError, *self.driver_errors):
                connection.close()
