"""Tells what is particular to ClickHouse, which is read by its own driver over HTTP.

Source: ClickHouse JDBC Driver ("Connection URL"), clickhouse-connect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.generic.cursors import Cursors
from connectors.jdbc.dialects.generic.url import TRUTH, WHOLE, DriverParameters, Query, Rename, ValueForm, same
from connectors.jdbc.dialects.partly_known.jdbc_urls import HOST, PlainUrl
from connectors.jdbc.settings.url import DatabaseUrl, Login

_DRIVER: Final = "clickhousedb+connect"
_SERVER: Final = re.compile(
    rf"(?:(?P<protocol>https?):)?//(?P<host>{HOST})(?::(?P<port>\d+))?(?:/(?P<database>[\w$-]*))?", re.IGNORECASE
)
_PARAMETERS: Final = frozenset({"secure", "verify", "connect_timeout"})


def _verified(value: str) -> str:
    return "false" if value.lower() == "none" else "true"


def _seconds_of_ms(value: str) -> str:
    if not value.isdigit():
        raise ValueError("must be a whole number of milliseconds")
    return str(-(-int(value) // 1000))


class ClickHouseUrl(PlainUrl):
    """Reads URLs of ClickHouse."""

    renamed: ClassVar[Mapping[str, Rename]] = {
        "ssl": ("secure", same), "sslmode": ("verify", _verified),
        "connection_timeout": ("connect_timeout", _seconds_of_ms), "connect_timeout": ("connect_timeout",
        _seconds_of_ms),
    }  # fmt: skip
    dropped = frozenset({
        "socket_timeout", "compress", "compress_algorithm", "decompress", "max_threads", "http_connection_provider",
        "client_name", "jdbc_ignore_unsupported_values", "jdbc_schema_term", "use_server_time_zone", "fetchSize",
        "buffer_size", "keepAliveTimeout", "dataTransferTimeout", "session_check", "server_version",
    })  # fmt: skip
    drivers: ClassVar[Mapping[str, DriverParameters]] = {
        name: DriverParameters(_PARAMETERS) for name in (_DRIVER, "clickhousedb")
    }
    forms: ClassVar[Mapping[str, ValueForm]] = {"secure": TRUTH, "verify": TRUTH, "connect_timeout": WHOLE}
    instead = "clickhousedb+connect://user@host:8123/name"

    def __init__(self, name: str) -> None:
        """Take the name that the URLs begin with; with `clickhousedb` only SQLAlchemy's URLs begin."""
        super().__init__(name)
        self.driver = "" if name == "clickhousedb" else _DRIVER

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL."""
        match = _SERVER.fullmatch(address)
        if match is None:
            raise ValueError("The server must be one host:port over HTTP, as jdbc:clickhouse://db.example:8123/shop")
        is_secure = (match["protocol"] or "").lower() == "https" or str(query.get("secure", "")).lower() == "true"
        further = dict(query) | ({"secure": "true"} if is_secure else {})
        port = int(match["port"] or (8443 if is_secure else 8123))
        return DatabaseUrl(
            self.driver, match["host"].strip("[]"), port, match["database"] or "default", *login, further
        )


class ClickHouseConnecting(Connecting):
    """Connects to ClickHouse."""

    installed_by: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (_DRIVER, "clickhousedb"), "pip install 'clickhouse-connect[sqlalchemy]'"
    )


class ClickHouseCursors(Cursors):
    """Tells how new rows of ClickHouse are found."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the clock in UTC, whatever the server's zone is."""
        return sa.func.now64(sa.literal_column("6"), sa.literal_column("'UTC'"))
