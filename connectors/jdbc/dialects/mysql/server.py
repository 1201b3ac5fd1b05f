"""Asks a server of MariaDB or MySQL for its load, its open sessions and its time zone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from connect.api.optional.bulk import SourceLoad
from connectors.jdbc.dialects.generic.server import Server

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

_DOING: Final = "asking how busy the database is"
_THREADS: Final = "SHOW GLOBAL STATUS LIKE 'Threads\\_running'"
_LIMITS: Final = "SHOW VARIABLES WHERE Variable_name IN ('max_statement_time', 'max_execution_time')"
_OPEN: Final = """
SELECT CONCAT('session ', t.trx_mysql_thread_id), p.user, NULL, p.host, p.command,
  CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00')
FROM information_schema.innodb_trx t LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
WHERE t.trx_mysql_thread_id <> CONNECTION_ID() ORDER BY 6
"""


class MySqlServer(Server):
    """Asks a server of MariaDB and MySQL about itself."""

    open_sessions = _OPEN
    offset_s = (
        "SELECT ROUND(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), "
        "CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', @@global.time_zone)), 0)"
    )

    def load(self, database: Database) -> SourceLoad:
        """Return the number of busy sessions, and the lag in seconds if the server is a replica; a primary has None."""
        ((_, running),) = database.rows(sa.text(_THREADS), _DOING)
        return SourceLoad(int(running) - 1, _behind(database))

    def ends_statements(self, database: Database) -> bool:
        """Return True if the server can end statements that take too long; old servers cannot."""
        return bool(database.rows(sa.text(_LIMITS), "asking for settings"))


def _behind(database: Database) -> float | None:
    connection = database.connection

    def ask() -> float | None:
        version = connection.dialect.server_version_info or (0,)
        is_old = database.is_mariadb or version < (8, 0, 22)
        name = "Seconds_Behind_Master" if is_old else "Seconds_Behind_Source"
        with database.errors.translated(_DOING):
            row = connection.exec_driver_sql(f"SHOW {'SLAVE' if is_old else 'REPLICA'} STATUS").mappings().first()
        return None if row is None or row[name] is None else float(row[name])

    return database.told(ask)
