"""Shared by the columnar JSON paths: rebuilding nested Arrow arrays, and decimals as Connect's bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

DOUBLE_EXACT = 2.0**53
"""Integers beyond this are not all held by a double."""


class NotColumnarError(Exception):
    """The columnar path cannot prove that its result is exact; the row path decides. Never leaves the converter."""


def struct_of(array: pa.StructArray, children: list[pa.Array], fields: list[pa.Field]) -> pa.StructArray:
    """A struct array with the nulls of `array` over other children."""
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def list_of(array: pa.Array, values: pa.Array, item: pa.Field) -> pa.ListArray:
    """A list array with the nulls and lengths of `array` over other values, those of `array.flatten()`."""
    ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(array), 0).cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(item), mask=mask)


def base64_of(array: pa.Array) -> pa.Array:
    """The base64 text of every byte string."""
    import polars as pl

    return pl.Series(pl.from_arrow(array.cast(pa.large_binary()))).bin.encode("base64").to_arrow().cast(pa.string())


def bytes_of(array: pa.Array) -> pa.Array:
    """The bytes of every base64 text."""
    import polars as pl

    try:
        series = pl.Series(pl.from_arrow(array)).str.decode("base64", strict=True)
    except pl.exceptions.PolarsError as error:
        raise NotColumnarError(str(error)) from error
    return series.to_arrow().cast(pa.binary())


def unscaled_of(array: pa.Array) -> pa.Array:
    """The unscaled values of decimals as minimal big-endian two's complement bytes."""
    width = array.type.byte_width
    whole = pa.Array.from_buffers(
        pa.binary(width), len(array), [array.buffers()[0], array.buffers()[1]], offset=array.offset
    )
    big_endian = pc.binary_reverse(whole.cast(pa.binary()))
    # A leading byte is redundant while the next one has the same sign bit (BigInteger.toByteArray).
    positive = pc.replace_substring_regex(big_endian, pattern=r"^\x00+([\x00-\x7f](?s:.)*)$", replacement=r"\1")
    return pc.replace_substring_regex(positive, pattern=r"^\xff+([\x80-\xff](?s:.)*)$", replacement=r"\1")


def decimals_of(unscaled: pa.Array, target: Any) -> pa.Array:
    """Decimals from big-endian two's complement bytes of any length. NotColumnarError when one is too long."""
    width = target.byte_width
    lengths = pc.binary_length(unscaled)
    if pc.min_max(lengths)["min"].as_py() == 0 or (pc.max(lengths).as_py() or 0) > width:
        raise NotColumnarError("a decimal has no digits or too many")
    filled = pc.fill_null(unscaled, b"\x00")
    negative = pc.greater_equal(pc.binary_slice(filled, 0, 1), pa.scalar(b"\x80"))
    sign = pc.if_else(negative, pa.scalar(b"\xff"), pa.scalar(b"\x00"))
    padding = pc.binary_repeat(sign, pc.subtract(width, pc.binary_length(filled)))
    little_endian = pc.binary_reverse(pc.binary_join_element_wise(padding, filled, pa.scalar(b"")))
    validity = unscaled.is_valid() if unscaled.null_count else None
    values = pa.Array.from_buffers(target, len(unscaled), [None, little_endian.buffers()[2]])
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        raise NotColumnarError(str(error)) from error
    return values if validity is None else pc.if_else(validity, values, pa.scalar(None, target))
