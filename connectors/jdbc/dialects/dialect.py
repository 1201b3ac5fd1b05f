"""The interface of a database: its parts, each of one job, made when they are first used.

What is the same for every database stands in the parts of `generic`, which those of known databases build on.
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
        """`reference`: module and class below this package; empty: the part is None."""
        self._module, _, self._class = reference.partition(":")

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, dialect: Dialect, owner: type | None = None) -> T_co:
        made: Any = self._made(dialect) if self._class else None
        # From now on the attribute is found there.
        found: T_co = dialect.__dict__.setdefault(self._name, made)
        return found

    def _made(self, dialect: Dialect) -> Any:
        del dialect
        return self._loaded_class()()

    def _loaded_class(self) -> Any:
        return getattr(importlib.import_module(f"{__package__}.{self._module}"), self._class)


def part(reference: str) -> Any:
    """Return a DialectPart of any type, so that a dialect need not say again which type `Dialect` declares."""
    return DialectPart(reference)


class UrlPart(DialectPart["UrlForm"]):
    """The part that reads URLs, which knows the name that they begin with."""

    def _made(self, dialect: Dialect) -> Any:
        return self._loaded_class()(dialect.name)


class Dialect:
    """Describes a kind of database. It has no state: all connections to databases of its kind share one object."""

    title: ClassVar[str]
    """What people call it, as `PostgreSQL`, stands in messages."""
    java_name: ClassVar[str] = ""
    """The beginning of the name of Confluent's class for it; empty: Confluent has none."""

    def __init__(self, name: str) -> None:
        self.name = name
        """The name that its URLs begin with, which is SQLAlchemy's."""

    @property
    def caution(self) -> str:
        """Return what is not promised of the database; empty: it is known."""
        return ""

    url: DialectPart[UrlForm] = UrlPart("generic.url:UrlForm")
    """Tell how its URLs are read, and which drivers and parameters they may name."""

    sessions: DialectPart[Sessions] = part("generic.sessions:Sessions")
    """Tell how its sessions begin."""
    types: DialectPart[ColumnTypes] = part("generic.types:ColumnTypes")
    """Tell what its column types hold."""
    connecting: DialectPart[Connecting] = part("generic.connecting:Connecting")
    """Tell how it is connected to."""
    sink: DialectPart[Writing | None] = part("")
    """Tell what the sink needs to know of it; None: the sink does not write to it."""
    catalog: DialectPart[Catalog] = part("generic.catalog:Catalog")
    """Tell what its catalog has."""
    plans: DialectPart[Plans] = part("generic.plans:Plans")
    """Tell how it explains polls."""
    server: DialectPart[Server] = part("generic.server:Server")
    """Tell what a server says of itself."""
    rights: DialectPart[Rights] = part("generic.rights:Rights")
    """Tell which rights its users need."""
    settled: DialectPart[Settled] = part("generic.settled:Settled")
    """Tell up to when its work is settled."""
    cursors: DialectPart[Cursors] = part("generic.cursors:Cursors")
    """Tell how its rows are followed."""
    log: DialectPart[LogSupport | None] = part("")
    """Tell how its log is read; None: mode=log is not for it."""
