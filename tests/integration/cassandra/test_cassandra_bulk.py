"""Reads a keyspace into its topics in bulk, each row once, though processes are killed; its connector then has no
work.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cassandra.concurrent import execute_concurrent_with_args
from cassandra_node import Node
from e2e_worker import wait_for
from topic_reading import json_records

from connect.api.optional.bulk import BulkPlan, SplitSize
from connect.backfill.driver import Driver
from connect.backfill.engines.local import LocalEngine
from connect.backfill.job.chunk import LaneReport, Step
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobState
from connect.backfill.lane.lane import LaneTask, run_lane
from connect.backfill.verify.verify import verify
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connect.tools.services import KafkaEndpoint
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector

JSON = "org.apache.kafka.connect.json.JsonConverter"
ROWS = 3000


@dataclass(frozen=True)
class KilledOnce:
    """Runs a lane in its process, and kills that with SIGKILL the first time its rows are sent."""

    notes: Path

    def __call__(self, task: LaneTask) -> LaneReport:
        def on_step(step: Step, _chunk: str) -> None:
            note = self.notes / step.name
            if step is Step.ROWS_SENT and not note.exists():
                note.touch()
                os.kill(os.getpid(), signal.SIGKILL)

        return run_lane(task, on_step)


def worker_properties(kafka: KafkaEndpoint, name: str) -> dict[str, str]:
    without = {f"{side}.converter.schemas.enable": "false" for side in ("key", "value")}
    single = {f"{part}.storage.replication.factor": "1" for part in ("config", "offset", "status")}
    return {
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "config.storage.topic": f"{name}-c",
        "offset.storage.topic": f"{name}-o", "status.storage.topic": f"{name}-s", "key.converter": JSON,
        "value.converter": JSON, **without, **single,
    }  # fmt: skip


def test_every_row_is_in_kafka_once_though_a_lane_is_killed(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    node = cassandra_node
    node.keyspace(unique)
    node.run("CREATE TABLE t (k int, c int, s text static, v text, PRIMARY KEY (k, c))")
    insert = node.session.prepare("INSERT INTO t (k, c, v) VALUES (?, ?, ?)")
    execute_concurrent_with_args(node.session, insert, [(i % 300, i, f"v{i}") for i in range(ROWS)])
    node.run("INSERT INTO t (k, s) VALUES (-1, 'static only')")
    worker = WorkerConfig.parse(worker_properties(kafka, unique))
    connector = {
        **node.contact, "connector.class": "connect.cassandra.CassandraSourceConnector", "keyspace": unique,
        "topic.prefix": f"{unique}.", "table.splits": "8", "topic.creation.default.partitions": "2",
        "topic.creation.default.replication.factor": "1", "tasks.max": "1",
    }  # fmt: skip
    spec = BackfillSpec.model_validate(
        {
            "apiVersion": "backfill/v1", "name": unique, "source": {"connector": unique},
            "engine": {"type": "local", "processes": 2}, "chunking": {"rows": 500, "lanes": 2, "max_bytes": "20KB"},
            "state": {"jobs_topic": f"{unique}-jobs"},
        }
    )  # fmt: skip
    with Driver(spec, worker, connector) as driver:
        job = driver.run(LocalEngine(2, 8, KilledOnce(tmp_path)))
        verdict = verify(driver)
    assert (tmp_path / "ROWS_SENT").exists()
    assert job.state is JobState.COPIED
    assert (verdict.missing, verdict.twice, verdict.is_good) == (0, 0, True)
    records = json_records(kafka, f"{unique}.{unique}.t")
    found = Counter((r.key["k"], r.key["c"], r.value["v"], r.value["s"]) for r in records)
    wanted = Counter((i % 300, i, f"v{i}", None) for i in range(ROWS))
    assert found == wanted + Counter([(-1, None, None, "static only")])

    store = OffsetStore()
    store.store(job.positions)
    source = CassandraSourceConnector(CassandraSourceConfig.parse(connector))
    (task,) = (source.task(share) for share in source.task_configs(1))
    context = FakeSourceContext(store=store)
    task.open(context)
    assert task.poll(Deadline.after(0.1)) is None
    assert context.gauges["splits_left"] == 0
    task.close()


def test_a_table_is_cut_by_what_the_node_says_of_its_size(cassandra_node: Node, unique: str) -> None:
    cassandra_node.keyspace(unique)
    cassandra_node.run("CREATE TABLE t (k int PRIMARY KEY)")
    source = CassandraSourceConnector(CassandraSourceConfig.parse({**cassandra_node.contact, "keyspace": unique}))

    def planned(size: SplitSize) -> BulkPlan | None:
        """The plan of an estimate; None where the node, which makes its own from time to time, has taken it away."""
        cassandra_node.run(
            "INSERT INTO system.size_estimates (keyspace_name, table_name, range_start, range_end, partitions_count, "
            f"mean_partition_size) VALUES ('{unique}', 't', '0', '{2**62}', 1000, 50)"
        )
        plan = source.plan_bulk(size, Deadline.after(10))
        return plan if plan.splits[0].rows else None

    by_rows = wait_for(lambda: planned(SplitSize(rows=100, size_bytes=10**9)), 60, "a plan of the estimate")
    assert (len(by_rows.splits), by_rows.splits[0].rows) == (40, 100)
    by_bytes = wait_for(lambda: planned(SplitSize(rows=10**6, size_bytes=50_000)), 60, "a plan of the estimate")
    assert (len(by_bytes.splits), by_bytes.splits[0].size_bytes) == (4, 50_000)
