"""Describes a database that is not known by its name, and says what is not promised of it."""

from __future__ import annotations

from connectors.jdbc.dialects.dialect import Dialect


class Generic(Dialect):
    """Describes any database that SQLAlchemy can read, with the caution that nothing else is known of it."""

    title = ""

    @property
    def caution(self) -> str:
        """Return the warning that says what is not promised for the database."""
        return (
            f"{self.title or self.name} is read by what SQLAlchemy knows of it: its open transactions, plans, rights "
            "and log cannot be asked for here. Rows of transactions that last longer than settle.time.ms "
            f"({self.settled.settle_ms} where it is not set) can be lost, and types that SQLAlchemy does not reflect "
            "come as text. Compare what arrives with the tables before you rely on it."
        )
