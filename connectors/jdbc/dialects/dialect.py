"""The interface of a database: its parts, each of one job, made when they are first used.

What is the same for every database stands in the parts of `generic`, which those of known databases build on.
"""

from __future__ import annotations

import importlib
from functools import cached_property
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
        made: Any = None
        if self._class:
            made = getattr(importlib.import_module(f"{__package__}.{self._module}"), self._class)()
        # From now on the attribute is found there.
        found: T_co = dialect.__dict__.setdefault(self._name, made)
        return found


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

    @cached_property
    def url(self) -> UrlForm:
        """Return how its URLs are read, and which drivers and parameters they may name."""
        from connectors.jdbc.dialects.generic.url import UrlForm

        return UrlForm(self.name)

    sessions: DialectPart[Sessions] = DialectPart("generic.sessions:Sessions")
    """Tell how its sessions begin."""

    types: DialectPart[ColumnTypes] = DialectPart("generic.types:ColumnTypes")
    """Tell what its column types hold."""

    connecting: DialectPart[Connecting] = DialectPart("generic.connecting:Connecting")
    """Tell how it is connected to."""

    sink: DialectPart[Writing | None] = DialectPart("")
    """Tell what the sink needs to know of it; None: the sink does not write to it."""

    catalog: DialectPart[Catalog] = DialectPart("generic.catalog:Catalog")
    """Tell what its catalog has."""

    plans: DialectPart[Plans] = DialectPart("generic.plans:Plans")
    """Tell how it explains polls."""

    server: DialectPart[Server] = DialectPart("generic.server:Server")
    """Tell what a server says of itself."""

    rights: DialectPart[Rights] = DialectPart("generic.rights:Rights")
    """Tell which rights its users need."""

    settled: DialectPart[Settled] = DialectPart("generic.settled:Settled")
    """Tell up to when its work is settled."""

    cursors: DialectPart[Cursors] = DialectPart("generic.cursors:Cursors")
    """Tell how its rows are followed."""

    log: DialectPart[LogSupport | None] = DialectPart("")
    """Tell how its log is read; None: mode=log is not for it."""
