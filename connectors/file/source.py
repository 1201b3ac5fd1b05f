"""Reads whole lines of one file as batches of strings. The position of a batch is the byte behind its last line."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api import schema as s
from connect.api.connector import SourceContext
from connect.api.errors import ConfigError, ConnectError, SchemaError
from connect.api.records import Batch, Column, SourcePosition
from connect.lib.deadline import Deadline
from connectors.file.config import FileStreamSourceConfig
from connectors.file.lines import Lines, complete_size, split_lines
from connectors.file.offsets import FILENAME, check_offsets, position_of, source_position
from connectors.file.quiet_files import QUIET_FILES, Look, look_at
from connectors.file.tailed_input import FileInput, Input, StandardInput

log = logging.getLogger(__name__)

READ_SIZE_BYTES: Final = 4 * 1024 * 1024
LINE_MAX_BYTES: Final = 64 * 1024 * 1024
"""A longer line is refused, as it would fill the memory. Brokers take messages of 1 MiB by default."""
IDLE_S: Final = 0.05
IDLE_MAX_S: Final = 1.0
IDLE_GROWTH: Final = 1.2
"""The wait between two looks at a quiet file grows by this factor, as a worker may read hundreds of files.

At its longest the file is left to `QUIET_FILES`.
"""
WATCHED_S: Final = 60.0
"""A file that `QUIET_FILES` watches is looked at in any case after so many seconds, or at the deadline."""


class FileStreamSourceConnector:
    """Plans the one task that reads the file."""

    def __init__(self, config: FileStreamSourceConfig) -> None:
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Raise ConfigError if the file exists, but is no regular file or cannot be read by this process."""
        del deadline
        path = Path(self._config.file) if self._config.file else None
        if path is None or not path.exists():
            return
        if not path.is_file():
            raise ConfigError(f"{path} is no regular file.", key="file", fix="Name a file of lines.")
        if not os.access(path, os.R_OK):
            raise ConfigError(f"File {path} may not be read by this user.", key="file", fix="Grant the right to read.")

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the settings of one task, as a file is read in order."""
        del max_tasks
        return [dict(self._config.originals)]

    def task(self, config: Mapping[str, str]) -> FileStreamSourceTask:
        """Return the task, whose file is not open yet."""
        return FileStreamSourceTask(FileStreamSourceConfig.parse(config))

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> bool:
        """Refuse offsets that are no place in a file: raise ConnectError with Kafka Connect's text."""
        check_offsets(self._config.file, positions)
        return True


