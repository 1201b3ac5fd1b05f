"""Holds the rows of many open files together, until there are enough to work on them. No I/O, no clock.

A poll may have two rows for each of two thousand files. To handle them file by file would cost more than all else. So
rows wait as they came, many are sorted by their files at once, and each file is encoded from a few long pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connect.api.errors import SchemaError
from connectors.s3.formats.file_format import Body, Encoder, Prepared, arrow_of, joined, merged_schema
from connectors.s3.formats.inferred import large_ints, new_doubles

if TYPE_CHECKING:
    import pyarrow as pa

Ints = NDArray[np.int64]

_SMALL_MAX: Final = 2**16 - 1
_SORT_ROWS_PER_FILE: Final = 256
_SORT_BYTES: Final = 16 * 2**20
_ENCODE_BYTES: Final = 4 * 2**20
"""If this many bytes of a file wait, they are encoded, so that the rows are compressed before the file's end."""
_DEAD_SHARE: Final = 3
"""A run is copied without the rows that were taken out, once more than one in this many of its rows were."""


def stable_order(numbers: NDArray[Any]) -> Ints:
    """Return the places of the numbers in ascending order of the numbers; equal numbers keep their order.

    They are made a small type if possible, which numpy sorts in linear time.
    """
    least = int(numbers.min())
    if int(numbers.max()) - least <= _SMALL_MAX:
        numbers = (numbers - least).astype(np.uint16)
    order: Ints = np.argsort(numbers, kind="stable")
    return order


class SpooledRows(NamedTuple):
    """Holds rows in the form that a format writes, with their offsets and Kafka's timestamps."""

    rows: Any
    offsets: Ints
    timestamps_ms: Ints

    @property
    def size_bytes(self) -> int:
        """Return the bytes of memory that the rows hold."""
        return int(self.rows.nbytes) + self.offsets.nbytes + self.timestamps_ms.nbytes

    def part(self, start: int, stop: int) -> SpooledRows:
        """Return rows start..stop-1, not copied."""
        return SpooledRows(
            self.rows.slice(start, stop - start), self.offsets[start:stop], self.timestamps_ms[start:stop]
        )

    def picked(self, places: Any) -> SpooledRows:
        """Return copies of the rows at these places."""
        import pyarrow as pa

        return SpooledRows(self.rows.take(pa.array(places)), self.offsets[places], self.timestamps_ms[places])


class Written(NamedTuple):
    """Holds an ended file's content."""

    body: Body
    offsets: Ints
    timestamps_ms: Ints


@dataclass(slots=True)
class _File:
    encoder: Encoder
    runs: list[_Run] = field(default_factory=list)
    waiting_bytes: int = 0
    offsets: list[Ints] = field(default_factory=list)
    timestamps_ms: list[Ints] = field(default_factory=list)
    own_schema: Any = None
    is_sparse: bool = False

    @property
    def size_bytes(self) -> int:
        return self.waiting_bytes + self.encoder.size_bytes

    def write(self, rows: SpooledRows, schema: Any, *, is_sparse: bool) -> None:
        """Write rows. With `is_sparse`, leave out fields whose type comes from rows of other files alone."""
        self.is_sparse = is_sparse
        if is_sparse:
            part = Prepared(rows.rows, None, schema).narrowed(0, len(rows.offsets))
            self.own_schema = merged_schema(self.own_schema, part.schema, may_widen=True)
            self.encoder.write(part.rows, self.own_schema)
        else:
            self.encoder.write(rows.rows, schema)
        self.offsets.append(rows.offsets)
        self.timestamps_ms.append(rows.timestamps_ms)

    def written(self) -> Written:
        ended = self.encoder.end()
        body = ended.sparse() if self.is_sparse else ended
        return Written(body, np.concatenate(self.offsets), np.concatenate(self.timestamps_ms))


