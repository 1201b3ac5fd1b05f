"""How a database is connected to: its URL's last touches, the engine, and the reader of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import sqlalchemy as sa

from connect.api.allowed_paths import AllowedPaths
from connectors.jdbc.connection.readers import CursorReader


class Connecting:
    """Connects to a database that is not known, by whatever driver its URL names."""

    ping: str = "SELECT 1"
    """This statement asks nothing but for an answer."""
    extras: ClassVar[Mapping[str, str]] = {}
    """The extra of this product that has a driver stands behind its name. They take `connect_timeout` in seconds."""
    installed_by: ClassVar[Mapping[str, str]] = {}
    """The command that installs a driver that is no extra of this product stands behind its name."""
    quick_connections: int = 1
    """A reader holds so many connections where it reads quickly."""
    arguments: ClassVar[Mapping[str, Any]] = {}
    """Each connection of the driver gets these arguments."""

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL as the driver takes it.

        `connect_timeout_s`: how long a server may take to answer, unless the URL says so; None: the driver's own.
        `creates_file`: whether a database that is a file is made where it is missing.
        """
        del creates_file
        if connect_timeout_s is not None and url.drivername in self.extras and "connect_timeout" not in url.query:
            return url.update_query_dict({"connect_timeout": str(connect_timeout_s)})
        return url

    def without_own_secrets(self, url: sa.URL, allowed: AllowedPaths) -> sa.URL:
        """Return the URL as the driver says no secret that it finds on this machine, but in files that are allowed."""
        del allowed
        return url

    def take_tls(self, url: sa.URL) -> tuple[sa.URL, dict[str, Any]]:
        """Return the URL without its parameters of TLS, and they as arguments of the driver. ConfigError: unusable."""
        return url, {}

    def engine_options(self, url: sa.URL) -> dict[str, Any]:
        """Return further arguments of SQLAlchemy's create_engine."""
        del url
        return {}

    def prepare_engine(self, engine: sa.Engine) -> None:
        """Make an engine connect as the database needs it."""

    def prepare(self, connection: Any) -> None:
        """Make the driver's new connection ready, before its first statement."""

    def shown(self, url: sa.URL) -> str:
        """Return the database as messages name it."""
        where = f"{url.host or 'localhost'}{f':{url.port}' if url.port else ''}/{url.database or ''}"
        return f"{url.get_backend_name()} database {where}"

    def schema_of(self, url: sa.URL) -> str | None:
        """Return the schema that the connection itself is in; None: it is in no particular one."""
        del url
        return None

    def description(self, cursor: Any) -> Sequence[Sequence[Any]]:
        """Return the columns of a statement as the driver's cursor describes them, their names first."""
        return (cursor and cursor.description) or ()

    def reader(self, engine: sa.Engine, session: tuple[str, ...], *, is_quick: bool) -> CursorReader:
        """Return what reads rows. `session`: the statements of each session. `is_quick`: as Arrow, where it can."""
        del engine, session, is_quick
        return CursorReader()
