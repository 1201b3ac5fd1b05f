"""Checks what a binary log with binlog_row_metadata=FULL says of columns: their signs, and when a table fits them."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from connectors.jdbc.log.binlog.metadata import ColumnMetadata, read_metadata
from connectors.jdbc.log.binlog.packets import TableMap
from connectors.jdbc.log.binlog.values import LoggedColumn
from connectors.jdbc.log.mysql.tables import BinlogTable, binlog_source
from connectors.jdbc.log.shared.envelope import EventFormat
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.columns import RowFormat, TimeRules

_UNSIGNED, _NAMES = 1, 4
_INT, _YEAR, _TINY = 3, 13, 1


def test_a_year_has_a_sign_bit_of_its_own():
    names = b"".join(bytes([1]) + name for name in (b"a", b"b", b"c"))
    # The year is unsigned; the number behind it is not.
    content = bytes([0]) + bytes([_UNSIGNED, 1, 0b0100_0000]) + bytes([_NAMES, len(names)]) + names
    told = read_metadata(content, bytes([_INT, _YEAR, _TINY]), (b"", b"", b"")).told
    assert told is not None
    assert (told.names, told.unsigned) == (("a", "b", "c"), {1})


def test_a_table_fits_rows_whose_types_were_told_as_its_own_alone():
    signed = TableMap(7, "d", "t", bytes([_INT]), (b"",), ColumnMetadata(("n",)))
    unsigned = TableMap(8, "d", "t", bytes([_INT]), (b"",), ColumnMetadata(("n",), frozenset({0})))
    form = RowFormat("d.t", "t.Value", (), TimeRules(ZoneInfo("UTC"), "connect_logical"))
    events = EventFormat("t", form.schema, (), binlog_source("mariadb"))
    of_now = BinlogTable(TableName("d", "t"), form, events, (LoggedColumn("n", unsigned=True),))
    assert not of_now.fits(unsigned), "the catalog is of now, and the log of then"
    of_then = BinlogTable(of_now.name, form, events, (LoggedColumn("n"),), signed)
    assert of_then.fits(TableMap(9, "d", "t", bytes([_INT]), (b"",), ColumnMetadata(("n",))))
    assert not of_then.fits(unsigned)
