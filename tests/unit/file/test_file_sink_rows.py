"""A row that has no text is a bad row, and all others are in the file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import RejectedRowsError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.file.config import FileStreamSinkConfig
from connectors.file.sink import FileStreamSinkTask

TP = TopicPartition("orders", 0)


def test_an_instant_after_the_year_9999_is_one_bad_row(tmp_path: Path) -> None:
    file = tmp_path / "out"
    task = FileStreamSinkTask(FileStreamSinkConfig.parse({**EVERYWHERE, "file": str(file)}))
    task.open(FakeSinkContext())
    times = pa.array([0, 253_402_300_800_000, 1000], pa.int64()).cast(pa.timestamp("ms", "UTC"))
    values = Column.from_arrow(times, s.TIMESTAMP_SCHEMA)
    with pytest.raises(RejectedRowsError) as refused:
        task.put(Batch("orders", values, consumed=Consumed(TP, pa.array(range(3), pa.int64()), 3)), Deadline.after(5))
    assert list(refused.value.rows) == [1]
    assert task.flush(Deadline.after(5)) == {TP: 3}
    assert file.read_text() == "Thu Jan 01 00:00:00 UTC 1970\nThu Jan 01 00:00:01 UTC 1970\n"
    task.close()
