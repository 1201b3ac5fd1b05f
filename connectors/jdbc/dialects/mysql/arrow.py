"""Reads rows of MariaDB and MySQL as Arrow: takes packets from PyMySQL's socket and decodes them by the column.

PyMySQL keeps the session and makes its errors. Native code decodes rows of the binary protocol. The text protocol is
used if native code is not installed, or if the server shows a number otherwise as text (ZEROFILL, DOUBLE(10, 2)). Both
protocols keep every digit of decimals, and zero dates.
"""

# ruff: noqa: SLF001 - PyMySQL shows its socket nowhere else; its version is pinned

from __future__ import annotations

import struct
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connectors.jdbc.connection.arrow_pages import ArrowPages, Columns
from connectors.jdbc.connection.errors import ErrorTranslator
from connectors.jdbc.connection.pages import PageRules, Pages
from connectors.jdbc.dialects.mysql.prepared import Prepared, as_text_rows, prepared
from connectors.jdbc.native import columns_of, module
from connectors.jdbc.values.byte_fields import PADDING, Fields, Places, counted_fields
from connectors.jdbc.values.columns import RowFormat
from connectors.jdbc.values.temporal import NO_DATE_DAYS, NO_TIMESTAMP_US, times_of_text
from connectors.jdbc.values.types import ColumnPlan, Raw
from connectors.jdbc.values.unconvertible_rows import BadCells

_BUFFER_BYTES = 8 << 20
_READ_BYTES = 1 << 20
_LITTLE_BYTES = 64 << 10
_NAP_S = 0.0003
"""The reader sleeps this many seconds before a read, as the server sends 16 KiB at a time: so a read gets more."""
_HEADER = 4
_LONGEST = 0xFFFFFF
_WORD = struct.Struct("<I")
_NO_DATE = "-00"
_KINDS = {
    Raw.BYTES: "z", Raw.TEXT: "u", Raw.INTEGER: "l", Raw.BOOLEAN: "l", Raw.FLOAT: "g", Raw.DECIMAL: "u", Raw.DATE: "D",
    Raw.TIME: "u", Raw.WALL_CLOCK: "t", Raw.INSTANT: "Z",
}  # fmt: skip
"""Maps the kind of a column to the letter by which the native code knows it."""


class MySqlArrow:
    """Reads statements of one PyMySQL connection as Arrow. Owned by the reading thread."""

    def __init__(self) -> None:
        self._packets: _Packets | None = None
        self._statement: Prepared | None = None

    @property
    def is_reading(self) -> bool:
        """Return True while rows of a statement are still to come. Until then the connection can run no other one."""
        return self._packets is not None and not self._packets.done

    def pages(self, driver: Any, sql: str, rules: PageRules, errors: ErrorTranslator, doing: str) -> Pages:
        """Return the pages of rows of a statement without parameters."""
        from pymysql.connections import MySQLResult

        with errors.translated(doing):
            self._forget_statement(driver)
            self._begin(driver, sql, rules)
            result = MySQLResult(driver)
            result.init_unbuffered_query()
            result.unbuffered_active = False
            self._packets = _Packets(driver)
        bad: BadCells | None = {} if rules.sets_bad_aside else None
        chunks = self._chunks(self._packets, int(result.field_count), rules, partial(errors.translated, doing), bad)
        return ArrowPages(chunks, rules, lambda: None, bad)

    def _begin(self, driver: Any, sql: str, rules: PageRules) -> None:
        from pymysql.constants import COMMAND

        if module() is not None:
            self._statement = prepared(driver, sql, [plan.raw for plan in rules.format.columns])
        if self._statement is None:
            driver._execute_command(COMMAND.COM_QUERY, sql)
        else:
            self._statement.execute()

    def _chunks(
        self,
        packets: _Packets,
        count: int,
        rules: PageRules,
        translated: Callable[[], AbstractContextManager[None]],
        bad: BadCells | None,
    ) -> Iterator[Columns]:
        wires = None if self._statement is None else self._statement.wires
        while True:
            with translated():
                starts = packets.next(rules.rows)
                if not len(starts):
                    self._forget_statement(packets.driver)
                    return
            if bad is not None:
                bad.clear()
            native = _native_columns(rules.format, packets.buffer, starts, count, wires, bad=bad)
            yield native or _columns(rules.format, packets.buffer, starts, count, wires, bad=bad)

    def _forget_statement(self, driver: Any) -> None:
        """Close the previous prepared statement on the server, if it was not read to its end on this connection."""
        statement, self._statement = self._statement, None
        if statement is not None and statement.driver is driver:
            statement.close()