class _Run:
    """Holds rows sorted by their files. `spans` has the begin and end of each file's rows.

    The bytes are counted once, as Arrow is slow to count them.
    """

    def __init__(self, rows: SpooledRows, spans: dict[int, tuple[int, int]]) -> None:
        self.rows = rows
        self.size_bytes = rows.size_bytes
        self._spans = spans
        self._gone = 0
        self._is_ending = False

    def expect_end(self, numbers: AbstractSet[int]) -> None:
        """Note the files that are taken out next. If these are all files of the run, the other rows are not copied."""
        self._is_ending = self._spans.keys() <= numbers

    def take_out(self, number: int) -> SpooledRows:
        """Return the rows of a file, and remove them from this run."""
        start, stop = self._spans.pop(number)
        found = self.rows.part(start, stop)
        self._gone += stop - start
        if self._is_ending:
            self._drop_if_empty()
        elif self._gone * _DEAD_SHARE > len(self.rows.offsets):
            self._compact()
        return found

    def _drop_if_empty(self) -> None:
        if not self._spans:
            self.rows = self.rows.part(0, 0)
            self.size_bytes = 0

    def _compact(self) -> None:
        spans = sorted(self._spans.items(), key=lambda item: item[1])
        places = [np.arange(start, stop) for _, (start, stop) in spans]
        self.rows = self.rows.picked(np.concatenate(places) if places else np.arange(0))
        self.size_bytes = self.rows.size_bytes
        self._gone, at = 0, 0
        for number, (start, stop) in spans:
            self._spans[number] = (at, at + stop - start)
            at += stop - start


