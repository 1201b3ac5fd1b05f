"""Tells what is particular to Oracle, which is read by oracledb without Oracle's own libraries.

Source: Oracle Database JDBC Developer's Guide 23 ("Data Sources and URLs"), python-oracledb ("Connection Strings").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.generic.cursors import Cursors
from connectors.jdbc.dialects.generic.url import NUMBER, TRUTH, DriverParameters, Query, Rename, ValueForm, same
from connectors.jdbc.dialects.partly_known import java_stores
from connectors.jdbc.dialects.partly_known.jdbc_urls import HOST, PlainUrl
from connectors.jdbc.settings.url import DatabaseUrl, Login, values_of

_DRIVER: Final = "oracle+oracledb"
_EXAMPLE: Final = "jdbc:oracle:thin:@//db.example:1521/service, @db.example:1521:sid or @(DESCRIPTION=…)"
_ADDRESS: Final = re.compile(
    rf"(?:(?P<protocol>tcps?):)?(?://)?(?P<host>{HOST})(?::(?P<port>\d+))?"
    r"(?:/(?P<service>[\w.$#-]+)(?::(?:dedicated|shared|pooled))?(?:/[\w.$#-]+)?|:(?P<sid>[\w.$#-]+))",
    re.IGNORECASE,
)
_ALIAS: Final = re.compile(r"[A-Za-z][\w.-]*")
_MEMBER: Final = re.compile(r"\(\s*(\w+)\s*=\s*([^()]*?)\s*\)")
_MEMBERS: Final = frozenset({
    "protocol", "host", "port", "service_name", "sid", "server", "load_balance", "failover", "connect_timeout",
    "transport_connect_timeout", "retry_count", "retry_delay", "enable", "ssl_server_dn_match", "instance_name",
    "type", "method", "retries", "delay",
})  # fmt: skip
"""A descriptor, as `(DESCRIPTION=…)`, may have these members. Those that choose between servers are ignored."""
_ORACLEDB: Final = DriverParameters(
    frozenset({"protocol", "service_name", "tcp_connect_timeout", "ssl_server_dn_match", "externalauth"})
    | java_stores.PLAIN,
    frozenset({"config_dir", "wallet_location"}) | java_stores.FILES,
)


_SWITCHES: Final = frozenset({"ssl_server_dn_match", "externalauth"})


def _seconds_of_ms(value: str) -> str:
    try:
        return str(int(value) / 1000)
    except ValueError:
        raise ValueError("must be a whole number of milliseconds") from None


def _truth(value: str) -> str:
    if value.lower() not in {"true", "yes", "on", "false", "no", "off"}:
        raise ValueError("must be true or false")
    return "true" if value.lower() in {"true", "yes", "on"} else "false"


def _by_certificate(value: str) -> str:
    """Return true where the certificate alone tells who connects."""
    return "true" if "TCPS" in value.upper() else ""


class OracleUrl(PlainUrl):
    """Reads URLs of Oracle's thin driver."""

    free_texts = java_stores.PLAIN

    driver = _DRIVER
    renamed: ClassVar[Mapping[str, Rename]] = {
        "TNS_ADMIN": ("config_dir", same), "oracle.net.tns_admin": ("config_dir", same),
        "oracle.net.wallet_location": ("wallet_location", same),
        "oracle.net.CONNECT_TIMEOUT": ("tcp_connect_timeout", _seconds_of_ms),
        "oracle.net.ssl_server_dn_match": ("ssl_server_dn_match", _truth),
        "oracle.net.authentication_services": ("externalauth", _by_certificate), **java_stores.JAVAX,
    }  # fmt: skip
    dropped = java_stores.JAVAX_TYPES | frozenset({
        "oracle.jdbc.ReadTimeout", "oracle.jdbc.timezoneAsRegion", "oracle.jdbc.defaultRowPrefetch",
        "oracle.jdbc.J2EE13Compliant", "oracle.jdbc.mapDateToTimestamp", "defaultRowPrefetch", "remarksReporting",
        "includeSynonyms", "oracle.jdbc.fanEnabled", "oracle.jdbc.implicitStatementCacheSize",
    })  # fmt: skip
    drivers: ClassVar[Mapping[str, DriverParameters]] = {_DRIVER: _ORACLEDB}
    forms: ClassVar[Mapping[str, ValueForm]] = {
        "tcp_connect_timeout": NUMBER, "protocol": ValueForm(re.compile("(?i)tcps?"), "tcp or tcps"),
        "ssl_server_dn_match": TRUTH, "externalauth": TRUTH,
    }  # fmt: skip

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL. User and password may stand before its @."""
        kind, _, rest = address.partition(":")
        if kind not in {"thin", "oci", "oci8"}:
            raise ValueError(f"A URL of Oracle begins as {_EXAMPLE}")
        before, at, where = rest.partition("@")
        if not at:
            raise ValueError(f"A URL of Oracle has an @ before the server, as {_EXAMPLE}")
        if before:
            user, _, password = before.partition("/")
            login = Login(login.user or user, login.password or password or None)
        found = _described(where) if where.startswith("(") else _plain(where)
        further = dict(query) | {name: found[name] for name in ("service_name", "protocol") if found.get(name)}
        port = int(found["port"] or 1521) if "port" in found else None
        return DatabaseUrl(self.driver, found["host"], port, found.get("sid"), *login, further)

    def driver_problems(self, url: DatabaseUrl) -> Iterator[str]:
        """Yield the problems, among them a server that is no host: oracledb would look for such a name in files."""
        yield from super().driver_problems(url)
        is_named = bool(url.database or values_of(url, "service_name"))
        if url.drivername not in self.drivers:
            return
        if not url.host or not re.fullmatch(r"[\w.:-]+", url.host) or "//" in url.host:
            yield f"the server is none, as in {_EXAMPLE}"
        elif not is_named and not values_of(url, "config_dir"):
            yield (
                f"neither a service nor a SID follows the server, as in {_EXAMPLE}; a name of tnsnames.ora needs its "
                "folder, as ?TNS_ADMIN=/etc/oracle"
            )

    def settings(self, url: str) -> dict[str, str]:
        """Return the keys of a connector for oracle://user@host:port/service."""
        found = super().settings(url)
        return found | {"connection.url": found["connection.url"].replace("jdbc:oracle:", "jdbc:oracle:thin:@", 1)}


