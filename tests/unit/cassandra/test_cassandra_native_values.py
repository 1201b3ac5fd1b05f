"""Numbers without a largest one as text: native code writes what its twin writes, or leaves them to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.pages import decode_column
from connectors.cassandra.cql.values import decoder
from connectors.cassandra.log.events.event_arrays import cells_of
from connectors.cassandra.native import array_of, module

pytestmark = pytest.mark.skipif(
    module() is None, reason="NOT CHECKED: connectors.cassandra.native was not built; it needs a C++17 compiler"
)
SCALES = st.integers(-30, 30) | st.integers(-(2**31), 2**31 - 1)
UNSCALED = st.integers(-(2**63), 2**63 - 1) | st.integers(-1000, 1000)


def octets(value: int) -> bytes:
    return value.to_bytes(max(1, (value + (value < 0)).bit_length() // 8 + 1), "big", signed=True)


def native(values: list[bytes | None], *, has_scale: bool) -> list[str | None] | None:
    cells = cells_of(values)
    made = module().number_texts(cells.data, cells.starts, cells.sizes, has_scale)
    return None if made is None else array_of(made).to_pylist()


def twin(values: list[bytes | None], name: str) -> list[str | None]:
    decode = decoder(CqlType(name))
    return [None if value is None else decode(value) for value in values]


@given(st.lists(st.none() | st.just(b"") | UNSCALED.map(octets)))
def test_native_varints_are_those_of_the_twin(values: list[bytes | None]) -> None:
    assert native(values, has_scale=False) == twin(values, "varint")


@given(st.lists(st.tuples(SCALES, UNSCALED)))
@example([(scale, unscaled) for scale in range(-25, 26) for unscaled in (0, 1, -1, 10, -123, 2**63 - 1, -(2**63))])
@example([(scale, 0) for scale in (2**31 - 1, -(2**31))])
def test_native_decimals_are_those_of_the_twin(numbers: list[tuple[int, int]]) -> None:
    values: list[bytes | None] = [scale.to_bytes(4, "big", signed=True) + octets(number) for scale, number in numbers]
    assert native([*values, None, b"", b"\0\0\0\2"], has_scale=True) == twin(
        [*values, None, b"", b"\0\0\0\2"], "decimal"
    )


@pytest.mark.parametrize("value", [b"\0\0", b"\0\0\0\1" + bytes(9)])
def test_what_is_too_short_or_too_large_is_left_to_the_twin(value: bytes) -> None:
    assert native([value], has_scale=True) is None
    large = [(2**80).to_bytes(11, "big"), b"\5"]
    assert native(large, has_scale=False) is None
    assert decode_column(cells_of(large), CqlType("varint"), "v").to_pylist() == [str(2**80), "5"]


@pytest.mark.parametrize(("start", "size"), [(-1, 2), (9, 2), (2**62, 2), (11, 1)])
def test_values_outside_of_the_data_are_not_read(start: int, size: int) -> None:
    places = (np.array([start], np.int64), np.array([size], np.int64))
    assert module().number_texts(bytes(10), *places, False) is None
