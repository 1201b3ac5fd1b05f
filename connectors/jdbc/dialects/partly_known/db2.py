"""Tells what is particular to Db2, which is read by IBM's own driver.

Source: IBM Data Server Driver for JDBC and SQLJ ("URL format"), ibm_db_sa.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import sqlalchemy as sa

from connect.api.errors import ConfigError
from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.generic.url import DriverParameters, Query, Rename, same
from connectors.jdbc.dialects.partly_known import java_stores
from connectors.jdbc.dialects.partly_known.jdbc_urls import HOST, SemicolonUrl
from connectors.jdbc.settings.url import DatabaseUrl, Login

_DRIVER: Final = "db2+ibm_db"
_SERVER: Final = re.compile(rf"//(?P<host>{HOST})(?::(?P<port>\d+))?/(?P<database>[\w$#@-]+)")
_IBM_DB: Final = DriverParameters(
    frozenset({"CurrentSchema", "Security", java_stores.TRUST_PASSWORD}),
    frozenset({"SSLServerCertificate", java_stores.TRUST}),
)


def _security(value: str) -> str:
    return "SSL" if value.lower() == "true" else ""


class Db2Url(SemicolonUrl):
    """Reads URLs of Db2."""

    renamed: ClassVar[Mapping[str, Rename]] = {
        "sslConnection": ("Security", _security), "currentSchema": ("CurrentSchema", same),
        "sslCertLocation": ("SSLServerCertificate", same), "sslTrustStoreLocation": (java_stores.TRUST, same),
        "sslTrustStorePassword": (java_stores.TRUST_PASSWORD, same),
    }  # fmt: skip
    free_texts = frozenset({java_stores.TRUST_PASSWORD})
    dropped = frozenset({
        "sslTrustStoreType",
        "retrieveMessagesFromServerOnGetMessage", "progressiveStreaming", "fullyMaterializeLobData", "deferPrepares",
        "driverType", "loginTimeout", "blockingReadConnectionTimeout", "queryTimeoutInterruptProcessingMode",
    })  # fmt: skip
    drivers: ClassVar[Mapping[str, DriverParameters]] = {_DRIVER: _IBM_DB}
    instead = "db2+ibm_db://user@host:50000/name"

    def __init__(self, name: str) -> None:
        """Take the name that the URLs begin with; with `ibm` only SQLAlchemy's URLs begin."""
        super().__init__(name)
        self.driver = _DRIVER if name == "db2" else ""

    def split(self, rest: str) -> tuple[str, dict[str, str]]:
        """Return the address and the parameters, which follow the database's name and a colon."""
        server, slash, behind = rest.removeprefix("//").partition("/")
        database, colon, text = behind.partition(":")
        return super().split(f"//{server}{slash}{database}{';' if colon else ''}{text}")

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL."""
        match = _SERVER.fullmatch(address)
        if match is None:
            raise ValueError("The server must be host:port/database, as jdbc:db2://db.example:50000/SHOP")
        host, port = match["host"].strip("[]"), int(match["port"] or 50000)
        return DatabaseUrl(self.driver, host, port, match["database"], *login, query)


class Db2Connecting(Connecting):
    """Connects to Db2."""

    installed_by: ClassVar[Mapping[str, str]] = {_DRIVER: "pip install ibm-db-sa"}
    ping = "SELECT 1 FROM SYSIBM.SYSDUMMY1"

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL as it is. ConfigError: the driver would read a part of user or password as settings."""
        del connect_timeout_s, creates_file
        if any(";" in str(part or "") for part in (url.username, url.password)):
            raise ConfigError(
                "The user or the password of Db2 has a semicolon, which its driver takes for the end of it.",
                key="connection.password", fix="Give the user another password.",
            )  # fmt: skip
        return url

    def take_tls(self, url: sa.URL) -> tuple[sa.URL, dict[str, Any]]:
        """Return the URL with a file of the authorities that a store of Java's has. ConfigError: it has none."""
        trusted = java_stores.store_of(url, java_stores.TRUST, java_stores.TRUST_PASSWORD)
        if trusted is None:
            return url.difference_update_query([java_stores.TRUST_PASSWORD]), {}
        made = url.difference_update_query([java_stores.TRUST, java_stores.TRUST_PASSWORD])
        return made.update_query_dict({"SSLServerCertificate": java_stores.authorities_file(trusted)}), {}
