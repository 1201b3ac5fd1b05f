"""Asks a server of PostgreSQL for its load, its open sessions and its time zone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from connect.api.optional.bulk import SourceLoad
from connectors.jdbc.dialects.generic.server import Server

if TYPE_CHECKING:
    from connectors.jdbc.connection.connection import Database

_DOING: Final = "asking how busy the database is"
# The state of other users' sessions is null for a user without pg_read_all_stats; then the number is not known.
_SESSIONS = """SELECT CASE WHEN bool_or(state IS NULL) THEN NULL
ELSE count(*) FILTER (WHERE state = 'active') END
FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""
# On a primary: the lag of the replica that is farthest behind. On a standby: its own lag, which is 0 if it has replayed
# all that it received.
_LAG = """SELECT CASE WHEN NOT pg_is_in_recovery() THEN
(SELECT coalesce(max(extract(epoch FROM replay_lag)), 0) FROM pg_catalog.pg_stat_replication)
WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END"""
# The number of a transaction is told to all users, its begin to its own user and members of pg_read_all_stats alone.
_OPEN: Final = """
SELECT 'session ' || a.pid, a.usename, nullif(a.application_name, ''), a.client_addr::text, a.state, a.xact_start
FROM pg_catalog.pg_stat_activity a WHERE a.pid <> pg_backend_pid()
AND (a.backend_xid IS NOT NULL OR a.xact_start IS NOT NULL AND a.datname = current_database())
UNION ALL
SELECT 'prepared transaction ' || gid, owner::text, NULL, NULL, NULL, prepared FROM pg_catalog.pg_prepared_xacts
ORDER BY 6
"""


class PostgresServer(Server):
    """Asks a server of PostgreSQL about itself."""

    open_sessions = _OPEN
    offset_s = (
        "SELECT extract(epoch FROM (now() AT TIME ZONE reset_val) - (now() AT TIME ZONE 'UTC')) "
        "FROM pg_catalog.pg_settings WHERE name = 'TimeZone'"
    )

    def load(self, database: Database) -> SourceLoad:
        """Return the number of busy sessions, None if the user may not see it, and the lag of replicas in seconds."""
        sessions = database.scalar(sa.text(_SESSIONS), _DOING)
        lag_s = database.scalar(sa.text(_LAG), _DOING)
        return SourceLoad(None if sessions is None else int(sessions), None if lag_s is None else float(lag_s))
