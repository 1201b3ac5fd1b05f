"""Replays a topic into a sink on real Kafka and S3; killed at each step, it writes each record once, and the sink goes
on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from backfill_job import KillEachStepOnce, OneAfterTheOther, messages
from e2e_worker import WorkerProcess, wait_for
from replay_job import Bucket, Replay, s3_sink

from connect.api.errors import ConfigError, ConnectError
from connect.api.records import TopicPartition
from connect.backfill.engines.local import LocalEngine
from connect.backfill.handover import ConnectorsByRest, _write_group, hand_over, write_offsets
from connect.backfill.job.chunk import LaneReport, Step
from connect.backfill.job.states import JobState
from connect.backfill.lane.lane import LaneTask, run_lane
from connect.backfill.ownership import TakenOverError
from connect.backfill.verify.verify import verify
from connect.client.rest import Access, ConnectClient
from connect.lib.deadline import Deadline
from connect.runtime.calls.group_calls import group_admin, group_of
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint, S3Endpoint

ROWS = 3000
EVERY_ROW = Counter(range(ROWS))


@pytest.fixture
def replay(kafka: KafkaEndpoint, unique: str) -> Replay:
    return Replay(kafka, unique)


@pytest.fixture
def bucket(s3: S3Endpoint, s3_bucket: str, unique: str) -> Bucket:
    return Bucket(s3, s3_bucket, unique)


@pytest.fixture
def sink(s3: S3Endpoint, s3_bucket: str, replay: Replay) -> dict[str, str]:
    return s3_sink(s3, s3_bucket, replay.name, replay.topic)


class DriverDiedError(Exception):
    """As kill -9 of a driver: it says nothing more."""


def test_lanes_that_are_killed_at_every_step_write_every_committed_record_once(replay, bucket, sink, tmp_path):
    replay.produce(range(ROWS))
    with replay.transaction(range(ROWS, ROWS + 50)) as aborted:
        aborted.abort_transaction(30)
    kills = KillEachStepOnce(tmp_path)
    with replay.transaction(range(ROWS, ROWS + 50)), replay.driver(sink) as driver:
        job = driver.run(LocalEngine(2, 8, kills))
        assert job.state is JobState.COPIED
        assert kills.killed_at == {step.name for step in Step}
        assert Counter(bucket.ids()) == EVERY_ROW
        verdict = verify(driver)
    assert (verdict.missing, verdict.twice, verdict.is_good) == (0, 0, True)
    assert len(bucket.keys()) == len(verdict.chunks) >= ROWS // 250


def test_a_driver_that_died_half_way_is_replaced_and_nothing_is_written_twice(replay, bucket, sink):
    replay.produce(range(ROWS))

    class DiesBehindOneLane(OneAfterTheOther):
        def run(self, tasks: list[LaneTask], _at_once: int) -> list[LaneReport]:
            run_lane(tasks[0])
            raise DriverDiedError

    with replay.driver(sink) as first, pytest.raises(DriverDiedError):
        first.run(DiesBehindOneLane())
    half = bucket.keys()
    assert half
    replay.produce(range(ROWS, ROWS + 10))
    with replay.driver(sink) as second:
        assert second.run(OneAfterTheOther()).state is JobState.COPIED
        assert verify(second).is_good
    assert Counter(bucket.ids()) == EVERY_ROW, "what came after the plan is left to the sink"
    assert set(half) < set(bucket.keys())


def test_a_record_that_the_sink_cannot_read_is_a_dead_letter_of_its_chunk_once(replay, bucket, sink, tmp_path):
    replay.produce(range(600))
    replay.produce(range(600, 603), {"id": {"n": 1}})
    letters = f"{replay.name}-letters"
    tolerant = sink | {
        "errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1", "transforms": "cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value", "transforms.cast.spec": "id:int32",
    }  # fmt: skip
    with replay.driver(tolerant) as driver:
        assert driver.run(LocalEngine(2, 8, KillEachStepOnce(tmp_path))).state is JobState.COPIED
        verdict = verify(driver)
    assert sum(chunk.letters for chunk in verdict.chunks) == 3
    assert Counter(bucket.ids()) == Counter(range(600))
    assert sorted(int(m.key()) for m in messages(replay.kafka, letters)) == [600, 601, 602]


def test_a_topic_that_was_made_anew_stops_the_job_and_is_not_read_in_place_of_the_planned_one(replay, sink):
    replay.produce(range(ROWS))
    with replay.driver(sink) as driver:
        driver.begin()
        replay.admin.delete_topics([replay.topic])[replay.topic].result(30)
        again = Replay(replay.kafka, replay.name)
        again.produce(range(ROWS, 2 * ROWS))
        with pytest.raises(ConnectError, match=rf"Topic {replay.topic} was made anew"):
            driver.run(OneAfterTheOther())


def test_records_that_retention_took_stop_the_job_and_are_never_passed_over(replay, sink):
    replay.produce(range(ROWS))
    with replay.driver(sink) as driver:
        driver.begin()
        replay.delete_before(10)
        with pytest.raises(ConnectError, match="no longer kept"):
            driver.run(OneAfterTheOther())


@pytest.fixture(scope="module")
def process(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    process = WorkerProcess(tmp_path_factory.mktemp("worker"), kafka.bootstrap_servers, "backfill-sinks")
    process.start()
    yield process
    process.stop()


def test_the_sink_goes_on_behind_what_was_replayed(replay, bucket, sink, process):
    client = ConnectClient(Access(process.url))
    worker = WorkerConfig.parse(dict(process.properties))
    replay.produce(range(ROWS))
    client.create(replay.name, sink, "STOPPED")
    with replay.driver(sink, worker) as driver:
        driver.begin()
        replay.produce(range(ROWS, ROWS + 30))
        assert driver.run(OneAfterTheOther()).state is JobState.COPIED
        hand_over(driver, ConnectorsByRest(client), Deadline.after(60))
    with replay.driver(sink, worker) as driver:
        hand_over(driver, ConnectorsByRest(client), Deadline.after(60))
        assert driver.ownership.require_known().state is JobState.DONE
    replay.produce(range(ROWS + 30, ROWS + 60))
    everything = Counter(range(ROWS + 60))
    wait_for(lambda: Counter(bucket.ids()).keys() == everything.keys(), 60, "the objects of the sink")
    assert Counter(bucket.ids()) == everything
    client.delete(replay.name)


def test_offsets_of_the_group_are_not_overwritten_unless_the_spec_says_so(replay, sink, process):
    client = ConnectClient(Access(process.url))
    worker = WorkerConfig.parse(dict(process.properties))
    replay.produce(range(300))
    client.create(replay.name, sink, "STOPPED")
    place = {"kafka_topic": replay.topic, "kafka_partition": 0}
    client.alter_offsets(replay.name, [{"partition": place, "offset": {"kafka_offset": 7}}])
    with replay.driver(sink, worker) as driver:
        driver.run(OneAfterTheOther())
        with pytest.raises(ConfigError, match=r"has offsets already.*kafka_offset.*7"):
            hand_over(driver, ConnectorsByRest(client), Deadline.after(60))
    wanted = {"overwrite": True, "start_connector": False}
    with replay.driver(sink, worker, handover=wanted) as driver:
        hand_over(driver, ConnectorsByRest(client), Deadline.after(60))
    offsets = {
        one["partition"]["kafka_partition"]: one["offset"]["kafka_offset"] for one in client.offsets(replay.name)
    }
    assert offsets == {0: 100, 1: 100, 2: 100}
    client.delete(replay.name)


def test_a_handover_that_was_frozen_does_not_set_the_group_back(replay, sink):
    replay.produce(range(300))
    wanted = {"overwrite": True}
    with replay.driver(sink, handover=wanted) as frozen, replay.driver(sink, handover=wanted) as later:
        job = frozen.run(OneAfterTheOther())
        assert write_offsets(later, Deadline.after(60)).state is JobState.DONE
        parts = frozen.settings.open()
        group, admin = group_of(parts.resolved), group_admin(parts.clients, parts.resolved)
        place = TopicPartition(replay.topic, 0)
        admin.alter_group_offsets(group, {place: 105}, Deadline.after(30))
        with pytest.raises(TakenOverError):
            _write_group(frozen, parts, job, Deadline.after(30))
        assert admin.group_offsets(group, Deadline.after(30))[place] == 105


def test_a_replay_begins_at_the_offsets_that_are_given_and_refuses_those_that_are_not_there(replay, bucket, sink):
    replay.produce(range(300))
    with replay.driver(sink, source={"offsets": {f"{replay.topic}-1": 90}}) as driver:
        driver.run(OneAfterTheOther())
    assert Counter(bucket.ids()) == Counter(n for n in range(300) if n % 3 != 1 or n // 3 >= 90)
    with pytest.raises(ConfigError, match="other-0 is no partition"):
        replay.driver(sink, source={"offsets": {"other-0": 1}}).planner.plan()
