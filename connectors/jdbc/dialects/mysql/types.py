"""Tells what the column types of MariaDB and MySQL hold. Pure."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types as t

from connect.api import schema as s
from connectors.jdbc.dialects.generic.types import ColumnTypes
from connectors.jdbc.values.types import Classified, Projection, Raw


class MySqlTypes(ColumnTypes):
    """Tells what column types of MariaDB and MySQL hold, whose REAL has eight bytes."""

    four_bytes = frozenset({"FLOAT"})
    # They write a FLOAT with six digits, which is not the value (16777215 becomes 16777200).
    floats = Projection.DOUBLE

    def second_digits(self, kind: t.TypeEngine[Any]) -> int | None:
        """Return how many digits of a second a column keeps."""
        if isinstance(kind, t.DateTime | t.Time):
            return self.fraction_digits(kind)
        return super().second_digits(kind)

    def fraction_digits(self, kind: t.TypeEngine[Any]) -> int:
        """Return how many digits of a second a column's schema has; they say so of every column that has some."""
        return getattr(kind, "fsp", None) or 0

    def is_instant(self, kind: t.DateTime) -> bool:
        """Tell if values of a type are instants, which a TIMESTAMP's are; sessions here run in UTC."""
        return isinstance(kind, t.TIMESTAMP) or super().is_instant(kind)

    def bit(self, *, is_one: bool) -> Classified:
        """Return one bit as an integer, and several as bytes."""
        if is_one:
            return Raw.INTEGER, s.INT8, Projection.INTEGER_OF_BIT
        return Raw.BYTES, s.BYTES, Projection.AS_IS
