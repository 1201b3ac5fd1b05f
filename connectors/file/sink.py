"""Appends lines to a file in the order given, at least once. `flush` returns the offsets that are safe on disk."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from connect.api.allowed_paths import AllowedPaths
from connect.api.connector import SinkContext
from connect.api.errors import ConfigError, ConnectError, RejectedRowsError, RetriableError
from connect.api.records import Batch, TopicPartition
from connect.api.values.good_rows import good_parts
from connect.lib.deadline import Deadline
from connectors.file.config import FileStreamSinkConfig
from connectors.file.text import lines_of
from connectors.file.trial import TrialFile

STANDARD_OUTPUT: Final = 1
_LINE_END: Final = 10


class FileStreamSinkConnector:
    """Gives tasks their settings. All tasks append to the same file."""

    def __init__(self, config: FileStreamSinkConfig) -> None:
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Raise ConfigError if the file can neither be made nor appended to."""
        del deadline
        if not self._config.file:
            return
        path = Path(self._config.file)
        why = _obstacle(path)
        if why is not None:
            raise ConfigError(_unusable(path, why), key="file")

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return as many tasks as allowed; each appends its own partitions' lines."""
        return [dict(self._config.originals) for _ in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> FileStreamSinkTask:
        """Return a task whose file is not open yet."""
        return FileStreamSinkTask(FileStreamSinkConfig.parse(config))

    def trial_target(self, name: str) -> TrialFile:
        """Return a file for a trial, beside the one that is set."""
        return TrialFile(self._config.file, name)


class FileStreamSinkTask:
    """Writes each batch at once, and keeps only lines that the file system refused. Owned by the task thread."""

    def __init__(self, config: FileStreamSinkConfig) -> None:
        self._file = config.file or None
        self._allowed = config.allowed
        self._descriptor: int | None = None
        self._regular = False
        self._unwritten = memoryview(b"")
        self._unwritten_of: TopicPartition | None = None
        self._is_inside_a_line = False
        self._next_offsets: dict[TopicPartition, int] = {}

    def open(self, ctx: SinkContext) -> None:
        """Open the file for appending, and create it if it does not exist. Raise ConnectError if that fails."""
        del ctx
        if self._file is None:
            self._descriptor = STANDARD_OUTPUT
        else:
            self._descriptor = _opened(self._allowed, Path(self._file))
            if _ends_inside_a_line(self._allowed, Path(self._file)):
                # A killed task left half a line; its record is written again and must not join that half.
                self._unwritten = memoryview(b"\n")
        self._regular = stat.S_ISREG(os.fstat(self._descriptor).st_mode)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Do nothing, as nothing is kept of a partition before its first batch."""

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Append the batch. Raise RetriableError while the file system still refuses lines of an earlier batch, and
        RejectedRowsError with the rows that have no text; all others are appended.
        """
        del deadline
        assert batch.consumed is not None
        bad: Mapping[int, Exception] = {}
        if len(batch):
            self._write()
            parts, bad = good_parts(batch.values, lines_of)
            self._unwritten = memoryview(b"".join(parts))
            self._unwritten_of = batch.consumed.topic_partition
            # The batch counts as taken from here on, even with half a line written: the next put or flush goes on.
            with contextlib.suppress(RetriableError):
                self._write()
        self._next_offsets[batch.consumed.topic_partition] = batch.consumed.next_offset
        if bad:
            raise RejectedRowsError(bad)

    def flush(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        """Wait for the disk to confirm what was put; every offset put so far is then durable."""
        del deadline
        self._write()
        if self._regular:
            self._sync()
        return dict(self._next_offsets)

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Forget these partitions, so that `flush` returns no offsets of them. Drop their lines that still wait, as the
        next owner writes them; behind its lines they would be out of order.
        """
        for partition in partitions:
            self._next_offsets.pop(partition, None)
        if self._unwritten and self._unwritten_of in partitions:
            self._unwritten = memoryview(b"\n" if self._is_inside_a_line else b"")
            # The line end waits as lines do, if the file system refuses it, too.
            with contextlib.suppress(RetriableError):
                self._write()

    def close(self) -> None:
        """Close the file; standard output stays open."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None and self._file is not None:
            os.close(descriptor)

    def _write(self) -> None:
        assert self._descriptor is not None
        while self._unwritten:
            try:
                written = os.write(self._descriptor, self._unwritten)
            except OSError as error:
                raise RetriableError(
                    f"Writing to {self._file or 'standard output'} failed: {error.strerror}. "
                    f"{len(self._unwritten)} bytes wait."
                ) from error
            self._is_inside_a_line = self._unwritten[written - 1] != _LINE_END if written else self._is_inside_a_line
            self._unwritten = self._unwritten[written:]

    def _sync(self) -> None:
        assert self._descriptor is not None
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # A second fsync would succeed without the lost pages: only a replay from the last commit is sure.
            raise ConnectError(
                f"The disk did not confirm the lines written to {self._file}: {error.strerror}.",
                fix="Look at the disk; the connector then goes on from its last commit.",
            ) from error


def _opened(allowed: AllowedPaths, path: Path) -> int:
    is_new = not path.exists()
    try:
        descriptor = allowed.open("file", str(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except OSError as error:
        why = _obstacle(path) or error.strerror
        raise ConnectError(
            f"Couldn't find or create file '{path}' for FileStreamSinkTask: {why}.", key="file"
        ) from error
    if is_new:
        _sync_directory(path.parent)
    return descriptor


def _sync_directory(path: Path) -> None:
    """Write the directory to disk, as a new file survives a power cut only together with its entry there."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unusable(path: Path, why: str) -> str:
    return f"Couldn't find or create file '{path}' for FileStreamSinkTask: {why}."


def _obstacle(path: Path) -> str | None:
    """Return why lines cannot be appended to the file, and what to do; None if they can."""
    folder = path.parent
    if folder.is_dir() and os.statvfs(folder).f_flag & os.ST_RDONLY:
        return f"the file system of {folder} is read-only; mount it for writing, or name another file"
    if path.is_dir():
        return "it is a directory; name a file in it"
    if path.exists():
        return None if os.access(path, os.W_OK) else "it is not writable; give the worker's user the right to write it"
    if not folder.is_dir():
        return f"the directory {folder} does not exist; make it, or name another file"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the directory {folder} is not writable; give the worker's user the right to write there"
    return None


def _ends_inside_a_line(allowed: AllowedPaths, path: Path) -> bool:
    if not path.is_file() or not path.stat().st_size or not os.access(path, os.R_OK):
        return False
    with os.fdopen(allowed.open("file", str(path), os.O_RDONLY), "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
