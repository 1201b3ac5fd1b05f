"""Moves rows from a database to S3 or BigQuery over three brokers, with two workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bigquery_dataset import Dataset
from e2e_brokers import ThreeBrokers
from e2e_flow import WAIT_S, Flow, flowing
from e2e_orders import ROWS_PER_S, Writer, source_config
from e2e_s3 import newest_rows_of, objects_of, rows_of, sink_config
from e2e_secured import Right
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import S3Endpoint

__all__ = ["WAIT_S", "Pipeline", "WarehousePipeline", "pipeline"]
_REPLICATED = {"topic.creation.default.replication.factor": "3", "topic.creation.default.partitions": "2"}

_WAREHOUSE_ROWS_PER_S = 40
"""The emulator keeps up with this many rows a second, also on a machine that others use."""


class Pipeline(Flow):
    """Holds the source, the topic and a sink to S3."""

    lost = (("rows written",), ("rows read",), ("sink's group",), ("transactions",))

    def __init__(
        self,
        brokers: ThreeBrokers,
        s3: S3Endpoint,
        bucket: str,
        folder: Path,
        name: str,
        worker_kind: type[WorkerProcess] = WorkerProcess,
        rows_per_s: int = ROWS_PER_S,
    ) -> None:
        self.source, self.sink, self.topic = f"{name}-source", f"{name}-sink", f"{name}-orders"
        self.connectors, self.rows_per_s = (self.source, self.sink), rows_per_s
        self._place = (s3, bucket, f"{name}/{self.topic}")
        self._database = folder / "orders.db"
        self.writer: Writer
        super().__init__(brokers, folder, name, Writer(self._database, rows_per_s), worker_kind)
        self.sink_config = sink_config(s3, bucket, name, self.topic)

    def begin(self) -> None:
        """Do as `Flow` says."""
        self.create(self.source, source_config(self._database, f"{self.name}-", **_REPLICATED))
        self.create(self.sink, self.sink_config)
        self._wait_for_first()

    def newest(self) -> int:
        """Do as `Flow` says."""
        return max((row["id"] for row in newest_rows_of(*self._place)), default=0)

    def arrived(self) -> list[int]:
        """Do as `Flow` says."""
        return [row["id"] for row in rows_of(*self._place)]

    def left(self) -> int:
        """Return how many records the sink's group has not read yet."""
        return self.brokers.lag(f"connect-{self.sink}", self.topic)

    def coordinators(self) -> Mapping[str, Callable[[], int]]:
        """Do as `Flow` says."""
        return {
            "sink's group": lambda: self.brokers.coordinator_of(f"connect-{self.sink}"),
            "transactions": lambda: self.brokers.transaction_coordinator_of(f"{self.name}-{self.source}-0"),
        }

    def own_rights(self) -> Mapping[str, tuple[Right, str]]:
        """Do as `Flow` says."""
        return {
            "rows written": (Right("TOPIC", self.topic, "WRITE"), self.source),
            "rows read": (Right("TOPIC", self.topic, "READ"), self.sink),
            "sink's group": (Right("GROUP", f"connect-{self.sink}", "READ"), self.sink),
            "transactions": (Right("TRANSACTIONAL_ID", f"{self.name}-{self.source}-0", "WRITE"), self.source),
        }

    def _wait_for_first(self) -> None:
        wait_for(lambda: len(objects_of(*self._place)) > 1, WAIT_S, "objects in S3 before anything fails")


class WarehousePipeline(Pipeline):
    """Holds the source, the topic and a sink to BigQuery that writes each record once and merges nothing."""

    look_s = 2.0
    drain_s = 600.0
    """The emulator takes 12 rows a second on a machine with a load of 50."""

    def __init__(
        self, brokers: ThreeBrokers, s3: S3Endpoint, bucket: str, folder: Path, name: str, dataset: Dataset
    ) -> None:
        super().__init__(brokers, s3, bucket, folder, name, rows_per_s=_WAREHOUSE_ROWS_PER_S)
        self._dataset = dataset
        settings = {key: value for key, value in dataset.settings().items() if not key.startswith("dedup.")}
        self.sink_config = {
            **settings, "topics": self.topic, "exactly.once": "true", "timePartitioningType": "NONE",
            "offset.flush.interval.ms": "500", "tasks.max": "1",
        }  # fmt: skip

    def newest(self) -> int:
        """Do as `Flow` says."""
        return self._query("COALESCE(MAX(id), 0)")[0] if self.topic in self._dataset.tables() else 0

    def arrived(self) -> list[int]:
        """Do as `Flow` says."""
        return self._query("id")

    def _query(self, what: str) -> list[int]:
        rows = self._dataset.query(f"SELECT {what} AS found FROM `{self._dataset.name}`.`{self.topic}`")
        return [row["found"] for row in rows]

    def _wait_for_first(self) -> None:
        wait_for(self.newest, WAIT_S, "rows in BigQuery before anything fails")


@contextmanager
def pipeline(
    brokers: ThreeBrokers,
    s3: S3Endpoint,
    bucket: str,
    folder: Path,
    name: str,
    worker_kind: type[WorkerProcess] = WorkerProcess,
) -> Iterator[Pipeline]:
    """Yield a pipeline through which rows flow; in the end it is stopped with all its processes."""
    with flowing(Pipeline(brokers, s3, bucket, folder, name, worker_kind)) as made:
        yield made
