"""The cells of a page by native code are those of its twin, and bytes that end too soon are left to the twin."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.cassandra.cql.pages import Page, split_columns, split_columns_slowly
from connectors.cassandra.native import module

pytestmark = pytest.mark.skipif(
    module() is None, reason="NOT CHECKED: connectors.cassandra.native was not built; it needs a C++17 compiler"
)
ROWS = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.lists(st.none() | st.binary(max_size=9), min_size=columns, max_size=columns))
)


def page_of(rows: list[list[bytes | None]]) -> Page:
    cells = [cell for row in rows for cell in row]
    data = b"".join(struct.pack(">i", -1 if cell is None else len(cell)) + (cell or b"") for cell in cells)
    return Page(data, len(rows), len(rows[0]) if rows else 3)


@given(ROWS)
def test_cells_are_found_as_the_twin_finds_them(rows: list[list[bytes | None]]) -> None:
    page = page_of(rows)
    assert module().find_cells(page.data, page.rows, page.columns) is not None
    for found, twin in zip(split_columns(page), split_columns_slowly(page), strict=True):
        assert found.starts.tolist() == twin.starts.tolist()
        assert found.sizes.tolist() == twin.sizes.tolist()
    values = [[column.value(row) for column in split_columns(page)] for row in range(page.rows)]
    assert values == rows


@pytest.mark.parametrize("cut", [1, 3, 4, 7])
def test_a_page_that_ends_too_soon_is_refused(cut: int) -> None:
    page = page_of([[b"1234", None], [b"5", b"678"]])
    shorter = Page(page.data[:-cut], page.rows, page.columns)
    assert module().find_cells(shorter.data, shorter.rows, shorter.columns) is None


@pytest.mark.parametrize(("rows", "columns"), [(2**60, 2**60), (-1, 2), (2, 0), (10**9, 1)])
def test_numbers_of_rows_that_cannot_be_get_no_memory(rows: int, columns: int) -> None:
    assert module().find_cells(b"\0\0\0\1x", rows, columns) is None
