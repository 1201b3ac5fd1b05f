"""Reads each file of a folder once, from the place that its stored offset says, in bulk or as files come.

A file has to be whole when it appears, so its writer moves it there when it is done. Later additions are not read.
"""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from connect.api import schema as s
from connect.api.config import ConnectorConfig
from connect.api.connector import SourceContext
from connect.api.errors import ConnectError
from connect.api.optional.bulk import BulkPlan, Split, SplitSize
from connect.api.optional.given_offsets import PARTITION, require_usable, whole_number
from connect.api.records import Batch, Column, SourcePosition
from connect.api.time_types import TimePrecision
from connect.lib.deadline import Deadline
from connectors.file.data_config import DataFilesSourceConfig
from connectors.file.data_formats import DataFormat, Page
from connectors.file.data_lines import CsvLines, JsonLines, LineFiles
from connectors.file.data_parquet import ParquetFiles
from connectors.file.data_store import DataFile, DataStore

_log = logging.getLogger(__name__)
_TASK: Final = "data.files.task"
_BULK_ROWS: Final = 20_000
"""A bulk read has at least so many rows a page to be fast, as batch.max.rows suits files that come one by one."""
_LOOK_S: Final = 0.2


class DataFilesSourceConnector:
    """Assigns the files to tasks, or their pieces to a backfill."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, DataFilesSourceConfig)
        self._config = config

    def check(self, deadline: Deadline) -> Sequence[str]:
        """List the folder, and read the first file's beginning. Raise ConfigError that names the settings to change."""
        del deadline
        store, files = DataStore(self._config), format_of(self._config, 1)
        found = store.list()
        if not found:
            return [f"No file of {self._config.folder} matches files={self._config.files} now."]
        with_first = files.pages(store, found[0].path, 0, found[0].size_bytes)
        next(with_first, None)
        return []

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the settings of the tasks. A task reads the files whose paths its number selects."""
        return [dict(self._config.originals) | {_TASK: f"{number}/{max_tasks}"} for number in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> DataFilesSourceTask:
        """Return a task that is not open yet."""
        number, _, count = config.get(_TASK, "0/1").partition("/")
        return DataFilesSourceTask(DataFilesSourceConfig.parse(config), int(number), int(count))

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> bool:
        """Refuse offsets that are no places in files. Return False, as only the framework stores offsets."""
        require_usable(positions, _broken)
        return False

    def plan_bulk(self, size: SplitSize, deadline: Deadline) -> BulkPlan:
        """Plan all files that are there now, in pieces. Raise ConnectError if there is none, or if one is broken."""
        del deadline
        store, files = DataStore(self._config), format_of(self._config, _BULK_ROWS)
        found = store.list()
        if not found:
            raise ConnectError(f"No file of {self._config.folder} matches files={self._config.files}.", key="files")
        splits: list[Split] = []
        ends: list[SourcePosition] = []
        for file in found:
            pieces = files.pieces(store, file, size.rows, size.size_bytes)
            ends.append(_position(file, pieces[-1].stop, is_read=True))
            for piece in pieces:
                bounds = {"file": file.path, "size": file.size_bytes, "from": piece.start, "to": piece.stop}
                splits.append(Split(f"{len(splits):08d}", bounds, piece.rows, piece.size_bytes))
        shown = [f"{file.path}: {file.size_bytes:,} bytes" for file in found[:10]]
        return BulkPlan(splits, ends, [*shown, *([f"and {len(found) - 10} more files"] if len(found) > 10 else [])])

    def bulk_reader(self) -> DataFilesReader:
        """Return a reader of pieces of files."""
        return DataFilesReader(self._config)


class DataFilesReader:
    """Reads pieces of files. Owned by one thread. Implements BulkReader."""

    def __init__(self, config: DataFilesSourceConfig) -> None:
        """Keep the settings, and open nothing."""
        self._topic = config.topic
        self._store = DataStore(config)
        self._format = format_of(config, max(_BULK_ROWS, config.batch_max_rows))

    def read(self, split: Split, after: Mapping[str, object] | None) -> Iterator[Batch]:
        """Yield the rows of a piece.

        Raise ConnectError if a line of it is no row, or if the file has changed since it was planned.
        """
        file, start, stop = self._piece(split)
        begin = start if after is None else _number(after["place"])
        for page in self._format.pages(self._store, file.path, begin, stop):
            for place, line in sorted(page.bad.items()):
                raise ConnectError(f"{file.path}, byte {place}: {line.error}", fix="Mend the line, and run it again.")
            yield Batch(self._topic, page.rows, position=_position(file, page.next_place, is_read=False))

    def count(self, split: Split) -> int:
        """Return how many rows the piece has now."""
        file, start, stop = self._piece(split)
        return self._format.count(self._store, file.path, start, stop)

    def close(self) -> None:
        """Do nothing, as nothing is open between two calls."""

    def _piece(self, split: Split) -> tuple[DataFile, int, int]:
        bounds = split.bounds
        file = DataFile(str(bounds["file"]), _number(bounds["size"]))
        now = self._store.size(file.path)
        if now != file.size_bytes:
            raise ConnectError(
                f"{file.path} has {now} bytes, and had {file.size_bytes} when it was planned.",
                key="folder",
                fix="Put the file back as it was, or begin again under another name, into a new topic.",
            )
        return file, _number(bounds["from"]), _number(bounds["to"])


class DataFilesSourceTask:
    """Reads its files one after the other. Owned by the task thread."""

    def __init__(self, config: DataFilesSourceConfig, number: int, count: int) -> None:
        self._topic = config.topic
        self._number = number
        self._count = count
        self._look_s = config.poll_interval_ms / 1000
        self._store = DataStore(config)
        self._format = format_of(config, config.batch_max_rows)
        self._ctx: SourceContext | None = None
        self._read: dict[str, int] = {}
        self._given: dict[str, int] = {}
        """Holds the place behind the rows that `poll` has returned of each file; the stored offset may be before it."""
        self._waiting: list[DataFile] = []
        self._pages: Iterator[Batch] | None = None
        self._next_look_s = 0.0

    def open(self, ctx: SourceContext) -> None:
        """Keep the context, and open no file yet."""
        self._ctx = ctx

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the next rows of a file; a file without rows gives an empty batch. Raise the errors of the store."""
        while self._pages is None:
            if not self._waiting and time.monotonic() >= self._next_look_s:
                self._look()
            if self._waiting:
                self._pages = self._batches(self._waiting.pop(0))
            elif not deadline.wait(min(_LOOK_S, self._look_s)):
                return None
        try:
            batch = next(self._pages)
        except StopIteration:
            self._pages = None
            return self.poll(deadline)
        except ConnectError:
            self._forget()
            raise
        return batch

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Do nothing, as files stay where they are."""

    def close(self) -> None:
        """Close what is being read."""
        self._pages = None

    def _look(self) -> None:
        self._next_look_s = time.monotonic() + self._look_s
        for file in self._store.list():
            if zlib.crc32(file.path.encode()) % self._count != self._number:
                continue
            known = self._read.get(file.path)
            if known is None:
                known = self._known(file)
            if known is None:
                self._waiting.append(file)
            elif known != file.size_bytes:
                _log.warning("%s was read when it had %d bytes; what it has now is not read.", file.path, known)
                self._read[file.path] = file.size_bytes

    def _known(self, file: DataFile) -> int | None:
        """Return the size of a file that was read to its end before; None if it was not."""
        assert self._ctx is not None
        stored = self._ctx.stored_offset({"file": file.path})
        if stored is None or not stored.get("is_read"):
            return None
        self._read[file.path] = _number(stored["size"])
        return self._read[file.path]

    def _batches(self, file: DataFile) -> Iterator[Batch]:
        assert self._ctx is not None
        start = self._given.get(file.path)
        if start is None:
            stored = self._ctx.stored_offset({"file": file.path})
            start = 0 if stored is None else _number(stored["place"])
        stop = self._format.pieces(self._store, file, 1 << 62, 1 << 62)[-1].stop
        pages = self._format.pages(self._store, file.path, start, stop)
        held = next(pages, None)
        while held is not None:
            following = next(pages, None)
            self._given[file.path] = held.next_place
            yield self._batch(file, held, is_last=following is None)
            held = following
        self._given.pop(file.path, None)
        if self._read.get(file.path) is None:
            self._read[file.path] = file.size_bytes
            yield Batch(self._topic, Column.nulls(0), position=_position(file, stop, is_read=True))

    def _batch(self, file: DataFile, page: Page, *, is_last: bool) -> Batch:
        assert self._ctx is not None
        position = _position(file, page.next_place, is_read=is_last)
        if page.bad:
            lines = [page.bad[place] for place in sorted(page.bad)]
            texts = Column.from_rows([line.text for line in lines], s.BYTES)
            self._ctx.reject(
                Batch(self._topic, texts, position=position), dict(enumerate(line.error for line in lines))
            )
        if is_last:
            self._read[file.path] = file.size_bytes
        return Batch(self._topic, page.rows, position=position)

    def _forget(self) -> None:
        """Give up the file that is being read, as it failed, and list the folder again at the next poll."""
        self._pages, self._waiting, self._next_look_s = None, [], 0.0


def format_of(config: DataFilesSourceConfig, page_rows: int) -> DataFormat:
    """Return the format by which the files are read."""
    if config.format == "parquet":
        return ParquetFiles(page_rows, TimePrecision(config.time_precision_mode))
    if config.format == "json":
        return LineFiles(JsonLines(), page_rows)
    return LineFiles(CsvLines(config), page_rows, is_multiline=config.csv_multiline)


def _position(file: DataFile, place: int, *, is_read: bool) -> SourcePosition:
    return SourcePosition({"file": file.path}, {"place": place, "size": file.size_bytes, "is_read": is_read})


def _broken(partition: Mapping[str, object], offset: Mapping[str, object]) -> dict[str, str]:
    """Return why an offset that a person gives is no place in a file, as ends of sentences by the field's name."""
    if not isinstance(partition.get("file"), str):
        return {PARTITION: 'names no "file"'}
    return {name: whole_number(offset.get(name)) for name in ("place", *(["size"] if offset.get("is_read") else []))}


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
