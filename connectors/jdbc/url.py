"""Translates JDBC URLs into the parts of a SQLAlchemy URL. Pure; no message repeats a URL: it may hold a password."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from connect.api.config import HIDDEN

_POSTGRES_DROPPED = {
    "defaultRowFetchSize", "prepareThreshold", "reWriteBatchedInserts", "stringtype", "binaryTransfer", "loggerLevel",
    "preparedStatementCacheQueries", "preparedStatementCacheSizeMiB", "assumeMinServerVersion", "socketTimeout",
    "readOnly", "readOnlyMode", "cleanupSavepoints", "autosave", "adaptiveFetch", "logUnclosedConnections",
}  # fmt: skip
_MYSQL_DROPPED = {
    "zeroDateTimeBehavior", "serverTimezone", "connectionTimeZone", "useCursorFetch", "defaultFetchSize", "useUnicode",
    "rewriteBatchedStatements", "autoReconnect", "tinyInt1isBit", "useLegacyDatetimeCode", "allowPublicKeyRetrieval",
    "yearIsDateType", "useServerPrepStmts", "cachePrepStmts", "nullCatalogMeansCurrent", "tcpKeepAlive",
    "characterEncoding", "sendFractionalSeconds", "timezone", "permitMysqlScheme", "useMysqlMetadata",
    "prepStmtCacheSize", "prepStmtCacheSqlLimit", "maxReconnects", "connectionCollation",
}  # fmt: skip
_SQLITE_DROPPED = {
    "date_class", "date_precision", "journal_mode", "synchronous", "cache_size", "foreign_keys", "open_mode", "cache",
    "transaction_mode", "locking_mode", "temp_store", "shared_cache", "mode",
}  # fmt: skip


def _seconds_of_ms(value: str) -> str:
    try:
        return str(max(1, int(value) // 1000))
    except ValueError:
        raise ValueError("must be a whole number of milliseconds") from None


def _exact_seconds_of_ms(value: str) -> str:
    try:
        return str(int(value) / 1000)
    except ValueError:
        raise ValueError("must be a whole number of milliseconds") from None


def _ssl_mode(value: str) -> str:
    return "require" if value.lower() in {"", "true"} else "disable"


def _search_path(value: str) -> str:
    return f"-csearch_path={value}"


_SESSION_TARGETS = {
    "any": "any", "primary": "primary", "master": "primary", "secondary": "standby", "slave": "standby",
    "preferSecondary": "prefer-standby", "preferSlave": "prefer-standby",
}  # fmt: skip


def _session_target(value: str) -> str:
    if value not in _SESSION_TARGETS:
        raise ValueError(f"must be one of {', '.join(_SESSION_TARGETS)}")
    return _SESSION_TARGETS[value]


_MYSQL_SSL_MODES = {
    "disable": "disabled", "disabled": "disabled", "preferred": "preferred", "trust": "required",
    "required": "required", "verify-ca": "verify_ca", "verify_ca": "verify_ca", "verify-full": "verify_identity",
    "verify_identity": "verify_identity",
}  # fmt: skip


def _mysql_ssl_mode(value: str) -> str:
    if value.lower() not in _MYSQL_SSL_MODES:
        raise ValueError(f"must be one of {', '.join(_MYSQL_SSL_MODES)}")
    return _MYSQL_SSL_MODES[value.lower()]


def _encrypted(value: str) -> str:
    return "required" if value.lower() == "true" else "preferred"


def _verified(value: str) -> str:
    return "verify_identity" if value.lower() == "true" else "preferred"


def _same(value: str) -> str:
    return value


_Rename = tuple[str, Callable[[str], str]]
_POSTGRES: dict[str, _Rename] = {
    "ssl": ("sslmode", _ssl_mode), "sslmode": ("sslmode", _same), "sslcert": ("sslcert", _same),
    "sslkey": ("sslkey", _same), "sslrootcert": ("sslrootcert", _same), "ApplicationName": ("application_name", _same),
    "connectTimeout": ("connect_timeout", _same), "loginTimeout": ("connect_timeout", _same),
    "tcpKeepAlive": ("keepalives", lambda v: "1" if v.lower() == "true" else "0"),
    "currentSchema": ("options", _search_path), "options": ("options", _same),
    "targetServerType": ("target_session_attrs", _session_target),
}  # fmt: skip
_MYSQL: dict[str, _Rename] = {
    "connectTimeout": ("connect_timeout", _seconds_of_ms), "socketTimeout": ("read_timeout", _seconds_of_ms),
    "serverSslCert": ("ssl_ca", _same), "keyStore": ("ssl_cert", _same), "unix_socket": ("unix_socket", _same),
    "localSocket": ("unix_socket", _same), "sslMode": ("ssl_mode", _mysql_ssl_mode), "useSSL": ("ssl_mode", _encrypted),
    "ssl_key": ("ssl_key", _same),
}  # fmt: skip
# MariaDB's driver verifies where MySQL's only encrypts.
_MARIADB: dict[str, _Rename] = {
    **_MYSQL, "useSSL": ("ssl_mode", _verified), "useSsl": ("ssl_mode", _verified),
    "trustServerCertificate": ("ssl_trust", _same),
}  # fmt: skip
_SQLITE: dict[str, _Rename] = {"busy_timeout": ("timeout", _exact_seconds_of_ms)}


@dataclass(frozen=True, slots=True)
class _Family:
    drivername: str
    port: int
    renamed: Mapping[str, _Rename]
    dropped: frozenset[str]


_FAMILIES = {
    "postgresql": _Family("postgresql+psycopg", 5432, _POSTGRES, frozenset(_POSTGRES_DROPPED)),
    "mysql": _Family("mysql+pymysql", 3306, _MYSQL, frozenset(_MYSQL_DROPPED)),
    "mariadb": _Family("mariadb+pymysql", 3306, _MARIADB, frozenset(_MYSQL_DROPPED)),
    "sqlite": _Family("sqlite", 0, _SQLITE, frozenset(_SQLITE_DROPPED)),
}


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """The parts of a SQLAlchemy URL. The password is kept out of the repr."""

    drivername: str
    host: str | None = None
    port: int | None = None
    database: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    query: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)


def is_jdbc(url: str) -> bool:
    """Whether this is a JDBC URL, else it is SQLAlchemy's to parse."""
    return url.startswith("jdbc:")


