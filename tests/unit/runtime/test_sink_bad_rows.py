"""Bad rows of a sink's batch that is converted again, as something it needs was away: they are set aside once."""

from __future__ import annotations

import pyarrow as pa
import pytest

from connect.api.errors import RejectedRowsError, RetriableError
from connect.kafka.raw import RawBatch
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters
from connect.runtime.records.chain import Link
from connect.runtime.records.pipeline import SinkPipeline

STRING = "org.apache.kafka.connect.storage.StringConverter"


class Refuses:
    """Refuses a row whatever happens."""

    def apply(self, batch):
        rows = batch.values.rows()
        if "bad" in rows:
            raise RejectedRowsError({rows.index("bad"): ValueError("bad")})
        return [batch]


class AwayAtFirst:
    """Needs something that is away for a while, and refuses an earlier row after that."""

    def __init__(self, tries):
        self.tries = tries

    def apply(self, batch):
        if self.tries:
            self.tries -= 1
            raise RetriableError("away")
        rows = batch.values.rows()
        if "worse" in rows:
            raise RejectedRowsError({rows.index("worse"): ValueError("worse")})
        return [batch]


def test_a_bad_row_is_given_up_once_however_often_the_rest_is_tried_again():
    given_up = []
    converters = build_converters(Catalog.installed(), {"key.converter": STRING, "value.converter": STRING}, {})
    links = [Link("Refuses", Refuses()), Link("AwayAtFirst", AwayAtFirst(2))]
    pipeline = SinkPipeline(links, converters, given_up.append)
    values = pa.array([b"worse", b"good", b"bad"], pa.binary())
    raw = RawBatch("t", values, partition=0, offsets=pa.array([7, 8, 9], pa.int64()), next_offset=10)
    for _ in range(2):
        with pytest.raises(RetriableError):
            pipeline.decode(raw)
    (batch,) = pipeline.decode(raw)
    assert batch.values.rows() == ["good"]
    assert [[(row.offset, row.component) for row in rows] for rows in given_up] == [
        [(7, "AwayAtFirst"), (9, "Refuses")]
    ]
