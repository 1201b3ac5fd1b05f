"""Writes an aggregate and a join of two streams into Kafka; tasks are killed, batches replayed, and each result comes
once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from backfill_job import KillOnce, messages
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from spark_session import local_spark

from connect.api.errors import ConnectError
from connect.backfill.job.chunk import Step
from connect.spark import kafka_sink
from connect.tools.services import KafkaEndpoint

ORDERS = [{"id": i, "shop": f"s{i % 3}", "at": i * 7 % 600} for i in range(300)]
PAYMENTS = [{"id": i, "paid": i * 7 % 600 + 5} for i in range(0, 300, 2)]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with local_spark("kafka-sink") as session:
        yield session


def written(folder: Path, name: str, rows: list[dict[str, object]], files: int) -> str:
    """The rows as files, of which a stream takes one per batch."""
    place = folder / name
    place.mkdir()
    for number in range(files):
        (place / f"{number}.json").write_text("\n".join(json.dumps(row) for row in rows[number::files]))
    return str(place)


def totals(spark: SparkSession, orders: str) -> DataFrame:
    """Orders per shop and minute, as they are after each batch."""
    read = spark.readStream.schema("id long, shop string, at long").option("maxFilesPerTrigger", 1).json(orders)
    windows = read.groupBy("shop", f.window(f.timestamp_seconds("at"), "1 minute")).count()
    return windows.select(
        f.concat_ws("/", "shop", f.col("window.start").cast("long").cast("string")).alias("key"),
        f.col("count").cast("string").alias("value"),
    )


def paid(spark: SparkSession, orders: str, payments: str) -> DataFrame:
    """Each order with its payment, joined within ten minutes of event time."""
    ordered = spark.readStream.schema("id long, shop string, at long").option("maxFilesPerTrigger", 1).json(orders)
    settled = spark.readStream.schema("id long, paid long").option("maxFilesPerTrigger", 1).json(payments)
    left = ordered.select("id", "shop", f.timestamp_seconds("at").alias("ordered_at")).withWatermark(
        "ordered_at", "1 hour"
    )
    right = settled.select(f.col("id").alias("order"), f.timestamp_seconds("paid").alias("paid_at"))
    right = right.withWatermark("paid_at", "1 hour")
    near = f.expr("id = order AND paid_at BETWEEN ordered_at AND ordered_at + INTERVAL 10 MINUTES")
    return left.join(right, near).select(f.col("id").cast("string").alias("key"), f.col("shop").alias("value"))


QUERIES = {
    "totals": lambda spark, folder: totals(spark, written(folder, "orders", ORDERS, 4)),
    "join": lambda spark, folder: paid(
        spark, written(folder, "orders", ORDERS, 3), written(folder, "payments", PAYMENTS, 3)
    ),
}


@pytest.mark.parametrize("query", ["totals", pytest.param("join", marks=pytest.mark.chaos)])
def test_each_result_of_a_query_that_is_killed_and_replayed_is_in_kafka_once(
    spark: SparkSession, kafka: KafkaEndpoint, topic_name: str, query: str, tmp_path: Path
) -> None:
    frame = QUERIES[query](spark, tmp_path)
    mode = "update" if query == "totals" else "append"
    expected = results_of(frame, mode, tmp_path / "undisturbed")
    kill = KillOnce(tmp_path / "killed", Step.ROWS_SENT)
    sink = replace(kafka_sink(f"{topic_name}-sink", kafka.bootstrap_servers, topic=topic_name, lanes=2), on_step=kill)
    died = []

    def die_behind_the_second_batch(rows: DataFrame, batch: int) -> None:
        sink(rows, batch)
        if batch == 1 and not died:
            died.append(batch)
            raise RuntimeError("the driver dies before Spark notes that the batch is done")

    with pytest.raises(PySparkException, match="the driver dies"):
        run(frame, mode, die_behind_the_second_batch, tmp_path / "checkpoint")
    run(frame, mode, die_behind_the_second_batch, tmp_path / "checkpoint")
    assert kill.note.exists()
    assert died == [1]
    found = Counter((message.key(), message.value()) for message in messages(kafka, topic_name))
    assert sum(expected.values()) > 100
    assert found == expected


def test_a_new_checkpoint_under_an_old_name_is_refused_instead_of_skipped(
    spark: SparkSession, kafka: KafkaEndpoint, topic_name: str
) -> None:
    rows = spark.createDataFrame([("k", "v"), ("gone", None)], "key string, value string")
    sink = kafka_sink(f"{topic_name}-sink", kafka.bootstrap_servers, topic=topic_name, lanes=1)
    sink(rows, 0)
    sink(rows, 0)
    sink(rows, 1)
    found = Counter((message.key(), message.value()) for message in messages(kafka, topic_name))
    assert found == {(b"k", b"v"): 2, (b"gone", None): 2}
    with pytest.raises(PySparkException, match="has batch 1 already, and is given batch 0"):
        sink(rows, 0)
    with pytest.raises(ConnectError, match="began with 1 lanes"):
        replace(sink, lanes=2)(rows, 2)


def test_another_query_under_an_old_name_is_refused_also_where_its_batch_has_the_number_of_the_last_one(
    spark: SparkSession, kafka: KafkaEndpoint, topic_name: str, tmp_path: Path
) -> None:
    sink = kafka_sink(f"{topic_name}-sink", kafka.bootstrap_servers, topic=topic_name, lanes=1)

    def frame(name: str) -> DataFrame:
        return spark.readStream.schema("value string").json(written(tmp_path, name, [{"value": name}], 1))

    run(frame("one"), "append", sink, tmp_path / "one-checkpoint")
    with pytest.raises(PySparkException, match=r"batch 0 of query .*-.*, and is given batch 0 of query"):
        run(frame("two"), "append", sink, tmp_path / "two-checkpoint")
    assert [message.value() for message in messages(kafka, topic_name)] == [b"one"]


def results_of(frame: DataFrame, mode: str, checkpoint: Path) -> Counter[tuple[bytes, bytes]]:
    """What the query gives when nothing happens to it."""
    found: Counter[tuple[bytes, bytes]] = Counter()

    def collect(rows: DataFrame, _batch: int) -> None:
        found.update((row.key.encode(), row.value.encode()) for row in rows.collect())

    run(frame, mode, collect, checkpoint)
    return found


def run(frame: DataFrame, mode: str, write: Callable[[DataFrame, int], None], checkpoint: Path) -> None:
    """The query over all there is, from where its checkpoint says."""
    started = frame.writeStream.outputMode(mode).foreachBatch(write).option("checkpointLocation", str(checkpoint))
    query = started.trigger(availableNow=True).start()
    try:
        query.awaitTermination(120)
    finally:
        query.stop()
