"""Reads rows of MariaDB and MySQL as Arrow or by the driver's cursor, and kills a running statement if asked."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from connectors.jdbc.connection.pages import PageRules, Pages
from connectors.jdbc.connection.readers import BEYOND_PYTHON, CursorReader
from connectors.jdbc.connection.reopened_connection import ReopenedConnection
from connectors.jdbc.dialects.mysql import tls
from connectors.jdbc.dialects.mysql.arrow import MySqlArrow
from connectors.jdbc.settings.url import OTHER_SERVERS
from connectors.jdbc.values.types import Raw


class MySqlReader(CursorReader):
    """Reads rows of MariaDB and MySQL."""

    def __init__(self, *, is_quick: bool) -> None:
        """Read as Arrow if `is_quick`; then the connections must be PyMySQL's."""
        super().__init__()
        self._arrow = MySqlArrow() if is_quick else None

    @property
    def wanted_as_text(self) -> frozenset[Raw]:
        """Return the kinds of columns that statements have to convert to text."""
        return BEYOND_PYTHON if self._arrow is None else frozenset()

    def pages(self, link: ReopenedConnection, statement: sa.Select[Any], rules: PageRules, doing: str) -> Pages:
        """Return the pages of rows of a statement."""
        if self._arrow is None:
            return super().pages(link, statement, rules, doing)
        if not link.connection.in_transaction():
            link.connection.begin()
        # The reader of Arrow takes no parameters, so the driver writes them into the text.
        compiled = statement.compile(dialect=link.connection.dialect)
        sql = str(link.driver.cursor().mogrify(str(compiled), compiled.construct_params()))
        return self._arrow.pages(link.driver, sql, rules, link.errors, doing)

    def interrupt(self, link: ReopenedConnection, connection: sa.Connection) -> None:
        """Kill a running statement by another connection. For any thread."""
        _kill_query(link, connection)

    def close(self, link: ReopenedConnection) -> None:
        """Close the statement that is being read; its other rows would be read first, so the server has to end it."""
        connection = link.current
        is_reading = self._stream is not None or (self._arrow is not None and self._arrow.is_reading)
        if connection is not None and is_reading and link.is_open:
            _kill_query(link, connection)
            connection.invalidate()
        is_ours = link.engine.url.drivername in tls.DRIVERS
        if self._stream is not None and connection is not None and connection.invalidated and is_ours:
            _abandon(self._stream.cursor)
        super().close(link)


def _kill_query(link: ReopenedConnection, connection: sa.Connection) -> None:
    driver: Any = connection.connection.driver_connection
    with suppress(sa.exc.SQLAlchemyError, *link.driver_errors):
        if OTHER_SERVERS in link.engine.url.query:
            # The new connection may lead to another server, where the number belongs to another session.
            arguments = {n: v for n, v in link.driver_arguments.items() if n != OTHER_SERVERS}
            with tls.connect(**{**arguments, "host": driver.host, "port": driver.port}) as other:
                other.query(f"KILL QUERY {int(driver.thread_id())}")
            return
        with link.engine.connect() as other:
            other.exec_driver_sql(f"KILL QUERY {int(driver.thread_id())}")


def _abandon(cursor: Any) -> None:
    """Keep PyMySQL from reading a streamed result to its end before it closes the cursor; the connection is closed."""
    result = getattr(cursor, "_result", None)
    if result is not None:
        result.unbuffered_active = False
