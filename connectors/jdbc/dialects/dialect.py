"""The interface of a database: its parts, each of one job, made when they are first used.

What is the same for every database stands in the parts of `generic`, which those of known databases build on.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

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

    @cached_property
    def sessions(self) -> Sessions:
        """Return how its sessions begin."""
        from connectors.jdbc.dialects.generic.sessions import Sessions

        return Sessions()

    @cached_property
    def types(self) -> ColumnTypes:
        """Return what its column types hold."""
        from connectors.jdbc.dialects.generic.types import ColumnTypes

        return ColumnTypes()

    @cached_property
    def connecting(self) -> Connecting:
        """Return how it is connected to."""
        from connectors.jdbc.dialects.generic.connecting import Connecting

        return Connecting()

    @cached_property
    def sink(self) -> Writing | None:
        """Return what the sink needs to know of it; None: the sink does not write to it."""
        return None

    @cached_property
    def catalog(self) -> Catalog:
        """Return what its catalog has."""
        from connectors.jdbc.dialects.generic.catalog import Catalog

        return Catalog()

    @cached_property
    def plans(self) -> Plans:
        """Return how it explains polls."""
        from connectors.jdbc.dialects.generic.plans import Plans

        return Plans()

    @cached_property
    def server(self) -> Server:
        """Return what a server says of itself."""
        from connectors.jdbc.dialects.generic.server import Server

        return Server()

    @cached_property
    def rights(self) -> Rights:
        """Return which rights its users need."""
        from connectors.jdbc.dialects.generic.rights import Rights

        return Rights()

    @cached_property
    def settled(self) -> Settled:
        """Return up to when its work is settled."""
        from connectors.jdbc.dialects.generic.settled import Settled

        return Settled()

    @cached_property
    def cursors(self) -> Cursors:
        """Return how its rows are followed."""
        from connectors.jdbc.dialects.generic.cursors import Cursors

        return Cursors()

    @cached_property
    def log(self) -> LogSupport | None:
        """Return how its log is read; None: mode=log is not for it."""
        return None
