"""Tells what is particular to Amazon Redshift, which is read by Amazon's own driver.

Source: Amazon Redshift JDBC Driver 2 ("Options for JDBC driver version 2.x configuration"), redshift_connector.
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

_DRIVER: Final = "redshift+redshift_connector"
_SERVER: Final = re.compile(rf"//(?P<host>{HOST})(?::(?P<port>\d+))?/(?P<database>[\w$-]+)")
_FALSE: Final = frozenset({"false", "no", "off", "n", "f", "0"})


def _verified(value: str) -> str:
    if value.lower() not in {"verify-ca", "verify-full"}:
        raise ValueError("must be verify-ca or verify-full")
    return value.lower()


class RedshiftUrl(PlainUrl):
    """Reads URLs of Redshift."""

    driver = _DRIVER
    renamed: ClassVar[Mapping[str, Rename]] = {
        "ssl": ("ssl", same), "SSL": ("ssl", same), "sslMode": ("sslmode", _verified),
        "sslmode": ("sslmode", _verified), "loginTimeout": ("timeout", same), "ApplicationName": ("application_name",
        same),
    }  # fmt: skip
    dropped = frozenset({
        "tcpKeepAlive", "TCPKeepAlive", "defaultRowFetchSize", "blockingRowsMode", "BlockingRowsMode", "logLevel",
        "LogLevel", "LogPath", "readOnly", "reWriteBatchedInserts", "reWriteBatchedInsertsSize",
        "enableFetchRingBuffer",
        "fetchRingBufferSize", "databaseMetadataCurrentDbOnly", "queryGroup", "socketTimeout",
        "OpenSourceSubProtocolOverride",
    })  # fmt: skip
    drivers: ClassVar[Mapping[str, DriverParameters]] = {
        _DRIVER: DriverParameters(frozenset({"ssl", "sslmode", "timeout", "application_name"}))
    }
    forms: ClassVar[Mapping[str, ValueForm]] = {
        "ssl": TRUTH, "timeout": WHOLE, "sslmode": ValueForm(re.compile("verify-(ca|full)"),
        "verify-ca or verify-full"),
    }  # fmt: skip
    instead = "redshift+redshift_connector://user@host:5439/name"

    def split(self, rest: str) -> tuple[str, dict[str, str]]:
        """Return the address and the parameters, which follow a question mark or a semicolon."""
        address, *behind = re.split("[?;]", rest, maxsplit=1)
        return super().split("?".join([address, *behind]))

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL."""
        if address.startswith("iam:"):
            raise ValueError("jdbc:redshift:iam: asks Amazon for a password: name user and password")
        match = _SERVER.fullmatch(address)
        if match is None:
            raise ValueError("The server must be host:port/database, as jdbc:redshift://db.example:5439/shop")
        return DatabaseUrl(
            self.driver, match["host"].strip("[]"), int(match["port"] or 5439), match["database"], *login, query
        )


class RedshiftConnecting(Connecting):
    """Connects to Redshift."""

    installed_by: ClassVar[Mapping[str, str]] = {_DRIVER: "pip install sqlalchemy-redshift redshift-connector"}

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL with the time that a server may take to answer, under the driver's name `timeout`."""
        del creates_file
        if connect_timeout_s is None or url.drivername != _DRIVER or "timeout" in url.query:
            return url
        return url.update_query_dict({"timeout": str(connect_timeout_s)})

    def take_tls(self, url: sa.URL) -> tuple[sa.URL, dict[str, Any]]:
        """Return the URL without the parameters that the driver does not take as texts, and those as arguments.

        As with Java's driver the server's name is compared with its certificate only if sslMode=verify-full.
        """
        if url.drivername != _DRIVER:
            return url, {}
        given = url.query
        is_plain = str(given.get("ssl", "true")).strip().lower() in _FALSE
        arguments: dict[str, Any] = {"ssl": not is_plain, "sslmode": str(given.get("sslmode", "verify-ca"))}
        if (seconds := given.get("timeout")) is not None:
            arguments["timeout"] = int(str(seconds))
        return url.difference_update_query(arguments), arguments


class RedshiftCursors(Cursors):
    """Tells how new rows of Redshift are found."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the database's clock, which is in UTC."""
        return sa.func.getdate()
