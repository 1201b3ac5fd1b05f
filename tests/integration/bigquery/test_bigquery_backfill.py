"""A topic of duplicates loaded by a backfill that is killed at every step; then the sink goes on behind it."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from bigquery_oracle import Message, latest
from bigquery_write_shim import WriteShim
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from test_bigquery_killed import PARTITIONS, committed, config_of, duplicates, produce

from connect.backfill.driver import Driver
from connect.backfill.engines.local import LocalEngine
from connect.backfill.handover import ConnectorsByRest, hand_over
from connect.backfill.job.chunk import LaneReport, Step
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.spec_file import read_spec
from connect.backfill.job.states import JobState
from connect.backfill.lane.lane import LaneTask, run_lane
from connect.backfill.verify.verify import verify
from connect.client.manifests import read_manifests
from connect.client.rest import Access, ConnectClient
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig

EXAMPLE = Path(__file__).parents[3] / "configs" / "backfill" / "orders-to-bigquery.yaml"


@dataclass(frozen=True)
class KilledAtEachStep:
    """Runs a lane in its process, and kills that the first time any lane comes to each of these steps."""

    notes: Path
    steps: tuple[Step, ...] = tuple(Step)

    def __call__(self, task: LaneTask) -> LaneReport:
        def on_step(step: Step, _chunk: str) -> None:
            note = self.notes / step.name
            if step in self.steps and not note.exists():
                note.touch()
                os.kill(os.getpid(), signal.SIGKILL)

        return run_lane(task, on_step)


class DriverDiedError(Exception):
    """As kill -9 of a driver: it says nothing more."""


class DiesBehindOneLane:
    """An engine whose driver dies half way."""

    def run(self, tasks: list[LaneTask], _at_once: int) -> list[LaneReport]:
        run_lane(tasks[0])
        raise DriverDiedError

    def close(self) -> None:
        pass


@pytest.fixture
def dedup(request: pytest.FixtureRequest, dataset) -> Iterator[dict[str, str]]:
    """Settings of each mode that shows one row per key."""
    settings = {"dedup.mode": request.param, "dedup.max.staleness": "none"}
    if request.param != "cdc" or not dataset.is_emulated:
        yield settings
        return
    with WriteShim(dataset.settings()["bigquery.storage.endpoint"], dataset.client) as shim:
        yield {**settings, "bigquery.storage.endpoint": shim.endpoint}


@pytest.fixture(scope="module")
def worker(kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    process = WorkerProcess(tmp_path_factory.mktemp("worker"), kafka.bootstrap_servers, "bigquery-bulk")
    process.start()
    yield process
    process.stop()


def topic_of(kafka, name: str) -> str:
    """The messages are older than a broker keeps them by itself."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(name, PARTITIONS, config={"retention.ms": "-1"})])[name].result(30)
    return name


def driver(worker: WorkerProcess, sink: dict[str, str], name: str) -> Driver:
    spec: dict[str, Any] = {
        "apiVersion": "backfill/v1", "name": name, "kind": "sink", "target": {"connector": name},
        "engine": {"type": "local", "processes": 2}, "chunking": {"rows": 250, "lanes": 2},
    }  # fmt: skip
    return Driver(
        BackfillSpec.model_validate(spec), WorkerConfig.parse(dict(worker.properties)), {**sink, "name": name}
    )


def load(worker: WorkerProcess, sink: dict[str, str], name: str, notes: Path) -> ConnectClient:
    """Run the job, whose driver dies half way, and again, killed at each step; its connector is not started."""
    client = ConnectClient(Access(worker.url))
    client.create(name, sink, "STOPPED")
    with driver(worker, sink, name) as job, pytest.raises(DriverDiedError):
        job.run(DiesBehindOneLane())
    with driver(worker, sink, name) as job:
        assert job.run(LocalEngine(2, 8, KilledAtEachStep(notes))).state is JobState.COPIED
        assert {note.name for note in notes.iterdir()} == {step.name for step in Step}
        verdict = verify(job)
    assert (verdict.missing, verdict.twice, verdict.is_good) == (0, 0, True)
    assert len(verdict.chunks) >= 6
    return client


def later(messages: list[Message]) -> list[Message]:
    """Further versions of rows that are there: newer ones, older ones, equal ones, a delete; and new rows."""
    ends = Counter(message.partition for message in messages)
    made = []
    for number, (time_s, text) in enumerate([(9000, "newer"), (1, "older"), (9000, None), (500, "maybe")] * 30):
        partition = number % PARTITIONS
        known = number % 200 if number % 5 else 10_000 + number
        made.append(Message(partition, ends[partition], known, time_s, text=text and f"{text} {number}"))
        ends[partition] += 1
    return made


