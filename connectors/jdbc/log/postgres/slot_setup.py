"""Checks PostgreSQL's side of mode=log (settings, rights, publication and slot), and makes what is missing."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from connect.api.errors import ConfigProblem, ConnectError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.shared.position import lsn_of_text
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

_log = logging.getLogger(__name__)
_OLDEST, _LOG_OF_STANDBYS, _SLOTS_OF_STANDBYS = 100_000, 160_000, 170_000
_OPERATIONS = {"c": "insert", "u": "update", "d": "delete", "t": "truncate"}


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


def has_publication(database: Database, name: str) -> bool:
    """Tell if there is a publication of this name."""
    return _publication(database, name) is not None


def problems(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> Iterator[ConfigProblem]:
    """Yield each problem that keeps the log from being read, with its fix. Changes nothing."""
    yield from _server_problems(database)
    found = _publication(database, config.publication_name)
    if found is None and config.publication_autocreate == "disabled":
        yield ConfigProblem(
            "publication.name",
            f"Publication {config.publication_name} does not exist: create it, or set "
            "publication.autocreate.mode=filtered.",
        )
    missing = [] if found is not None and found.all_tables else _lacking(database, config, tables)
    if missing and config.publication_autocreate != "filtered" and found is not None:
        yield ConfigProblem(
            "publication.name",
            f"Publication {config.publication_name} lacks {', '.join(t.full for t in missing)}: add them, or set "
            "publication.autocreate.mode=filtered.",
        )
    if config.publication_autocreate != "disabled":
        for table in _without_identity(database, missing):
            yield ConfigProblem(
                "table.whitelist",
                f"Table {table.full} has no primary key and no replica identity: published, its updates and deletes "
                f"would fail for everyone. ALTER TABLE {table.quoted} REPLICA IDENTITY FULL, or leave it out.",
            )
    slot = look_at_slot(database, config.slot_name)
    if slot is not None:
        try:
            require_whole(slot, config.slot_name, database)
        except ConnectError as error:
            yield ConfigProblem("slot.name", f"{error.message} {error.fix or ''}".strip())


def ensure_publication(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> None:
    """Make the publication, or add the tables that it lacks, as publication.autocreate.mode says."""
    name = _quoted(config.publication_name)
    found = _publication(database, config.publication_name)
    listed = ", ".join(t.quoted for t in tables)
    root = " WITH (publish_via_partition_root = true)" if _version(database) >= 130_000 else ""
    command, missing = None, ""
    if found is None and config.publication_autocreate == "all_tables":
        command = f"CREATE PUBLICATION {name} FOR ALL TABLES{root}"
    elif found is None and config.publication_autocreate == "filtered":
        command = f"CREATE PUBLICATION {name} FOR TABLE {listed}{root}"
    elif found is not None and not found.all_tables and config.publication_autocreate == "filtered":
        missing = ", ".join(t.quoted for t in _lacking(database, config, tables))
        command = f"ALTER PUBLICATION {name} ADD TABLE {missing}" if missing else None
    database.end_transaction()
    if command is None:
        return
    fix = (
        "Grant CREATE on the database and make the user the owner of the tables and the publication, or let an "
        f"administrator run: {command}; and set publication.autocreate.mode=disabled."
    )
    if command.startswith("ALTER"):
        _log.warning(
            "Publication %s lacked %s: changes of before now are not in the log. A snapshot of the connector, after "
            "its offsets were reset, has all rows.",
            config.publication_name,
            missing,
        )
    with database.errors.translated(f"making publication {config.publication_name}", fix):
        database.connection.exec_driver_sql(command.replace("%", "%%"))
        database.connection.commit()


def require_published(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> list[TableName]:
    """Return the tables that do not exist any more. ConnectError: an existing one was taken out of the publication."""
    lacking = _lacking(database, config, tables) if _publication(database, config.publication_name) else []
    gone = [table for table in lacking if database.scalar(_exists(table), f"looking for table {table.full}") is None]
    database.end_transaction()
    taken_out = [table.full for table in lacking if table not in gone]
    if taken_out:
        raise ConnectError(
            f"Publication {config.publication_name} has {', '.join(taken_out)} no longer: changes are missing.",
            key="publication.name",
            fix="Add the tables to it, and reset the connector's offsets, so that the tables are read anew; or take "
            "them out of the table filter.",
        )
    return gone


def warn_of_what_is_not_published(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> None:
    """Warn of the changes that an administrator's publication leaves out, as nothing else tells that they are
    missing.
    """
    found = _publication(database, config.publication_name)
    if found is None:
        return
    skipped = {_OPERATIONS[code] for code in config.skipped_operations if code in _OPERATIONS}
    missing = [operation for operation in found.kept_back if operation not in skipped]
    partial = _partial(database, config, tables)
    database.end_transaction()
    if missing:
        _log.warning(
            "Publication %s keeps back each %s: those changes are missing. ALTER PUBLICATION %s SET (publish = "
            "'insert, update, delete, truncate'), or name them in skipped.operations.",
            config.publication_name,
            ", ".join(missing),
            _quoted(config.publication_name),
        )
    for what, table in partial:
        _log.warning(
            "Publication %s has %s for table %s: the log holds no more than that, while the first read has all.",
            config.publication_name,
            what,
            table.full,
        )


def _partial(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> list[tuple[str, TableName]]:
    # Servers before version 15 have neither row filters nor column lists.
    statement = sa.text(
        "SELECT n.nspname, c.relname, to_jsonb(r) ->> 'prqual' IS NOT NULL, to_jsonb(r) ->> 'prattrs' IS NOT NULL "
        "FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid "
        "JOIN pg_catalog.pg_class c ON c.oid = r.prrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE p.pubname = :name ORDER BY 1, 2"
    ).bindparams(name=config.publication_name)
    rows = database.rows(statement, f"reading the tables of publication {config.publication_name}")
    marked = [(TableName(str(row[0]), str(row[1])), bool(row[2]), bool(row[3])) for row in rows]
    return [
        (what, table)
        for table, *marks in marked
        for what, is_there in zip(("a row filter", "a list of columns"), marks, strict=True)
        if is_there and table in tables
    ]


def _exists(table: TableName) -> sa.TextClause:
    return sa.text("SELECT to_regclass(:name)").bindparams(name=table.quoted)


@dataclass(frozen=True, slots=True)
class _Publication:
    all_tables: bool
    kept_back: tuple[str, ...]


def _publication(database: Database, name: str) -> _Publication | None:
    # Servers before version 11 publish no truncation, and have no column that tells of it.
    statement = sa.text(
        "SELECT puballtables, pubinsert, pubupdate, pubdelete, coalesce((to_jsonb(p) ->> 'pubtruncate')::bool, true) "
        "FROM pg_catalog.pg_publication p WHERE pubname = :name"
    )
    rows = database.rows(statement.bindparams(name=name), f"looking at publication {name}")
    if not rows:
        return None
    all_tables, *sent = map(bool, rows[0])
    return _Publication(
        all_tables, tuple(o for o, is_sent in zip(_OPERATIONS.values(), sent, strict=True) if not is_sent)
    )


def _lacking(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> list[TableName]:
    # For a partitioned table the server lists the root or the partitions, as the publication was made.
    statement = sa.text(
        "SELECT n.nspname, c.relname FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel r "
        "ON r.prpubid = p.oid JOIN pg_catalog.pg_class c ON c.oid = r.prrelid JOIN pg_catalog.pg_namespace n "
        "ON n.oid = c.relnamespace WHERE p.pubname = :name UNION SELECT schemaname, tablename "
        "FROM pg_catalog.pg_publication_tables WHERE pubname = :name"
    ).bindparams(name=config.publication_name)
    rows = database.rows(statement, f"reading the tables of publication {config.publication_name}")
    present = {TableName(str(row[0]), str(row[1])) for row in rows}
    return [table for table in tables if table not in present]


def _without_identity(database: Database, tables: Sequence[TableName]) -> list[TableName]:
    statement = sa.text(
        "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') "
        "AND (c.relreplident = 'n' "
        "OR c.relreplident = 'd' AND NOT EXISTS ("
        "SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary))"
    )
    if not tables:
        return []
    bare = {TableName(str(r[0]), str(r[1])) for r in database.rows(statement, "reading the keys of the tables")}
    return [table for table in tables if table in bare]


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
