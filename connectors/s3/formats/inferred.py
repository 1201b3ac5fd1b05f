"""Corrects columns whose types were inferred from rows without a schema, as the types may be too wide. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import SchemaError
from connect.api.records import Batch

if TYPE_CHECKING:
    import pyarrow as pa

_EXACT_AS_DOUBLE: Final = 2**53
_EMPTY_OBJECT: Final = r"\{\s*\}"


def narrowed(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows without types that none of them needs, and which other rows of the batch have caused."""
    import pyarrow as pa

    columns = [_narrowed(column) for column in rows.columns]
    return pa.record_batch(columns, names=rows.schema.names)


def empty_structs(batch: Batch) -> dict[int, SchemaError]:
    """Return an error for each row without a schema that holds a struct without fields, at any depth.

    In Arrow such a struct has the fields of other rows of the batch; these do not count.
    """
    import pyarrow.compute as pc

    array = batch.values.arrow()
    suspects = pc.indices_nonzero(_may_be_empty(array)).to_pylist() if _has_structs(array.type, 0) else []
    texts = batch.values.json_texts() if suspects else None
    if texts is not None:
        suspects = [row for row in suspects if pc.match_substring_regex(texts[row], _EMPTY_OBJECT).as_py()]
    if not suspects:
        return {}
    rows = batch.values.rows()
    paths = ((row, _path_of_empty(rows[row])) for row in suspects)
    return {row: empty_struct(path) for row, path in paths if path is not None}


@lru_cache(maxsize=16)
def typed(schema: pa.Schema) -> pa.Schema:
    """Return the schema without fields that have no type, as they are null, or empty lists, in every row.

    At least one column remains, as a file without columns could not hold rows.
    """
    import pyarrow as pa

    fields = [field.with_type(kind) for field in schema if (kind := _typed(field.type)) is not None]
    return pa.schema(fields or [schema.field(0)])


