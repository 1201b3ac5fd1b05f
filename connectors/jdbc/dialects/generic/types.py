"""Tells which values a database's column types hold, where databases differ. Pure."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types as t

from connect.api import schema as s
from connectors.jdbc.values.types import DAY_DIGITS, Classified, Projection, Raw


class ColumnTypes:
    """Tells which values the column types of a database hold that is not known."""

    has_times: bool = True
    """False if a column of times holds text in whatever form the writer chose."""
    has_wide_integers: bool = False
    """True if any column of integers may hold 64 bits, whatever the name of its type."""
    has_unsigned_tinyints: bool = False
    """True if TINYINT has no sign."""
    has_exact_numerics: bool = True
    """True if NUMERIC without precision and scale holds decimals; False if it holds doubles."""
    documents: Projection = Projection.AS_IS
    """Columns of JSON, UUIDs and enumerations are converted in SQL by this projection."""
    others: Projection = Projection.TEXT
    """Columns of types without a counterpart are converted in SQL by this projection, so that no digit is lost."""
    four_bytes: frozenset[str] = frozenset({"REAL"})
    """Floats of four bytes have one of these names as their type."""
    floats: Projection = Projection.AS_IS
    """Columns of floats of four bytes are converted in SQL by this projection."""

    def second_digits(self, kind: t.TypeEngine[Any]) -> int | None:
        """Return how many digits of a fraction of a second a column keeps; None if the catalog does not tell."""
        return DAY_DIGITS if isinstance(kind, t.Date) else None

    def fraction_digits(self, kind: t.TypeEngine[Any]) -> int:
        """Return how many digits of a fraction of a second a column's schema has; 6 if the catalog does not tell."""
        digits: int | None = getattr(kind, "precision", None)
        return 6 if digits is None else digits

    def is_instant(self, kind: t.DateTime) -> bool:
        """Return True if values of a type are instants; False if they are times of a wall clock, without a zone."""
        return bool(kind.timezone)

    def moments(self, kind: t.DateTime) -> Projection:
        """Return how SQL converts timestamps of a type that is finer than the microseconds of offsets and records."""
        del kind
        return Projection.AS_IS

    def bit(self, *, is_one: bool) -> Classified:
        """Return the kind, schema and projection of a column of bits. With `is_one` its values have one bit."""
        del is_one
        return Raw.TEXT, s.STRING, Projection.TEXT
