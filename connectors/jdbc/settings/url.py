"""Takes URLs apart: JDBC URLs are translated, others are SQLAlchemy's. Pure.

No message repeats a URL: it may hold a password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from connectors.jdbc.settings import url_parameters as known
from connectors.jdbc.settings.url_hosts import ONE_BY_ONE, Address, addresses

OTHER_SERVERS = "other_servers"
"""The parameter that tells `tls.connect` where to go when the first server of MySQL or MariaDB is not there."""


_SQLALCHEMY = re.compile(r"[a-zA-Z][a-zA-Z0-9]*(\+[a-zA-Z0-9_]+)?://")


@dataclass(frozen=True, slots=True)
class _Family:
    drivername: str
    port: int
    renamed: Mapping[str, known.Rename]
    dropped: frozenset[str]


_FAMILIES = {
    "postgresql": _Family("postgresql+psycopg", 5432, known.POSTGRES, known.POSTGRES_DROPPED),
    "mysql": _Family("mysql+pymysql", 3306, known.MYSQL, known.MYSQL_DROPPED),
    "mariadb": _Family("mariadb+pymysql", 3306, known.MARIADB, known.MYSQL_DROPPED),
    "sqlite": _Family("sqlite", 0, known.SQLITE, known.SQLITE_DROPPED),
}
_OTHERS = {
    "oracle": "oracle+oracledb://user@host:1521/?service_name=name (or /sid)",
    "sqlserver": "mssql+pymssql://user@host:1433/name",
    "duckdb": "duckdb:////folder/file.db",
}
"""What a person writes instead where drivers of Java have a syntax of their own."""


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """Holds the parts of a SQLAlchemy URL. The password is kept out of the repr."""

    drivername: str
    host: str | None = None
    port: int | None = None
    database: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    query: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)


def is_jdbc(url: str) -> bool:
    """Tell if this is a JDBC URL; else it is SQLAlchemy's to parse."""
    return url.startswith("jdbc:")


def parse(url: str, properties: Mapping[str, str]) -> DatabaseUrl:
    """Return the parts of a JDBC or SQLAlchemy URL, with further parameters of the driver, which win.

    ValueError says what is wrong. Whatever connects, and whatever judges where to, goes by these parts.
    """
    if is_jdbc(url):
        return translate(url, properties)
    if not _SQLALCHEMY.match(url):
        raise ValueError("it is neither a JDBC URL (jdbc:sqlite:/data/app.db) nor a SQLAlchemy URL")
    try:
        import sqlalchemy as sa
    except ImportError:
        raise ValueError("SQLAlchemy is not installed. Run: pip install 'connect-for-kafka[jdbc]'") from None
    try:
        made = sa.make_url(url).update_query_dict(properties)
    except (sa.exc.ArgumentError, ValueError):
        # SQLAlchemy's own message may repeat the URL.
        raise ValueError("it is not a SQLAlchemy URL") from None
    password = None if made.password is None else str(made.password)
    return DatabaseUrl(made.drivername, made.host, made.port, made.database, made.username, password, made.query)


def family(url: str) -> str:
    """The database's name in the URL, as `sqlite` or `postgresql`; empty when it has no scheme."""
    match = re.match(r"(?:jdbc:)?([a-zA-Z][a-zA-Z0-9]*)", url) if ":" in url else None
    return match[1].lower() if match else ""


def translate(url: str, properties: Mapping[str, str] | None = None) -> DatabaseUrl:
    """Return a JDBC URL's parts for SQLAlchemy; driver properties win. Raise ValueError, which says what is unknown."""
    name = family(url)
    if name not in _FAMILIES:
        text = f"Known are {', '.join(f'jdbc:{f}:' for f in _FAMILIES)} and any SQLAlchemy URL"
        raise ValueError(f"Unknown JDBC URL. {text}, as {_OTHERS.get(name, _OTHERS['oracle'])}.")
    rest = url.removeprefix("jdbc:")[len(name) + 1 :]
    address, _, text = rest.partition("?")
    given = dict(parse_qsl(text.replace(";", "&"), keep_blank_values=True)) | dict(properties or {})
    user, password = given.pop("user", None), given.pop("password", None)
    chosen = _FAMILIES[name]
    query = _parameters(chosen, name, given)
    if name == "sqlite":
        return DatabaseUrl(chosen.drivername, database=_sqlite_path(address), query=query)
    if name == "postgresql" and not address.startswith("/"):
        # pgJDBC: jdbc:postgresql:database is on this machine.
        address = f"///{address}"
    way, colon, servers = address.partition("://")
    if colon and name != "postgresql":
        if way not in ONE_BY_ONE:
            raise ValueError(f"jdbc:{name}:{way}: is not known here. Known are {', '.join(sorted(ONE_BY_ONE))}.")
        address = servers
    authority, _, database = address.removeprefix("//").partition("/")
    signed, at, hosts = authority.rpartition("@")
    if at and name == "mysql":
        user, password = _signed_in(signed, user, password)
        authority = hosts
    where = addresses(authority, chosen.port, f"jdbc:{name}://db.example:{chosen.port}/name")
    if len(where) > 1 and name == "postgresql":
        several = tuple(f"{host}:{port}" for host, port in where)
        return DatabaseUrl(chosen.drivername, None, None, unquote(database), user, password, {**query, "host": several})
    if len(where) > 1:
        query = {**query, OTHER_SERVERS: " ".join(f"{host} {port}" for host, port in where[1:])}
    host, port = where[0]
    return DatabaseUrl(chosen.drivername, host, port, unquote(database) or None, user, password, query)


def other_servers(text: str) -> list[Address]:
    """Return the servers that the parameter OTHER_SERVERS lists."""
    words = text.split()
    return [Address(host, int(port)) for host, port in zip(words[::2], words[1::2], strict=True)]


def _signed_in(text: str, user: str | None, password: str | None) -> tuple[str | None, str | None]:
    name, colon, secret = text.partition(":")
    return unquote(name) or user, (unquote(secret) if colon else password)


def _parameters(chosen: _Family, name: str, given: Mapping[str, str]) -> dict[str, str | tuple[str, ...]]:
    targets = {target for target, _ in chosen.renamed.values()}
    unknown = sorted(p for p in given if p not in {*chosen.renamed, *chosen.dropped, *targets})
    if unknown:
        raise ValueError(
            f"JDBC parameters without a counterpart here: {', '.join(unknown)}. Remove them, or use a SQLAlchemy URL "
            f"({chosen.drivername}://...), whose parameters go to the Python driver as they are."
        )
    result = {p: v for p, v in given.items() if p in targets and p not in chosen.renamed}
    # In the table's order: what says more comes later.
    for parameter, (target, convert) in chosen.renamed.items():
        if parameter not in given:
            continue
        try:
            value = convert(given[parameter])
        except ValueError as error:
            raise ValueError(f"JDBC parameter {parameter} of {name} {error}.") from None
        if not value:
            continue
        joined = known.JOINED.get(target)
        result[target] = f"{result[target]}{joined}{value}" if joined and target in result else value
    return dict(result)


def _sqlite_path(address: str) -> str:
    if address.startswith(":resource:"):
        raise ValueError(
            "jdbc:sqlite::resource: is a file in a Java archive: name a file, as jdbc:sqlite:/data/shop.db."
        )
    path = address.removeprefix("file:")
    if path.startswith("//"):
        path = "/" + path.lstrip("/")
    return path or ":memory:"
