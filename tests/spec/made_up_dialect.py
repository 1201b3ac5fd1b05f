"""Makes up a database that the product does not know: SQLite by another name, with an address and a settle time of its
own.
"""

from __future__ import annotations

from functools import cached_property

from sqlalchemy.dialects import registry

from connectors.jdbc.dialects.generic.connecting import Connecting
from connectors.jdbc.dialects.generic.settled import Settled
from connectors.jdbc.dialects.generic.url import UrlForm
from connectors.jdbc.dialects.sqlite.connecting import SqliteConnecting
from connectors.jdbc.dialects.sqlite.dialect import Sqlite
from connectors.jdbc.dialects.sqlite.settled import SqliteSettled
from connectors.jdbc.dialects.sqlite.url import SqliteUrl

registry.register("toybase", "sqlalchemy.dialects.sqlite.pysqlite", "SQLiteDialect_pysqlite")


class ToybaseUrl(SqliteUrl):
    driver = "toybase"
    drivers = {"toybase": SqliteUrl.drivers["sqlite"]}  # noqa: RUF012 - of the class


class ToybaseConnecting(SqliteConnecting):
    ping = "SELECT 'toy'"


class ToybaseSettled(SqliteSettled):
    settle_ms = 1


class Toybase(Sqlite):
    title = "Toybase"
    java_name = ""

    @cached_property
    def url(self) -> UrlForm:
        return ToybaseUrl(self.name)

    @cached_property
    def connecting(self) -> Connecting:
        return ToybaseConnecting()

    @cached_property
    def settled(self) -> Settled:
        return ToybaseSettled()
