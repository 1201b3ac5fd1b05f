"""Tells what Firebird's column types hold. Pure."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import types as t

from connectors.jdbc.dialects.generic.types import ColumnTypes

_DIGITS: Final = 4
"""A time has tenths of a millisecond."""


class FirebirdTypes(ColumnTypes):
    """Tells what column types of Firebird hold."""

    four_bytes = frozenset({"FBFLOAT", "FBREAL", "FLOAT", "REAL"})

    def second_digits(self, kind: t.TypeEngine[Any]) -> int | None:
        """Return how many digits of a second a column keeps."""
        return _DIGITS if isinstance(kind, t.DateTime | t.Time) else super().second_digits(kind)
