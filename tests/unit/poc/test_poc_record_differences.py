"""In what records of two runs differ, by part and field, without a value."""

from __future__ import annotations

import pyarrow as pa
import pytest

from connect.kafka.raw import RawBatch
from connect.poc.sandbox.record_differences import Record, differences, records_of

RECORD = Record(b"1", b'{"a": 1, "b": {"c": "x"}}', ())


@pytest.mark.parametrize(
    ("other", "parts"),
    [
        (RECORD, {}),
        (RECORD._replace(value=b'{"a": 1, "b": {"c": "y"}}'), {"value.b.c": 1}),
        (RECORD._replace(value=b'{"a": 1.0, "b": {"c": "x"}}'), {"value.a": 1}),
        (RECORD._replace(value=b'{"a":1,"b":{"c":"x"}}'), {"value (another text of the same JSON)": 1}),
        (RECORD._replace(value=None), {"value": 1}),
        (RECORD._replace(key=b"\xff"), {"key (bytes)": 1}),
        (RECORD._replace(headers=(("h", b"1"),)), {"headers": 1}),
    ],
)
def test_a_difference_is_named_by_its_part(other, parts):
    assert differences({"t-0": [RECORD]}, {"t-0": [other]}) == parts


def test_records_of_one_side_are_counted():
    assert differences({"t-0": [RECORD, RECORD]}, {"t-0": [RECORD], "t-1": [RECORD]}) == {"there on one side alone": 2}


def test_places_are_those_without_the_run():
    raw = RawBatch("run1.t", pa.array([b"v"], pa.binary()), keys=None, partition=3)
    assert records_of([raw], "run1.") == {"t-3": [Record(None, b"v", ())]}
