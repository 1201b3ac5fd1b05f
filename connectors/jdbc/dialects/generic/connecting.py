"""Connects to a database: completes its URL, prepares the engine, and chooses the reader of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import sqlalchemy as sa

from connect.api.allowed_paths import AllowedPaths
from connectors.jdbc.connection.readers import CursorReader
from connectors.jdbc.settings.url import DatabaseUrl


class Connecting:
    """Connects to a database that is not known, by whatever driver its URL names."""

    ping: str = "SELECT 1"
    """This statement is run to see if a connection works."""
    extras: ClassVar[Mapping[str, str]] = {}
    """Maps drivers to the extra of this product that installs them. They take `connect_timeout` in seconds."""
    installed_by: ClassVar[Mapping[str, str]] = {}
    """Maps drivers that no extra of this product installs to the command that installs them."""
    quick_connections: int = 1
    """A reader that reads quickly (see `reader`) holds this many connections."""
    arguments: ClassVar[Mapping[str, Any]] = {}
    """The driver's `connect` gets these arguments."""

    def completed(self, url: sa.URL, *, connect_timeout_s: int | None, creates_file: bool) -> sa.URL:
        """Return the URL with the parameters that the driver needs.

        A server may take `connect_timeout_s` seconds to answer, unless the URL has a limit; None means the driver's
        default. With `creates_file` a database that is a file is made if it is missing.
        """
        del creates_file
        if connect_timeout_s is not None and url.drivername in self.extras and "connect_timeout" not in url.query:
            return url.update_query_dict({"connect_timeout": str(connect_timeout_s)})
        return url

    def without_own_secrets(self, url: sa.URL, allowed: AllowedPaths) -> sa.URL:
        """Return the URL changed so that the driver uses no secrets of this machine, except in files of `allowed`."""
        del allowed
        return url

    def notes(self, url: DatabaseUrl) -> Iterator[str]:
        """Yield where a URL means more or less here than in Java, each as a sentence."""
        del url
        yield from ()

    def take_tls(self, url: sa.URL) -> tuple[sa.URL, dict[str, Any]]:
        """Return the URL without its TLS parameters, and the driver's arguments that replace them.

        ConfigError: the parameters cannot be used.
        """
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
        """Return the text by which messages name the database, without user and password."""
        where = f"{url.host or 'localhost'}{f':{url.port}' if url.port else ''}/{url.database or ''}"
        return f"{url.get_backend_name()} database {where}"

    def schema_of(self, url: sa.URL) -> str | None:
        """Return the schema that the URL names for the connection; None if it names none."""
        del url
        return None

    def description(self, cursor: Any) -> Sequence[Sequence[Any]]:
        """Return the columns of a statement as the driver's cursor describes them: each a sequence, the name first."""
        return (cursor and cursor.description) or ()

    def reader(self, engine: sa.Engine, session: tuple[str, ...], *, is_quick: bool) -> CursorReader:
        """Return the reader of rows. With `is_quick` it reads them as Arrow if the driver can.

        `session` has the statements that each session begins with.
        """
        del engine, session, is_quick
        return CursorReader()
