"""How busy a database is: sessions that work, and how far its replicas are behind. Asks the server, changes nothing."""

from __future__ import annotations

import sqlalchemy as sa

from connect.api.optional.bulk import SourceLoad
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settings.config import JdbcSourceConfig

# The state of other users' sessions is null for whoever lacks pg_read_all_stats.
_POSTGRES_SESSIONS = """SELECT CASE WHEN bool_or(state IS NULL) THEN NULL
ELSE count(*) FILTER (WHERE state = 'active') END
FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""
# A replica that has all has no lag; a standby that has replayed all it received has none either.
_POSTGRES_LAG = """SELECT CASE WHEN NOT pg_is_in_recovery() THEN
(SELECT coalesce(max(extract(epoch FROM replay_lag)), 0) FROM pg_catalog.pg_stat_replication)
WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END"""
_DOING = "asking how busy the database is"
_THREADS = "SHOW GLOBAL STATUS LIKE 'Threads\\_running'"


def load(config: JdbcSourceConfig, deadline: Deadline) -> SourceLoad:
    """On a connection of its own. RetriableError: the database does not answer."""
    database = Database(config, waits=True, connect_timeout_s=max(1, int(deadline.remaining_s)))
    try:
        match database.dialect_name:
            case "postgresql":
                return _of_postgres(database)
            case "mysql" | "mariadb":
                return _of_mysql(database)
            case _:
                return SourceLoad(None, None)
    finally:
        database.close()


def _of_postgres(database: Database) -> SourceLoad:
    sessions = database.scalar(sa.text(_POSTGRES_SESSIONS), _DOING)
    lag_s = database.scalar(sa.text(_POSTGRES_LAG), _DOING)
    return SourceLoad(None if sessions is None else int(sessions), None if lag_s is None else float(lag_s))


def _of_mysql(database: Database) -> SourceLoad:
    """A primary does not know how far its replicas are behind; a replica does of itself."""
    ((_, running),) = database.rows(sa.text(_THREADS), _DOING)
    return SourceLoad(int(running) - 1, _behind(database))


def _behind(database: Database) -> float | None:
    connection = database.connection

    def ask() -> float | None:
        version = connection.dialect.server_version_info or (0,)
        is_old = database.is_mariadb or version < (8, 0, 22)
        name = "Seconds_Behind_Master" if is_old else "Seconds_Behind_Source"
        with database.border.translated(_DOING):
            row = connection.exec_driver_sql(f"SHOW {'SLAVE' if is_old else 'REPLICA'} STATUS").mappings().first()
        return None if row is None or row[name] is None else float(row[name])

    return database.told(ask)
