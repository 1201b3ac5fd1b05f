"""Tells what is particular to Snowflake, which is read by its own driver.

Source: Snowflake JDBC Driver ("JDBC Driver connection parameter reference"), snowflake-sqlalchemy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.generic.cursors import Cursors
from connectors.jdbc.dialects.generic.url import DriverParameters, Query, Rename, ValueForm, same
from connectors.jdbc.dialects.partly_known.jdbc_urls import PlainUrl
from connectors.jdbc.settings.url import DatabaseUrl, Login

_DRIVER: Final = "snowflake"
_SERVER: Final = re.compile(
    r"//(?P<host>[\w.-]+\.snowflakecomputing\.(?:com|cn))(?::443)?/?(?P<place>[^/]+(?:/[^/]+)?)?"
)
_EXAMPLE: Final = "jdbc:snowflake://account.snowflakecomputing.com/?db=SHOP&warehouse=WH"


class SnowflakeUrl(PlainUrl):
    """Reads URLs of Snowflake."""

    driver = _DRIVER
    renamed: ClassVar[Mapping[str, Rename]] = {
        "warehouse": ("warehouse", same), "role": ("role", same), "authenticator": ("authenticator", str.lower),
        "private_key_file": ("private_key_file", same), "private_key_file_pwd": ("private_key_file_pwd", same),
        "private_key_pwd": ("private_key_file_pwd", same),
    }  # fmt: skip
    dropped = frozenset({
        "account", "application", "CLIENT_SESSION_KEEP_ALIVE", "client_session_keep_alive", "loginTimeout",
        "networkTimeout", "queryTimeout", "tracing", "ocspFailOpen", "JDBC_QUERY_RESULT_FORMAT", "CLIENT_MEMORY_LIMIT",
        "CLIENT_PREFETCH_THREADS", "CLIENT_RESULT_CHUNK_SIZE", "ssl", "internal", "TIMEZONE", "enablePutGet",
        "CLIENT_METADATA_REQUEST_USE_CONNECTION_CTX", "JDBC_TREAT_DECIMAL_AS_INT", "stringsQuotedForColumnDef",
    })  # fmt: skip
    drivers: ClassVar[Mapping[str, DriverParameters]] = {
        _DRIVER: DriverParameters(
            frozenset({"warehouse", "role", "authenticator", "private_key_file_pwd"}), frozenset({"private_key_file"})
        )
    }
    forms: ClassVar[Mapping[str, ValueForm]] = {
        "authenticator": ValueForm(re.compile("snowflake(_jwt)?"), "snowflake or snowflake_jwt"),
    }
    instead = "snowflake://user@account/SHOP/PUBLIC?warehouse=WH"

    def split(self, rest: str) -> tuple[str, dict[str, str]]:
        """Return the address and the parameters. Database and schema are moved from the parameters into the address."""
        address, given = super().split(rest)
        named = [given.pop(name, "") for name in ("database", "db", "schema")]
        return "/".join(filter(None, [address.rstrip("/"), named[1] or named[0], named[2]])), given

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL."""
        match = _SERVER.fullmatch(address)
        if match is None:
            raise ValueError(f"The server must be an account's, as {_EXAMPLE}")
        if match["place"] is None:
            raise ValueError(f"The database is missing, as in {_EXAMPLE}")
        return DatabaseUrl(self.driver, match["host"], None, match["place"], *login, query)


class SnowflakeConnecting(Connecting):
    """Connects to Snowflake."""

    installed_by: ClassVar[Mapping[str, str]] = {_DRIVER: "pip install 'snowflake-sqlalchemy>=2.1'"}


class SnowflakeCursors(Cursors):
    """Tells how new rows of Snowflake are found."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the clock in UTC, as a session may be in any zone."""
        return sa.func.sysdate()
