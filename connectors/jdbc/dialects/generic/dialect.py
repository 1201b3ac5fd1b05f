"""A database that is not known by its name."""

from __future__ import annotations

from connectors.jdbc.dialects.dialect import Dialect


class Generic(Dialect):
    """Describes Any database that SQLAlchemy can read."""

    title = "a database that is not known"