def _columns(
    form: RowFormat, buffer: bytearray, starts: Places, count: int, wires: str | None, *, bad: BadCells | None = None
) -> Columns:
    if wires is not None:
        dates = [plan.raw is Raw.DATE for plan in form.columns] + [False] * (count - len(form.columns))
        buffer, starts = as_text_rows(buffer, starts, wires, dates)
    return driver_columns(form, counted_fields(buffer, starts, count), bad)


def _native_columns(
    form: RowFormat,
    buffer: bytearray,
    starts: Places,
    count: int,
    wires: str | None = None,
    *,
    bad: BadCells | None = None,
) -> Columns | None:
    """Return the same as `driver_columns`, decoded by native code, or None if the rows are left to `driver_columns`."""
    native = module()
    if native is None:
        return None
    kinds = "".join(_KINDS[plan.raw] for plan in form.columns).ljust(count, "u")
    if wires is None:
        made = native.read_text_rows(buffer, starts, kinds)
    else:
        made = native.read_binary_rows(buffer, starts, kinds, wires)
    if made is None:
        return None
    columns = columns_of(made)
    for place, plan in enumerate(form.columns):
        if plan.raw is Raw.TIME:
            columns[place] = form.guarded(plan, columns[place], lambda _, text: times_of_text(text), bad)
    return columns