class FileStreamSourceTask:
    """Reads blocks, splits them into lines, and returns `batch.size` lines at a time. Owned by the task thread.

    It implements PromptPolls.
    """

    polls_end_at_once: Final = True

    def __init__(self, config: FileStreamSourceConfig, source: Input | None = None) -> None:
        self._file = config.file or None
        self._path = Path(config.file) if config.file else None
        self._topic = config.topic
        self._batch_rows = max(1, config.batch_size)
        self._input = source or (FileInput(self._file, config.allowed) if self._file else StandardInput())
        self._position = 0  # of the first byte of _pending
        self._pending = bytearray()
        self._scanned = 0  # bytes of _pending that hold no whole line
        self._lines: Lines | None = None  # split, their ends counted from the file's start
        self._given = 0
        self._idle_s = IDLE_S
        self._context: SourceContext | None = None

    def open(self, ctx: SourceContext) -> None:
        """Resume at the stored byte."""
        self._context = ctx
        if self._file:
            self._position = position_of(ctx.stored_offset({FILENAME: self._file}))
        else:
            log.warning("No file is set: standard input is read, which is empty in a worker, and no offset is kept.")

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the next lines at once if there are any, and else those that come before the deadline."""
        while self._lines is None and not self._split():
            seen = look_at(self._path) if self._path else None  # before the read: what comes later is a change
            if self._fill():
                self._idle_s = IDLE_S
            elif not self._wait(deadline, seen):
                return None
        return self._next_batch()

    def _wait(self, deadline: Deadline, seen: Look | None) -> bool:
        """Wait until it is time for another look at the file. Return False if the deadline is over."""
        if self._idle_s < IDLE_MAX_S or self._path is None or self._context is None:
            waited = deadline.wait(self._idle_s)
            self._idle_s = min(IDLE_MAX_S, self._idle_s * IDLE_GROWTH)
            return waited
        with QUIET_FILES.watching(self._path, seen, self._context.wake):
            return deadline.wait(WATCHED_S)

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Do nothing, as lines stay in the file."""

    def close(self) -> None:
        """Close the file."""
        self._input.close()

    def _fill(self) -> bool:
        """Read a block behind the pending bytes. Return False if there is nothing new."""
        at = self._position + len(self._pending)
        data = self._input.read(at, READ_SIZE_BYTES)
        self._pending += data
        if data:
            log.debug("Read %d bytes of %s at byte %d.", len(data), self._file or "standard input", at)
        if not data and self._pending and self._input.ends_before(at):
            # The begun line was cut off; it is read again from its start once the file is longer.
            self._pending.clear()
            self._scanned = 0
        return bool(data)

    def _split(self) -> bool:
        """Split the whole lines off the pending bytes. Return False if there are none."""
        size = complete_size(self._pending, self._scanned)
        if not size:
            self._scanned = len(self._pending)
            self._refuse_long_line()
            return False
        lines = split_lines(bytes(self._pending[:size]))
        self._lines = Lines(lines.texts, pc.add(lines.ends, self._position), lines.bad)
        self._given = 0
        self._position += size
        del self._pending[:size]
        self._scanned = 0
        return True

    def _next_batch(self) -> Batch:
        lines = self._lines
        assert lines is not None
        start, stop = self._given, min(self._given + self._batch_rows, len(lines))
        end: int = lines.ends[stop - 1].as_py()
        position = source_position(self._file, end) if self._file else None
        texts = lines.texts.slice(start, stop - start)
        if bad := [i for i in range(start, stop) if i in lines.bad]:
            self._reject(lines, bad, position)
            texts = texts.take(pa.array([i - start for i in range(start, stop) if i not in lines.bad], pa.int64()))
        self._given = stop
        if stop == len(lines):
            self._lines = None
        now_ms = pa.scalar(time.time_ns() // 1_000_000, pa.int64())
        return Batch(
            self._topic,
            Column.from_arrow(texts, s.STRING),
            timestamps_ms=pa.repeat(now_ms, len(texts)),
            position=position,
        )

    def _reject(self, lines: Lines, bad: Sequence[int], position: SourcePosition | None) -> None:
        """Report lines that are no text as bad records, with their bytes as values."""
        assert self._context is not None
        ends = lines.ends.take(pa.array(bad, pa.int64())).to_pylist()
        values = Column.from_rows([lines.bad[i] for i in bad], s.BYTES)
        reasons = [self._undecodable(lines.bad[i], end) for i, end in zip(bad, ends, strict=True)]
        self._context.reject(Batch(self._topic, values, position=position), dict(enumerate(reasons)))

    def _refuse_long_line(self) -> None:
        if len(self._pending) > LINE_MAX_BYTES:
            raise ConnectError(
                f"The line at byte {self._position} of {self._file or 'standard input'} is longer than "
                f"{LINE_MAX_BYTES} bytes.",
                key="file",
                fix="End the line, or set the connector's offset behind it.",
            )

    def _undecodable(self, line: bytes, end: int) -> SchemaError:
        return SchemaError(
            f"The line of {len(line)} bytes that ends at byte {end} of {self._file or 'standard input'} is not UTF-8, "
            "so it has no lossless string form.",
            key="file",
            fix="Convert the file to UTF-8.",
        )
