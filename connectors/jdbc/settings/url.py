"""Takes URLs apart: JDBC URLs are translated, others are SQLAlchemy's. Pure.

No message repeats a URL: it may hold a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from connectors.jdbc.dialects.known import dialect_of, dialects
from connectors.jdbc.settings.url_hosts import Address

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.url import UrlForm

OTHER_SERVERS = "other_servers"
"""This parameter tells `tls.connect` the further servers of MySQL or MariaDB, to be tried if the first one is away."""


_BY_SQLALCHEMY: Final[Mapping[str, str]] = {
    "bigquery": "bigquery://project/dataset (pip install sqlalchemy-bigquery)",
    "awsathena": "awsathena+rest://:@athena.eu-west-1.amazonaws.com/shop?s3_staging_dir=… (pip install PyAthena)",
    "databricks": "databricks://token:…@host?http_path=… (pip install databricks-sqlalchemy)",
    "hive2": "hive://host:10000/shop (pip install 'PyHive[hive]')",
    "trino": "trino://user@host:8080/catalog (pip install 'trino[sqlalchemy]')",
    "teradata": "teradatasql://host (pip install teradatasqlalchemy)",
    "informix": "ibm_db_sa://host:9089/shop (pip install ibm-db-sa)",
}
"""Maps databases whose JDBC URLs are not translated to the form of their SQLAlchemy URLs, for messages."""
_SQLALCHEMY = re.compile(r"[a-zA-Z][a-zA-Z0-9]*(\+[a-zA-Z0-9_]+)?://")


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


class Login(NamedTuple):
    """Holds the user's name and password from a JDBC URL."""

    user: str | None
    password: str | None


def is_jdbc(url: str) -> bool:
    """Tell if a text is a JDBC URL; other URLs are parsed by SQLAlchemy."""
    return url.startswith("jdbc:")


def parse(url: str, properties: Mapping[str, str]) -> DatabaseUrl:
    """Return the parts of a JDBC or SQLAlchemy URL. `properties` are further parameters of the driver; they win.

    ValueError says what is wrong. The code that connects and the code that checks the URL both use these parts.
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
    read = DatabaseUrl(made.drivername, made.host, made.port, made.database, made.username, password, made.query)
    for text in values_of(read, OTHER_SERVERS):
        other_servers(text)
    return read


def translate(url: str, properties: Mapping[str, str] | None = None) -> DatabaseUrl:
    """Return a JDBC URL's parts for SQLAlchemy; `properties` win over its parameters. ValueError: a part is unknown."""
    dialect = dialect_of(url)
    form = dialect.url
    if dialect.name in _BY_SQLALCHEMY:
        raise ValueError(
            f"jdbc:{dialect.name}: is not read. Write it as SQLAlchemy's URL, {_BY_SQLALCHEMY[dialect.name]}, and list "
            "its driver in the worker's jdbc.sqlalchemy.drivers."
        )
    if not form.driver:
        known = ", ".join(f"jdbc:{other.name}:" for other in dialects() if other.url.driver)
        raise ValueError(f"Unknown JDBC URL. Known are {known} and any SQLAlchemy URL, as {form.instead}.")
    rest = url.removeprefix("jdbc:")[len(dialect.name) + 1 :]
    address, said = form.split(rest)
    given = said | dict(properties or {})
    user, password = given.pop("user", None), given.pop("password", None)
    return form.read(address, Login(user, password), _parameters(form, given))


def hosts_of(url: DatabaseUrl, *, is_file: bool) -> Iterator[str]:
    """Yield each server that a URL names, as `host:port` or a name; none with `is_file`, as files have no server."""
    named = [part for value in values_of(url, "host") for part in value.split(",")]
    named += [part for value in values_of(url, "hostaddr") for part in value.split(",")]
    for text in values_of(url, OTHER_SERVERS):
        named += [f"{_bracketed(at.host)}:{at.port}" for at in other_servers(text)]
    if url.host or not (is_file or named):
        named.append(f"{_bracketed(url.host or 'localhost')}{f':{url.port}' if url.port else ''}")
    # A host that is the path of a socket is a file, and not a server.
    yield from (host for host in named if host and not host.startswith("/"))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def other_servers(text: str) -> list[Address]:
    """Return the servers that the parameter OTHER_SERVERS lists. ValueError: it has no such form."""
    words = text.split()
    try:
        return [Address(host, int(port)) for host, port in zip(words[::2], words[1::2], strict=True)]
    except ValueError:
        raise ValueError(f"{OTHER_SERVERS} lists hosts and ports, as in 'db2 3306 db3 3306'") from None


def values_of(url: DatabaseUrl, parameter: str) -> tuple[str, ...]:
    """Return the values of a URL's parameter; none where it is not given."""
    value = url.query.get(parameter, ())
    return (value,) if isinstance(value, str) else tuple(value)


def _parameters(form: UrlForm, given: Mapping[str, str]) -> dict[str, str | tuple[str, ...]]:
    targets = {target for target, _ in form.renamed.values()}
    unknown = sorted(p for p in given if p not in {*form.renamed, *form.dropped, *targets})
    if unknown:
        raise ValueError(
            f"JDBC parameters without a counterpart here: {', '.join(unknown)}. Remove them, or use a SQLAlchemy URL "
            f"({form.driver}://...), whose parameters go to the Python driver as they are."
        )
    result = {p: v for p, v in given.items() if p in targets and p not in form.renamed}
    # The parameters have the table's order, in which the more specific ones come later.
    for parameter, (target, convert) in form.renamed.items():
        if parameter not in given:
            continue
        try:
            value = convert(given[parameter])
        except ValueError as error:
            raise ValueError(f"JDBC parameter {parameter} of {form.name} {error}.") from None
        if not value:
            continue
        joined = form.joined.get(target)
        result[target] = f"{result[target]}{joined}{value}" if joined and target in result else value
    return dict(result)