@pytest.mark.chaos
@pytest.mark.parametrize("dedup", ["merge", "cdc", "view"], indirect=True)
def test_a_topic_of_duplicates_is_a_table_without_them_and_the_sink_goes_on(
    worker, kafka, dataset, dedup, unique, tmp_path
):
    topic, name = topic_of(kafka, f"{unique}-orders"), f"{unique}-sink"
    messages = duplicates(seed=5, count=900)
    produce(kafka, topic, messages)
    sink = config_of(kafka, dataset, topic, **dedup)
    client = load(worker, sink, name, tmp_path)
    shown = f"{topic}_latest" if dedup["dedup.mode"] == "view" else topic

    def rows() -> list[tuple[Any, ...]]:
        found = dataset.rows(shown)
        assert len({row["id"] for row in found}) == len(found)
        return [(row["id"], row["text"]) for row in found]

    def model(of: list[Message]) -> list[tuple[Any, ...]]:
        return [(key, row.text) for key, row in sorted(latest(of).items())]

    assert rows() == model(messages)
    more = later(messages)
    produce(kafka, topic, more)
    with driver(worker, sink, name) as job:
        hand_over(job, ConnectorsByRest(client), Deadline.after(60))
    wait_for(lambda: committed(kafka, name, topic) == len(messages) + len(more), 90, "commits", by=worker)
    assert rows() == model(messages + more)
    client.delete(name)


@pytest.mark.chaos
def test_without_dedup_each_record_is_a_row_once_and_the_sink_goes_on(worker, kafka, dataset, unique, tmp_path):
    topic, name = topic_of(kafka, f"{unique}-orders"), f"{unique}-sink"
    messages = duplicates(seed=6, count=1600)
    messages = [replace(message, text=message.text or "none") for message in messages]
    produce(kafka, topic, messages)
    sink = config_of(kafka, dataset, topic, **{"exactly.once": "true"})
    sink = {key: value for key, value in sink.items() if not key.startswith("dedup.")}
    client = load(worker, sink, name, tmp_path)

    def places() -> Counter[tuple[int, int]]:
        found = dataset.query(f"SELECT _kafka_partition AS p, _kafka_offset AS o FROM `{dataset.name}`.`{topic}`")
        return Counter((row["p"], row["o"]) for row in found)

    assert places() == Counter((m.partition, m.offset) for m in messages)
    ends = Counter(m.partition for m in messages)
    more = [Message(p, ends[p] + n, n, 0) for p in range(PARTITIONS) for n in range(20)]
    produce(kafka, topic, more)
    with driver(worker, sink, name) as job:
        hand_over(job, ConnectorsByRest(client), Deadline.after(60))
    wait_for(lambda: committed(kafka, name, topic) == len(messages) + len(more), 90, "commits", by=worker)
    assert places() == Counter((m.partition, m.offset) for m in messages + more)
    client.delete(name)


def test_the_example_of_configs_loads_a_topic_of_duplicates_and_the_sink_goes_on(worker, kafka, dataset, unique):
    """As it stands, but for names, places, and how often the sink merges."""
    topic = topic_of(kafka, f"{unique}-orders")
    messages = duplicates(seed=7, count=300)
    produce(kafka, topic, messages)
    (manifest,) = read_manifests([EXAMPLE.with_suffix(".json")])
    places = {key: value for key, value in dataset.settings().items() if not key.startswith("dedup.")}
    given = {key: value for key, value in manifest.config.items() if key != "keyfile"}
    sink = {**given, **places, "topics": topic, "name": manifest.name, "dedup.merge.interval.ms": "500"}
    client = ConnectClient(Access(worker.url))
    client.create(manifest.name, sink, "STOPPED")
    more = later(messages)
    spec = read_spec(EXAMPLE).model_copy(update={"name": unique})
    with Driver(spec, WorkerConfig.parse(dict(worker.properties)), sink) as job:
        assert job.run(LocalEngine(2, 8)).state is JobState.COPIED
        assert verify(job).is_good
        produce(kafka, topic, more)
        hand_over(job, ConnectorsByRest(client), Deadline.after(60))
    total = len(messages) + len(more)
    wait_for(lambda: committed(kafka, manifest.name, topic) == total, 90, "commits", by=worker)
    model = latest(messages + more)
    assert [(row["id"], row["text"]) for row in dataset.rows(topic)] == [
        (key, model[key].text) for key in sorted(model)
    ]
    client.delete(manifest.name)