def _plain(where: str) -> dict[str, str]:
    match = _ADDRESS.fullmatch(where)
    if match is not None:
        protocol = (match["protocol"] or "").lower()
        named = {"service_name": match["service"]} if match["service"] else {"sid": match["sid"]}
        return {"host": match["host"].strip("[]"), "port": match["port"] or "", "protocol": protocol, **named}
    if _ALIAS.fullmatch(where):
        return {"host": where}
    raise ValueError(f"The server has an unknown form; known are {_EXAMPLE}, and a name of tnsnames.ora")


def _described(text: str) -> dict[str, str]:
    """Return the parts of a descriptor with one server. ValueError: it has unknown parts, or several servers."""
    members = [(name.lower(), value) for name, value in _MEMBER.findall(text)]
    unknown = sorted({name for name, _ in members} - _MEMBERS)
    if unknown:
        raise ValueError(f"The descriptor has parts without a counterpart here: {', '.join(unknown)}")
    if [name for name, _ in members].count("host") != 1:
        raise ValueError("The descriptor must have one HOST; name the scan listener, or one of the servers")
    found = {name: value for name, value in members if name in {"host", "port", "service_name", "sid", "protocol"}}
    return {"port": "", **found, "protocol": found.get("protocol", "tcp").lower()}


class OracleConnecting(Connecting):
    """Connects to Oracle."""

    ping = "SELECT 1 FROM dual"
    extras: ClassVar[Mapping[str, str]] = {_DRIVER: "jdbc-oracle"}

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL with the time that a server may take to answer, as oracledb's `tcp_connect_timeout`."""
        del creates_file
        if connect_timeout_s is None or url.drivername not in self.extras or "tcp_connect_timeout" in url.query:
            return url
        return url.update_query_dict({"tcp_connect_timeout": str(connect_timeout_s)})

    def take_tls(self, url: sa.URL) -> tuple[sa.URL, dict[str, Any]]:
        """Return the URL without the parameters that SQLAlchemy passes on in a wrong form, and those as arguments."""
        if url.drivername not in self.extras:
            return url, {}
        arguments: dict[str, Any] = {}
        if (seconds := url.query.get("tcp_connect_timeout")) is not None:
            arguments["tcp_connect_timeout"] = float(str(seconds))
        if str(url.query.get("protocol", "")).lower() == "tcps":
            service = url.query.get("service_name")
            named = f"(SERVICE_NAME={service})" if service else f"(SID={url.database})"
            place = f"(PROTOCOL=TCPS)(HOST={url.host})(PORT={url.port or 1521})"
            arguments["dsn"] = f"(DESCRIPTION=(ADDRESS={place})(CONNECT_DATA={named}))"
        for name in _SWITCHES & set(url.query):
            arguments[name] = str(url.query[name]).strip().lower() in {"true", "yes", "on", "y", "t", "1"}
        # The driver itself compares the server's name with its certificate, if ssl_server_dn_match says so.
        if (context := java_stores.context_of(url, checks_host=False)) is not None:
            arguments["ssl_context"] = context
        taken = ["tcp_connect_timeout", "protocol", *_SWITCHES, *java_stores.NAMES]
        return url.difference_update_query(taken), arguments


class OracleCursors(Cursors):
    """Tells how new rows of Oracle are found."""

    @property
    def clock(self) -> sa.ColumnElement[Any]:
        """Return the database's clock in UTC, as drivers give CURRENT_TIMESTAMP without its zone, the session's."""
        return sa.func.sys_extract_utc(sa.literal_column("SYSTIMESTAMP"))
