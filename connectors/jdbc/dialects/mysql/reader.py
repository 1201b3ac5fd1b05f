"""How rows come from MariaDB and MySQL: as Arrow, or by the driver's cursor; a running statement is killed."""

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
        """Read as Arrow if `is_quick`, which PyMySQL's connections allow."""
        super().__init__()
        self._arrow = MySqlArrow() if is_quick else None

    @property
    def wanted_as_text(self) -> frozenset[Raw]:
        """Return the kinds of columns that statements turn into text."""
        return BEYOND_PYTHON if self._arrow is None else frozenset()

    def pages(self, link: ReopenedConnection, statement: sa.Select[Any], rules: PageRules, doing: str) -> Pages:
        """Read a statement."""
        if self._arrow is None:
            return super().pages(link, statement, rules, doing)
        if not link.connection.in_transaction():
            link.connection.begin()
        # The driver quotes the parameters; what fetches Arrow takes none.
        compiled = statement.compile(dialect=link.connection.dialect)
        sql = str(link.driver.cursor().mogrify(str(compiled), compiled.construct_params()))
        return self._arrow.pages(link.driver, sql, rules, link.errors, doing)

    def interrupt(self, link: ReopenedConnection, connection: sa.Connection) -> None:
        """Break off a running statement; for any thread."""
        _kill_query(link, connection)

    def close(self, link: ReopenedConnection) -> None:
        """Give back what it reads; a streamed result is left by reading it to its end, unless the server ends it."""
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
            # On another server the number is another session's.
            arguments = {n: v for n, v in link.driver_arguments.items() if n != OTHER_SERVERS}
            with tls.connect(**{**arguments, "host": driver.host, "port": driver.port}) as other:
                other.query(f"KILL QUERY {int(driver.thread_id())}")
            return
        with link.engine.connect() as other:
            other.exec_driver_sql(f"KILL QUERY {int(driver.thread_id())}")


def _abandon(cursor: Any) -> None:
    """PyMySQL reads a streamed result to its end before it lets go of it, in vain when the connection is closed."""
    result = getattr(cursor, "_result", None)
    if result is not None:
        result.unbuffered_active = False
