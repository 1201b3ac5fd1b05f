"""Connects to MariaDB and MySQL: makes a TLS context of the URL's parameters, and tries further servers.

PostgreSQL needs less: libpq takes the parameters (sslmode, sslrootcert, …) as they are, but for keys of Java.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from connect.api.errors import ConfigError
from connect.api.tls.key_stores import is_key_store, read_key_store
from connectors.jdbc.dialects.mysql.url import PUBLIC_KEY_RETRIEVAL
from connectors.jdbc.settings.url import OTHER_SERVERS, other_servers

if TYPE_CHECKING:
    from pymysql.connections import Connection

DRIVERS: Final = frozenset({"mysql+pymysql", "mariadb+pymysql"})
_OURS: Final = frozenset({
    "ssl_ca", "ssl_ca_password", "ssl_cert", "ssl_cert_password", "ssl_key", "ssl_mode", "ssl_trust",
    "ssl_check_hostname",
})  # fmt: skip
_NOBODY_THERE: Final = frozenset({2003, 2006, 2013, 1040, 1053, 1152})
"""These errors mean that a server cannot be reached, has too many connections, or is shutting down."""
_YES: Final = frozenset({"true", "1", "yes"})


def take_tls(url: sa.URL) -> tuple[sa.URL, dict[str, Any]]:
    """Return the URL without its TLS parameters, and PyMySQL's argument that replaces them.

    ConfigError: the parameters cannot be used.
    """
    given = {name: str(value) for name, value in url.query.items() if name.startswith("ssl_")}
    if url.drivername not in DRIVERS or not given or given.keys() - _OURS:
        # With parameters that are not known here, the driver reads all of them.
        return url, {}
    mode = given.get("ssl_mode") or _default_mode(given)
    rest = url.difference_update_query(given)
    if mode == "disabled":
        return rest, {"ssl_disabled": True}
    if mode == "preferred":
        return rest, {}
    if mode.startswith("verify") and given.get("ssl_trust", "").lower() in _YES:
        mode = "required"
    return rest, {"ssl": _context(given, mode)}


def connect(*arguments: Any, **settings: Any) -> Connection[Any]:
    """Connect by PyMySQL with these arguments; if the server does not answer, try the next one in OTHER_SERVERS.

    ConfigError: PyMySQL lacks a package for the way to sign in, or does not know the character set.
    """
    others = other_servers(str(settings.pop(OTHER_SERVERS, "")))
    takes_keys = str(settings.pop(PUBLIC_KEY_RETRIEVAL, "")).lower() in _YES
    # A server may ask for any file of its client. Only the worker's file can allow that, by listing the driver.
    settings = {"local_infile": False, "auth_plugin_map": _ENCRYPTED_ONLY, **settings}
    _require_charset(settings.get("charset"))
    try:
        return _connected(arguments, settings, takes_keys=takes_keys)
    except _unreachable() as error:
        if error.args[0] not in _NOBODY_THERE or not others:
            raise
        first, rest = others[0], others[1:]
        given = {**settings, "host": first.host, "port": first.port}
        more = {PUBLIC_KEY_RETRIEVAL: takes_keys, OTHER_SERVERS: " ".join(f"{at.host} {at.port}" for at in rest)}
        return connect(*arguments, **given, **more)
    except RuntimeError as error:
        if "cryptography" not in str(error):
            raise
        raise ConfigError(
            "connection.url: the server asks for the password in a form that needs TLS (sslMode=REQUIRED in the URL) "
            "or the package cryptography in the worker's environment.",
            key="connection.url",
        ) from None


def _connected(arguments: Sequence[Any], settings: Mapping[str, Any], *, takes_keys: bool) -> Connection[Any]:
    is_deferred = settings.get("defer_connect", False)
    connection = _preferring()(*arguments, **{**settings, "defer_connect": True})
    connection.is_any_key_taken = takes_keys
    if not is_deferred:
        connection.connect()
    return connection


class _EncryptedOnly:
    """Signs in by methods that send the password unencrypted, but over TLS alone, as Java's drivers do."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def authenticate(self, asked: Any) -> Any:
        """Send the password and return the server's answer. ConfigError: there is no TLS, so anybody could read it."""
        del asked
        if not self._connection.is_encrypted:
            raise ConfigError(
                "connection.url: the server asks for the password in the clear, and the connection has no TLS. "
                "Add sslMode=REQUIRED to the URL, and TLS to the server.",
                key="connection.url",
            )  # fmt: skip
        self._connection.write_packet(self._connection.password + b"\0")
        return self._connection.read_answer()


_ENCRYPTED_ONLY: Final = {b"mysql_clear_password": _EncryptedOnly, b"dialog": _EncryptedOnly}


