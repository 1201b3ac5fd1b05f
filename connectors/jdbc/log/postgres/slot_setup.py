"""Checks PostgreSQL's side of mode=log (settings, rights and slot), and asks for its publication, too."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from connect.api.errors import ConfigProblem, ConnectError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.postgres.publication import publication_problems
from connectors.jdbc.log.shared.position import lsn_of_text
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

_log = logging.getLogger(__name__)
_OLDEST, _NOTES, _LOG_OF_STANDBYS, _SLOTS_OF_STANDBYS = 100_000, 140_000, 160_000, 170_000


@dataclass(frozen=True, slots=True)
class Slot:
    """Describes a replication slot of the server. `retained_bytes` is how much of the server's log it holds back."""

    confirmed_lsn: int
    is_active: bool
    wal_status: str
    retained_bytes: int
    plugin: str
    database: str


def look_at_slot(database: Database, name: str) -> Slot | None:
    """Return the slot that has this name, or None if there is none."""
    statement = sa.text(
        "SELECT s.confirmed_flush_lsn::text, s.active, coalesce(to_jsonb(s) ->> 'wal_status', ''), "
        "pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, "
        "s.restart_lsn), s.plugin, s.database FROM pg_catalog.pg_replication_slots s WHERE s.slot_name = :name"
    ).bindparams(name=name)
    rows = database.rows(statement, f"looking at slot {name}")
    database.end_transaction()
    if not rows:
        return None
    row = rows[0]
    return Slot(
        lsn_of_text(row[0]) if row[0] else 0, bool(row[1]), str(row[2]), int(row[3] or 0), str(row[4]), str(row[5])
    )


def end_of_log(database: Database) -> int:
    """Return the LSN up to which the server's log is written."""
    statement = sa.text(
        "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END)::text"
    )
    found = database.scalar(statement, "asking for the end of the log")
    database.end_transaction()
    return lsn_of_text(str(found))


def require_whole(slot: Slot, name: str, database: Database) -> None:
    """Raise ConnectError if the slot cannot be read: it belongs to others, or the server removed log that it needs."""
    require_own(slot, name, database)
    if slot.wal_status == "lost":
        raise ConnectError(
            f"Slot {name} is lost: the server has removed log that the slot needed (max_slot_wal_keep_size).",
            key="slot.name",
            fix="Changes are missing. Drop the slot and reset the connector's offsets, so that the tables are read "
            "anew, or set snapshot.mode=when_needed; then raise max_slot_wal_keep_size.",
        )


def require_own(slot: Slot, name: str, database: Database) -> None:
    """Raise ConnectError if the slot is for another program, or for another database."""
    here = database.scalar(sa.text("SELECT current_database()"), "asking for the database's name")
    database.end_transaction()
    if slot.plugin != "pgoutput" or slot.database != here:
        raise ConnectError(
            f"Slot {name} belongs to plug-in {slot.plugin} and database {slot.database}, not to pgoutput and {here}.",
            key="slot.name",
            fix="Name another slot in slot.name.",
        )


def drop_slot(database: Database, name: str) -> None:
    """Drop a slot that nobody reads."""
    with database.errors.translated(f"dropping slot {name}"):
        statement = sa.text(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots "
            "WHERE slot_name = :name AND NOT active"
        )
        database.connection.execute(statement.bindparams(name=name))
        database.connection.commit()


def may_replicate(database: Database) -> bool:
    """Tell if the user may read the server's log."""
    right = sa.text(
        "SELECT rolreplication OR rolsuper OR EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname IN "
        "('rds_replication', 'rds_superuser', 'cloudsqlsuperuser') AND pg_has_role(current_user, r.oid, 'member')) "
        "FROM pg_catalog.pg_roles WHERE rolname = current_user"
    )
    return bool(database.scalar(right, "asking for the user's rights"))


def why_no_standby_has_the_slot(database: Database, config: JdbcSourceConfig) -> str | None:
    """Return why slot.failover has no effect, so that the slot is made as Debezium does.

    Return None if the key has effect.
    """
    if not config.slot_failover:
        return None
    if _version(database) < _SLOTS_OF_STANDBYS:
        return "slot.failover has no effect: standbys keep slots from PostgreSQL 17 on, and this server is older."
    if _is_standby(database):
        return "slot.failover has no effect: the server is a standby, and only a primary makes such slots."
    return None


def makes_failover_slot(database: Database, config: JdbcSourceConfig) -> bool:
    """Tell if the slot is to be made so that standbys get it, too; warn if the server cannot do so."""
    why = why_no_standby_has_the_slot(database, config)
    database.end_transaction()
    if why is not None:
        _log.warning(why)
    return config.slot_failover and why is None


def tells_notes(database: Database) -> bool:
    """Tell if the server's log tells the notes of pg_logical_emit_message, as pgoutput does from PostgreSQL 14 on."""
    version = _version(database)
    database.end_transaction()
    return version >= _NOTES


def problems(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> Iterator[ConfigProblem]:
    """Yield each problem that keeps the log from being read, with its fix. Changes nothing."""
    yield from _server_problems(database)
    yield from publication_problems(database, config, tables)
    slot = look_at_slot(database, config.slot_name)
    if slot is not None:
        try:
            require_whole(slot, config.slot_name, database)
        except ConnectError as error:
            yield ConfigProblem("slot.name", f"{error.message} {error.fix or ''}".strip())


def _server_problems(database: Database) -> Iterator[ConfigProblem]:
    version = _version(database)
    if version < _OLDEST:
        yield ConfigProblem("mode", "mode=log needs PostgreSQL 10 or later.")
        return
    if _is_standby(database) and version < _LOG_OF_STANDBYS:
        yield ConfigProblem(
            "connection.url",
            "The server is a standby, which tells its log from PostgreSQL 16 on: name the primary, or several hosts "
            "with targetServerType=primary.",
        )
        return
    level = database.scalar(sa.text("SELECT current_setting('wal_level')"), "asking for wal_level")
    if level != "logical":
        yield ConfigProblem(
            "mode",
            f"mode=log needs wal_level=logical, and the server has {level}: set it (ALTER SYSTEM SET wal_level = "
            "logical) and restart the server; on Amazon RDS set rds.logical_replication=1.",
        )
    if not may_replicate(database):
        user = database.scalar(sa.text("SELECT current_user"), "asking for the user's name")
        yield ConfigProblem(
            "connection.user",
            f"User {user} has no right to replicate: ALTER ROLE {_quoted(str(user))} REPLICATION (on Amazon RDS: GRANT "
            f"rds_replication TO {_quoted(str(user))}).",
        )


def _is_standby(database: Database) -> bool:
    return bool(database.scalar(sa.text("SELECT pg_is_in_recovery()"), "asking whether it is a standby"))


def _version(database: Database) -> int:
    return int(database.scalar(sa.text("SELECT current_setting('server_version_num')"), "asking for the version"))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
