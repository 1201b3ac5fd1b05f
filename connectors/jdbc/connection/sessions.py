"""How sessions of each database begin: in UTC, with exact texts of values; readers read only where that can be said."""

from __future__ import annotations

from connect.api.allowed_paths import AllowedPaths


def session_statements(dialect: str, timeout_ms: int) -> tuple[str, ...]:
    """The statements; `timeout_ms`: how long a statement may take on the server, 0: as long as it likes."""
    prepared = {
        "sqlite": ("PRAGMA query_only=ON",), "postgresql": (*_POSTGRES_SESSION, _lock_wait(5)),
        "mysql": ("SET time_zone='+00:00'",), "mariadb": ("SET time_zone='+00:00'",),
    }.get(dialect, ())  # fmt: skip
    return (*prepared, *_TIMEOUTS[dialect](timeout_ms)) if timeout_ms and dialect in _TIMEOUTS else prepared


def closed_session(dialect: str, allowed: AllowedPaths) -> tuple[str, ...]:
    """The statements that keep a database in this process from files that the worker does not allow."""
    if dialect != "duckdb":
        return ()
    folders, files = ([_literal(f"{path}/") for path in allowed.folders], [_literal(path) for path in allowed.files])
    return (
        f"SET allowed_directories=[{', '.join(folders)}]", f"SET allowed_paths=[{', '.join(files)}]",
        "SET python_enable_replacements=false", "SET enable_external_access=false", "SET lock_configuration=true",
    )  # fmt: skip


def _literal(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def writing_session(dialect: str) -> tuple[str, ...]:
    """The statements that prepare a session that writes: a value that does not fit is refused, and never cut."""
    return _WRITING.get(dialect, ())


def _lock_wait(wait_s: int) -> str:
    """How long a lock is waited for on PostgreSQL, unless the user, the role or the database has a limit: then what was
    asked is tried again, and other tables have their turn in between. Without an effect where there is no such limit.
    """
    return _LOCK_WAIT.format(wait_s=wait_s)


def _mysql_timeout(timeout_ms: int) -> tuple[str, ...]:
    # Each server reads its own comment only, so that no version has to be trusted, and older ones read neither.
    mariadb, mysql = f"max_statement_time={timeout_ms / 1000}", f"max_execution_time={timeout_ms}"
    return (f"SET SESSION sql_notes=@@sql_notes /*M!100101 , {mariadb} *//*!50708 , {mysql} */",)


_TIMEOUTS = {
    "postgresql": lambda timeout_ms: (f"SET statement_timeout={timeout_ms}",),
    "mysql": _mysql_timeout,
    "mariadb": _mysql_timeout,
}


# What is read as text does not depend on a role's or a database's settings.
_POSTGRES_SESSION = (
    "SET TIME ZONE 'UTC'", "SET DateStyle='ISO'", "SET IntervalStyle='postgres'", "SET extra_float_digits=1",
)  # fmt: skip

_LOCK_WAIT = """
SELECT pg_catalog.set_config(name, '{wait_s}s', false) FROM pg_catalog.pg_settings
WHERE name = 'lock_timeout' AND setting = '0'
"""

_MYSQL_WRITING = (
    "SET time_zone='+00:00'",
    # Texts are written with backslashes escaped, and numbers out of range are errors.
    "SET sql_mode=CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), ',STRICT_ALL_TABLES')",
)
_WRITING = {
    "postgresql": (*_POSTGRES_SESSION, _lock_wait(30)), "sqlite": ("PRAGMA busy_timeout=5000",),
    "mysql": _MYSQL_WRITING, "mariadb": _MYSQL_WRITING,
}  # fmt: skip
