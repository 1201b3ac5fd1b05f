"""Checks the file sink on real files: what flush claims is there, a full disk loses nothing, a kill spoils no line."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from file_limits import files_end_at

from connect.api import schema as s
from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.file.config import FileStreamSinkConfig
from connectors.file.sink import FileStreamSinkTask

TP0, TP1 = TopicPartition("t", 0), TopicPartition("t", 1)
_NOBODY = 65534


@contextmanager
def as_plain_user() -> Iterator[None]:
    """Be a user who owns nothing, as root may write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(_NOBODY, _NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def task_on(path: Path | str | None) -> FileStreamSinkTask:
    task = FileStreamSinkTask(
        FileStreamSinkConfig.parse(EVERYWHERE if path is None else {**EVERYWHERE, "file": str(path)})
    )
    task.open(FakeSinkContext())
    return task


def batch(*lines: str, start: int = 0, partition: TopicPartition = TP0) -> Batch:
    offsets = pa.array(range(start, start + len(lines)), pa.int64())
    return Batch(
        "t",
        Column.from_arrow(pa.array(lines, pa.string()), s.STRING),
        partition=partition.partition,
        consumed=Consumed(partition, offsets, start + len(lines)),
    )


def now() -> Deadline:
    return Deadline.after(5.0)


def test_lines_are_appended_and_claimed_per_partition(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("before\n")
    task = task_on(path)
    task.assigned([TP0, TP1])
    assert task.flush(now()) == {}
    task.put(batch("a", "é☃😀", start=5), now())
    task.put(batch("", start=7, partition=TP1), now())
    assert task.flush(now()) == {TP0: 7, TP1: 8}
    assert path.read_text() == "before\na\né☃😀\n\n"
    task.revoked([TP1])
    assert task.flush(now()) == {TP0: 7}
    task.close()
    task.close()


def test_a_full_disk_delays_lines_and_loses_none(tmp_path: Path) -> None:
    path = tmp_path / "out"
    task = task_on(path)
    with files_end_at(7):
        task.put(batch("abc", "def", "ghi"), now())
        with pytest.raises(RetriableError, match=rf"Writing to {path} failed: .*5 bytes wait"):
            task.flush(now())
        with pytest.raises(RetriableError):
            task.put(batch("jkl", start=3), now())
        assert path.read_text() == "abc\ndef"
    task.put(batch("jkl", start=3), now())
    assert task.flush(now()) == {TP0: 4}
    assert path.read_text() == "abc\ndef\nghi\njkl\n"
    task.close()


def test_a_device_without_space_is_retriable() -> None:
    task = task_on("/dev/full")
    task.put(batch("a"), now())
    with pytest.raises(RetriableError, match="No space left on device"):
        task.flush(now())
    task.close()


def test_half_a_line_of_a_killed_task_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "out"
    child = os.fork()
    if not child:
        task = task_on(path)
        with files_end_at(6):
            task.put(batch("abc", "def"), now())
            os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert path.read_text() == "abc\nde"
    task = task_on(path)
    task.put(batch("abc", "def"), now())
    task.flush(now())
    assert path.read_text() == "abc\nde\nabc\ndef\n"
    task.close()


def test_what_is_in_the_way_is_named_with_its_fix(tmp_path: Path) -> None:
    with pytest.raises(
        ConnectError, match=r"Couldn't find or create file '.*/none/out' .*/none does not exist; make it"
    ):
        task_on(tmp_path / "none" / "out")
    with pytest.raises(ConnectError, match="it is a directory; name a file in it"):
        task_on(tmp_path)


def test_a_directory_without_rights_is_named() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        with as_plain_user(), pytest.raises(ConnectError, match="is not writable; give the worker's user the right"):
            task_on(folder / "out")


def test_without_a_file_standard_output_is_written(capfd: pytest.CaptureFixture[str]) -> None:
    task = task_on(None)
    task.put(batch("a", "b"), now())
    assert task.flush(now()) == {TP0: 2}
    task.close()
    assert capfd.readouterr().out == "a\nb\n"
