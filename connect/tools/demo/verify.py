"""Checks that S3 has the same rows as the database.

Raw clients read both sides, never our own code.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl
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
    head: pl.DataFrame

    @property
    def equal(self) -> bool:
        """Tell if no row was lost, doubled or changed."""
        return not self.differences


def read_source(database: Path, table: Table) -> pl.DataFrame:
    """Return a table as Python's sqlite3 reads it."""
    import polars as pl

    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        rows = connection.execute(f'SELECT * FROM "{table.name}"').fetchall()  # noqa: S608 - the name is our own
    frame = pl.DataFrame(rows, schema=[c.name for c in table.columns], orient="row", infer_schema_length=None)
    moments = [c.name for c in table.columns if c.type.python_type is dt.datetime]
    return frame.with_columns(
        pl.col(name).str.to_datetime("%Y-%m-%d %H:%M:%S%.6f", time_unit="ms", time_zone="UTC") for name in moments
    )


def read_target(s3: S3FileSystem, folder: str) -> pl.DataFrame:
    """Return all Parquet objects below a folder of a bucket, as pyarrow reads them."""
    import polars as pl
    import pyarrow.dataset as ds

    read = pl.from_arrow(ds.dataset(folder, filesystem=s3, format="parquet").to_table())
    assert isinstance(read, pl.DataFrame)
    return read


def compare(table: str, source: pl.DataFrame, target: pl.DataFrame) -> Comparison:
    """Compare counts, sums and NULL counts of each column, and a hash over all rows that ignores their order."""
    source_text, target_text = _as_text(source), _as_text(target)
    unique = target_text.unique()
    differences = []
    if source.columns != target.columns:
        differences.append(f"columns {source.columns} became {target.columns}")
    else:
        differences += _column_differences(source, target)
    if len(source) != len(target):
        differences.append(f"{len(source)} rows became {len(target)}")
    hashes = _hash(source_text), _hash(target_text)
    if hashes[0] != hashes[1]:
        differences.append(f"the hash over all rows {hashes[0]} became {hashes[1]}")
    same_columns = source.columns == target.columns
    lost = (
        len(source_text.unique().join(unique, on=source_text.columns, how="anti", nulls_equal=True))
        if same_columns
        else 0
    )
    return Comparison(
        table=table,
        source_rows=len(source),
        target_rows=len(target),
        lost_rows=lost,
        duplicate_rows=len(target_text) - len(unique) - (len(source_text) - len(source_text.unique())),
        nulls=sum(source.null_count().row(0)),
        source_hash=hashes[0],
        target_hash=hashes[1],
        differences=tuple(differences),
        head=target.sort(target.columns[0]).head(3),
    )


def _column_differences(source: pl.DataFrame, target: pl.DataFrame) -> list[str]:
    found = []
    for name in source.columns:
        nulls = source[name].null_count(), target[name].null_count()
        if nulls[0] != nulls[1]:
            found.append(f"column {name}: {nulls[0]} NULLs became {nulls[1]}")
        if source[name].dtype.is_numeric():
            # The values are sorted, so that floating point numbers add up in the same order on both sides.
            sums = source[name].sort().sum(), target[name].sort().sum()
            if sums[0] != sums[1]:
                found.append(f"column {name}: the sum {sums[0]} became {sums[1]}")
    return found


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return frame.select(pl.all().cast(pl.String))


def _hash(text: pl.DataFrame) -> str:
    """Return the SHA-256 over all rows in sorted order; NULL and the empty text differ."""
    rows = text.sort(text.columns).write_csv(null_value="\\N", quote_style="non_numeric")
    return hashlib.sha256(rows.encode()).hexdigest()[:16]
