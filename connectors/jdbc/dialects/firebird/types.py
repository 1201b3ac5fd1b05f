"""Tells which values Firebird's column types hold. Pure."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import types as t

from connectors.jdbc.dialects.generic.types import ColumnTypes

_DIGITS: Final = 4
"""A time has this many digits of a fraction of a second: tenths of a millisecond."""


class FirebirdTypes(ColumnTypes):
    """Tells which values the column types of Firebird hold."""

    four_bytes = frozenset({"FBFLOAT", "FBREAL", "FLOAT", "REAL"})

    def second_digits(self, kind: t.TypeEngine[Any]) -> int | None:
        """Return how many digits of a fraction of a second a column keeps; None if the catalog does not tell."""
        return _DIGITS if isinstance(kind, t.DateTime | t.Time) else super().second_digits(kind)
