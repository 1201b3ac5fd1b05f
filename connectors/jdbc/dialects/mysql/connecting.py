"""Connects to servers of MariaDB and MySQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy import event

from connectors.jdbc.connection.readers import CursorReader
from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.mysql import tls
from connectors.jdbc.dialects.mysql.reader import MySqlReader
from connectors.jdbc.settings.url import DatabaseUrl

_EXTRA = "jdbc-mariadb"


class MySqlConnecting(Connecting):
    """Connects to MariaDB and MySQL."""

    extras: ClassVar[Mapping[str, str]] = {"mysql+pymysql": _EXTRA, "mariadb+pymysql": _EXTRA}

    def notes(self, url: DatabaseUrl) -> Iterator[str]:
        """Yield that a server is verified by a trust store alone."""
        if "ssl_ca" in url.query and "ssl_mode" not in url.query:
            yield (
                "The URL names authorities (serverSslCert, trustStore, trustCertificateKeyStoreUrl, ssl_ca) and no "
                "sslMode: here the server's certificate and name are verified by them. Java's driver of MySQL verifies "
                "neither then, and MariaDB's uses no TLS. sslMode=VERIFY_IDENTITY (MariaDB: verify-full) is the same "
                "in both, and sslMode=REQUIRED (trust) verifies nothing."
            )

    def take_tls(self, url: sa.URL) -> tuple[sa.URL, dict[str, Any]]:
        """Return the URL without its TLS parameters, and PyMySQL's argument that replaces them."""
        return tls.take_tls(url)

    def prepare_engine(self, engine: sa.Engine) -> None:
        """Set up an engine so that it tries the URL's further servers if the first one does not answer."""
        if engine.url.drivername not in tls.DRIVERS:
            return

        @event.listens_for(engine, "do_connect")
        def connect(_dialect: sa.Dialect, _record: object, arguments: tuple[Any], settings: dict[str, Any]) -> Any:
            return tls.connect(*arguments, **settings)

    def schema_of(self, url: sa.URL) -> str | None:
        """Return the database of the connection, as databases are the schemas here; others can be read, too."""
        return url.database

    def reader(self, engine: sa.Engine, session: tuple[str, ...], *, is_quick: bool) -> CursorReader:
        """Return the reader of rows; it reads them as Arrow with PyMySQL alone."""
        del session
        return MySqlReader(is_quick=is_quick and engine.url.drivername in tls.DRIVERS)
