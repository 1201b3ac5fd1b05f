"""Reads schemaless JSON texts, one per row, into an Arrow column of inferred type.

The types are int64, float64, bool, string, list and struct; a text that looks like a time stays a text, a field that is
null in every row is a string. The fields stand in the order of the first row, those it lacks after them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from connect import native
from connect.convert.json.decode import check_finite, read_values, without_negative_zero
from connect.convert.json.java_text import json_string
from connect.convert.json.read import Reading
from connect.convert.json.sparse_rows import is_sparse
from connect.convert.json.text import JsonSyntaxError, read_fast
from connect.convert.plain.columns import DOUBLE_EXACT, NotColumnarError, list_of, struct_of

_MAY_OVERFLOW = r"[0-9]{19}"
"""Digits that orjson may round to a double."""
_ROWS_OF_A_PART = 1000
_LONG_INTEGER = re.compile(rb"[:\[,\s]-?[0-9]{16,}[,\]}\s]")


@dataclass(frozen=True, slots=True)
class _Batch:
    data: pa.BinaryArray
    reading: Reading


class ReadRows(NamedTuple):
    """A column that was read from JSON rows.

    is_whole: see `Column`; is_compact: their texts are known to have no space in them.
    """

    array: pa.Array
    is_whole: bool
    is_compact: bool


class SchemalessReader:
    """Infers the type of each batch; remembers which fields only look like times. Owned by one task thread."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._texts: Any | None = None

    def read(self, data: pa.BinaryArray) -> ReadRows:
        """Return the rows as a column; null bytes and JSON null give a null row. NotColumnarError: use the row path."""
        if is_sparse(data):
            raise NotColumnarError("most rows have keys of their own")
        inferred = native.infer_json(data)
        if inferred is not None:
            tidy = _in_first_row_order(_tidy(inferred.objects, None, _Batch(data, self._reading)), data)
            return ReadRows(tidy, inferred.is_whole and not self._reading.java, inferred.is_compact)
        try:
            values = read_values(data, self._texts)
        except NotColumnarError:
            if self._texts is None:
                raise
            self._texts = None
            values = read_values(data, None)
        texts = _times_as_text(values.type)
        if texts is not None:
            self._texts = texts if self._texts is None else _merged(self._texts, texts)
            values = read_values(data, self._texts)
        tidy = _in_first_row_order(_tidy(values, self._texts, _Batch(data, self._reading)), data)
        return ReadRows(tidy, is_whole=False, is_compact=False)


def read_rows(data: pa.BinaryArray) -> list[Any]:
    """Return the Python form of rows that `SchemalessReader.read` has taken, so that all of them are JSON."""
    if pc.any(pc.match_substring_regex(data, _MAY_OVERFLOW)).as_py():
        return [None if row is None else read_fast(row) for row in data.to_pylist()]
    rows: list[Any] = []
    # A part at a time: the joined text, and what orjson makes of it on the way, are several times its size.
    for start in range(0, len(data), _ROWS_OF_A_PART):
        texts = pc.fill_null(data.slice(start, _ROWS_OF_A_PART), b"null")
        joined = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts), b",")
        rows += orjson.loads(b"[" + joined[0].as_py() + b"]")
    return rows


def _times_as_text(inferred: Any) -> Any | None:
    """Return the part of a type that was taken for times, as strings; None when there is none."""
    if pa.types.is_temporal(inferred):
        return pa.utf8()
    if pa.types.is_list(inferred):
        item = _times_as_text(inferred.value_type)
        return None if item is None else pa.list_(item)
    if pa.types.is_struct(inferred):
        parts = [(f.name, _times_as_text(f.type)) for f in inferred]
        kept = [(name, part) for name, part in parts if part is not None]
        return pa.struct(kept) if kept else None
    return None


def _merged(known: Any, more: Any) -> Any:
    if pa.types.is_struct(known) and pa.types.is_struct(more):
        fields = {f.name: f.type for f in known}
        for field in more:
            fields[field.name] = _merged(fields[field.name], field.type) if field.name in fields else field.type
        return pa.struct(list(fields.items()))
    if pa.types.is_list(known) and pa.types.is_list(more):
        return pa.list_(_merged(known.value_type, more.value_type))
    return more


def _tidy(array: pa.Array, texts: Any | None, batch: _Batch) -> pa.Array:
    kind = array.type
    if pa.types.is_null(kind):
        return array.cast(pa.utf8())
    if pa.types.is_floating(kind):
        _check_float(array, batch.data)
        return without_negative_zero(array) if batch.reading.java else array
    if pa.types.is_list(kind):
        item = texts.value_type if texts is not None and pa.types.is_list(texts) else None
        values = _tidy(array.flatten(), item, batch)
        return list_of(array, values, pa.field("item", values.type))
    if pa.types.is_struct(kind) and kind.num_fields:
        return _tidy_struct(array, texts, batch)
    return array


def _tidy_struct(array: pa.StructArray, texts: Any | None, batch: _Batch) -> pa.Array:
    known = {f.name: f.type for f in texts} if texts is not None and pa.types.is_struct(texts) else {}
    children, fields = [], []
    for field, child in zip(array.type, array.flatten(), strict=True):
        if field.name in known and child.null_count == len(child) and not _occurs(field.name, batch.data):
            continue
        children.append(_tidy(child, known.get(field.name), batch))
        fields.append(pa.field(field.name, children[-1].type))
    if not fields:
        raise NotColumnarError("no field occurs in this batch")
    return struct_of(array, children, fields)


def _occurs(name: str, data: pa.BinaryArray) -> bool:
    """Tell if a name that an earlier batch had may be in this one."""
    plain = name.isascii() and json_string(name) == f'"{name}"'
    return not plain or bool(pc.any(pc.match_substring(data, name.encode())).as_py())


def _check_float(array: pa.Array, data: pa.BinaryArray) -> None:
    """Raise NotColumnarError for an integer that was lost in a double: integers beside fractions become doubles."""
    check_finite(array)
    most = pc.max(pc.abs(array)).as_py()
    if most is not None and most >= DOUBLE_EXACT and _long_integers(data):
        raise NotColumnarError("an integer that a double does not hold")


def _long_integers(data: pa.BinaryArray) -> bool:
    return any(_LONG_INTEGER.search(b" " + row + b" ") for row in data.to_pylist() if row is not None)


def _in_first_row_order(array: pa.Array, data: pa.BinaryArray) -> pa.Array:
    if not pa.types.is_struct(array.type):
        return array
    names = [f.name for f in array.type]
    order = _first_names(data)
    wanted = [n for n in order if n in names] + [n for n in names if n not in order]
    if wanted == names:
        return array
    places = {name: i for i, name in enumerate(names)}
    children = array.flatten()
    picked = [places[name] for name in wanted]
    return struct_of(array, [children[i] for i in picked], [array.type.field(i) for i in picked])


def _first_names(data: pa.BinaryArray) -> Sequence[str]:
    index = pc.index(data.is_valid(), True).as_py()
    try:
        row = read_fast(data[index].as_py()) if index >= 0 else None
    except JsonSyntaxError as error:
        raise NotColumnarError(str(error)) from error
    return list(row) if isinstance(row, dict) else []
