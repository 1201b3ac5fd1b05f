"""Tells which values SQLite's column types hold. Any value may be in any column. Pure."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types as t

from connectors.jdbc.dialects.generic.types import ColumnTypes
from connectors.jdbc.values.types import Projection


class SqliteTypes(ColumnTypes):
    """Tells which values SQLite's types hold: wide integers, and a REAL of eight bytes (sqlite.org/datatype3.html)."""

    # A time is a text in whatever form the writer chose. The Java driver gives the text, too.
    has_times = False
    has_wide_integers = True
    has_exact_numerics = False
    others = Projection.AS_IS
    four_bytes = frozenset[str]()

    def second_digits(self, kind: t.TypeEngine[Any]) -> int | None:
        """Return None, as a column keeps all digits that are written."""
        del kind
        return None
