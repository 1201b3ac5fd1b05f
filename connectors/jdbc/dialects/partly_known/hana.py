"""Tells what is particular to SAP HANA, which is read by SAP's own driver.

Source: SAP HANA Client Interface Programming Reference ("JDBC Connection Properties", "Connect from Python").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.generic.cursors import Cursors
from connectors.jdbc.dialects.generic.url import TRUTH, DriverParameters, Query, Rename, ValueForm, same
from connectors.jdbc.dialects.partly_known.jdbc_urls import HOST, PlainUrl
from connectors.jdbc.settings.url import DatabaseUrl, Login

_DRIVER: Final = "hana+hdbcli"
_SERVER: Final = re.compile(rf"//(?P<host>{HOST}):(?P<port>\d+)/?")
_EXAMPLE: Final = "jdbc:sap://db.example:30015/?databaseName=SHOP"


class HanaUrl(PlainUrl):
    """Reads URLs of SAP HANA."""

    renamed: ClassVar[Mapping[str, Rename]] = {
        "databaseName": ("databaseName", same), "currentSchema": ("currentSchema", same), "encrypt": ("encrypt", same),
        "validateCertificate": ("sslValidateCertificate", same),
        "hostNameInCertificate": ("sslHostNameInCertificate", same),
    }  # fmt: skip
    dropped = frozenset({
        "reconnect", "autocommit", "communicationtimeout", "communicationTimeout", "connectTimeout",
        "statementCacheSize", "distribution", "packetSize", "locale", "traceFile", "traceOptions",
        "splitBatchCommands", "prefetch",
    })  # fmt: skip
    drivers: ClassVar[Mapping[str, DriverParameters]] = {
        _DRIVER: DriverParameters(
            frozenset(
                {"databaseName", "currentSchema", "encrypt", "sslValidateCertificate", "sslHostNameInCertificate"}
            )
        )
    }
    forms: ClassVar[Mapping[str, ValueForm]] = {"encrypt": TRUTH, "sslValidateCertificate": TRUTH}
    instead = "hana+hdbcli://user@host:30015/?databaseName=SHOP"

    def __init__(self, name: str) -> None:
        """Take the name that the URLs begin with; with `hana` only SQLAlchemy's URLs begin."""
        super().__init__(name)
        self.driver = _DRIVER if name == "sap" else ""

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL."""
        match = _SERVER.fullmatch(address)
        if match is None:
            raise ValueError(f"The server must be one host:port, as {_EXAMPLE}")
        return DatabaseUrl(self.driver, match["host"].strip("[]"), int(match["port"]), None, *login, query)


class HanaConnecting(Connecting):
    """Connects to SAP HANA."""

    ping = "SELECT 1 FROM DUMMY"
    installed_by: ClassVar[Mapping[str, str]] = {_DRIVER: "pip install sqlalchemy-hana hdbcli"}


class HanaCursors(Cursors):
    """Tells how new rows of SAP HANA are found."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the clock in UTC, as CURRENT_TIMESTAMP is the server's wall clock."""
        return sa.literal_column("CURRENT_UTCTIMESTAMP", sa.DateTime())
