"""Tells which values PostgreSQL's column types hold. Pure."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types as t

from connect.api import schema as s
from connectors.jdbc.dialects.generic.types import ColumnTypes
from connectors.jdbc.values.types import Classified, Projection, Raw


class PostgresTypes(ColumnTypes):
    """Tells which values the column types of PostgreSQL hold."""

    documents = Projection.TEXT

    def second_digits(self, kind: t.TypeEngine[Any]) -> int | None:
        """Return how many digits of a fraction of a second a column keeps; None if the catalog does not tell."""
        if isinstance(kind, t.DateTime | t.Time):
            return self.fraction_digits(kind)
        return super().second_digits(kind)

    def bit(self, *, is_one: bool) -> Classified:
        """Return that one bit becomes a boolean, and several bits a text."""
        return (Raw.BOOLEAN, s.BOOLEAN, Projection.BOOLEAN_OF_BIT) if is_one else super().bit(is_one=False)
