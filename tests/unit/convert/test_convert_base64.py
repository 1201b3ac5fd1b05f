"""Checks columns of base64: the bytes that the standard library decodes, and an error for what is none."""

from __future__ import annotations

import base64

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.convert.plain.columns import NotColumnarError, base64_of, bytes_of

ROWS = st.lists(st.one_of(st.none(), st.binary(max_size=9)), max_size=20)


@settings(deadline=None)
@given(ROWS, st.integers(0, 5))
def test_a_column_goes_into_base64_and_back(rows, begin):
    texts = base64_of(pa.array(rows, pa.binary())).slice(min(begin, len(rows)))
    wanted = rows[begin:]
    assert texts.to_pylist() == [None if row is None else base64.b64encode(row).decode() for row in wanted]
    assert bytes_of(texts).to_pylist() == wanted


@pytest.mark.parametrize("text", ["A", "AAA", "AA=A", "A===", "====", "=AAA", "AA*=", "AAAé", "AAA=AAAA", "AA==\n"])
def test_what_is_no_base64_is_left_to_the_row_path(text):
    with pytest.raises(NotColumnarError):
        bytes_of(pa.array(["AAAA", text, None, "AA=="]))


def test_padding_of_one_row_does_not_make_up_for_another():
    with pytest.raises(NotColumnarError):
        bytes_of(pa.array(["AA==", "A=A="]))


def test_numbers_are_no_base64():
    with pytest.raises(NotColumnarError):
        bytes_of(pa.array([1, 2]))