class ServerKeys:
    """Keeps the public key of a server of MySQL, by which a password is encrypted that is sent without TLS.

    Someone who answers in place of the server can send a key, too. So the configuration has to allow server keys.
    PyMySQL looks here for the key before it asks the server for it.
    """

    password: bytes
    is_any_key_taken = False
    """True if the configuration allows a key that the server sends."""
    _server_key: bytes | None = None

    @property
    def server_public_key(self) -> bytes | None:
        """Return the key; None if the server has not sent it yet. ConfigError: the configuration does not allow it."""
        self._require_leave()
        return self._server_key

    @server_public_key.setter
    def server_public_key(self, key: bytes | None) -> None:
        """Keep the key of a server. ConfigError: the configuration does not allow it."""
        if key is not None:
            self._require_leave()
        self._server_key = key

    def _require_leave(self) -> None:
        if self.password and not self.is_any_key_taken:
            raise ConfigError(
                "connection.url: the server asks for the password by a key of its own, and the connection has no TLS: "
                "whoever answers in its place could read it. Add sslMode=REQUIRED to the URL, and TLS to the server; "
                "or, where nobody else can answer, allowPublicKeyRetrieval=true, as Java's drivers ask for, too.",
                key="connection.url",
            )


def _require_charset(name: object) -> None:
    """Raise ConfigError for a character set that PyMySQL does not know; PyMySQL would raise AttributeError."""
    from pymysql.charset import charset_by_name

    if name and charset_by_name(str(name)) is None:
        raise ConfigError(
            "connection.url: the parameter charset names no character set of MySQL.",
            key="connection.url",
            fix="Write charset=utf8mb4, or leave it out.",
        )


@cache
def _unreachable() -> type[Exception]:
    from pymysql.err import OperationalError

    return OperationalError  # type: ignore[no-any-return]  # PyMySQL ships no types


@cache
def _preferring() -> type[Connection[Any]]:
    from pymysql.connections import Connection

    class Preferring(ServerKeys, Connection):  # type: ignore[misc]  # PyMySQL ships no types
        """Where nothing is said of TLS, PyMySQL tries it with a server of any certificate.

        For that it loads every authority that the system trusts, at each connection, in 40 to 240 ms of CPU time.
        """

        def _create_ssl_ctx(self, sslp: Any) -> ssl.SSLContext:
            return super()._create_ssl_ctx(sslp) if sslp else _unchecked()

        @property
        def is_encrypted(self) -> bool:
            """Tell if nobody on the way can listen: over TLS, or a socket of this machine."""
            return bool(self._secure)

        def read_answer(self) -> Any:
            """Return the server's next packet."""
            return self._read_packet()

        def query(self, sql: Any, unbuffered: bool = False) -> Any:
            """Run a statement and return its number of rows. ConfigError: the server answers by asking for a file."""
            try:
                return super().query(sql, unbuffered)
            except RuntimeError as error:  # so PyMySQL refuses it
                raise ConfigError(
                    "connection.url: the server asked for a file of this machine, and was given none.",
                    key="connection.url",
                    fix="Check which server answers there: one that is sound asks for no file that no statement names.",
                ) from error

        def connect(self, sock: Any = None) -> None:
            """Wait for the server's greeting no longer than for its port; PyMySQL would wait for it for ever."""
            later_s: float | None = self._read_timeout  # type: ignore[has-type]  # PyMySQL ships no types
            self._read_timeout = self.connect_timeout if later_s is None else min(later_s, self.connect_timeout)
            try:
                super().connect(sock)
            finally:
                self._read_timeout = later_s

    return Preferring


def _unchecked() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _default_mode(given: dict[str, str]) -> str:
    if "ssl_ca" not in given:
        return "required" if "ssl_cert" in given or "ssl_key" in given else "preferred"
    return "verify_identity" if given.get("ssl_check_hostname", "true").lower() in _YES else "verify_ca"


def _trusting(given: dict[str, str]) -> ssl.SSLContext:
    """Return a context that trusts the authorities of a PEM file or of a key store of Java's, else the system's."""
    file = given.get("ssl_ca")
    if file is None or not is_key_store(Path(file)):
        return ssl.create_default_context(cafile=file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    read_key_store(Path(file), given.get("ssl_ca_password", ""), "connection.url").trust_in(context)
    return context


def _show(given: dict[str, str], context: ssl.SSLContext) -> None:
    """Have a context show the certificate of a PEM file or of a key store of Java's."""
    file = Path(given["ssl_cert"])
    if is_key_store(file):
        read_key_store(file, given.get("ssl_cert_password", ""), "connection.url").show_in(context)
    else:
        context.load_cert_chain(file, given.get("ssl_key"), given.get("ssl_cert_password"))


def _context(given: dict[str, str], mode: str) -> ssl.SSLContext:
    try:
        is_checked = mode.startswith("verify") or "ssl_ca" in given
        context = _trusting(given) if is_checked else _unchecked()
        if "ssl_cert" in given:
            _show(given, context)
    except OSError as error:
        raise ConfigError(
            f"The certificates of connection.url cannot be used: {error}.",
            key="connection.url",
            fix="serverSslCert (ssl_ca), ssl_cert and ssl_key name PEM files that the worker can read, or the first "
            "two name key stores of Java.",
        ) from None
    # The certificates that a server makes for itself do not pass strict verification.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = mode == "verify_identity"
    context.verify_mode = ssl.CERT_REQUIRED if mode.startswith("verify") else ssl.CERT_NONE
    return context
