"""Makes Arrow arrays from columns of driver values: without loss, or with a SchemaError on table and column. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.arrow import arrow_schema, arrow_type
from connect.api.errors import SchemaError
from connect.api.records import Column
from connectors.jdbc.values import temporal, typed_times
from connectors.jdbc.values.java_zones import zone
from connectors.jdbc.values.temporal import Misfit, kinds
from connectors.jdbc.values.types import ColumnPlan, Raw, value_schema
from connectors.jdbc.values.unconvertible_rows import BadCell, BadCells, Values, without_misfits

if TYPE_CHECKING:
    from connectors.jdbc.settings.config import JdbcSourceConfig

_WIDEST = 76
_NO_FIX = "Mend the row, or read a query that casts the column."
_CUT = "or cut them off with microsecond.handling=truncate, as Confluent's connector does"
_MICROS_FIX = (
    f"Set time.precision.mode=adaptive or timestamp.granularity=micros_long (or others of their values), {_CUT}."
)
_TIME_FIX = f"Set time.precision.mode=adaptive (or another of its values), {_CUT}."


V = TypeVar("V", bound=Values)


class RowFormat:
    """Builds the values of one table's pages. Immutable after construction."""

    def __init__(self, table: str, schema_name: str | None, columns: Sequence[ColumnPlan], times: TimeRules) -> None:
        self.table = table
        self.columns = tuple(columns)
        self.schema = value_schema(schema_name, columns)
        self.times = times
        self._fields = list(arrow_schema(self.schema))

    def build(self, values: Sequence[Sequence[Any]], bad: BadCells | None = None) -> pa.StructArray:
        """Return a struct per row from the driver's values by column, in the order of `columns`.

        Values of further columns, which only order the rows, are left out. Without any values there are no rows. Rows
        that no record can hold are noted in `bad` and left out; if `bad` is None, the first one is a SchemaError.
        """
        values = values[: len(self.columns)] or [()] * len(self.columns)
        return self._of_values(values, bad)

    def of_driver_arrays(self, arrays: Sequence[pa.Array], bad: BadCells | None = None) -> pa.StructArray:
        """Return a struct per row, as `build` does, from columns of a reader that fetches Arrow
        (`arrow_pages.Columns`).

        Rows that are in `bad` already are left out, too.
        """
        return self._of_values(arrays, bad)

    def _of_values(self, values: Sequence[Sequence[Any] | pa.Array], bad: BadCells | None) -> pa.StructArray:
        pairs = list(zip(self.columns, values, strict=True))
        if bad is None:
            return self.of_arrays([self._column(plan, column) for plan, column in pairs])
        arrays = [without_misfits(v, plan.name, partial(self._column, plan), bad) for plan, v in pairs]
        for plan, array in zip(self.columns, arrays, strict=True):
            if array.null_count and not plan.schema.optional:
                for row in pc.indices_nonzero(array.is_null()).to_pylist():
                    bad.setdefault(row, BadCell(self._null(plan), plan.name, None))
        if bad:
            kept = pa.array([row not in bad for row in range(len(arrays[0]))], pa.bool_())
            arrays = [array.filter(kept) for array in arrays]
        return self.of_arrays(arrays)

    def named(self, columns: Sequence[Values]) -> dict[str, Values]:
        """Return a driver's columns by their names."""
        return {plan.name: values for plan, values in zip(self.columns, columns, strict=False)}

    def keys(self, values: pa.StructArray, names: Sequence[str]) -> Column | None:
        """Return the record keys: a struct of these columns, as ValueToKey makes it; None without any."""
        if not names:
            return None
        places = [next(i for i, plan in enumerate(self.columns) if plan.name == name) for name in names]
        schema = s.struct(s.Field(self.columns[i].name, self.columns[i].schema) for i in places)
        arrays = [values.field(i) for i in places]
        return Column.from_arrow(pa.StructArray.from_arrays(arrays, fields=[self._fields[i] for i in places]), schema)

    def guarded(
        self, plan: ColumnPlan, values: V, make: Callable[[ColumnPlan, V], pa.Array], bad: BadCells | None = None
    ) -> pa.Array:
        """Return a column of a reader, which `make` makes. Values that Arrow refuses become a SchemaError.

        The rows of such values are noted in `bad`, and the values are null; if `bad` is None, the first one raises the
        SchemaError.
        """
        if bad is not None:
            return without_misfits(values, plan.name, partial(self.guarded, plan, make=make), bad)
        try:
            return make(plan, values)
        except (Misfit, pa.ArrowException) as error:
            why = f": {error}" if isinstance(error, Misfit) else ""
            raise SchemaError(
                f"Table {self.table} holds a value of kind {plan.raw} that does not fit "
                f"{plan.schema.name or plan.schema.type} without loss{why}.",
                field=plan.name,
                fix=plan.fix or _NO_FIX,
            ) from error

    def of_arrays(self, arrays: Sequence[pa.Array]) -> pa.StructArray:
        """Return a struct per row from finished columns. SchemaError for NULL in a column that is NOT NULL."""
        for plan, array in zip(self.columns, arrays, strict=True):
            if array.null_count and not plan.schema.optional:
                raise self._null(plan)
        return pa.StructArray.from_arrays(arrays, fields=self._fields)

    def _null(self, plan: ColumnPlan) -> SchemaError:
        text = f"Table {self.table} gave NULL for a column that is NOT NULL."
        return SchemaError(text, field=plan.name, fix=_NO_FIX)

    def _column(self, plan: ColumnPlan, values: Sequence[Any] | pa.Array) -> pa.Array:
        try:
            return _build(plan, values, self.times)
        except (Misfit, pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise self._misfit(plan, values, error) from error

    def _misfit(self, plan: ColumnPlan, values: Sequence[Any] | pa.Array, error: Exception) -> SchemaError:
        shown = plan.schema.name or str(plan.schema.type)
        found = values.type if isinstance(values, pa.Array) else type(_first_misfit(plan, values, self.times)).__name__
        fix = plan.fix or _NO_FIX
        if "microseconds" in str(error):
            fix = {Raw.INSTANT: _MICROS_FIX, Raw.WALL_CLOCK: _MICROS_FIX, Raw.TIME: _TIME_FIX}.get(plan.raw, fix)
        why = f": {error}" if isinstance(error, Misfit) else ""
        return SchemaError(
            f"Table {self.table} holds a value of type {found} that does not fit {shown} without loss{why}.",
            field=plan.name,
            fix=fix,
        )


@dataclass(frozen=True, slots=True)
class TimeRules:
    """Holds how timestamps are read and written. `special` is zero.date.handling, and `cuts` is
    microsecond.handling.
    """

    zone: ZoneInfo
    granularity: str
    special: str = "fail"
    cuts: bool = False

    @classmethod
    def of(cls, config: JdbcSourceConfig) -> TimeRules:
        """Return the rules of a configuration."""
        cuts = config.microsecond_handling == "truncate"
        return cls(zone(config.db_timezone), config.timestamp_granularity, config.zero_date_handling, cuts)


def _first_misfit(plan: ColumnPlan, values: Sequence[Any], times: TimeRules) -> Any:
    # The search converts row by row. It runs only after the whole column failed.
    for value in values:
        try:
            _build(plan, (value,), times)
        except (Misfit, pa.ArrowException, ValueError, TypeError, OverflowError):
            return value
    return values[0] if values else None


def _build(plan: ColumnPlan, values: Sequence[Any] | pa.Array, times: TimeRules) -> pa.Array:
    if isinstance(values, pa.Array):
        return _of_arrow(plan, values, times)
    match plan.raw:
        case Raw.INTEGER:
            return _integers(values, arrow_type(plan.schema))
        case Raw.FLOAT:
            return pa.array(values, arrow_type(plan.schema))
        case Raw.TEXT:
            return typed_times.zoned_times(_text(values)) if typed_times.has(plan.schema) else _text(values)
        case Raw.BYTES:
            return _bytes(values)
        case Raw.BOOLEAN:
            return _booleans(values)
        case Raw.DECIMAL:
            return _decimals(values, plan.schema)
    return _moments(plan, values, times)


def _moments(plan: ColumnPlan, values: Sequence[Any], times: TimeRules) -> pa.Array:
    if plan.raw is Raw.TIME:
        return _times(plan, values, times)
    try:
        return _real_moments(plan, values, times)
    except (Misfit, pa.ArrowException):
        real = temporal.without_special(values, times.special)
        if real is None:
            raise
    return _real_moments(plan, real, times)


def _real_moments(plan: ColumnPlan, values: Sequence[Any], times: TimeRules) -> pa.Array:
    if plan.raw is Raw.DATE:
        return _dates(plan, temporal.dates(values))
    return _timestamps(plan, values, times)


def _times(plan: ColumnPlan, values: Sequence[Any] | pa.Array, rules: TimeRules) -> pa.Array:
    if not typed_times.has(plan.schema):
        return temporal.times(values, cuts=rules.cuts)
    return typed_times.times(temporal.micros_of_day(values), plan.schema)


def _dates(plan: ColumnPlan, dates: pa.Array) -> pa.Array:
    return typed_times.dates(dates, plan.schema) if typed_times.has(plan.schema) else dates


def _timestamps(plan: ColumnPlan, values: Sequence[Any] | pa.Array, times: TimeRules) -> pa.Array:
    zone = times.zone if plan.raw is Raw.WALL_CLOCK else ZoneInfo("UTC")
    instants = temporal.instants(values, zone)
    if typed_times.has(plan.schema):
        return typed_times.timestamps(instants, plan.schema, plan.second_digits)
    return temporal.timestamps(instants, times.granularity, times.zone, cuts=times.cuts)


def _of_arrow(plan: ColumnPlan, array: pa.Array, times: TimeRules) -> pa.Array:
    match plan.raw:
        case Raw.BOOLEAN if not pa.types.is_boolean(array.type):
            return booleans_of_numbers(array)
        case Raw.DATE:
            return _dates(plan, temporal.special_dates(array, times.special))
        case Raw.TIME:
            return _times(plan, array, times)
        case Raw.WALL_CLOCK | Raw.INSTANT:
            return _timestamps(plan, temporal.special_instants(array, times.special), times)
        case Raw.TEXT if typed_times.has(plan.schema):
            return typed_times.zoned_times(array)
    target = arrow_type(plan.schema)
    return array if array.type == target else array.cast(target)


def _integers(values: Sequence[Any], target: pa.DataType) -> pa.Array:
    # No type is given to pa.array, which would cut off fractions silently; a cast does not.
    array = pa.array(values)
    if array.type == target:
        return array
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_null(array.type)):
        raise Misfit("the column mixes numbers with something else")
    return array.cast(target)


