"""The check of values tells how many rows were compared, and not how many were read."""

from __future__ import annotations

from dataclasses import asdict

import pyarrow as pa
import pytest

from connect.api.records import Batch, Column
from connect.kafka.raw import RawBatch
from connect.poc.sandbox.result import Outcome
from connect.poc.source import sample as samples
from connect.poc.source.sample import Sample
from connect.poc.source.sample_checks import _round_trip
from connect.runtime.records.pipeline import Encoded


class Parts:
    """Parts of a connector without schemas, whose transforms leave out the rows of a batch behind its first ones."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self.converters = self
        self.value = self

    def source_pipeline(self, give_up: object) -> Parts:
        return self

    def encode(self, batch: Batch) -> Encoded:
        rows = [str(row).encode() for row in batch.values.rows()]
        return Encoded([RawBatch("t", pa.array(rows[: self._kept], pa.binary()))], [])

    def decode(self, topic: str, values: pa.BinaryArray) -> list[Column]:
        return [Column.from_rows([int(value) for value in values.to_pylist()], None)]


@pytest.mark.parametrize(
    ("kept", "outcome", "text"),
    [
        ([3, 3], Outcome.PASS, "Every value of 6 rows came back equal from Kafka's bytes."),
        ([3, 1], Outcome.PASS, "Every value of 3 rows came back equal from Kafka's bytes. Of 3 more rows transforms"),
        ([1], Outcome.NOT_TESTED, "No row could be compared."),
    ],
)
def test_rows_of_which_transforms_made_others_do_not_count_as_compared(kept, outcome, text):
    sample = Sample()
    for rows in kept:
        samples._compare(Batch("t", Column.from_rows([1, 2, 3], None)), Parts(rows), sample, show_values=False)
    told = _round_trip(asdict(sample))
    assert told.outcome is outcome
    assert told.summary.startswith(text)