class _Packets:
    """Reads the row packets of a result from the socket into one buffer."""

    def __init__(self, driver: Any) -> None:
        self.done = False
        self.buffer = bytearray(_BUFFER_BYTES + PADDING)
        self.driver = driver
        self._socket = driver._sock
        ahead = driver._rfile.read(len(driver._rfile.peek()))
        self._have = len(ahead)
        self._is_slow = False
        self._nap = threading.Event()
        self.buffer[: self._have] = ahead
        self._next = 0

    def next(self, rows: int) -> Places:
        """Return where the next rows begin in `buffer`: at least one row and at most `rows`; none at the result's end.

        Errors of pymysql: the server reports an error, or the connection is lost.
        """
        self._drop_read()
        starts = array("q")
        while not self.done and len(starts) < rows:
            self._walk(starts, rows)
            if self.done or len(starts) >= rows or (starts and self._is_full):
                break
            self._receive()
        return np.frombuffer(starts, np.int64)

    @property
    def _is_full(self) -> bool:
        return len(self.buffer) - PADDING - self._have < _READ_BYTES

    def _walk(self, starts: array[int], rows: int) -> None:
        native = module()
        if native is not None:
            found, self._next, special = native.find_rows(self.buffer, self._next, self._have, rows - len(starts))
            starts.frombytes(found)
            if not special:
                return
        buffer, at, last, missing = self.buffer, self._next, self._have - _HEADER, rows - len(starts)
        header, have, add = _WORD.unpack_from, self._have, starts.append
        while at <= last and missing:
            start = at + _HEADER
            length = header(buffer, at)[0] & _LONGEST
            if start + length > have:
                break
            if length == _LONGEST:
                whole = self._joined(start)
                if whole is None:
                    break
                length, buffer, have = whole, self.buffer, self._have
                last = have - _HEADER
            # These bytes announce the end or an error. A row that begins with them has a value of 16 MB or more.
            elif buffer[start] > 0xFD:
                self._special(start, start + length)
                if self.done:
                    break
            add(start)
            missing -= 1
            at = start + length
        self._next = at

    def _joined(self, start: int) -> int | None:
        """Join the packets of a row of 16 MB or more and return the row's length, or None if some of them are still to
        come.

        The row's last packet is the first one that is not full; it may be empty.
        """
        heads, end, length = [], start + _LONGEST, _LONGEST
        while length == _LONGEST:
            if end + _HEADER > self._have:
                return None
            length = _WORD.unpack_from(self.buffer, end)[0] & _LONGEST
            heads.append(end)
            end += _HEADER + length
        if end > self._have:
            return None
        # The buffer is not changed in place, as arrays of earlier rows may still use it.
        joined, at = bytearray(len(self.buffer)), 0
        for begin, stop in zip([0, *(head + _HEADER for head in heads)], [*heads, self._have], strict=True):
            joined[at : at + stop - begin] = memoryview(self.buffer)[begin:stop]
            at += stop - begin
        self.buffer, self._have = joined, at
        return end - start - _HEADER * len(heads)

    def _special(self, start: int, end: int) -> None:
        # Source: MariaDB's protocol documentation, EOF_Packet and ERR_Packet.
        if self.buffer[start] == 0xFE and end - start < 9:
            self.done = True
        elif self.buffer[start] == 0xFF:
            from pymysql.err import raise_mysql_exception

            self.done = True
            raise_mysql_exception(bytes(self.buffer[start:end]))

    def _receive(self) -> None:
        from pymysql.err import OperationalError

        if self._is_full:
            grown = bytearray(2 * len(self.buffer))
            grown[: self._have] = self.buffer[: self._have]
            self.buffer = grown
        limit = min(self._have + _READ_BYTES, len(self.buffer) - PADDING)
        if self._is_slow:
            self._nap.wait(_NAP_S)
        with memoryview(self.buffer) as view:
            try:
                received = self._socket.recv_into(view[self._have : limit])
            except OSError as error:
                self.done = True
                raise OperationalError(2013, f"Lost connection to the server while reading rows ({error})") from None
        if not received:
            self.done = True
            raise OperationalError(2013, "Lost connection to the server while reading rows")
        self._have += received
        self._is_slow = received < _LITTLE_BYTES

    def _drop_read(self) -> None:
        rest = self._have - self._next
        self.buffer[:rest] = self.buffer[self._next : self._have]
        self._have, self._next = rest, 0


def driver_columns(form: RowFormat, fields: Sequence[Fields], bad: BadCells | None = None) -> Columns:
    """Return the columns of text protocol rows as Arrow. `bad` takes cells that do not fit, see `RowFormat.guarded`."""
    plans = form.columns
    columns = [form.guarded(plan, field, text_column, bad) for plan, field in zip(plans, fields, strict=False)]
    return [*columns, *(field.text() for field in fields[len(plans) :])]


def text_column(plan: ColumnPlan, field: Fields) -> pa.Array:
    """Return a column of the text protocol as the Arrow array of its kind.

    Misfit, pa.ArrowException: a value does not fit the kind.
    """
    match plan.raw:
        case Raw.BYTES:
            return field.binary()
        case Raw.TEXT:
            return field.text()
        case Raw.INTEGER | Raw.BOOLEAN:
            return field.ascii().cast(pa.int64())
        case Raw.FLOAT:
            return field.ascii().cast(pa.float64())
        case Raw.DECIMAL:
            return field.ascii()
        case Raw.DATE:
            return _dates(field.ascii(), pa.date32(), NO_DATE_DAYS)
        case Raw.TIME:
            return times_of_text(field.ascii())
    zoned = pa.timestamp("us", "UTC") if plan.raw is Raw.INSTANT else pa.timestamp("us")
    return _dates(field.ascii(), pa.timestamp("us"), NO_TIMESTAMP_US).cast(zoned)


def _dates(text: pa.Array, kind: pa.DataType, none: int) -> pa.Array:
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        zero = pc.match_substring_regex(text, _NO_DATE)
        if not pc.any(zero).as_py():
            raise
        number = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        real = pc.if_else(zero, pa.scalar(None, pa.string()), text).cast(kind).cast(number)
        return pc.if_else(zero, pa.scalar(none, number), real).cast(kind)