def _text(values: Sequence[Any]) -> pa.Array:
    # No type is given to pa.array, which would take bytes for text.
    array = pa.array(values)
    if not (pa.types.is_string(array.type) or pa.types.is_null(array.type)):
        raise Misfit("the column mixes text with something else")
    return array.cast(pa.string())


def _bytes(values: Sequence[Any]) -> pa.Array:
    if not kinds(values) <= {bytes, bytearray, memoryview}:
        raise Misfit("the column mixes bytes with something else")
    return pa.array(values, pa.binary())


def _booleans(values: Sequence[Any]) -> pa.Array:
    found = kinds(values)
    if found <= {bool}:
        return pa.array(values, pa.bool_())
    return booleans_of_numbers(pa.array(values, pa.int64()))


def booleans_of_numbers(numbers: pa.Array) -> pa.Array:
    """Return 0 and 1 as booleans. Misfit for any other number."""
    if pc.all(pc.is_in(numbers, pa.array([0, 1, None], pa.int64()))).as_py() is False:
        raise Misfit("only 0 and 1 are booleans")
    return numbers.cast(pa.bool_())


def _decimals(values: Sequence[Any], schema: s.Schema) -> pa.Array:
    target = arrow_type(schema)
    found = kinds(values)
    if schema.type is s.Type.STRING:
        return pa.array([None if v is None else format(v, "f") for v in values], target)
    if schema.name != s.DECIMAL:
        return _unscaled(values, found, target)
    if found <= {Decimal}:
        return pa.array(values, target)
    if found == {int}:
        if max(v for v in values if v is not None) >= 2**63:
            return pa.array([None if v is None else Decimal(v) for v in values], target)
        return decimals_of_integers(pa.array(values, pa.int64()), target)
    return decimals_of_floats(pa.array(values, pa.float64()), target)


