"""Tells what SQLite's column types hold, where any value may stand in any column. Pure."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types as t

from connectors.jdbc.dialects.generic.types import ColumnTypes
from connectors.jdbc.values.types import Projection


class SqliteTypes(ColumnTypes):
    """Tells what column types of SQLite hold: wide integers, a REAL of eight bytes (sqlite.org/datatype3.html)."""

    # Times are text of the writer's choice; the Java driver passes them on as text, too.
    has_times = False
    has_wide_integers = True
    has_exact_numerics = False
    others = Projection.AS_IS
    four_bytes = frozenset[str]()

    def second_digits(self, kind: t.TypeEngine[Any]) -> int | None:
        """Return None, as a column keeps whatever is written."""
        del kind
        return None
