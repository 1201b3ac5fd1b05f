"""Checks what each batch of a poll says to have read, however transforms part the rows: a sink may take it for a
claim.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from connect.kafka.raw import RawBatch
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.records.chain import Link
from connect.runtime.records.pipeline import SinkPipeline

STRING = "org.apache.kafka.connect.storage.StringConverter"


class Parts:
    """Makes the batches that `rows` tells: for each the places of its rows in what is given."""

    def __init__(self, rows):
        self.rows = rows

    def apply(self, batch):
        return [replace(batch.take(own), topic=f"t{i}") for i, own in enumerate(self.rows)]


@pytest.mark.parametrize(
    ("rows", "ends"),
    [
        ([[0, 1], [2], [4, 5]], [12, 14, 16]),
        ([[0, 2, 4], [1, 3, 5]], [16, 16]),
        ([[0, 2], [1], [3, 5], [4]], [13, 13, 16, 16]),
        ([[0, 4], [1], [2, 3], [5]], [15, 15, 15, 16]),
        ([[0, 1], [1, 1, 2], [3]], [13, 13, 16]),
    ],
)
def test_batches_whose_rows_lie_among_each_others_end_together(rows, ends):
    converters = build_converters(Catalog.installed(), {"key.converter": STRING, "value.converter": STRING}, {})
    pipeline = SinkPipeline([Link("Parts", Parts(rows))], converters, pytest.fail)
    values = pa.array([b"%d" % i for i in range(6)], pa.binary())
    raw = RawBatch("t", values, partition=0, offsets=pa.array(range(10, 16), pa.int64()), next_offset=16)
    made = pipeline.decode(raw)
    assert [batch.values.rows() for batch in made] == [[str(i) for i in own] for own in rows]
    assert [batch.consumed.next_offset for batch in made] == ends
