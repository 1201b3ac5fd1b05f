"""Declares `Dialect`, which describes one kind of database by parts. Each part has one job and is made at first use.

The parts in `generic` hold what is the same for every database; the parts of known databases are their subclasses.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.catalog import Catalog
    from connectors.jdbc.dialects.generic.connecting import Connecting
    from connectors.jdbc.dialects.generic.cursors import Cursors
    from connectors.jdbc.dialects.generic.log import LogSupport
    from connectors.jdbc.dialects.generic.plans import Plans
    from connectors.jdbc.dialects.generic.rights import Rights
    from connectors.jdbc.dialects.generic.server import Server
    from connectors.jdbc.dialects.generic.sessions import Sessions
    from connectors.jdbc.dialects.generic.settled import Settled
    from connectors.jdbc.dialects.generic.types import ColumnTypes
    from connectors.jdbc.dialects.generic.url import UrlForm
    from connectors.jdbc.dialects.generic.writing import Writing


T_co = TypeVar("T_co", covariant=True)


class DialectPart(Generic[T_co]):
    """A part of a dialect, whose class is loaded when the part is first used; it is made once for each dialect."""

    def __init__(self, reference: str) -> None:
        """Take `reference`, as `module:Class` below this package. If it is empty, the part is None."""
        self._module, _, self._class = reference.partition(":")

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, dialect: Dialect, owner: type | None = None) -> T_co:
        made: Any = self._made(dialect) if self._class else None
        # Python looks into `__dict__` first from now on, so that the part is made once.
        found: T_co = dialect.__dict__.setdefault(self._name, made)
        return found

    def _made(self, dialect: Dialect) -> Any:
        del dialect
        return self._loaded_class()()

    def _loaded_class(self) -> Any:
        return getattr(importlib.import_module(f"{__package__}.{self._module}"), self._class)


def part(reference: str) -> Any:
    """Return a DialectPart typed as Any, so that a subclass need not repeat the type that `Dialect` declares."""
    return DialectPart(reference)


class UrlPart(DialectPart["UrlForm"]):
    """Makes the part that reads URLs, and gives it the name that they begin with."""

    def _made(self, dialect: Dialect) -> Any:
        return self._loaded_class()(dialect.name)


class Dialect:
    """Describes a kind of database. It has no state: all connections to databases of its kind share one object."""

    title: ClassVar[str]
    """The database has this name in messages, as `PostgreSQL`."""
    java_name: ClassVar[str] = ""
    """The name of Confluent's dialect class begins with this, as `PostgreSql`.

    It is empty if Confluent has no such class.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        """The database's URLs begin with this name, which is SQLAlchemy's name for the database."""

    @property
    def caution(self) -> str:
        """Return a warning that says what is not promised for the database; empty if the database is well known."""
        return ""

    url: DialectPart[UrlForm] = UrlPart("generic.url:UrlForm")
    """Reads the database's URLs, and knows which drivers and parameters they may name."""

    sessions: DialectPart[Sessions] = part("generic.sessions:Sessions")
    """Holds the statements that each session begins with."""
    types: DialectPart[ColumnTypes] = part("generic.types:ColumnTypes")
    """Tells which values the database's column types hold."""
    connecting: DialectPart[Connecting] = part("generic.connecting:Connecting")
    """Connects to the database."""
    sink: DialectPart[Writing | None] = part("")
    """Tells the sink how to write to the database; None if the sink cannot write to it."""
    catalog: DialectPart[Catalog] = part("generic.catalog:Catalog")
    """Reads the names, columns and keys of tables from the database's catalog."""
    plans: DialectPart[Plans] = part("generic.plans:Plans")
    """Asks the database how it would run the query of a poll (EXPLAIN)."""
    server: DialectPart[Server] = part("generic.server:Server")
    """Asks the server for its load, its open sessions and its time zone."""
    rights: DialectPart[Rights] = part("generic.rights:Rights")
    """Finds the rights that the user lacks."""
    settled: DialectPart[Settled] = part("generic.settled:Settled")
    """Tells up to which moment all transactions have ended, so that no row from before it can still appear."""
    cursors: DialectPart[Cursors] = part("generic.cursors:Cursors")
    """Tells how new rows are found by their ids and timestamps."""
    log: DialectPart[LogSupport | None] = part("")
    """Reads the database's log of changes; None if the database cannot be read with mode=log."""
