"""Defines what a plug-in author writes: a driver puts rows into the external system, or reads them from it, by a raw
client.

A driver never goes through the plug-in's own code, else a mistake could cancel itself out. The first protocol of each
side is required; the small ones below it are optional, and the tests that need one are skipped without it.

A suite's rows are dicts of these columns:

| column  | Connect type     | values                                                        |
| ------- | ---------------- | ------------------------------------------------------------- |
| id      | int64            | unique, ascending in the order of insertion                   |
| tie     | int64            | rows with the same value share what the system orders by      |
| text    | optional string  | empty, null, four-byte UTF-8                                  |
| whole   | optional int64   | 2**53 + 1, the smallest and the largest                       |
| number  | optional float64 | negative zero, the smallest and the largest                   |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from connect.api import schema as s
from connect.api.records import Record

Row = dict[str, Any]

ROW_SCHEMA = s.struct(
    {
        "id": s.INT64,
        "tie": s.INT64,
        "text": s.STRING.as_optional(),
        "whole": s.INT64.as_optional(),
        "number": s.FLOAT64.as_optional(),
    },
    name="Row",
)
"""Describes a suite's rows as a Connect schema."""


class Driver(Protocol):
    """Has the methods that every driver needs."""

    def reset(self) -> None:
        """Empty the external system. Called before each test and between the lives of one test."""

    def config(self) -> Mapping[str, str]:
        """Return a working configuration, as the plug-in's documentation shows it, of the plug-in's own keys."""


@runtime_checkable
class SourceDriver(Driver, Protocol):
    """Drives the external system of a source. `config` asks for small batches: 30 rows take at least three polls."""

    def insert(self, rows: Sequence[Row]) -> None:
        """Add rows, durable when this returns; the columns are in the module's table."""

    def expected(self) -> Sequence[Row]:
        """Return the rows that the system holds now, read by the raw client, with the values a reader must see."""

    def row_of(self, record: Record) -> Row:
        """Return the row a record is about, in the form of `expected`; of a tombstone at least `id`."""


@runtime_checkable
class InOrder(Protocol):
    """Marks a source driver whose rows must come in ascending `id` within a source partition."""

    in_order: bool


@runtime_checkable
class Updates(Protocol):
    """A source driver that can change rows."""

    def update(self, rows: Sequence[Row]) -> None:
        """Replace the rows of the same `id`."""


@runtime_checkable
class Deletes(Protocol):
    """A source driver that can delete rows."""

    def delete(self, ids: Sequence[int]) -> None:
        """Delete the rows of these ids."""


@runtime_checkable
class SplitsAnew(Protocol):
    """A source driver whose rows the configuration can split in another way."""

    def split_config(self) -> Mapping[str, str]:
        """Return a configuration like `config`, with another split of the same rows."""


@runtime_checkable
class LeavesBehind(Protocol):
    """Belongs to a source whose system keeps something for a connector, such as a replication slot."""

    def cleanup_config(self) -> Mapping[str, str]:
        """Return a configuration like `config`, of a connector that takes it away when it is deleted."""

    def left_behind(self) -> Sequence[str]:
        """Return what the system keeps for connectors now."""


@runtime_checkable
class SchemaChanges(Protocol):
    """A source driver that can change the columns of what is read; `insert` and `expected` know the module's alone."""

    def add_column(self) -> None:
        """Add an optional column; rows inserted later have a value in it."""

    def drop_column(self) -> None:
        """Take that column away again."""


@runtime_checkable
class SourceTopics(Protocol):
    """A source driver whose system has a second table, or what else becomes a topic of its own."""

    def topics_config(self) -> Mapping[str, str]:
        """Return a configuration like `config`, for both topics."""

    def insert_other(self, rows: Sequence[Row]) -> None:
        """Add rows to the second; they are not in `expected`."""


@runtime_checkable
class UnreadableRows(Protocol):
    """A source driver whose system can hold what no record can, such as text in another encoding."""

    def insert_unreadable(self, row: Row) -> None:
        """Add a row as `insert` does, but for what makes it unreadable; it is not in `expected`."""


@runtime_checkable
class Breakable(Protocol):
    """A driver that can cut the way to the external system."""

    def break_connection(self) -> None:
        """Break the connection: from now on the system cannot be reached; what it holds is kept."""

    def heal(self) -> None:
        """Heal the connection: the system can be reached again."""


@runtime_checkable
class Sessions(Protocol):
    """A driver of a system that keeps a session for each client, as a database does."""

    def end_sessions(self) -> None:
        """End the sessions of tasks that were dropped, as the operating system does when their process dies."""


@runtime_checkable
class SinkDriver(Driver, Protocol):
    """Drives the target of a sink.

    `topic` is where the suite's rows come from. `rows_per_claim`: with `config`, `flush` claims a partition as soon as
    it holds a multiple of this many rows (1: each flush claims all); 24 must be a multiple of it.
    """

    topic: str
    rows_per_claim: int

    def read_back(self) -> Sequence[Row]:
        """Return every row the target holds now, by the raw client, repeated rows included.

        Rows are in the Python form of `connect.api.schema`.
        """


@runtime_checkable
class BadRows(Protocol):
    """A sink driver that knows a row its target refuses."""

    def bad_row(self, row: Row) -> Row:
        """Return the row changed so that it fits the schema and yet the target refuses it."""


@runtime_checkable
class SchemalessBadRows(Protocol):
    """A sink driver that knows rows which its target refuses beside the suite's rows, put without a schema."""

    def schemaless_bad_rows(self) -> Mapping[str, Callable[[Row], Row]]:
        """Return by description what makes a good row bad; the row keeps its id."""


@runtime_checkable
class SinkTopics(Protocol):
    """A sink driver whose configuration takes several topics; `read_back` reads what all of them wrote."""

    other_topics: Sequence[str]
    """Gives the topics beside `topic`."""


@runtime_checkable
class Types(Protocol):
    """A sink driver that takes rows of any schema, so that types can be tested.

    `cannot_hold`: the cases of `strategies.TYPE_CASES` with a value that the target cannot hold, and why. Of these a
    value must be refused, of all others none may be.
    """

    cannot_hold: Mapping[str, str]

    def read_types(self) -> Sequence[Row]:
        """Return rows as `read_back` does, with the columns `id` (int64) and `value` (any type)."""