def family(url: str) -> str:
    """The database's name in the URL, as `sqlite` or `postgresql`; empty when it has no scheme."""
    match = re.match(r"(?:jdbc:)?([a-zA-Z][a-zA-Z0-9]*)", url) if ":" in url else None
    return match[1].lower() if match else ""


def translate(url: str, properties: Mapping[str, str] | None = None) -> DatabaseUrl:
    """The SQLAlchemy parts of a JDBC URL and further driver properties, which win. ValueError says what is unknown."""
    name = family(url)
    if name not in _FAMILIES:
        known = ", ".join(f"jdbc:{f}:" for f in _FAMILIES)
        raise ValueError(f"Unknown JDBC URL. Known are {known} and any SQLAlchemy URL, as oracle+oracledb://host/name.")
    rest = url.removeprefix("jdbc:")[len(name) + 1 :]
    address, _, text = rest.partition("?")
    given = dict(parse_qsl(text.replace(";", "&"), keep_blank_values=True)) | dict(properties or {})
    user, password = given.pop("user", None), given.pop("password", None)
    chosen = _FAMILIES[name]
    query = _parameters(chosen, name, given)
    if name == "sqlite":
        return DatabaseUrl(chosen.drivername, database=_sqlite_path(address), query=query)
    hosts, _, database = address.removeprefix("//").partition("/")
    where = _hosts(chosen, name, hosts)
    if len(where) > 1:
        several = tuple(f"{host}:{port}" for host, port in where)
        return DatabaseUrl(chosen.drivername, None, None, unquote(database), user, password, {**query, "host": several})
    host, port = where[0]
    return DatabaseUrl(chosen.drivername, host, port, unquote(database) or None, user, password, query)


def without_password(url: str) -> str:
    """The URL with every password in it replaced, for answers and messages."""
    url = re.sub(r"(?i)((?:[?&;]|^)[^=&?;]*(?:password|secret|token)[^=&?;]*=)[^&;]*", rf"\1{HIDDEN}", url)
    return re.sub(r"(://[^:/@?]*):[^/]*@", rf"\1:{HIDDEN}@", url)


def _parameters(chosen: _Family, name: str, given: Mapping[str, str]) -> dict[str, str | tuple[str, ...]]:
    targets = {target for target, _ in chosen.renamed.values()}
    unknown = sorted(p for p in given if p not in {*chosen.renamed, *chosen.dropped, *targets})
    if unknown:
        raise ValueError(
            f"JDBC parameters without a counterpart here: {', '.join(unknown)}. Remove them, or use a SQLAlchemy URL "
            f"({chosen.drivername}://...), whose parameters go to the Python driver as they are."
        )
    result: dict[str, str | tuple[str, ...]] = {p: v for p, v in given.items() if p in targets}
    for parameter in (p for p in given if p in chosen.renamed):
        target, convert = chosen.renamed[parameter]
        try:
            result[target] = convert(given[parameter])
        except ValueError as error:
            raise ValueError(f"JDBC parameter {parameter} of {name} {error}.") from None
    return result


def _sqlite_path(address: str) -> str:
    path = address.removeprefix("file:")
    if path.startswith("//"):
        path = "/" + path.lstrip("/")
    return path or ":memory:"


def _hosts(chosen: _Family, name: str, hosts: str) -> list[tuple[str, int]]:
    result = []
    for part in hosts.split(",") if hosts else [""]:
        match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:@\[\]]*)(?::(\d+))?", part)
        if match is None:
            raise ValueError(f"The host part must be host:port, as jdbc:{name}://db.example:{chosen.port}/name.")
        result.append((match[1].strip("[]") or "localhost", int(match[2] or chosen.port)))
    return result
