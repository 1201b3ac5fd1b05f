"""Makes the rows that the suites write and read, and tells what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from connect.api.records import Batch, Record
from connect.testing.drivers import Row, SinkDriver, SourceDriver

_TEXTS = ("plain", "", None, "\U0001f980 naïve 漢字", " padded ", "back\\slash \"quote' \n line")
_WHOLES = (0, 2**53 + 1, None, -(2**63), 2**63 - 1, -1)
_NUMBERS = (0.5, -0.0, None, 1.7976931348623157e308, 5e-324, -1.25)


def make_rows(count: int, *, start: int = 0, ties: int | None = None) -> list[Row]:
    """Return rows with ids from `start` on; `ties` rows share one tie, all distinct by default."""
    return [
        {
            "id": i,
            "tie": i if ties is None else (i - start) // ties,
            "text": _TEXTS[i % len(_TEXTS)],
            "whole": _WHOLES[i % len(_WHOLES)],
            "number": _NUMBERS[i % len(_NUMBERS)],
        }
        for i in range(start, start + count)
    ]


def records(batches: Iterable[Batch]) -> Iterator[Record]:
    """Return every row of these batches."""
    return (record for batch in batches for record in batch.rows())


def ids_of(system: SourceDriver, batches: Iterable[Batch]) -> list[int]:
    """Return the ids of all rows, in the order read."""
    return [system.row_of(record)["id"] for record in records(batches)]


def latest(system: SourceDriver, read: Iterable[Record]) -> dict[int, Row]:
    """Return the last row read of each id; tombstones are left out."""
    rows = (system.row_of(record) for record in read if record.value is not None)
    return {row["id"]: row for row in rows}


def missing(system: SourceDriver, batches: Iterable[Batch], ids: Iterable[int] | None = None) -> list[int]:
    """Return the ids that are in the system (or in `ids`) and in none of these batches."""
    wanted = set(ids) if ids is not None else {row["id"] for row in system.expected()}
    assert wanted, "The driver's expected() gives no row although rows were inserted."
    return sorted(wanted - set(ids_of(system, batches)))


def unchanged(system: SourceDriver, batches: Iterable[Batch], ids: Iterable[int]) -> list[int]:
    """Return those of `ids` whose text, as last read, is not what the system holds."""
    read = latest(system, records(batches))
    texts = {row["id"]: row["text"] for row in system.expected()}
    return [i for i in ids if i not in read or read[i]["text"] != texts[i]]


def repeated(ids: Sequence[int]) -> list[int]:
    """Return the ids that come more than once."""
    return sorted(i for i, times in Counter(ids).items() if times > 1)


def unwritten(system: SinkDriver, rows: Iterable[Row | None]) -> list[int]:
    """Return the ids of rows that the target does not hold."""
    landed = {row["id"] for row in system.read_back()}
    return sorted(row["id"] for row in rows if row is not None and row["id"] not in landed)


def written_twice(system: SinkDriver) -> list[int]:
    """Return the ids that the target holds more than once."""
    return repeated([row["id"] for row in system.read_back()])
