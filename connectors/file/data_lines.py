"""Reads files of lines, CSV and JSON. They are cut anywhere, as a line belongs to the piece in which it begins."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from connect.api.errors import ConnectError, SchemaError
from connect.api.records import Column
from connect.api.values.strict_json import finite_number, no_constant
from connectors.file.data_config import DataFilesSourceConfig
from connectors.file.data_formats import BadLine, Page, Piece, cut
from connectors.file.data_store import DataFile, DataStore

_BLOCK_BYTES: Final = 4 * 2**20
_LINE_MAX_BYTES: Final = 64 * 2**20
_NEWLINE: Final = 10
_QUOTE: Final = 34
_SAMPLE_BYTES: Final = 64 * 2**10
_ARROW_TYPES: Final = {
    "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(), "float32": pa.float32(),
    "float64": pa.float64(), "boolean": pa.bool_(), "date": pa.date32(), "timestamp": pa.timestamp("ms", tz="UTC"),
}  # fmt: skip


class Line(NamedTuple):
    """Holds a line without its end, and the byte at which it begins."""

    start: int
    text: bytes


class LineParser(Protocol):
    """Makes rows of lines."""

    def header(self, first: bytes, path: str) -> int:
        """Return how many lines at the beginning of a file are no rows. `first` is the first line."""

    def is_row(self, text: bytes) -> bool:
        """Return True if a line is a row, and False if it is left out as empty."""

    def rows(self, lines: Sequence[Line]) -> tuple[Column, dict[int, BadLine]]:
        """Return the rows of lines that are not empty, and bad lines by the byte at which each begins."""


class LineFiles:
    """Implements DataFormat; places are bytes."""

    def __init__(self, parser: LineParser, page_rows: int, *, is_multiline: bool = False) -> None:
        """Take the parser of the lines. With `is_multiline` values in quotes may hold line ends. Such a file is not
        cut, as only its beginning tells which quotes open a value.
        """
        self._parser = parser
        self._page_rows = page_rows
        self._is_multiline = is_multiline

    def pieces(self, store: DataStore, file: DataFile, rows: int, size_bytes: int) -> Sequence[Piece]:
        """Return the file in pieces, whose rows are estimated from the lines at the beginning of the file."""
        with store.open(file.path) as opened:
            sample = opened.read(_SAMPLE_BYTES)
        row_bytes = max(1, len(sample) // max(1, sample.count(b"\n")))
        total = -(-file.size_bytes // row_bytes)
        parts = 1 if self._is_multiline else max(1, -(-total // rows), -(-file.size_bytes // size_bytes))
        return [
            Piece(start, stop, -(-(stop - start) // row_bytes), stop - start)
            for start, stop in cut(0, file.size_bytes, parts)
        ]

    def pages(self, store: DataStore, path: str, start: int, stop: int) -> Iterator[Page]:
        """Yield pages of at most `page_rows` lines. The last line of a file needs no line end."""
        for lines, behind in self._lines(store, path, start, stop):
            column, bad = self._parser.rows(lines)
            yield Page(column, behind, bad)

    def count(self, store: DataStore, path: str, start: int, stop: int) -> int:
        """Return the number of all lines that are rows."""
        return sum(len(lines) for lines, _ in self._lines(store, path, start, stop))

    def _lines(self, store: DataStore, path: str, start: int, stop: int) -> Iterator[tuple[list[Line], int]]:
        """Yield lines that begin in start..stop-1, and the byte behind them."""
        with store.open(path) as file:
            first = self._first_line(file, path)
            if not first:
                return
            skipped = self._parser.header(first, path)
            place = _line_start(file, start)
            if place == 0 and skipped:
                place = len(first)
            while place < stop:
                block = self._whole_lines(file, place, path)
                if not block:
                    return
                for lines, behind in self._cut(block, place, stop):
                    yield lines, behind
                    place = behind

    def _cut(self, block: bytes, first: int, stop: int) -> Iterator[tuple[list[Line], int]]:
        ends = self._ends(block)
        if not ends or ends[-1] != len(block) - 1:
            # The last line needs no line end. A value whose quote is never closed has none either.
            ends.append(len(block))
        lines: list[Line] = []
        at = 0
        for end in ends:
            if first + at >= stop:
                break
            text = block[at:end].removesuffix(b"\r")
            if self._parser.is_row(text):
                lines.append(Line(first + at, text))
            at = min(end + 1, len(block))
            if len(lines) == self._page_rows:
                yield lines, first + at
                lines = []
        yield lines, first + at

    def _ends(self, block: bytes) -> list[int]:
        """Return the places of the line ends that end rows. `block` begins with a row."""
        octets = pa.UInt8Array.from_buffers(pa.uint8(), len(block), [None, pa.py_buffer(block)])
        ends = pc.indices_nonzero(pc.equal(octets, _NEWLINE))
        if self._is_multiline:
            quotes = pc.cumulative_sum(pc.equal(octets, _QUOTE).cast(pa.int32())).take(ends)
            ends = ends.filter(pc.equal(pc.bit_wise_and(quotes, 1), 0))
        places: list[int] = ends.to_pylist()
        return places

    def _first_line(self, file: Any, path: str) -> bytes:
        """Return the first line with its end; it is empty if the file is."""
        block = self._whole_lines(file, 0, path)
        ends = self._ends(block)
        return block[: ends[0] + 1] if len(ends) else block

    def _whole_lines(self, file: Any, place: int, path: str) -> bytes:
        """Return the whole lines of a block that begins at a place. At the end of the file the last line needs no end.

        Return no bytes if there are no more lines.
        """
        file.seek(place)
        block: bytes = file.read(_BLOCK_BYTES)
        while len(block) >= _BLOCK_BYTES and not len(ends := self._ends(block)):
            if len(block) > _LINE_MAX_BYTES:
                raise ConnectError(f"The line at byte {place} of {path} is longer than {_LINE_MAX_BYTES} bytes.")
            more = file.read(_BLOCK_BYTES)
            if not more:
                return block
            block += more
        return block if len(block) < _BLOCK_BYTES else block[: int(ends[-1]) + 1]


class JsonLines:
    """Reads one JSON value without a schema from each line. Implements LineParser."""

    def header(self, first: bytes, path: str) -> int:  # noqa: ARG002 - the protocol's
        """Return 0, as every line is a row."""
        return 0

    def is_row(self, text: bytes) -> bool:
        """Return True if there is more than white space."""
        return bool(text.strip())

    def rows(self, lines: Sequence[Line]) -> tuple[Column, dict[int, BadLine]]:
        """Return the values; whole numbers of any size are kept."""
        rows, bad = [], {}
        for line in lines:
            try:
                rows.append(_json_value(line.text.removeprefix(codecs.BOM_UTF8) if line.start == 0 else line.text))
            except (ValueError, RecursionError) as error:
                bad[line.start] = BadLine(line.text, SchemaError(f"This line is no JSON: {error}.", key="format"))
        return Column.from_rows(rows, None), bad


class _SplitLineError(Exception):
    """Says that Arrow reads another number of rows than there are lines."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


