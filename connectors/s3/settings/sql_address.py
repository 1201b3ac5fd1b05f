"""Checks the address of a catalogue in a database, by the parts that SQLAlchemy reads in it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connect.api.allowed_paths import AllowedPaths
from connect.lib.libpq import password_file, without_own_password

if TYPE_CHECKING:
    import sqlalchemy as sa

_SQLITE: Final = frozenset({"sqlite", "sqlite+pysqlite"})
_POSTGRES: Final = frozenset({"postgresql", "postgresql+psycopg", "postgresql+psycopg2"})
_MYSQL: Final = frozenset({"mysql+pymysql", "mariadb+pymysql"})
DRIVERS: Final = (*sorted(_SQLITE), *sorted(_POSTGRES), *sorted(_MYSQL))
PARAMETERS: Final = frozenset({"sslmode", "charset", "connect_timeout", "application_name"})
"""These parameters of an address are allowed; others of the drivers' read files or load code."""


def sqlite_file(address: str) -> str:
    """Return the path of the catalogue's file, or an empty text if the database is no SQLite file.

    ValueError: the driver or a parameter is not known here, or SQLAlchemy cannot read the address.
    """
    made = _made(address)
    if made.drivername not in DRIVERS:
        raise ValueError(f"the driver {made.drivername} is not known here; give one of {', '.join(DRIVERS)}")
    strange = sorted(made.query.keys() - PARAMETERS)
    if strange or any(not isinstance(value, str) for value in made.query.values()):
        which = ", ".join(strange) or "one that is there twice"
        raise ValueError(f"no parameters but {', '.join(sorted(PARAMETERS))}, each once; it has {which}")
    if made.drivername in _POSTGRES and any(map(_is_socket, (made.host or "").split(","))):
        raise ValueError("it names no host, and so a socket of this machine; name the server's host, as localhost")
    if made.drivername not in _SQLITE:
        return ""
    path = made.database or ""
    if made.query or made.host or made.username or path in {"", ":memory:"} or path.startswith("file:"):
        raise ValueError("give a catalogue of SQLite as sqlite:////folder/catalog.db")
    return path


def sql_server(address: str) -> str:
    """Return the server as `host` or `host:port`, as SQLAlchemy gives it to the driver; empty for SQLite.

    ValueError: SQLAlchemy cannot read the address. Other parsers of URLs would end the host at a `#` or `/` in the
    password.
    """
    made = _made(address)
    if made.drivername in _SQLITE:
        return ""
    host = made.host or "localhost"
    return f"{f'[{host}]' if ':' in host else host}{f':{made.port}' if made.port else ''}"


def _is_socket(host: str) -> bool:
    """Return True if libpq takes a host for a socket: nothing, a path, or a name without a file behind an at sign."""
    return not host.strip() or host.startswith(("/", "@"))


def _made(address: str) -> sa.URL:
    try:
        import sqlalchemy as sa
    except ImportError:
        raise ValueError("SQLAlchemy is not installed. Run: pip install 'connect-for-kafka[s3-iceberg]'") from None
    try:
        return sa.make_url(address)
    except (sa.exc.ArgumentError, ValueError):
        # SQLAlchemy's message is left out, as it may repeat a password.
        raise ValueError("it is not an address as postgresql+psycopg://user:password@host/db") from None


def without_own_passwords(address: str, allowed: AllowedPaths) -> str:
    """Return the address changed so that libpq reads no password file, unless the worker allows that file."""
    import sqlalchemy as sa

    made = sa.make_url(address)
    if made.drivername not in _POSTGRES or allowed.allow(password_file()):
        return address
    return made.update_query_dict(without_own_password(made.password)).render_as_string(hide_password=False)
