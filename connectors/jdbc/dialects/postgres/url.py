# ruff: noqa: SIM905 - many names read better as text
"""Makes psycopg's URLs of PostgreSQL's JDBC URLs, and knows which parameters of libpq any URL may name. Pure.

Ignored parameters are about the Java driver's own work (statement caches, batches of INSERT, logs, metadata, how it
makes Java's types), which is done otherwise here. A parameter that changes who is connected to whom, or which rows
come, is translated or refused. Source: pgJDBC 42.7, libpq ("Parameter Key Words", PostgreSQL 18).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import ClassVar, Final
from urllib.parse import unquote

from connectors.jdbc.dialects.generic.url import WHOLE, DriverParameters, Query, Rename, UrlForm, ValueForm, same
from connectors.jdbc.settings.url import DatabaseUrl, Login, values_of
from connectors.jdbc.settings.url_hosts import addresses

_DROPPED: Final = (
    "defaultRowFetchSize prepareThreshold reWriteBatchedInserts stringtype binaryTransfer binaryTransferEnable "
    "binaryTransferDisable loggerLevel loggerFile preparedStatementCacheQueries preparedStatementCacheSizeMiB "
    "assumeMinServerVersion socketTimeout readOnly readOnlyMode cleanupSavepoints autosave adaptiveFetch "
    "adaptiveFetchMinimum adaptiveFetchMaximum logUnclosedConnections logServerErrorDetail cancelSignalTimeout "
    "hostRecheckSeconds loadBalanceHosts preferQueryMode escapeSyntaxCallMode allowEncodingChanges unknownLength "
    "maxResultBuffer maxSendBufferSize databaseMetadataCacheFields databaseMetadataCacheFieldsMiB sslResponseTimeout "
    "quoteReturningIdentifiers hideUnprivilegedObjects sendBufferSize receiveBufferSize protocolVersion tcpNoDelay "
    "disableColumnSanitiser convertBooleanToNumeric compatible gssResponseTimeout xmlFactoryFactory"
)
LIBPQ: Final = DriverParameters(
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


def _ssl_mode(value: str) -> str:
    return "verify-full" if value.lower() in {"", "true"} else "disable"


_SSL_FACTORIES = {
    "org.postgresql.ssl.NonValidatingFactory": "require",
    "org.postgresql.ssl.LibPQFactory": "verify-full",
    "org.postgresql.ssl.jdbc4.LibPQFactory": "verify-full",
}


def _factory(value: str) -> str:
    if value not in _SSL_FACTORIES:
        raise ValueError("names a class of Java: say sslmode and sslrootcert instead")
    return _SSL_FACTORIES[value]


def _search_path(value: str) -> str:
    return "-csearch_path=" + value.replace("\\", "\\\\").replace(" ", "\\ ")


_SESSION_TARGETS = {
    "any": "any", "primary": "primary", "master": "primary", "secondary": "standby", "slave": "standby",
    "preferSecondary": "prefer-standby", "preferSlave": "prefer-standby", "preferPrimary": "any",
}  # fmt: skip


def _session_target(value: str) -> str:
    if value not in _SESSION_TARGETS:
        raise ValueError(f"must be one of {', '.join(_SESSION_TARGETS)}")
    return _SESSION_TARGETS[value]


_SOCKETS: Final = "/var/run/postgresql"
"""libpq looks in this folder for the socket of a server of this machine if a URL names no host."""
_RENAMED: Final[Mapping[str, Rename]] = {
    "ssl": ("sslmode", _ssl_mode), "sslfactory": ("sslmode", _factory), "sslmode": ("sslmode", same),
    "sslcert": ("sslcert", same), "sslkey": ("sslkey", same), "sslpassword": ("sslpassword", same),
    "sslrootcert": ("sslrootcert", same), "ApplicationName": ("application_name", same),
    "connectTimeout": ("connect_timeout", same), "loginTimeout": ("connect_timeout", same),
    "tcpKeepAlive": ("keepalives", lambda v: "1" if v.lower() == "true" else "0"),
    "options": ("options", same), "currentSchema": ("options", _search_path),
    "targetServerType": ("target_session_attrs", _session_target), "gssEncMode": ("gssencmode", same),
    "channelBinding": ("channel_binding", same), "kerberosServerName": ("krbsrvname", same),
}  # fmt: skip


class LibpqUrl(UrlForm):
    """Judges what libpq would load or reach by a URL, of PostgreSQL or another database that speaks its protocol."""

    forms: ClassVar[Mapping[str, ValueForm]] = {"connect_timeout": WHOLE}

    def driver_problems(self, url: DatabaseUrl) -> Iterator[str]:
        """Yield the problems, among them an sslkey as `engine:key`, of which libpq would load the library `engine`."""
        yield from super().driver_problems(url)
        if any(":" in key for key in values_of(url, "sslkey")):
            yield "sslkey names a library; give the path of a PEM file, which has no colon"

    def sockets(self, url: DatabaseUrl) -> Iterator[tuple[str, str]]:
        """Yield the hosts that libpq takes for sockets, and the default folder of sockets for each that has no name."""
        hosts = ",".join(values_of(url, "host") or (url.host or "",)).split(",")
        numbers = ",".join(values_of(url, "hostaddr")).split(",")
        for host, number in zip_longest(hosts, numbers, fillvalue=""):
            # A host with an address by number is reached by that, whatever its name is.
            if not number.strip() and (not host.strip() or host.startswith(("/", "@"))):
                yield "host", host.strip() or _SOCKETS


class PostgresUrl(LibpqUrl):
    """Reads URLs of PostgreSQL."""

    driver = "postgresql+psycopg"
    renamed = _RENAMED
    dropped = frozenset(_DROPPED.split())
    joined: ClassVar[Mapping[str, str]] = {"options": " "}
    drivers: ClassVar[Mapping[str, DriverParameters]] = {"postgresql": LIBPQ, "postgresql+psycopg": LIBPQ}

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL. libpq itself tries the servers if there are several."""
        if not address.startswith("/"):
            # pgJDBC: jdbc:postgresql:database is on this machine.
            address = f"///{address}"
        authority, _, database = address.removeprefix("//").partition("/")
        where = addresses(authority, 5432, "jdbc:postgresql://db.example:5432/name")
        if len(where) > 1:
            several = tuple(f"{host}:{port}" for host, port in where)
            return DatabaseUrl(self.driver, None, None, unquote(database), *login, {**query, "host": several})
        host, port = where[0]
        return DatabaseUrl(self.driver, host, port, unquote(database) or None, *login, query)
