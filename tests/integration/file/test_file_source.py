"""Checks the file source on real files: growth, truncation, rotation, long and broken lines, through the contract."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConnectError, SchemaError
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connectors.file import source
from connectors.file.config import FileStreamSourceConfig
from connectors.file.quiet_files import Look, QuietFiles
from connectors.file.source import FileStreamSourceTask
from connectors.file.tailed_input import StandardInput


class Life:
    """A task from open to close over an offset store."""

    def __init__(self, path: Path | str, store: OffsetStore | None = None, **config: str) -> None:
        self.store = store or OffsetStore()
        given = {"file": str(path), "topic": "lines", **{k.replace("_", "."): v for k, v in config.items()}}
        self.task = FileStreamSourceTask(FileStreamSourceConfig.parse({**given, **EVERYWHERE}))
        self.context = FakeSourceContext(store=self.store)
        self.task.open(self.context)
        self.batches: list[Batch] = []

    def poll(self, timeout_s: float = 0.0) -> list[str] | None:
        batch = self.task.poll(Deadline.after(timeout_s))
        if batch is None:
            return None
        self.batches.append(batch)
        return list(batch.values.arrow().to_pylist())

    def read(self) -> list[str]:
        """Everything there is now."""
        lines: list[str] = []
        while (more := self.poll()) is not None:
            lines += more
        return lines

    def position(self) -> Mapping[str, object] | None:
        position = self.batches[-1].position
        assert position is not None
        return position.offset

    def store_all(self) -> None:
        self.store.store([b.position for b in self.batches if b.position is not None])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "in"


@pytest.fixture
def life(path: Path) -> Iterator[Life]:
    one = Life(path)
    yield one
    one.task.close()


def append(path: Path, data: str | bytes) -> None:
    with path.open("ab") as file:
        file.write(data.encode() if isinstance(data, str) else data)


def test_a_record_is_a_line_with_the_byte_behind_it(path: Path, life: Life) -> None:
    append(path, "1\r\né☃😀\rx")
    before_ms = time.time_ns() // 1_000_000
    assert life.read() == ["1", "é☃😀"]
    batch = life.batches[0]
    assert batch.topic == "lines"
    assert batch.keys is None
    assert batch.position is not None
    assert batch.position.partition == {"filename": str(path)}
    assert batch.position.offset == {"position": 3 + 9 + 1}
    assert batch.timestamps_ms is not None
    assert all(before_ms <= ms <= time.time_ns() // 1_000_000 for ms in batch.timestamps_ms.to_pylist())


def test_a_line_is_sent_when_it_ends(path: Path, life: Life) -> None:
    append(path, "whole\nbegun")
    assert life.read() == ["whole"]
    append(path, "-ended\r")
    assert life.read() == []
    append(path, "\nnext\n")
    assert life.read() == ["begun-ended", "next"]
    assert life.position() == {"position": path.stat().st_size}


@pytest.mark.parametrize("rows", ["1", "3", "0", "-5"])
def test_small_batches_delay_nothing(path: Path, rows: str) -> None:
    append(path, "".join(f"{i}\n" for i in range(10)))
    life = Life(path, batch_size=rows)
    started_s = time.monotonic()
    assert life.read() == [str(i) for i in range(10)]
    assert time.monotonic() - started_s < 5
    most = max(1, int(rows))
    assert {len(b) for b in life.batches[:-1]} == {most}
    assert [b.position.offset["position"] for b in life.batches if b.position and b.position.offset] == [
        *range(2 * most, 20, 2 * most), 20,
    ]  # fmt: skip
    life.task.close()


def test_a_restart_goes_on_behind_what_was_stored(path: Path) -> None:
    append(path, "é\nb\nc\n")
    first = Life(path, batch_size="2")
    assert first.poll() == ["é", "b"]
    first.store_all()
    first.task.close()
    second = Life(path, first.store)
    assert second.read() == ["c"]
    second.task.close()


def test_a_file_that_comes_later_is_read(path: Path, life: Life, caplog: pytest.LogCaptureFixture) -> None:
    started_s = time.monotonic()
    assert life.poll(0.3) is None
    assert 0.2 < time.monotonic() - started_s < 20
    assert life.poll() is None
    assert [r.getMessage() for r in caplog.records] == [f"File {path} does not exist; it is read as soon as it does."]
    append(path, "1\n")
    assert life.poll(0.3) == ["1"]


def test_a_truncated_file_is_named_and_read_on_when_it_is_longer(
    path: Path, life: Life, caplog: pytest.LogCaptureFixture
) -> None:
    append(path, "1\n2\nbegun")
    assert life.read() == ["1", "2"]
    path.write_text("x\n")
    assert life.read() == life.read() == []
    assert len([r for r in caplog.records if r.levelno == logging.WARNING]) == 1
    assert f"File {path} has 2 bytes, fewer than the 9 read before" in caplog.text
    append(path, "y\nend\n")
    assert life.read() == ["end"]
    assert life.position() == {"position": 8}


def test_a_stored_position_behind_the_end_is_named(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    append(path, "1\n2\n")
    first = Life(path)
    first.read()
    first.store_all()
    first.task.close()
    path.write_text("1\n")
    second = Life(path, first.store)
    assert second.read() == []
    assert "fewer than the 4 read before" in caplog.text
    second.task.close()


def test_a_replaced_file_is_named_and_the_open_one_read_on(
    path: Path, life: Life, caplog: pytest.LogCaptureFixture
) -> None:
    append(path, "1\n")
    assert life.read() == ["1"]
    old = path.rename(path.with_name("in.1"))
    append(path, "new\n")
    append(old, "2\n")
    assert life.read() == ["2"]
    assert life.read() == []
    assert [f"File {path} was replaced by another" in r.getMessage() for r in caplog.records] == [True]


def test_a_line_that_is_not_utf8_is_given_up_with_its_bytes(path: Path, life: Life) -> None:
    append(path, b"good\nb\xffd\r\nlater\n")
    assert life.read() == ["good", "later"]
    ((record, reason),) = life.context.rejected
    assert record.value == b"b\xffd"
    assert isinstance(reason, SchemaError)
    assert f"The line of 3 bytes that ends at byte 10 of {path} is not UTF-8" in str(reason)
    assert life.position() == {"position": 16}


def test_lines_of_which_none_is_utf8_move_the_position_all_the_same(path: Path) -> None:
    life = Life(path, batch_size="2")
    append(path, b"\xff1\n\xff2\n\xff3\n")
    assert life.read() == []
    assert [record.value for record, _ in life.context.rejected] == [b"\xff1", b"\xff2", b"\xff3"]
    assert [batch.position.offset for batch in life.batches if batch.position] == [{"position": 6}, {"position": 9}]
    life.task.close()


def test_long_lines_are_read_and_endless_ones_refused(path: Path, life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "READ_SIZE_BYTES", 7)
    monkeypatch.setattr(source, "LINE_MAX_BYTES", 100)
    append(path, "é" * 45 + "\r\n" + "b" * 50 + "\r\n")
    assert life.read() == ["é" * 45, "b" * 50]
    append(path, "c" * 200)
    with pytest.raises(ConnectError, match=rf"The line at byte 144 of {path} is longer than 100 bytes"):
        life.read()


def test_memory_does_not_grow_with_the_file(path: Path, life: Life) -> None:
    import pyarrow as pa

    line = b"x" * 99 + b"\n"
    path.write_bytes(line * 1_000_000)
    before = pa.total_allocated_bytes()
    rows = most = 0
    while (batch := life.task.poll(Deadline.after(0.0))) is not None:
        rows += len(batch)
        most = max(most, pa.total_allocated_bytes() - before)
    assert rows == 1_000_000
    assert most < 40 * 1024 * 1024


def test_what_is_no_regular_file_is_refused(path: Path, tmp_path: Path) -> None:
    os.mkfifo(path)
    for odd in (path, tmp_path):
        life = Life(odd)
        with pytest.raises(ConnectError, match="is no regular file"):
            life.poll()
        life.task.close()


def test_standard_input_is_read_without_offsets(caplog: pytest.LogCaptureFixture) -> None:
    reading, writing = os.pipe()
    task = FileStreamSourceTask(FileStreamSourceConfig.parse({**EVERYWHERE, "topic": "t"}), StandardInput(reading))
    task.open(FakeSourceContext())
    assert "No file is set" in caplog.text
    assert task.poll(Deadline.after(0.0)) is None
    os.write(writing, b"a\nb")
    batch = task.poll(Deadline.after(0.0))
    assert batch is not None
    assert batch.values.arrow().to_pylist() == ["a"]
    assert batch.position is None
    os.close(writing)
    assert task.poll(Deadline.after(0.2)) is None
    task.close()
    os.close(reading)


class Waits:
    """A stop event that never waits, and ends everything after some waits."""

    def __init__(self, most: int) -> None:
        self.seen: list[float] = []
        self._most = most

    def wait(self, timeout_s: float) -> None:
        self.seen.append(timeout_s)

    def is_set(self) -> bool:
        return len(self.seen) >= self._most


def test_a_quiet_file_is_looked_at_less_and_less_until_there_is_a_line(path: Path) -> None:
    path.write_bytes(b"")
    life = Life(path)
    quiet = Waits(40)

    assert life.task.poll(Deadline(float("inf"), quiet)) is None
    assert quiet.seen[0] <= 0.05
    assert quiet.seen == sorted(quiet.seen)
    assert max(seen for seen in quiet.seen if seen < 60.0) <= 1.0
    assert quiet.seen[-1] == 60.0, "the file is watched from now on"

    path.write_bytes(b"a\n")
    assert life.poll() == ["a"]
    after = Waits(1)
    life.task.poll(Deadline(float("inf"), after))
    assert after.seen[0] <= 0.05


def test_a_line_of_a_file_that_was_quiet_for_long_ends_the_poll(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"")
    life, began = Life(path), threading.Event()

    class Told(QuietFiles):
        @contextmanager
        def watching(self, file: Path, seen: Look | None, wake: Callable[[], None]) -> Iterator[None]:
            with super().watching(file, seen, wake):
                began.set()
                yield

    monkeypatch.setattr(source, "QUIET_FILES", Told())
    assert life.task.poll(Deadline(float("inf"), Waits(40))) is None
    began.clear()
    poll = threading.Thread(target=lambda: life.task.poll(Deadline.after(60.0, life.context.bell)))
    poll.start()
    assert began.wait(20)
    path.write_bytes(b"a\n")
    assert life.context.bell.wait(20), "nobody looks at the file before the poll's deadline"
    poll.join()
    assert life.poll() == ["a"]
