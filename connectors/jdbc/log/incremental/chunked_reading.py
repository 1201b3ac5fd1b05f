"""Reads tables in chunks while the log goes on, and sends a row only where the log has nothing newer of it.

A chunk is read while the reader of the log is at an earlier place. The chunk's rows wait until the reader has come to
the place where the log ended when the chunk was read. If the log changes a row until then, the change is as new as the
chunk or newer, so that the chunk's row is dropped. Debezium's watermarks work alike, but here nothing is written into
the database.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from connect.api.errors import ConnectError, RetriableError, SchemaError
from connect.api.records import Batch
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connectors.jdbc.log.incremental import signals
from connectors.jdbc.log.incremental.progress import Progress, TableProgress
from connectors.jdbc.log.incremental.signals import FindsSignals, Signal, none_found
from connectors.jdbc.log.shared.snapshot_segments import Key
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.unconvertible_rows import BadRows

_log = logging.getLogger(__name__)
P = TypeVar("P", int, tuple[int, int])
"""Places in the log have this type."""
Mask = npt.NDArray[np.bool_]
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
"""After such a pause a chunk is read anew that lacked transactions of the log. Each pause is twice the one before."""
_WARN_AFTER_S = 3.0
"""A log tells of a wait that lasts so long, as most commits are over in a moment."""


class UnseenTransactionsError(Exception):
    """Says that the tables do not show transactions yet that were read from the log.

    A server may send a transaction before its commit is over: it waits for a standby, say. A row that is read then is
    older than the event that was delivered of it.
    """

    def __init__(
        self, unseen: str, reason: str = "which the log has, and whose commit is not over: it may wait for a standby"
    ) -> None:
        """Name the transactions, and say why they are waited for."""
        super().__init__(f"{unseen}, {reason}")


@dataclass(frozen=True, slots=True)
class Chunk(Generic[P]):
    """Holds rows of a table by their keys. The rows are older than the log's changes from the place `high` on.

    `upto` is the last key that is to be read of the table. `records` makes the records of the rows that are left.
    """

    table: str
    keys: Sequence[Key]
    upto: Key
    high: P
    records: Callable[[Mask], Iterator[Batch | BadRows]]


class ReadsChunks(Protocol[P]):
    """Reads one chunk of one table from one kind of server."""

    def chunk(self, name: TableName, progress: TableProgress, rows: int) -> Chunk[P] | None:
        """Return the next rows of a table, or None if the table has no key, so that it cannot be read in chunks.

        UnseenTransactionsError: the rows have to be read later.
        """

    def positioned(self, batch: Batch) -> Batch:
        """Return the batch with the present position behind it."""


class ChunkedReading(Generic[P]):
    """Obeys signals, and reads the tables that they name. Owned by the reading thread."""

    def __init__(
        self,
        reads: ReadsChunks[P],
        tables: Callable[[], Sequence[TableName]],
        *,
        progress: Progress,
        chunk_rows: int,
        found: FindsSignals = none_found,
        is_unstored: bool = False,
    ) -> None:
        """Begin where `progress` is. `tables` returns the connector's present tables, `found` signals that came in
        other ways. `is_unstored` is that of the reading before, where the connection broke.
        """
        self._reads: ReadsChunks[P] = reads
        self._tables = tables
        self._chunk_rows = chunk_rows
        self._found = found
        self.progress = progress
        self._chunk: Chunk[P] | None = None
        self._dropped: set[Key] = set()
        self._again_at_s = 0.0
        self._pause_s = _FIRST_PAUSE_S
        self._waits_since_s: float | None = None
        self._warned_of = ""
        """The log has told that this table waits, which it does once for all chunks of the table."""
        self.is_unstored = is_unstored
        """True if a signal was obeyed or the topic of signals read on, and no position that holds this was given since.

        A file of signals is emptied once it is read, so that a signal without a stored position would be forgotten.
        """

    def watches(self, table: str) -> bool:
        """Return True if `touched` has to be called for changes of this table."""
        return self._chunk is not None and self._chunk.table == table

    def touched(self, keys: Collection[Key]) -> None:
        """Drop these rows of the watched table from the chunk, as the log has changed them."""
        self._dropped.update(keys)

    def emptied(self, table: str) -> None:
        """Drop the rows of a table, as it was emptied."""
        if self._chunk is not None and self._chunk.table == table:
            self._dropped.update(self._chunk.keys)

    def told(self, texts: Sequence[str | None], at: str = "") -> None:
        """Obey a signal, or warn that it is none. `texts` are its identifier, type and data, and `at` is its place in
        the log.
        """
        id_, type_, data = (*texts, None, None, None)[:3]
        if isinstance(type_, str) and signals.is_watermark(type_):
            return
        try:
            signal = signals.read_signal(id_, type_, data, at)
        except SchemaError as error:
            _log.warning("A signal is left out. %s", error)
            return
        self.obey(signal)

    def obey(self, signal: Signal) -> None:
        """Do what a signal asks for, once."""
        if signal.at and signal.at in self.progress.seen:
            return
        progress = self.progress.saw(signal.at)
        match signal.type:
            case signals.EXECUTE:
                if str(signal.data.get("type") or "incremental").lower() != "incremental":
                    _log.warning("Signal %s wants another snapshot than incremental, which it gets.", signal.id)
                named = self._named(signal)
                progress = progress.queued([TableProgress(t.full, signal.condition(t.full)) for t in named])
            case signals.STOP:
                tables = [t.full for t in self._named(signal)] if signal.tables else [t.table for t in progress.tables]
                progress = progress.without(tables)
            case signals.PAUSE | signals.RESUME:
                progress = replace(progress, is_paused=signal.type == signals.PAUSE)
            case _:
                _log.info("Signal %s: %s", signal.id, signal.data.get("message"))
        self.is_unstored = self.is_unstored or progress != self.progress
        self.progress = progress
        if self._chunk is not None and (not progress.tables or progress.tables[0].table != self._chunk.table):
            self._chunk = None

    def _named(self, signal: Signal) -> Sequence[TableName]:
        found: list[TableName] = []
        for pattern in signal.tables:
            try:
                matches = compile_pattern(f"(?i){pattern}")
            except JavaPatternError as error:
                _log.warning("Signal %s: %s is no regular expression: %s", signal.id, pattern, error)
                continue
            chosen = [t for t in self._tables() if matches.fullmatch(t.full) and t not in found]
            if not chosen:
                _log.warning("Signal %s names %s, and the connector reads no such table.", signal.id, pattern)
            found += chosen
        return found

    def step(self, here: P) -> Iterator[Batch | BadRows]:
        """Yield the rows of a chunk that is due, and read the next one. All of the log before `here` was given."""
        found = self._found(self.progress.topic_offset)
        for signal in found.signals:
            self.obey(signal)
        if found.topic_offset not in {None, self.progress.topic_offset}:
            self.progress = replace(self.progress, topic_offset=found.topic_offset)
            self.is_unstored = True
        if self._chunk is not None and here >= self._chunk.high:
            yield from self._due(self._chunk)
        # Signals are stored before their tables are read, as reading may fail for long.
        is_due = self._chunk is None and not found.signals and time.monotonic() >= self._again_at_s
        if is_due and self.progress.tables and not self.progress.is_paused:
            try:
                self._read(self.progress.tables[0])
            except UnseenTransactionsError as error:
                self._wait_for(str(error))
            else:
                self._pause_s, self._waits_since_s = _FIRST_PAUSE_S, None

    def _wait_for(self, unseen: str) -> None:
        now_s, table = time.monotonic(), self.progress.tables[0].table
        if self._waits_since_s is None:
            self._waits_since_s = now_s
        self._again_at_s = now_s + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        if now_s - self._waits_since_s >= _WARN_AFTER_S and table != self._warned_of:
            self._warned_of = table
            _log.warning("Table %s is read again once it shows transaction %s.", table, unseen)

    def _due(self, chunk: Chunk[P]) -> Iterator[Batch | BadRows]:
        # Rows that were inserted later behind the last key come from the log.
        wanted = chunk.keys.index(chunk.upto) + 1 if chunk.upto in chunk.keys else len(chunk.keys)
        left = np.array([n < wanted and key not in self._dropped for n, key in enumerate(chunk.keys)], np.bool_)
        first = self.progress.tables[0]
        is_last = chunk.upto in chunk.keys or len(chunk.keys) < self._chunk_rows
        self._chunk = None
        items = list(chunk.records(left)) if left.any() else []
        for number, item in enumerate(items, 1):
            if number == len(items):
                # The place behind the chunk is stored with the last of its rows.
                self._move(first, chunk, is_last=is_last)
            yield item if isinstance(item, BadRows) else self._reads.positioned(item)
        if not items:
            self._move(first, chunk, is_last=is_last)

    def _move(self, first: TableProgress, chunk: Chunk[P], *, is_last: bool) -> None:
        if is_last:
            self.progress = self.progress.without([first.table])
            self._warned_of = ""
            _log.info("Table %s was read again.", first.table)
        else:
            self.progress = self.progress.moved(replace(first, after=chunk.keys[-1], upto=chunk.upto))

    def _read(self, first: TableProgress) -> None:
        name = next((table for table in self._tables() if table.full == first.table), None)
        chunk = None if name is None else self._chunk_of(name, first)
        if chunk is None:
            self.progress = self.progress.without([first.table])
            return
        self._chunk, self._dropped = chunk, set()

    def _chunk_of(self, name: TableName, first: TableProgress) -> Chunk[P] | None:
        try:
            chunk: Chunk[P] | None = self._reads.chunk(name, first, self._chunk_rows)
        except RetriableError:
            raise
        except ConnectError as error:
            _log.warning("Table %s is not read again. %s", name.full, error)
            return None
        if chunk is None:
            _log.warning("Table %s has no key by which it could be read in chunks: it is not read again.", name.full)
        return chunk
