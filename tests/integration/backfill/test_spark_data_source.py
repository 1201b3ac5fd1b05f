"""Checks `format("connect")` on a real Spark: a table read by splits, a file followed, frames written to S3, each row
once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import psycopg
import pytest
from backfill_job import Table
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from spark_session import local_spark

from connect.spark import register
from connect.tools.services import S3Endpoint

ROWS = 4000


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with local_spark("data-source") as session:
        register(session)
        yield session


def jdbc(table: Table, **others: str) -> dict[str, str]:
    given = table.connector()
    return given | {"connect.split.rows": "500", **{name.replace("__", "."): text for name, text in others.items()}}


def test_a_table_is_read_by_splits_side_by_side_as_it_is(spark: SparkSession, table: Table) -> None:
    table.fill(ROWS)
    frame = spark.read.format("connect").options(**jdbc(table)).load()
    assert frame.rdd.getNumPartitions() == ROWS // 500
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema}
    assert kinds == {"id": "bigint", "ts": "timestamp", "name": "string", "n": "int"}
    found = frame.selectExpr("id", "CAST(unix_millis(ts) AS LONG)", "name", "n").collect()
    with psycopg.connect(table.engine.url.render_as_string(hide_password=False).replace("+psycopg", "")) as raw:
        query = f"SELECT id, (extract(epoch FROM ts) * 1000)::bigint, name, n FROM {table.name}"
        expected = raw.execute(query).fetchall()
    assert sorted(map(tuple, found)) == sorted(expected)
    assert frame.where("n IS NULL").count() == ROWS // 7


def test_a_source_that_is_not_cut_is_read_by_its_tasks(spark: SparkSession, table: Table) -> None:
    table.fill(300)
    given = jdbc(table, mode="bulk", poll__interval__ms="60000")
    frame = spark.read.format("connect").options(**given).load()
    assert sorted(row.id for row in frame.select("id").collect()) == list(range(1, 301))
    named = spark.read.format("connect").schema("id long, ts timestamp, name string, n int").options(**given).load()
    assert named.where("id > 290").count() == 10


def lines(spark: SparkSession, file: Path, rows: int = 1000) -> DataFrame:
    given = {"connector.class": "FileStreamSource", "topic": "t", "file": str(file), "connect.batch.rows": str(rows)}
    return spark.readStream.format("connect").schema("value string").options(**given).option("batch.size", 40).load()


def run(frame: DataFrame, checkpoint: Path, write: Callable[[DataFrame, int], None]) -> None:
    started = frame.writeStream.foreachBatch(write).option("checkpointLocation", str(checkpoint))
    query = started.trigger(availableNow=True).start()
    try:
        query.awaitTermination(120)
    finally:
        query.stop()


def test_a_batch_that_is_replayed_after_more_rows_came_has_the_rows_it_had(spark: SparkSession, tmp_path: Path) -> None:
    file, checkpoint = tmp_path / "in.txt", tmp_path / "checkpoint"
    file.write_text("".join(f"line {i}\n" for i in range(250)))
    seen: list[tuple[int, list[str]]] = []

    def keep(rows: DataFrame, batch: int) -> None:
        seen.append((batch, [row.value for row in rows.collect()]))

    def die_in_the_last_one(rows: DataFrame, batch: int) -> None:
        keep(rows, batch)
        if batch == 2:
            raise RuntimeError("the driver dies before Spark notes that the batch is done")

    frame = lines(spark, file, rows=100)
    with pytest.raises(PySparkException, match="the driver dies"):
        run(frame, checkpoint, die_in_the_last_one)
    assert [len(rows) for _, rows in seen] == [80, 80, 90], "of at most 100 rows, in pages of 40"
    with file.open("a") as more:
        more.write("".join(f"line {i}\n" for i in range(250, 300)))
    died = seen.pop()
    run(frame, checkpoint, keep)
    assert seen[2] == died
    assert [row for _, rows in seen for row in rows] == [f"line {i}" for i in range(300)]


class Bucket:
    """What is in the bucket below a folder, by a client of its own."""

    def __init__(self, s3: S3Endpoint, bucket: str, folder: str) -> None:
        self.options = {
            "connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": "rows",
            "s3.bucket.name": bucket, "s3.region": s3.region, "store.url": s3.url, "topics.dir": folder,
            "aws.access.key.id": s3.access_key_id, "aws.secret.access.key": s3.secret_access_key,
            "format.class": "io.confluent.connect.s3.format.json.JsonFormat", "flush.size": "100000",
            "rotate.schedule.interval.ms": "500", "timezone": "UTC",
        }  # fmt: skip
        self._place = (bucket, f"{folder}/")
        self._client = boto3.client(
            "s3", endpoint_url=s3.url, region_name=s3.region, aws_access_key_id=s3.access_key_id,
            aws_secret_access_key=s3.secret_access_key,
        )  # fmt: skip

    def rows(self) -> Counter[str]:
        bucket, prefix = self._place
        listed = self._client.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
        bodies = [self._client.get_object(Bucket=bucket, Key=found["Key"])["Body"].read() for found in listed]
        return Counter(line for body in bodies for line in body.decode().splitlines())

    def ids(self) -> Counter[int]:
        return Counter({json.loads(line)["id"]: count for line, count in self.rows().items()})


def test_a_frame_whose_task_dies_and_runs_again_is_in_the_bucket_once_and_a_second_one_beside_it(
    spark: SparkSession, s3: S3Endpoint, s3_bucket: str, unique: str, tmp_path: Path
) -> None:
    place, note = Bucket(s3, s3_bucket, unique), tmp_path / "died"

    def die_once_behind_half_of_the_rows(batches):
        import time

        for number, batch in enumerate(batches):
            yield batch
            # The sink has what came before in objects, as half a second is over between two batches.
            deadline = time.monotonic() + 1.2
            while number == 1 and not note.exists() and time.monotonic() < deadline:
                pass
            if number == 2 and not note.exists():
                note.touch()
                raise RuntimeError("the task dies")

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    frame = spark.range(0, 600, 1, 1).selectExpr("id", "CAST(id AS STRING) AS name", "CURRENT_DATE() AS day")
    dying = frame.mapInArrow(die_once_behind_half_of_the_rows, frame.schema)
    dying.write.format("connect").mode("append").options(**place.options).save()
    assert note.exists()
    assert place.ids() == Counter(range(600))
    spark.range(600, 700, 1, 2).toDF("id").write.format("connect").mode("append").options(**place.options).save()
    assert place.ids() == Counter(range(700))


def test_a_batch_of_a_stream_that_is_written_again_is_in_the_bucket_once(
    spark: SparkSession, s3: S3Endpoint, s3_bucket: str, unique: str, tmp_path: Path
) -> None:
    file, checkpoint, place = tmp_path / "in.txt", tmp_path / "checkpoint", Bucket(s3, s3_bucket, unique)
    file.write_text("".join(f"{i}\n" for i in range(120)))

    def written() -> int:
        stream = lines(spark, file, rows=50).selectExpr("CAST(value AS LONG) AS id").writeStream.format("connect")
        started = stream.options(**place.options).option("checkpointLocation", str(checkpoint))
        query = started.trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        return query.lastProgress.batchId

    last = written()
    assert place.ids() == Counter(range(120))
    # As when the driver dies between the write and Spark's note of it.
    for note in (checkpoint / "commits").glob(f"*{last}*"):
        note.unlink()
    with file.open("a") as more:
        more.write("120\n")
    assert written() > last
    assert place.ids() == Counter(range(121))


def test_what_cannot_work_is_said_with_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    file = {"connector.class": "FileStreamSource", "topic": "t", "file": str(tmp_path / "none")}
    with pytest.raises(PySparkException, match="is a source connector, and a sink"):
        spark.range(1).write.format("connect").mode("append").options(**file).save()
    with pytest.raises(PySparkException, match="no row that could tell the columns"):
        spark.read.format("connect").options(**file).load()
    sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": "t"}
    with pytest.raises(PySparkException, match="adds rows, and replaces none"):
        spark.range(1).write.format("connect").mode("overwrite").options(**sink).save()
    frame = spark.sql("SELECT CURRENT_TIMESTAMP()::timestamp_ntz AS at")
    with pytest.raises(PySparkException, match="Cast the column to TIMESTAMP"):
        frame.write.format("connect").mode("append").options(**sink).save()
    spark.range(3).selectExpr("'a' || id AS value").coalesce(1).write.format("connect").mode("append").options(
        **sink
    ).save()
    assert (tmp_path / "out").read_text() == "a0\na1\na2\n"
