"""Checks that S3 has the same rows as the database.

Raw clients read both sides, never our own code.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import S3FileSystem
    from sqlalchemy import Table


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares both sides of one table. `differences` holds a sentence for every figure that is not equal."""

    table: str
    source_rows: int
    target_rows: int
    lost_rows: int
    duplicate_rows: int
    nulls: int
    source_hash: str
    target_hash: str
    differences: tuple[str, ...]
    head: pa.Table

    @property
    def equal(self) -> bool:
        """Tell if no row was lost, doubled or changed."""
        return not self.differences


def read_source(database: Path, table: Table) -> pa.Table:
    """Return a table as Python's sqlite3 reads it, with times as UTC in milliseconds."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        rows = connection.execute(f'SELECT * FROM "{table.name}"').fetchall()  # noqa: S608 - the name is our own
    moments = {place for place, column in enumerate(table.columns) if column.type.python_type is dt.datetime}
    parsed = [
        tuple(dt.datetime.fromisoformat(value) if place in moments else value for place, value in enumerate(row))
        for row in rows
    ]
    return table_of(parsed, table)


def table_of(rows: Sequence[tuple[Any, ...]], table: Table) -> pa.Table:
    """Return rows that have a table's columns, with times as UTC in milliseconds."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    utc = pa.timestamp("ms", "UTC")
    kinds = [utc if column.type.python_type is dt.datetime else None for column in table.columns]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=[column.name for column in table.columns])


def read_target(s3: S3FileSystem, folder: str) -> pa.Table:
    """Return all Parquet objects below a folder of a bucket, as pyarrow reads them."""
    import pyarrow.dataset as ds

    return ds.dataset(folder, filesystem=s3, format="parquet").to_table()


def compare(table: str, source: pa.Table, target: pa.Table) -> Comparison:
    """Compare kinds, counts, sums and NULL counts of each column, and a hash over all rows that ignores their order."""
    source_rows, target_rows = _texts(source), _texts(target)
    known, found = set(source_rows), set(target_rows)
    differences = []
    same_columns = source.column_names == target.column_names
    if same_columns:
        differences += _column_differences(source, target)
    else:
        differences.append(f"columns {source.column_names} became {target.column_names}")
    if len(source) != len(target):
        differences.append(f"{len(source)} rows became {len(target)}")
    hashes = _hash(source_rows), _hash(target_rows)
    if hashes[0] != hashes[1]:
        differences.append(f"the hash over all rows {hashes[0]} became {hashes[1]}")
    return Comparison(
        table=table,
        source_rows=len(source),
        target_rows=len(target),
        lost_rows=len(known - found) if same_columns else 0,
        duplicate_rows=len(target) - len(found) - (len(source) - len(known)),
        nulls=sum(column.null_count for column in source.columns),
        source_hash=hashes[0],
        target_hash=hashes[1],
        differences=tuple(differences),
        head=target.sort_by(target.column_names[0]).slice(0, 3),
    )


def _column_differences(source: pa.Table, target: pa.Table) -> list[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = []
    for name in source.column_names:
        ours, theirs = source[name].combine_chunks(), target[name].combine_chunks()
        if ours.null_count != theirs.null_count:
            found.append(f"column {name}: {ours.null_count} NULLs became {theirs.null_count}")
        kinds = _kind(ours.type), _kind(theirs.type)
        if "null" not in kinds and kinds[0] != kinds[1]:
            found.append(f"column {name}: {kinds[0]} became {kinds[1]}")
        elif pa.types.is_integer(ours.type) or pa.types.is_floating(ours.type):
            # The values are sorted, so that floating point numbers add up in the same order on both sides.
            sums = pc.sum(ours.sort()).as_py(), pc.sum(theirs.sort()).as_py()
            if sums[0] != sums[1]:
                found.append(f"column {name}: the sum {sums[0]} became {sums[1]}")
    return found


def _kind(kind: pa.DataType) -> str:
    """Return what values of a type are, however wide they are stored."""
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return "whole number"
    return "fraction" if pa.types.is_floating(kind) else str(kind).removeprefix("large_")


def _texts(table: pa.Table) -> list[str]:
    """Return each row as one text; NULL and the empty text differ."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in table.columns:
        text = column.cast(pa.string())
        for mark, written in (("\\", "\\\\"), ("\t", "\\t")):
            text = pc.replace_substring(text, mark, written)
        columns.append(pc.fill_null(text, "\\N"))
    return list(pc.binary_join_element_wise(*columns, "\t").to_pylist())


def _hash(rows: list[str]) -> str:
    """Return the SHA-256 over all rows in sorted order."""
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()[:16]
