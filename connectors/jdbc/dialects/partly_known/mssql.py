"""Tells what is particular to SQL Server.

Source: Microsoft JDBC Driver 12 ("Building the connection URL", "Setting the connection properties"), jTDS 1.3 ("FAQ").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.generic.cursors import Cursors
from connectors.jdbc.dialects.generic.sessions import Sessions
from connectors.jdbc.dialects.generic.types import ColumnTypes
from connectors.jdbc.dialects.generic.url import WHOLE, DriverParameters, Query, Rename, ValueForm, same
from connectors.jdbc.dialects.partly_known.jdbc_urls import HOST, SemicolonUrl
from connectors.jdbc.settings.url import DatabaseUrl, Login

_SERVER: Final = re.compile(
    rf"//(?P<host>{HOST})(?P<instance>\\[\w$-]+)?(?::(?P<port>\d+))?(?:/(?P<database>[^/]*))?/?"
)
_EXAMPLE: Final = "jdbc:sqlserver://db.example:1433;databaseName=shop"
_PYMSSQL: Final = DriverParameters(
    frozenset({"appname", "charset", "encryption", "login_timeout", "read_only", "tds_version"})
)
_DROPPED: Final = (
    "trustservercertificate hostnameincertificate sendstringparametersasunicode selectmethod responsebuffering "
    "packetsize lastupdatecount multisubnetfailover sockettimeout querytimeout locktimeout workstationid tcpnodelay "
    "sendtemporaldatatypesasstringforbulkcopy statementpoolingcachesize disablestatementpooling cancelquerytimeout "
    "usebulkcopyforbatchinsert delayloadinglobs connectretrycount connectretryinterval preparesql uselobs "
    "cachemetadata buffermaxmemory bufferminpackets buffersize maxstatements namedpipe columnencryptionsetting"
)


def _encryption(value: str) -> str:
    if value.lower() not in {"true", "mandatory", "false", "optional", "no", "yes", "request", "require", "off"}:
        raise ValueError("must be true or false; TDS 8 (strict) is not spoken by pymssql")
    return "require" if value.lower() in {"true", "mandatory", "yes", "require"} else "request"


def _read_only(value: str) -> str:
    return "true" if value.lower() == "readonly" else ""


class MsSqlUrl(SemicolonUrl):
    """Reads URLs of SQL Server in the forms of Microsoft's driver and of jTDS."""

    instead = "mssql+pymssql://user@host:1433/name"
    renamed: ClassVar[Mapping[str, Rename]] = {
        "encrypt": ("encryption", _encryption), "ssl": ("encryption", _encryption),
        "loginTimeout": ("login_timeout", same), "applicationName": ("appname", same), "appName": ("appname", same),
        "applicationIntent": ("read_only", _read_only),
    }  # fmt: skip
    dropped = frozenset(_DROPPED.split())
    drivers: ClassVar[Mapping[str, DriverParameters]] = {"mssql+pymssql": _PYMSSQL}
    forms: ClassVar[Mapping[str, ValueForm]] = {
        "login_timeout": WHOLE, "read_only": ValueForm(re.compile("true"), "true"),
        "encryption": ValueForm(re.compile("off|request|require"), "off, request or require"),
    }  # fmt: skip

    def __init__(self, name: str) -> None:
        """Take the name that the URLs begin with; with `mssql` only SQLAlchemy's URLs begin."""
        super().__init__(name)
        self.driver = "" if name == "mssql" else "mssql+pymssql"

    def split(self, rest: str) -> tuple[str, dict[str, str]]:
        """Return the address and the parameters. Parameters that name a part of the address are moved into it."""
        address, given = super().split(rest.removeprefix("sqlserver:"))
        by_name = {name.lower(): name for name in given}

        def taken(*names: str) -> str:
            found = [given.pop(by_name[name]) for name in names if name in by_name]
            return found[0] if found else ""

        host, port = taken("servername", "server"), taken("portnumber", "port")
        database, user = taken("databasename", "database"), taken("username")
        address = f"//{host}" if address in {"", "//"} else address.rstrip("/")
        behind = f"{f':{port}' if port else ''}{f'/{database}' if database else ''}"
        return address + behind, given | ({"user": user} if user else {})

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL."""
        match = _SERVER.fullmatch(address)
        if match is None:
            raise ValueError(f"The server must be host:port, as {_EXAMPLE}")
        if match["instance"] and not match["port"]:
            raise ValueError(f"A named instance must have its port, as {_EXAMPLE}")
        where = match["host"].strip("[]"), int(match["port"] or 1433)
        return DatabaseUrl(self.driver, *where, match["database"] or None, *login, query)

    def settings(self, url: str) -> dict[str, str]:
        """Return the keys of a connector for sqlserver://user@host:port/database."""
        found = super().settings(url)
        place, _, database = found["connection.url"].rpartition("/")
        return found | {"connection.url": f"{place};databaseName={database}"}


class MsSqlConnecting(Connecting):
    """Connects to SQL Server."""

    extras: ClassVar[Mapping[str, str]] = {"mssql+pymssql": "jdbc-mssql"}

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL with the time that a server may take to answer, under pymssql's name `login_timeout`."""
        del creates_file
        if connect_timeout_s is None or url.drivername not in self.extras or "login_timeout" in url.query:
            return url
        return url.update_query_dict({"login_timeout": str(connect_timeout_s)})

    def take_tls(self, url: sa.URL) -> tuple[sa.URL, dict[str, Any]]:
        """Return the URL without the parameters that pymssql does not take as texts, and those as arguments."""
        if url.drivername not in self.extras:
            return url, {}
        arguments: dict[str, Any] = {}
        if (seconds := url.query.get("login_timeout")) is not None:
            arguments["login_timeout"] = int(str(seconds))
        if "read_only" in url.query:
            arguments["read_only"] = True
        return url.difference_update_query(arguments), arguments


class MsSqlTypes(ColumnTypes):
    """Tells which values the column types of SQL Server hold."""

    has_unsigned_tinyints = True


class MsSqlCursors(Cursors):
    """Tells how new rows of SQL Server are found."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the database's clock in UTC, as its CURRENT_TIMESTAMP is the server's wall clock."""
        return sa.func.sysutcdatetime()


class MsSqlSessions(Sessions):
    """Tells how sessions of SQL Server begin."""

    has_snapshot_isolation = True
