"""Lines that the file system refused are not written behind those of the partition's next owner."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from file_limits import files_end_at

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.file.config import FileStreamSinkConfig
from connectors.file.sink import FileStreamSinkTask

TP0, TP1 = TopicPartition("t", 0), TopicPartition("t", 1)


def task_on(path: Path) -> FileStreamSinkTask:
    task = FileStreamSinkTask(FileStreamSinkConfig.parse({**EVERYWHERE, "file": str(path)}))
    task.open(FakeSinkContext())
    return task


def put(task: FileStreamSinkTask, *lines: str, start: int = 0, partition: TopicPartition = TP0) -> None:
    offsets = pa.array(range(start, start + len(lines)), pa.int64())
    values = Column.from_arrow(pa.array(lines, pa.string()), s.STRING)
    task.put(Batch("t", values, consumed=Consumed(partition, offsets, start + len(lines))), Deadline.after(5))


def flush(task: FileStreamSinkTask) -> dict[TopicPartition, int]:
    return dict(task.flush(Deadline.after(5)))


@pytest.mark.parametrize(("size_bytes", "there"), [(7, "abc\ndef\n"), (8, "abc\ndef\n"), (0, "")])
def test_what_waits_of_a_lost_partition_is_its_next_owners(tmp_path: Path, size_bytes: int, there: str) -> None:
    path = tmp_path / "out"
    task, next_owner = task_on(path), task_on(path)
    with files_end_at(size_bytes):
        put(task, "abc", "def", "ghi")
        with pytest.raises(RetriableError):
            flush(task)
        task.revoked([TP0])
    assert flush(task) == {}
    put(next_owner, "abc", "def", "ghi", "jkl")
    assert flush(next_owner) == {TP0: 4}
    put(task, "x", partition=TP1)
    assert flush(task) == {TP1: 1}
    assert path.read_text() == there + "abc\ndef\nghi\njkl\nx\n"


def test_what_waits_of_a_kept_partition_is_written_still(tmp_path: Path) -> None:
    path = tmp_path / "out"
    task = task_on(path)
    with files_end_at(5):
        put(task, "abc", "def")
        task.revoked([TP1])
    assert flush(task) == {TP0: 2}
    assert path.read_text() == "abc\ndef\n"
