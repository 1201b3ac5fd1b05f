"""Tells which values the column types of MariaDB and MySQL hold. Pure."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types as t

from connect.api import schema as s
from connectors.jdbc.dialects.generic.types import ColumnTypes
from connectors.jdbc.values.types import Classified, Projection, Raw


class MySqlTypes(ColumnTypes):
    """Tells which values the column types of MariaDB and MySQL hold; their REAL has eight bytes."""

    four_bytes = frozenset({"FLOAT"})
    # The servers send a FLOAT with six digits, which is not the exact value (16777215 becomes 16777200).
    floats = Projection.DOUBLE

    def second_digits(self, kind: t.TypeEngine[Any]) -> int | None:
        """Return how many digits of a fraction of a second a column keeps; None if the catalog does not tell."""
        if isinstance(kind, t.DateTime | t.Time):
            return self.fraction_digits(kind)
        return super().second_digits(kind)

    def fraction_digits(self, kind: t.TypeEngine[Any]) -> int:
        """Return how many digits of a fraction of a second a column has; the catalog tells it if there are any."""
        return getattr(kind, "fsp", None) or 0

    def is_instant(self, kind: t.DateTime) -> bool:
        """Return True if values of a type are instants. Those of TIMESTAMP are, as our sessions have the zone UTC."""
        return isinstance(kind, t.TIMESTAMP) or super().is_instant(kind)

    def bit(self, *, is_one: bool) -> Classified:
        """Return that one bit becomes an integer, and several bits become bytes."""
        if is_one:
            return Raw.INTEGER, s.INT8, Projection.INTEGER_OF_BIT
        return Raw.BYTES, s.BYTES, Projection.AS_IS
