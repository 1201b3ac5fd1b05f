"""What a batch does to a table is what its records do one by one, also where a key is NULL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from connectors.jdbc.sink.changes import changes_of

CASES = [
    # keys, which of them are tombstones, with is_keyed: rows that are deleted and written
    ([1, 2, 1], [False, False, False], True, [], [1, 2]),
    ([1, 1, 1], [False, True, False], True, [1], [2]),
    ([1, 2, 1], [False, False, True], True, [2], [1]),
    ([None, 2], [True, False], True, [0], [1]),
    ([None, None, None], [False, False, False], True, [], [0, 1, 2]),
    ([None, 1, None, 1], [True, False, False, False], True, [0], [2, 3]),
    ([None, 2], [True, False], False, [0], [1]),
    ([1, 2, 1], [False, True, False], False, [1], [0, 2]),
]


@pytest.mark.parametrize(("keys", "tombstones", "is_keyed", "deleted", "written"), CASES)
def test_a_batch_does_what_its_records_do(keys, tombstones, is_keyed, deleted, written):
    table = pa.table({"id": pa.array(keys, pa.int64())})
    found = changes_of(table, pa.array(tombstones), is_keyed=is_keyed)
    assert (found.deleted.to_pylist(), found.written.to_pylist()) == (deleted, written)


def test_a_key_of_two_columns_with_a_null_is_no_key():
    table = pa.table({"a": pa.array([1, 1, 1, 1]), "b": pa.array([None, 2, None, 2])})
    found = changes_of(table, pa.array([False, False, False, False]), is_keyed=True)
    assert found.written.to_pylist() == [0, 2, 3]
