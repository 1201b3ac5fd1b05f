"""Tells what a database's column types hold, where that differs from what JDBC says of them. Pure."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types as t

from connect.api import schema as s
from connectors.jdbc.values.types import DAY_DIGITS, Classified, Projection, Raw


class ColumnTypes:
    """Tells what column types of a database that is not known hold."""

    has_times: bool = True
    """False where a column of times holds text of the writer's choice."""
    has_wide_integers: bool = False
    """True if any column of integers may hold 64 bits, whatever its type is called."""
    has_unsigned_tinyints: bool = False
    """True if TINYINT has no sign."""
    has_exact_numerics: bool = True
    """True if NUMERIC without digits holds decimals, and not doubles."""
    documents: Projection = Projection.AS_IS
    """SQL makes this of JSON, UUIDs and enumerations."""
    others: Projection = Projection.TEXT
    """SQL makes this of a type that has no counterpart, so that it keeps all its digits."""
    four_bytes: frozenset[str] = frozenset({"REAL"})
    """A float of four bytes is declared by one of these names."""
    floats: Projection = Projection.AS_IS
    """SQL makes this of floats of four bytes."""

    def second_digits(self, kind: t.TypeEngine[Any]) -> int | None:
        """Return how many digits of a second a column keeps; None where the catalog does not say."""
        return DAY_DIGITS if isinstance(kind, t.Date) else None

    def fraction_digits(self, kind: t.TypeEngine[Any]) -> int:
        """Return how many digits of a second a column's schema has; 6 where the catalog does not say."""
        digits: int | None = getattr(kind, "precision", None)
        return 6 if digits is None else digits

    def is_instant(self, kind: t.DateTime) -> bool:
        """Tell if values of a type are instants, and not what a clock on a wall shows."""
        return bool(kind.timezone)

    def bit(self, *, is_one: bool) -> Classified:
        """Return what a column of bits becomes. `is_one`: it holds one bit."""
        del is_one
        return Raw.TEXT, s.STRING, Projection.TEXT
