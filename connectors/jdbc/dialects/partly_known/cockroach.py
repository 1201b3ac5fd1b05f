"""Tells what is particular to CockroachDB: it speaks PostgreSQL's protocol, and lists open transactions otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from connectors.jdbc.dialects.generic.url import DriverParameters
from connectors.jdbc.dialects.postgres.libpq_connecting import LibpqConnecting
from connectors.jdbc.dialects.postgres.url import LIBPQ, LibpqUrl

_DRIVER: Final = "cockroachdb+psycopg"


class CockroachUrl(LibpqUrl):
    """Reads SQLAlchemy's URLs of CockroachDB. Its JDBC URLs begin with `jdbc:postgresql` and belong to PostgreSQL."""

    drivers: ClassVar[Mapping[str, DriverParameters]] = {_DRIVER: LIBPQ}
    instead = "cockroachdb+psycopg://user@host:26257/name"


class CockroachConnecting(LibpqConnecting):
    """Connects to CockroachDB."""

    installed_by: ClassVar[Mapping[str, str]] = {
        _DRIVER: "pip install 'connect-for-kafka[jdbc-postgres]' sqlalchemy-cockroachdb"
    }
