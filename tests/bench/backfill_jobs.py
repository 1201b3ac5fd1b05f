"""Defines the measured backfills of a table: ours by Spark and by processes, and plain Spark from JDBC into its Kafka
sink.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.bench.measure import Figure, peak_rss_mb
from tests.bench.server_cpu import ServerCpu

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Settings = Mapping[str, str]
PARTITIONS = 4
LANES = 4
"""All at once, on any number of cores: Spark counts a lane that waits as one that works."""
SPARK_PARTS = 8
FETCH_ROWS = 10_000
_SET_CHILD_SUBREAPER = 36
AVRO = "io.confluent.connect.avro.AvroConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
PRODUCER = {"linger.ms": "50", "batch.size": "262144"}
"""The peer's: with Kafka's own defaults it would send far smaller batches. Ours has the defaults of a worker."""


def backfill_spark(settings: Settings) -> Figure:
    """`connect backfill run` on a local Spark that is up: its start is told beside the figure."""
    from connect.backfill.engines.spark import SparkEngine

    spec = _spec(settings, {"type": "spark", "master": f"local[{LANES},4]"})
    started_s = time.perf_counter()
    with SparkEngine(spec.engine, spec.name).session() as session:
        session.range(4).mapInArrow(lambda batches: batches, "id long").collect()
        start_s = time.perf_counter() - started_s
        # What the JVM and its workers spent is read while they are there.
        session.stop, stop = lambda: None, session.stop
        try:
            return _backfilled(settings, spec, start_s)
        finally:
            session.stop = stop


def backfill_local(settings: Settings) -> Figure:
    """The same by processes, whose start counts."""
    return _backfilled(settings, _spec(settings, {"type": "local"}), 0.0)


def plain_spark(settings: Settings) -> Figure:
    """Spark's JDBC reader by ranges of the key, `to_json` or `to_avro`, and its Kafka sink: at least once."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    started_s = time.perf_counter()
    builder = SparkSession.builder.master("local[*,4]").config("spark.jars", settings["jars"])
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1"}
    for key, value in quiet.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.range(4).count()
    start_s = time.perf_counter() - started_s
    rows = int(settings["rows"])
    whole = f.struct("*")
    value: Any = f.to_json(whole)
    if settings.get("format") == "avro":
        from pyspark.sql.avro.functions import to_avro

        value = to_avro(whole)

    def work() -> int:
        read = session.read.format("jdbc").options(
            url=f"jdbc:postgresql://{settings['host']}:{settings['port']}/{settings['database']}", dbtable="bench",
            user=settings["user"], password=settings["password"], driver="org.postgresql.Driver",
            partitionColumn="id", lowerBound="1", upperBound=str(rows), numPartitions=str(SPARK_PARTS),
            fetchsize=str(FETCH_ROWS),
        )  # fmt: skip
        sent = read.load().select(f.col("id").cast("string").alias("key"), value.alias("value")).write.format("kafka")
        producer = {f"kafka.{key}": text for key, text in {**PRODUCER, "acks": "all"}.items()}
        sent.option("kafka.bootstrap.servers", settings["bootstrap"]).options(**producer).option(
            "topic", settings["topic"]
        ).save()
        return rows

    return _whole_tree(work, start_s, session)


def _spec(settings: Settings, engine: dict[str, Any]) -> Any:
    from connect.backfill.job.spec import BackfillSpec

    return BackfillSpec.model_validate(
        {
            "apiVersion": "backfill/v1", "name": settings["topic"], "source": {"connector": settings["topic"]},
            "engine": engine, **json.loads(settings.get("spec", "{}")),
        }
    )  # fmt: skip


def _backfilled(settings: Settings, spec: Any, start_s: float) -> Figure:
    from connect.backfill.driver import Driver
    from connect.backfill.estimate import estimated
    from connect.runtime.settings.worker_config import WorkerConfig

    name = settings["topic"]
    worker = WorkerConfig.parse(
        {
            "bootstrap.servers": settings["bootstrap"], "group.id": name, "config.storage.topic": f"{name}-configs",
            "offset.storage.topic": f"{name}-offsets", "status.storage.topic": f"{name}-status",
            "config.storage.replication.factor": "1", "offset.storage.replication.factor": "1",
            "status.storage.replication.factor": "1", "key.converter": JSON, "value.converter": JSON,
            "value.converter.schemas.enable": "false", "key.converter.schemas.enable": "false",
        }
    )  # fmt: skip
    with Driver(spec, worker, _connector(settings)) as driver:

        def work() -> int:
            driver.run()
            return sum(marker.rows for marker in driver.store.all_markers(_soon()))

        begun_ms = time.time_ns() // 1_000_000
        figure = _whole_tree(work, start_s, None)
        first_ms = min(marker.written_ms for marker in driver.store.all_markers(_soon()))
        figure = replace(figure, first_s=start_s + (first_ms - begun_ms) / 1000, child_mb=_largest_child_mb())
        # Planned behind the run, which has to load for itself what a plan needs.
        figure = replace(figure, told_s=estimated(driver, driver.planner.plan()).duration_s or 0.0)
    if figure.rows != int(settings["rows"]):
        raise RuntimeError(f"{figure.rows} rows were written of {settings['rows']}")
    return figure


def _largest_child_mb() -> float:
    """Of those that have ended: lanes of this machine, or Spark's JVM."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _connector(settings: Settings) -> dict[str, str]:
    found = {
        "connector.class": "JdbcSource", "mode": "incrementing", "incrementing.column.name": "id",
        "connection.url": f"jdbc:postgresql://{settings['host']}:{settings['port']}/{settings['database']}",
        "connection.user": settings["user"], "connection.password": settings["password"], "table.whitelist": "bench",
        "topic.prefix": f"{settings['topic']}-", "settle.time.ms": "0",
        "topic.creation.default.partitions": str(PARTITIONS), "topic.creation.default.replication.factor": "1",
    }  # fmt: skip
    if settings.get("format") == "avro":
        found |= {"value.converter": AVRO, "value.converter.schema.registry.url": settings["registry"]}
    return found


def _soon() -> Any:
    from connect.lib.deadline import Deadline

    return Deadline.after(60.0)


def _whole_tree(work: Callable[[], int], start_s: float, session: SparkSession | None) -> Figure:
    """What this process and all below it spend on the work: JVM, Python workers, lanes."""
    # Spark's daemon ends before its workers: without a parent here, what they spent would be nobody's.
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)
    spent, begun_s = ServerCpu({"all": os.getpid()}), time.perf_counter()
    rows = work()
    wall_s, cpu_s = time.perf_counter() - begun_s, spent.read()["all"]
    if session is not None:
        session.stop()
    return Figure(rows, wall_s, cpu_s, peak_rss_mb(), start_s=start_s)
