"""Describes the form that the values of a type of MySQL and MariaDB have in Debezium's records. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connectors.jdbc.values.types import ColumnPlan, Projection, Raw

Told = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True, slots=True)
class BinlogKind:
    """Describes one kind of value.

    `raw`, `reads` and `projection` tell the reader in which form to give the values. `told` converts the reader's
    values to Arrow values of the schema; Misfit or ArrowException: a value does not fit. `logged` does the same for
    rows from the log, if Debezium shows those in another form. `absent` replaces a missing value that may not be null.
    With `always_optional` the schema is optional even if the column is NOT NULL.
    """

    schema: s.Schema
    raw: Raw
    reads: s.Schema
    told: Told
    absent: object
    logged: Told | None = None
    always_optional: bool = False
    projection: Projection = Projection.AS_IS

    def plan(self, plan: ColumnPlan) -> ColumnPlan:
        """Return the plan by which the reader gives values of this kind. A zero date comes as null, even if the column
        is NOT NULL.
        """
        projection = plan.projection if plan.raw is self.raw else self.projection
        return replace(plan, raw=self.raw, schema=self.reads.as_optional(True), projection=projection)

    def values(self, given: pa.Array, *, is_logged: bool) -> pa.Array:
        """Return the reader's values as values of the schema."""
        return (self.logged or self.told)(given) if is_logged else self.told(given)


def as_they_are(values: pa.Array) -> pa.Array:
    """Return values unchanged, as the reader gives them in Debezium's form."""
    return values


def by_value(schema: s.Schema, convert: Callable[[object], object]) -> Told:
    """Return a function that converts each distinct value once."""
    target = arrow_type(schema)

    def told(values: pa.Array) -> pa.Array:
        distinct = pc.unique(values.drop_null())
        if not len(distinct):
            return pa.nulls(len(values), target)
        made = pa.array([convert(value) for value in distinct.to_pylist()], target)
        return made.take(pc.index_in(values, distinct))

    return told


def text(name: str | None = None) -> BinlogKind:
    """Return the kind of text, which may have the name of a semantic type."""
    schema = s.STRING if name is None else replace(s.STRING, name=f"io.debezium.data.{name}", version=1)
    return BinlogKind(schema, Raw.TEXT, s.STRING, as_they_are, "")


def whole(schema: s.Schema) -> BinlogKind:
    """Return the kind of whole numbers, all of which the schema can hold."""
    target = arrow_type(schema)
    return BinlogKind(schema, Raw.INTEGER, s.INT64, lambda values: values.cast(target), 0)
