"""Checks the publication that mode=log on PostgreSQL reads, and makes what is missing of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from connect.api.errors import ConfigProblem, ConnectError
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName

_log = logging.getLogger(__name__)
_OPERATIONS = {"c": "insert", "u": "update", "d": "delete", "t": "truncate"}
_BY_ROOT = "publish_via_partition_root = true"
"""A publication needs this parameter, or the log names the partitions, and no change of the partitioned table comes."""
_BY_ROOT_SINCE = 130_000
_VERSION = sa.text("SELECT current_setting('server_version_num')::int")

_PARTITIONED = """
SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'p'
"""
# The view lists all tables of a publication each time it is asked, so it is asked once for all partitions.
_PARTS = """
WITH published AS MATERIALIZED (
  SELECT schemaname, tablename FROM pg_catalog.pg_publication_tables WHERE pubname = :name)
SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relispartition AND EXISTS (
  SELECT FROM pg_catalog.pg_partition_ancestors(c.oid) a
  JOIN pg_catalog.pg_class u ON u.oid = a.relid AND u.oid <> c.oid
  JOIN pg_catalog.pg_namespace m ON m.oid = u.relnamespace
  JOIN published p ON p.schemaname = m.nspname AND p.tablename = u.relname)
"""
_ALL_PARTITIONS = """
SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relispartition
"""
_GONE = "is gone or has another name: no further changes of it are read."
DETACHED = (
    "is no partition any more, and the publication does not have it: no further changes of it are read. Add it to the "
    "publication, or take it out of the table filter, as a restart refuses a table that the publication lacks."
)


def has_publication(database: Database, name: str) -> bool:
    """Tell if there is a publication of this name."""
    return _publication(database, name) is not None


def with_root(database: Database, tables: Sequence[TableName]) -> str:
    """Return the end of CREATE PUBLICATION that has changes of partitioned tables told by those tables' names.

    It is empty where partitions are read, and no partitioned table: their changes would come by names of others.
    """
    if database.scalar(_VERSION, "asking for the version") < _BY_ROOT_SINCE:
        return ""
    parted = {
        TableName(str(row[0]), str(row[1]))
        for row in database.rows(sa.text(_PARTITIONED), "looking for partitioned tables")
    }
    reads_parts = bool(partitions_among(database, tables)) and parted.isdisjoint(tables)
    return "" if reads_parts else f" WITH ({_BY_ROOT})"


def publication_problems(
    database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]
) -> Iterator[ConfigProblem]:
    """Yield each problem of the publication, with its fix. Changes nothing."""
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


def ensure_publication(
    database: Database, config: JdbcSourceConfig, tables: Sequence[TableName], *, goes_on: bool = False
) -> bool:
    """Make the publication, or add the tables that it lacks, as publication.autocreate.mode says.

    Return True if it was made or changed. With `goes_on` the log was read before, so that a publication which is not
    there was dropped.
    ConnectError: the publication tells changes of the tables by other names.
    """
    name = _quoted(config.publication_name)
    found = _publication(database, config.publication_name)
    if renamed := _told_by_other_names(database, config, found, tables):
        raise _other_names(config, found, renamed)
    listed = ", ".join(t.quoted for t in tables)
    # In a publication of named tables a partition whose partitioned table is not named keeps its own name.
    all_tables = config.publication_autocreate == "all_tables"
    root = with_root(database, tables if all_tables else ()) if found is None else ""
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
        return False
    fix = (
        "Grant CREATE on the database and make the user the owner of the tables and the publication, or let an "
        f"administrator run: {command}; and set publication.autocreate.mode=disabled."
    )
    if found is None and goes_on:
        _log.warning(
            "Publication %s was gone, and is made anew: changes of before now are not in the log. A snapshot of the "
            "connector, after its offsets were reset, has all rows.",
            config.publication_name,
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
    return True


def partitions_among(database: Database, tables: Sequence[TableName]) -> frozenset[TableName]:
    """Return those of the tables that are partitions of another one."""
    found = database.rows(sa.text(_ALL_PARTITIONS), "looking for partitions")
    database.end_transaction()
    return frozenset(tables) & {TableName(str(row[0]), str(row[1])) for row in found}


def require_published(
    database: Database,
    config: JdbcSourceConfig,
    tables: Sequence[TableName],
    partitions: frozenset[TableName] = frozenset(),
) -> Mapping[TableName, str]:
    """Return the tables of which no change will come any more, each with what has become of it.

    `partitions` are the tables that were partitions before: a detached one leaves the publication of its partitioned
    table. ConnectError: the publication is gone, or an existing table was taken out of it.
    """
    found = _publication(database, config.publication_name)
    if found is None:
        # Servers up to 17 end the stream with an error; later ones pass over the changes with a warning of their own.
        database.end_transaction()
        raise _gone(config)
    lacking = _lacking(database, config, tables)
    renamed = _told_by_other_names(database, config, found, tables)
    left = {
        table: _GONE for table in lacking if database.scalar(_exists(table), f"looking for table {table.full}") is None
    }
    if was_partition := partitions.intersection(lacking).difference(left):
        still = partitions_among(database, [*was_partition])
        left |= dict.fromkeys(was_partition - still, DETACHED)
    is_altered = bool(lacking) and _publication(database, config.publication_name) != found
    database.end_transaction()
    if is_altered:
        # It was altered or dropped between the questions, whose answers do not go together.
        return require_published(database, config, tables, partitions)
    if renamed:
        raise _other_names(config, found, renamed)
    taken_out = [table.full for table in lacking if table not in left]
    if taken_out:
        raise ConnectError(
            f"Publication {config.publication_name} has {', '.join(taken_out)} no longer: changes are missing.",
            key="publication.name",
            fix="Add the tables to it, and reset the connector's offsets, so that the tables are read anew; or take "
            "them out of the table filter.",
        )
    return left


def _gone(config: JdbcSourceConfig) -> ConnectError:
    return ConnectError(
        f"Publication {config.publication_name} is gone: changes since then are missing.",
        key="publication.name",
        fix="Reset the connector's offsets, so that publication and rows come anew; or restart the task if no "
        "table was changed meanwhile.",
    )


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
    by_root: bool
    kept_back: tuple[str, ...]


def _publication(database: Database, name: str) -> _Publication | None:
    # Servers before version 11 publish no truncation, those before 13 no partitioned table by its own name, and have no
    # column that tells of it.
    statement = sa.text(
        "SELECT puballtables, coalesce((to_jsonb(p) ->> 'pubviaroot')::bool, false), pubinsert, pubupdate, pubdelete, "
        "coalesce((to_jsonb(p) ->> 'pubtruncate')::bool, true) "
        "FROM pg_catalog.pg_publication p WHERE pubname = :name"
    )
    rows = database.rows(statement.bindparams(name=name), f"looking at publication {name}")
    if not rows:
        return None
    all_tables, by_root, *sent = map(bool, rows[0])
    return _Publication(
        all_tables, by_root, tuple(o for o, is_sent in zip(_OPERATIONS.values(), sent, strict=True) if not is_sent)
    )


def told_by_other_names(
    database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]
) -> Mapping[TableName, str]:
    """Return the tables whose changes the log tells by other names, each with the reason and the fix.

    Nothing that a connector has of such a table would change: it is left aside.
    """
    found = _publication(database, config.publication_name)
    renamed = _told_by_other_names(database, config, found, tables)
    database.end_transaction()
    errors = {table: _other_names(config, found, [table]) for table in renamed}
    return {table: f"{error.message} {error.fix}" for table, error in errors.items()}


def _told_by_other_names(
    database: Database, config: JdbcSourceConfig, found: _Publication | None, tables: Sequence[TableName]
) -> list[TableName]:
    """Return the tables whose changes the log tells by other names: partitioned ones by those of their partitions, or
    partitions by that of a partitioned table which is published, too.
    """
    if found is None:
        return []
    statement = sa.text(_PARTS if found.by_root else _PARTITIONED)
    if found.by_root:
        statement = statement.bindparams(name=config.publication_name)
    rows = database.rows(statement, "looking for partitioned tables")
    renamed = {TableName(str(row[0]), str(row[1])) for row in rows}
    return [table for table in tables if table in renamed]


def _other_names(config: JdbcSourceConfig, found: _Publication | None, tables: Sequence[TableName]) -> ConnectError:
    name, by_root = config.publication_name, found is not None and found.by_root
    told = "the partitioned table that they are part of" if by_root else "the partitions"
    fix = (
        "Name the partitioned table in the table filter, or take it out of the publication."
        if by_root
        else f"ALTER PUBLICATION {_quoted(name)} SET ({_BY_ROOT}), from PostgreSQL 13 on."
    )
    return ConnectError(
        f"Publication {name} tells changes of {', '.join(t.full for t in tables)} by the name of {told}: none would "
        "come.",
        key="publication.name",
        fix=f"{fix} Changes of before are not read: a snapshot of the connector, after its offsets were reset, has "
        "all rows.",
    )


def _lacking(database: Database, config: JdbcSourceConfig, tables: Sequence[TableName]) -> list[TableName]:
    # The view has the names by which the log tells changes: of a partitioned table its own or those of the partitions.
    statement = sa.text(
        "SELECT schemaname, tablename FROM pg_catalog.pg_publication_tables WHERE pubname = :name"
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


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
