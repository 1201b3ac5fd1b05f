# ruff: noqa: SIM905 - many names read better as text
"""Tells which Python drivers and parameters of theirs a connector may name, and which of these name files. Pure.

A driver may load libraries and read files. Those that JDBC URLs are translated to are known well enough; others are the
worker's to allow. What is judged is the URL as SQLAlchemy takes it apart, never its text.
Sources: libpq ("Parameter Key Words", PostgreSQL 18), PyMySQL 1.2 (Connection), SQLite ("Uniform Resource
Identifiers").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connectors.jdbc.settings.url import OTHER_SERVERS, DatabaseUrl

KEY: Final = "jdbc.sqlalchemy.drivers"
"""The worker's key that allows further drivers, and those known here with all of their parameters."""
_WHY: Final[Mapping[str, str]] = {
    "plugin": "loads code into SQLAlchemy",
    "plugins": "loads code into SQLAlchemy",
    "local_infile": "lets the server read files of this machine",
    "read_default_file": "reads a file of this machine",
    "read_default_group": "reads a file of this machine",
    "service": "reads a file of this machine",
    "servicefile": "reads a file of this machine",
    "passfile": "reads a file of this machine",
    "sslkeylogfile": "writes a file of this machine",
}
_FILES_OF_DATABASES: Final = frozenset({"sqlite", "duckdb"})
"""Databases that are files of this machine."""


@dataclass(frozen=True, slots=True)
class DriverParameters:
    """The parameters of a driver that a connector may give. Those of `files` name files of this machine."""

    plain: frozenset[str]
    files: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()
    """Those that may be there more than once, one for each server."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all parameters that a connector may give."""
        return self.plain | self.files | self.repeated


_LIBPQ: Final = DriverParameters(
    frozenset("""
        application_name channel_binding client_encoding connect_timeout fallback_application_name gssencmode hostaddr
        keepalives keepalives_count keepalives_idle keepalives_interval krbsrvname load_balance_hosts
        max_protocol_version min_protocol_version options password require_auth requirepeer sslcertmode sslcompression
        sslmode sslnegotiation sslpassword sslsni ssl_max_protocol_version ssl_min_protocol_version
        target_session_attrs tcp_user_timeout user
    """.split()),
    frozenset({"sslcert", "sslkey", "sslrootcert", "sslcrl", "sslcrldir"}),
    frozenset({"host", "port"}),
)  # fmt: skip
_PYMYSQL: Final = DriverParameters(
    frozenset("""
        autocommit bind_address charset collation compress connect_timeout database db host init_command
        max_allowed_packet passwd password port program_name read_timeout sql_mode ssl_check_hostname ssl_disabled
        ssl_key_password ssl_mode ssl_trust ssl_verify_cert ssl_verify_identity unix_socket use_unicode user
        write_timeout
    """.split()),
    frozenset({"ssl_ca", "ssl_cert", "ssl_key"}),
)  # fmt: skip
_PYSQLITE: Final = DriverParameters(
    frozenset("cache cached_statements check_same_thread detect_types immutable mode nolock timeout uri".split())
)
PARAMETERS: Final[Mapping[str, DriverParameters]] = {
    "sqlite": _PYSQLITE, "sqlite+pysqlite": _PYSQLITE,
    "postgresql": _LIBPQ, "postgresql+psycopg": _LIBPQ,
    "mysql+pymysql": _PYMYSQL, "mariadb+pymysql": _PYMYSQL,
}  # fmt: skip
"""These are the drivers that a connector may name without the worker's leave."""


def driver_problems(url: DatabaseUrl, allowed: Sequence[str]) -> Iterator[str]:
    """Why a worker that allows these drivers beside those known here does not take a URL; no text holds its values."""
    name = url.drivername
    if name not in allowed:
        yield from _refused(name, url)
    try:
        file_of(url)
    except ValueError as error:
        yield str(error)
    if name.startswith("postgresql") and any(":" in key for key in values_of(url, "sslkey")):
        # libpq takes `engine:key` for a library and a key in it.
        yield "sslkey names a library; give the path of a PEM file, which has no colon"


def _refused(name: str, url: DatabaseUrl) -> Iterator[str]:
    known = PARAMETERS.get(name)
    if known is None:
        yield (
            f"this worker does not allow the driver {name}, as a driver's parameters may load code. List it in the "
            f"worker's {KEY}"
        )
        return
    for parameter in sorted(url.query.keys() - known.names - {OTHER_SERVERS}):
        why = _WHY.get(parameter, "is not known here")
        yield f"the parameter {parameter} {why}. List {name} in the worker's {KEY} to allow it"
    for parameter in sorted(url.query.keys() - known.repeated):
        if len(values_of(url, parameter)) > 1:
            yield f"the parameter {parameter} is there more than once"


def values_of(url: DatabaseUrl, parameter: str) -> tuple[str, ...]:
    """Return the values of a URL's parameter; none where it is not given."""
    value = url.query.get(parameter, ())
    return (value,) if isinstance(value, str) else tuple(value)


def files_of(url: DatabaseUrl) -> Iterator[tuple[str, str]]:
    """Yield each file of this machine that a URL names, behind its parameter; that of the database itself behind "".

    ValueError: the address of a database's file is of an unknown form.
    """
    if file := file_of(url):
        yield "", file
    known = PARAMETERS.get(url.drivername)
    for parameter in sorted(known.files) if known else ():
        # libpq's word for the authorities that the system trusts.
        yield from ((parameter, path) for path in values_of(url, parameter) if path and path != "system")


def file_of(url: DatabaseUrl) -> str:
    """The path of a database that is a file; empty: it is none, or in memory. ValueError: it has an unknown form."""
    name, kind = url.database or "", url.drivername.partition("+")[0]
    if kind not in _FILES_OF_DATABASES:
        return ""
    if url.host or url.port or url.username or url.password:
        raise ValueError(f"a database of {kind} has no host and no user; write {kind}:////folder/file.db")
    if name in {"", ":memory:"}:
        return ""
    if not name.startswith("file:"):
        return name
    rest = name.removeprefix("file:")
    if any(character in rest for character in "?#%"):
        raise ValueError("the path of the database has a ?, # or % behind file:; write the path alone")
    if rest.startswith("//"):
        authority, _, path = rest.removeprefix("//").partition("/")
        if authority not in {"", "localhost"}:
            raise ValueError("file:// is followed by a host; write the path alone")
        rest = f"/{path}"
    return "" if rest == ":memory:" else rest