class Spool:
    """Holds the rows of one topic's open files, by the files' numbers. Owned by the task thread."""

    def __init__(self) -> None:
        self.schema: Any = None
        self._may_widen = False
        self._is_sparse = False
        self._staged: list[tuple[SpooledRows, Ints]] = []
        self._staged_rows = 0
        self._staged_bytes = 0
        self._files: dict[int, _File] = {}
        self._encoding: dict[int, _File] = {}
        self._runs: list[_Run] = []

    @property
    def size_bytes(self) -> int:
        """Return the bytes of memory held for all files."""
        self._runs = [run for run in self._runs if len(run.rows.offsets)]
        encoded = sum(file.encoder.size_bytes for file in self._encoding.values())
        return self._staged_bytes + sum(run.size_bytes for run in self._runs) + encoded

    @property
    def is_due(self) -> bool:
        """Return True if enough rows wait to sort them by file."""
        return self._staged_bytes >= _SORT_BYTES or self._staged_rows >= _SORT_ROWS_PER_FILE * len(self._files)

    def holds(self, prepared: Prepared) -> bool:
        """Return True if these rows have the schema of the open files."""
        known, new = self.schema, prepared.schema
        return new is None if known is None else new is not None and bool(known.equals(new))

    def begin(self, prepared: Prepared) -> None:
        """Take the schema of the rows that come next. No file may be open."""
        assert not self._files, "a file keeps the schema that its rows have"
        self.schema, self._may_widen, self._is_sparse = prepared.schema, prepared.may_widen, prepared.is_sparse

    def widen(self, prepared: Prepared) -> bool:
        """Take a schema that also holds these rows, and return True.

        Return False if no schema holds all rows without loss; then these rows need new files.
        """
        if self.holds(prepared):
            return True
        if not self._files:
            self.begin(prepared)
            return True
        try:
            merged = merged_schema(self.schema, prepared.schema, may_widen=self._may_widen and prepared.may_widen)
        except SchemaError:
            return False
        fits = self._keeps(prepared, merged) and self._fits(merged)
        if fits:
            self.schema, self._is_sparse = merged, self._is_sparse and prepared.is_sparse
        return fits

    def _keeps(self, prepared: Prepared, schema: Any) -> bool:
        changed = new_doubles(arrow_of(prepared.schema), arrow_of(schema))
        return not changed & large_ints(prepared.rows) if changed else True

    def _fits(self, schema: pa.Schema) -> bool:
        changed = new_doubles(arrow_of(self.schema), arrow_of(schema))
        if not changed:
            return True
        waiting = [rows.rows for rows, _ in self._staged] + [run.rows.rows for run in self._runs]
        return not any(changed & large_ints(rows) for rows in waiting) and all(
            file.encoder.can_become(schema) for file in self._files.values()
        )

    def open(self, number: int, encoder: Encoder) -> None:
        """Begin a file."""
        self._files[number] = _File(encoder)

    def add(self, rows: SpooledRows, numbers: Ints) -> None:
        """Keep rows of open files. The rows of one file come in the order of their offsets."""
        self._staged.append((rows, numbers))
        self._staged_rows += len(numbers)
        self._staged_bytes += rows.size_bytes

    def largest(self, most_bytes: int) -> list[int]:
        """Return the numbers of the largest files: as many as have `most_bytes` bytes together."""
        self.sort()
        found, held = [], 0
        for number, file in sorted(self._files.items(), key=lambda item: -item[1].size_bytes):
            if held >= most_bytes:
                break
            found.append(number)
            held += file.size_bytes
        return found

    def sort(self) -> None:
        """Give every row that was kept to its file."""
        staged, self._staged, self._staged_rows, self._staged_bytes = self._staged, [], 0, 0
        if not staged:
            return
        numbers = np.concatenate([own for _, own in staged])
        if (numbers == numbers[0]).all():
            file = self._files[int(numbers[0])]
            self._encode(file, int(numbers[0]))
            for rows, _ in staged:
                file.write(rows, self.schema, is_sparse=self._is_sparse)
            return
        order = stable_order(numbers)
        whole = _whole([rows for rows, _ in staged], self.schema)
        self._add_run(whole.picked(order), numbers[order])

    def expect_end(self, numbers: AbstractSet[int]) -> None:
        """Note that these files end next."""
        for run in self._runs:
            run.expect_end(numbers)

    def end(self, number: int) -> Written:
        """End a file, all of whose rows were sorted."""
        file = self._files.pop(number)
        self._encoding.pop(number, None)
        parts = [run.take_out(number) for run in file.runs]
        if parts:
            # The rest is joined to one piece, as encoding also has costs per piece.
            file.write(_whole(parts, self.schema), self.schema, is_sparse=self._is_sparse)
        written = file.written()
        if not self._files:
            self._runs, self.schema = [], None
        return written

    def _add_run(self, rows: SpooledRows, numbers: Ints) -> None:
        starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
        stops = np.append(starts[1:], len(numbers))
        spans = {n: (a, b) for n, a, b in zip(numbers[starts].tolist(), starts.tolist(), stops.tolist(), strict=True)}
        run = _Run(rows, dict(spans))
        self._runs.append(run)
        bytes_per_row = rows.size_bytes / len(numbers)
        for number, (start, stop) in spans.items():
            file = self._files[number]
            file.runs.append(run)
            file.waiting_bytes += int((stop - start) * bytes_per_row)
            if file.waiting_bytes >= _ENCODE_BYTES:
                self._encode(file, number)

    def _encode(self, file: _File, number: int) -> None:
        self._encoding[number] = file
        for run in file.runs:
            rows = run.take_out(number)
            # The rows are copied, as an encoder may keep them, which would keep the rows of all other files in memory.
            file.write(rows.picked(np.arange(len(rows.offsets))), self.schema, is_sparse=self._is_sparse)
        file.runs, file.waiting_bytes = [], 0


def _whole(parts: Sequence[SpooledRows], schema: Any) -> SpooledRows:
    if len(parts) == 1:
        return parts[0]
    return SpooledRows(
        joined([part.rows for part in parts], schema),
        np.concatenate([part.offsets for part in parts]),
        np.concatenate([part.timestamps_ms for part in parts]),
    )
