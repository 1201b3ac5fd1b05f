"""Checks what other tools read of the sink's files: pyarrow, DuckDB, polars and Spark, over all files of a topic at
once.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from s3_sink_driver import Objects, batch, open_task, properties, soon

from connect.api.records import TopicPartition
from connect.tools.services import S3Endpoint

FIELDS = {
    "partitioner_class": "io.confluent.connect.storage.partitioner.FieldPartitioner",
    "partition_field_name": "country",
    "partition_field_drop": "true",
}
ROWS = [
    {"n": n, "country": ("DE", "FR")[n % 2], "text": None if n < 6 else f"t{n}", "tags": [] if n < 6 else [n],
     "part": {"a": None if n < 6 else n, "b": "x"}}
    for n in range(12)
]  # fmt: skip
"""The first file of each country has a field that is null in all rows, and lists that are all empty."""
READ = [
    {"n": r["n"], "country": r["country"], "text": r["text"], "a": r["part"]["a"], "tags": r["tags"] or None}
    for r in ROWS
]  # fmt: skip


@pytest.fixture
def folder(s3: S3Endpoint, s3_bucket: str, unique: str, tmp_path: Path) -> Path:
    """Four Parquet files, two of each country, of schemaless rows."""
    objects = Objects(s3, s3_bucket, unique)
    task = open_task(properties(s3, s3_bucket, unique, flush_size="3", **FIELDS))
    task.put(batch(TopicPartition("t", 0), ROWS, 0), soon())
    task.flush(soon())
    task.close()
    return downloaded(objects, tmp_path)


def downloaded(objects: Objects, into: Path) -> Path:
    for key in objects.names():
        file = into / key.split("/", 2)[2]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(objects.body(key))
    return into


def rows_in_order(rows: list[dict]) -> list[dict]:
    """Of a file whose lists were all empty nothing tells that they were there: readers give null for them."""
    return [{**row, "tags": row["tags"] or None} for row in sorted(rows, key=lambda row: row["n"])]


def test_schemaless_files_are_one_table_to_every_reader(folder: Path):
    assert len(list(folder.rglob("*.parquet"))) == 4
    pattern = f"{folder}/*/*.parquet"
    found = duckdb.sql(
        f"SELECT n, country, text, part.a AS a, tags FROM read_parquet('{pattern}', hive_partitioning=true, "
        "union_by_name=true)"
    ).to_arrow_table().to_pylist()  # fmt: skip
    assert rows_in_order(found) == READ
    frame = pl.concat(
        [
            pl.read_parquet(file).with_columns(country=pl.lit(file.parent.name.removeprefix("country=")))
            for file in folder.rglob("*.parquet")
        ],
        how="diagonal_relaxed",
    )
    assert frame.sort("n")["text"].to_list() == [row["text"] for row in READ]
    schema = max((pq.read_schema(file) for file in folder.rglob("*.parquet")), key=len)
    table = ds.dataset(folder, schema=schema, partitioning=None).to_table()
    assert sorted(zip(table["n"].to_pylist(), table["text"].to_pylist(), strict=True)) == [
        (row["n"], row["text"]) for row in READ
    ]


def test_spark_reads_them_as_one_table(folder: Path):
    settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    spark = SparkSession.builder.master("local[1]").appName("s3-readers").config(map=settings).getOrCreate()
    try:
        frame = spark.read.option("mergeSchema", "true").parquet(str(folder))
        rows = frame.selectExpr("n", "country", "text", "part.a AS a", "tags").collect()
    finally:
        spark.stop()
    assert rows_in_order([row.asDict() for row in rows]) == READ