def nullable(kind: pa.DataType) -> pa.DataType:
    """Return the type with every field optional, at any depth, as rows of another schema may lack the field."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_struct(kind):
        return pa.struct([pa.field(field.name, nullable(field.type)) for field in kind])
    if t.is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, nullable(kind.value_type)))
    if t.is_map(kind):
        return pa.map_(kind.key_type, nullable(kind.item_type))
    return kind


def _typed(kind: pa.DataType) -> pa.DataType | None:
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_null(kind):
        return None
    if t.is_list(kind):
        return None if (items := _typed(kind.value_type)) is None else pa.list_(kind.value_field.with_type(items))
    if t.is_struct(kind) and kind.num_fields:
        fields = [field.with_type(inner) for field in kind if (inner := _typed(field.type)) is not None]
        return pa.struct(fields) if fields else None
    return kind


def new_doubles(before: pa.Schema, after: pa.Schema) -> frozenset[str]:
    """Return the dotted paths of the columns that hold whole numbers in `before` and doubles in `after`."""
    import pyarrow as pa

    old, new = (dict(_leaves(pa.struct(list(schema)), "")) for schema in (before, after))
    both = old.keys() & new.keys()
    return frozenset(p for p in both if pa.types.is_integer(old[p]) and pa.types.is_floating(new[p]))


def require_widening(before: pa.Schema, after: pa.Schema) -> None:
    """Raise SchemaError if values would become another kind, for example if a text became bytes, or a Decimal a double.

    Arrow would promote some types with a loss.
    """
    import pyarrow as pa

    new = dict(_leaves(pa.struct(list(after)), ""))
    for path, kind in _leaves(pa.struct(list(before)), ""):
        if path in new and not _widens(kind, new[path]):
            raise SchemaError(f"{kind} does not become {new[path]}.", field=path)


def _widens(before: pa.DataType, after: pa.DataType) -> bool:
    import pyarrow.types as t

    alike = (t.is_integer, t.is_floating, t.is_decimal)
    return (
        before.equals(after)
        or t.is_null(before)
        or any(is_kind(before) and is_kind(after) for is_kind in alike)
        or (t.is_integer(before) and t.is_floating(after))
        or (t.is_string(before) and t.is_large_string(after))
        or (t.is_binary(before) and t.is_large_binary(after))
    )


def large_ints(rows: pa.RecordBatch | pa.Table) -> frozenset[str]:
    """Return the dotted paths of columns with a whole number that a double may not hold exactly."""
    import pyarrow as pa

    batches = rows.to_batches() if isinstance(rows, pa.Table) else [rows]
    return frozenset(path for batch in batches for path in _large_ints(batch.to_struct_array(), ""))


def _large_ints(array: pa.Array, path: str) -> Iterator[str]:
    import pyarrow.compute as pc
    import pyarrow.types as t

    if t.is_int64(array.type):
        span = pc.min_max(array).as_py()
        if span["min"] is not None and not -_EXACT_AS_DOUBLE <= span["min"] <= span["max"] <= _EXACT_AS_DOUBLE:
            yield path
    elif t.is_list(array.type):
        yield from _large_ints(array.flatten(), f"{path}[]")
    elif t.is_struct(array.type):
        for field, child in zip(array.type, array.flatten(), strict=True):
            yield from _large_ints(child, f"{path}.{field.name}".lstrip("."))


def _leaves(kind: pa.DataType, path: str) -> Iterator[tuple[str, pa.DataType]]:
    import pyarrow.types as t

    if t.is_list(kind):
        yield from _leaves(kind.value_type, f"{path}[]")
    elif t.is_struct(kind):
        for field in kind:
            yield from _leaves(field.type, f"{path}.{field.name}".lstrip("."))
    else:
        yield path, kind


def empty_struct(path: str, what: str = "Parquet") -> SchemaError:
    """Return the error for a field, or a whole value, that is a struct without fields."""
    return SchemaError(
        f"{what} cannot hold a struct without fields.",
        field=path,
        fix="Leave it out with the transform ReplaceField, or use JsonFormat.",
    )


def _narrowed(column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.types as t

    if column.null_count == len(column):
        return pa.nulls(len(column))
    if t.is_list(column.type) and len(column.flatten()) == 0:
        return pa.array([None if missing else [] for missing in column.is_null().to_pylist()], pa.list_(pa.null()))
    if not t.is_struct(column.type) or not column.type.num_fields:
        return column
    before = column.flatten()
    after = [_narrowed(child) for child in before]
    if all(old.type.equals(new.type) for old, new in zip(before, after, strict=True)):
        return column
    names = [field.name for field in column.type]
    return pa.StructArray.from_arrays(after, names=names, mask=column.is_null())


def _has_structs(kind: pa.DataType, depth: int) -> bool:
    """Return True if the type has a struct below the row itself, or is a struct without fields."""
    import pyarrow as pa

    if pa.types.is_struct(kind) and (depth or not kind.num_fields):
        return True
    return any(_has_structs(kind.field(i).type, depth + 1) for i in range(kind.num_fields))


def _may_be_empty(array: pa.Array) -> pa.BooleanArray:
    """Return True for each row that has a struct without a value in any field, in the array or below it."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    none = pa.repeat(pa.scalar(value=False), len(array))
    if t.is_list(array.type):
        rows = pc.list_parent_indices(array).filter(_may_be_empty(array.flatten()))
        return pc.is_in(pa.array(range(len(array)), pa.int64()), value_set=rows.cast(pa.int64()))
    if not t.is_struct(array.type):
        return none
    has_value, below = none, none
    for child in array.flatten():
        has_value, below = pc.or_(has_value, child.is_valid()), pc.or_(below, _may_be_empty(child))
    return pc.or_(below, pc.and_not(array.is_valid(), has_value))


def _path_of_empty(value: Any, path: str = "") -> str | None:
    if value == {} and isinstance(value, dict):
        return path
    members = value.items() if isinstance(value, dict) else ()
    items = ((path, item) for item in value) if isinstance(value, list) else ()
    inner = ((f"{path}.{name}".lstrip("."), member) for name, member in members)
    return next((found for at, member in (*inner, *items) if (found := _path_of_empty(member, at)) is not None), None)