class CsvLines:
    """Reads each line as a struct of values between delimiters. An empty value without quotes is null.

    Implements LineParser.
    """

    def __init__(self, config: DataFilesSourceConfig) -> None:
        self._delimiter = config.delimiter
        self._has_header = config.csv_header
        self._columns: Sequence[str] = config.csv_columns
        self._types = config.column_types
        self._is_multiline = config.csv_multiline

    def header(self, first: bytes, path: str) -> int:
        """Take the columns from the first line, if it names them. Return how many lines that took: 0 or 1.

        ConnectError: the line has rows behind the names, as its lines end by carriage returns alone.
        """
        if self._has_header:
            table = self._read(first, None)
            if table.num_rows:
                raise ConnectError(
                    f"The first line of {path} holds its header and rows: its lines end by carriage returns alone.",
                    key="format",
                    fix="Write the file with line feeds, as `tr '\\r' '\\n'` makes it.",
                )
            self._columns = table.column_names
        unknown = sorted(set(self._types) - set(self._columns))
        if unknown and self._columns:
            raise ConnectError(
                f"There is no column {', '.join(unknown)} in a file with {', '.join(self._columns)}.", key="csv.types"
            )
        return int(self._has_header)

    def is_row(self, text: bytes) -> bool:
        """Return True if a line has a value. White space is one in a file of one column, or of values between tabs."""
        return bool(text.strip()) or (bool(text) and (len(self._columns) == 1 or self._delimiter in "\t "))

    def rows(self, lines: Sequence[Line]) -> tuple[Column, dict[int, BadLine]]:
        """Return the rows. All lines are read at once, or line by line if some line is no row."""
        try:
            if not any(line.text.count(b'"') % 2 for line in lines):
                return self._column(lines), {}
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, _SplitLineError):
            pass  # the loop below finds the bad lines
        good, bad = [], {}
        for line in lines:
            if line.text.count(b'"') % 2:
                bad[line.start] = BadLine(line.text, self._open_quote())
                continue
            try:
                self._column([line])
            except _SplitLineError as error:
                bad[line.start] = BadLine(line.text, self._split_line(error))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                told = " ".join(str(error).split())
                bad[line.start] = BadLine(line.text, self._no_row(told))
            else:
                good.append(line)
        return self._column(good), bad

    def _no_row(self, told: str) -> SchemaError:
        # A line from the middle of a value with several line ends has no quote that would show what it is.
        is_part = not self._is_multiline and "columns" in told
        fix = "If it is a part of a value in quotes that holds line ends, set csv.multiline=true." if is_part else None
        return SchemaError(f"This line is no row of its file: {told}", key="csv.types", fix=fix)

    @staticmethod
    def _split_line(error: _SplitLineError) -> SchemaError:
        return SchemaError(
            f"This line is {error.rows} rows: a carriage return outside of quotes ends one.", key="format",
            fix="End each row by a line feed, or put the value that holds a carriage return in quotes.",
        )  # fmt: skip

    def _open_quote(self) -> SchemaError:
        if self._is_multiline:
            return SchemaError("A quote of this row is never closed.", key="format")
        return SchemaError(
            "A quote of this line is not closed in it.", key="csv.multiline",
            fix="Set csv.multiline=true if values in quotes hold line ends; else mend the line.",
        )  # fmt: skip

    def _column(self, lines: Sequence[Line]) -> Column:
        types = {name: _ARROW_TYPES.get(self._types.get(name, "string"), pa.string()) for name in self._columns}
        if lines:
            table = self._read(b"\n".join(line.text for line in lines) + b"\n", types).combine_chunks()
            if table.num_rows != len(lines):
                raise _SplitLineError(table.num_rows)
            arrays = [table[name].combine_chunks() for name in self._columns]
            arrays = [a.chunk(0) if isinstance(a, pa.ChunkedArray) else a for a in arrays]
        else:
            arrays = [pa.array([], kind) for kind in types.values()]
        return Column.from_arrow(pa.StructArray.from_arrays(arrays, names=list(self._columns)))

    def _read(self, text: bytes, types: dict[str, Any] | None) -> pa.Table:
        names = None if types is None else list(types)
        return pacsv.read_csv(
            io.BytesIO(text),
            pacsv.ReadOptions(use_threads=False, column_names=names, block_size=max(2, len(text) + 1)),
            pacsv.ParseOptions(
                delimiter=self._delimiter, ignore_empty_lines=False, newlines_in_values=self._is_multiline
            ),
            pacsv.ConvertOptions(
                column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
                true_values=["true", "TRUE", "True", "1"], false_values=["false", "FALSE", "False", "0"],
            ),
        )  # fmt: skip


def _json_value(text: bytes) -> Any:
    """Return the value of a JSON text. ValueError: it is none, or has a number that none of Connect's is."""
    return json.loads(text, parse_float=finite_number, parse_constant=no_constant)


def _line_start(file: Any, place: int) -> int:
    """Return the first byte, at `place` or behind it, at which a line begins."""
    if place == 0:
        return 0
    at = place - 1
    file.seek(at)
    while block := file.read(_SAMPLE_BYTES):
        found = block.find(b"\n")
        if found >= 0:
            return int(at + found + 1)
        at += len(block)
    return int(at)
