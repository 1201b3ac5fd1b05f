"""Rebuilds nested Arrow arrays, and writes decimals as Connect's bytes. Shared by the columnar JSON paths."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

DOUBLE_EXACT = 2.0**53
"""A double cannot hold all integers beyond this."""


class NotColumnarError(Exception):
    """Says that the columnar path cannot prove its result exact, so the row path decides. No converter lets it out."""


def struct_of(array: pa.StructArray, children: list[pa.Array], fields: list[pa.Field]) -> pa.StructArray:
    """Return a struct array with the nulls of `array` over other children."""
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def list_of(array: pa.Array, values: pa.Array, item: pa.Field) -> pa.ListArray:
    """Return a list array with the nulls and lengths of `array` over other values, those of `array.flatten()`."""
    ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(array), 0).cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(item), mask=mask)


def spread(values: pa.Array, is_given: pa.BooleanArray) -> pa.Array:
    """Return an array that has the next value in each row where one is given, and null in the others."""
    places = pc.subtract(pc.cumulative_sum(is_given.cast(pa.int64())), 1)
    return values.take(pc.if_else(is_given, places, None))


def base64_of(array: pa.Array) -> pa.StringArray:
    """Return the base64 text of every byte string."""
    texts = (None if value is None else b2a_base64(value, newline=False) for value in array.to_pylist())
    return pa.array(texts, pa.binary()).cast(pa.string())


def bytes_of(array: pa.Array) -> pa.BinaryArray:
    """Return the bytes of every base64 text. NotColumnarError when a text is no base64."""
    if not pa.types.is_string(array.type):
        raise NotColumnarError("a value is no text")
    try:
        found = [None if text is None else a2b_base64(text, strict_mode=True) for text in array.to_pylist()]
    except ValueError as error:
        raise NotColumnarError(f"a text is no base64: {error}") from error
    return pa.array(found, pa.binary())


def unscaled_of(array: pa.Array) -> pa.Array:
    """Return the unscaled values of decimals as minimal big-endian two's complement bytes."""
    width = array.type.byte_width
    whole = pa.Array.from_buffers(
        pa.binary(width), len(array), [array.buffers()[0], array.buffers()[1]], offset=array.offset
    )
    big_endian = pc.binary_reverse(whole.cast(pa.binary()))
    # A leading byte is redundant while the next one has the same sign bit (BigInteger.toByteArray).
    positive = pc.replace_substring_regex(big_endian, pattern=r"^\x00+([\x00-\x7f](?s:.)*)$", replacement=r"\1")
    return pc.replace_substring_regex(positive, pattern=r"^\xff+([\x80-\xff](?s:.)*)$", replacement=r"\1")


def decimals_of(unscaled: pa.Array, target: Any) -> pa.Array:
    """Return decimals from big-endian two's complement bytes of any length. NotColumnarError when one is too long."""
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