def _unscaled(values: Sequence[Any], found: set[type], target: pa.DataType) -> pa.Array:
    if found == {Decimal} and pa.types.is_floating(target):
        return pa.array([None if v is None else float(v) for v in values], target)
    if found <= {Decimal}:
        array = pa.array(values)
        # A column of nulls alone has no decimal type to cast from.
        return pa.nulls(len(values), target) if pa.types.is_null(array.type) else array.cast(target)
    return _integers(values, target)


def decimals_of_integers(numbers: pa.Array, target: pa.DataType) -> pa.Array:
    """Return 64-bit integers as decimals. They are cast to a wide type first, as Arrow's cast of integers wants room
    for any 64-bit number.
    """
    return numbers.cast(pa.decimal256(_WIDEST, target.scale)).cast(target)


def decimals_of_floats(floats: pa.Array, target: pa.DataType) -> pa.Array:
    """Return floats as decimals, each with the digits that give the float again. Misfit: the type has fewer digits."""
    decimals = floats.cast(target)
    differs = pc.not_equal(decimals.cast(pa.float64()), floats)
    for i in pc.indices_nonzero(pc.fill_null(differs, False)).to_pylist():
        # Arrow's way back to float may be off by one unit in the last place; Python's is exact.
        if float(decimals[i].as_py()) != floats[i].as_py():
            raise Misfit(f"more than {target.scale} digits after the point")
    return decimals
