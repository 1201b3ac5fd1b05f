"""Makes sqlalchemy-firebird's URLs of Firebird's JDBC URLs, and knows which parameters they may name. Pure.

Source: Jaybird 6 ("Connecting to Firebird", "Connection properties").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from connectors.jdbc.dialects.generic.url import DriverParameters, Query, Rename, ValueForm, same
from connectors.jdbc.dialects.partly_known.jdbc_urls import HOST, PlainUrl
from connectors.jdbc.settings.url import DatabaseUrl, Login

DRIVER: Final = "firebird+firebird"
DEFAULT_PORT: Final = 3050
WIRE_CRYPT: Final = "wire_crypt"
_EXAMPLE: Final = "jdbc:firebirdsql://db.example:3050/shop, or jdbc:firebirdsql:db.example/3050:/data/shop.fdb"
_KINDS: Final = frozenset({"java", "native", "oo", "type2"})
"""Java has these drivers that connect to a server. All of them become the same driver here."""
_IN_PROCESS: Final = frozenset({"embedded", "local"})
_SERVER: Final = re.compile(rf"(?:inet[46]?:)?//(?P<host>{HOST})(?::(?P<port>\d+))?/(?P<database>.+)")
_OLD: Final = re.compile(rf"(?P<host>{HOST})(?:/(?P<port>\d+))?:(?P<database>.+)")
_JAVA_CHARSETS: Final = {
    "utf8": "UTF8", "usascii": "ASCII", "iso88591": "ISO8859_1", "iso885915": "ISO8859_15", "big5": "BIG_5",
    "shiftjis": "SJIS_0208", "gb2312": "GB_2312", "koi8r": "KOI8R", "koi8u": "KOI8U",
}  # fmt: skip
_DROPPED: Final = (
    "socketBufferSize socket_buffer_size blobBufferSize blob_buffer_size useStreamBlobs use_stream_blobs "
    "defaultResultSetHoldable result_set_holdable defaultHoldable timestampUsesLocalTimezone columnLabelForName "
    "connectTimeout connect_timeout soTimeout so_timeout socketTimeout wireCompression "
    "wire_compression authPlugins auth_plugins auth_plugin_list useStandardUdf use_standard_udf scrollableCursor "
    "ignoreProcedureType maxInlineBlobSize maxBlobCacheSize useServerBatch serverBatchBufferSize pageCacheSize "
    "asyncFetch generatedKeysEnabled processId processName decfloatRound decfloatTraps dataTypeBind reportSQLWarnings"
)


def _charset_of_java(value: str) -> str:
    plain = re.sub(r"[^a-z0-9]", "", value.lower())
    windows = re.fullmatch(r"(?:cp|windows|win)(\d{4})", plain)
    found = f"WIN{windows[1]}" if windows else _JAVA_CHARSETS.get(plain)
    if found is None:
        raise ValueError("is a name of Java's that has no counterpart here: give encoding, Firebird's own name")
    return found


_WIRE_CRYPT: Final = {"DEFAULT": "Enabled", "ENABLED": "Enabled", "REQUIRED": "Required", "DISABLED": "Disabled"}


def _wire_crypt(value: str) -> str:
    if value.upper() not in _WIRE_CRYPT:
        raise ValueError(f"must be one of {', '.join(_WIRE_CRYPT)}")
    return _WIRE_CRYPT[value.upper()]


class FirebirdUrl(PlainUrl):
    """Reads URLs of Jaybird."""

    driver = DRIVER
    renamed: ClassVar[Mapping[str, Rename]] = {
        "charSet": ("charset", _charset_of_java), "localEncoding": ("charset", _charset_of_java),
        "encoding": ("charset", str.upper), "lc_ctype": ("charset", str.upper),
        "roleName": ("role", same), "sqlRole": ("role", same), "sql_role_name": ("role", same),
        "wireCrypt": (WIRE_CRYPT, _wire_crypt), "wire_crypt": (WIRE_CRYPT, _wire_crypt),
    }  # fmt: skip
    dropped = frozenset(_DROPPED.split())
    drivers: ClassVar[Mapping[str, DriverParameters]] = {
        name: DriverParameters(frozenset({"charset", "role", WIRE_CRYPT})) for name in ("firebird", DRIVER)
    }
    forms: ClassVar[Mapping[str, ValueForm]] = {
        "charset": ValueForm(re.compile("[A-Z0-9_]+"), "Firebird's name of a character set, as UTF8 or WIN1252"),
        WIRE_CRYPT: ValueForm(re.compile("Enabled|Required|Disabled"), "Enabled, Required or Disabled"),
    }
    instead = "firebird+firebird://user@host:3050/shop"

    def split(self, rest: str) -> tuple[str, dict[str, str]]:
        """Return the address and the parameters, without the SQL dialect, which is always 3 here."""
        address, given = super().split(rest)
        if any(given.pop(name, "3") != "3" for name in ("sqlDialect", "sql_dialect", "dialect")):
            raise ValueError(
                "The parameter sqlDialect must be 3: in dialects 1 and 2 numbers and dates are other types"
            )
        return address, given

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL."""
        kind, colon, rest = address.partition(":")
        if kind in _IN_PROCESS and colon:
            raise ValueError(
                f"jdbc:{self.name}:{kind}: opens the file within Java's process. Name the server of the file, as "
                f"{_EXAMPLE}"
            )
        where = rest if kind in _KINDS and colon else address
        is_odd = "://" in where or where.startswith("//") or not where
        is_path = bool(re.match("[A-Za-z]:|/", where))
        match = _SERVER.fullmatch(where) or (None if is_odd or is_path else _OLD.fullmatch(where))
        if match is None and is_odd:
            raise ValueError(f"The server must be host:port/database, as {_EXAMPLE}")
        if match is None:  # a path alone is one of this machine's server
            return DatabaseUrl(self.driver, "localhost", DEFAULT_PORT, where, *login, query)
        host, port = match["host"].strip("[]"), int(match["port"] or DEFAULT_PORT)
        return DatabaseUrl(self.driver, host, port, match["database"], *login, query)

    def driver_problems(self, url: DatabaseUrl) -> Iterator[str]:
        """Yield the problems, among them a missing server, as the library would open the database's name as a file."""
        for problem in super().driver_problems(url):
            if not problem.startswith("the database "):  # the server reads its name, which may have spaces
                yield problem
        if url.drivername in self.drivers and not (url.host and url.database):
            yield f"it has no server or no database, as in {_EXAMPLE}"
