"""A worker's clock of day is set an hour ahead, then an hour back: nothing stops, moves, comes twice or is lost."""

import json
import struct
import time
from collections import Counter
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest
import requests
from cluster_worker import eventually
from kafka_records import records
from presence import assert_never_two_at_once, spread

HOUR_S = 3600.0
MORE_ROWS = 40
TASKS = 2


class SetClock:
    """The clock of day of one worker."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.write_bytes(struct.pack("d", 0.0))

    def set(self, off_s: float) -> None:
        with self.file.open("r+b", buffering=0) as file:
            file.write(struct.pack("d", off_s))  # at once: workers read it all the time


@pytest.fixture
def workers(start_worker, tmp_path, monkeypatch):
    """Two workers, each with a clock of its own."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "set_clock"))
    found = []
    for number in range(2):
        clock = SetClock(tmp_path / f"clock-{number}")
        monkeypatch.setenv("TEST_CLOCK_FILE", str(clock.file))
        found.append((start_worker(cold=True), clock))
    return [(worker.ready(), clock) for worker, clock in found]


def date_s(worker):
    """The clock of day of a worker, as its answers carry it."""
    return parsedate_to_datetime(requests.get(f"{worker.url}/", timeout=60).headers["Date"]).timestamp()


def counts(kafka, topic):
    """How often each number has arrived."""
    return Counter(json.loads(value) for _, value in records(kafka, topic))


def _states(worker):
    """The changes of state of the connector and its tasks."""
    return worker.get("/connectors/c/history")["states"]


def test_a_worker_whose_clock_is_set_keeps_its_tasks_and_loses_nothing(workers, kafka, tmp_path, unique):
    (first, _), (second, _) = workers
    presence = tmp_path / "presence"
    presence.mkdir()
    topic = f"{unique}-numbers"
    once = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    first.create("c", **{"tasks.max": str(TASKS), "presence": str(presence), "topic": topic, **once})
    eventually(lambda: len(spread(first, TASKS)) == 2)
    before = first.task_workers("c")
    eventually(lambda: len(_states(first)) == TASKS + 1)  # the last one may be written a moment after it is told

    for number, (worker, clock) in enumerate(workers):
        for off_s in (HOUR_S, -HOUR_S):
            clock.set(off_s)
            assert abs(date_s(worker) - time.time() - off_s) < 60, "its clock was not set"
            so_far = max(counts(kafka, topic), default=0)
            eventually(lambda least=so_far + MORE_ROWS: max(counts(kafka, topic), default=0) >= least)
            assert {one.call("GET", "/health").status_code for one, _ in workers} == {200}
            assert second.task_workers("c") == before
            assert "reason" not in json.dumps(first.get("/connectors/c/status"))
            # Both are asked, so that one of them passes it on to the other.
            for asked, _ in workers:
                asked.create(f"{number}-{off_s:g}-{asked.pid}", **{"plans.nothing": "true", "tasks.max": "1"})
        clock.set(0.0)
    assert "The clocks of workers must agree." in first.log.read_text() + second.log.read_text()

    assert len(_states(first)) == TASKS + 1, "a task has changed its state"
    assert_never_two_at_once(presence)
    first.call("PUT", "/connectors/c/stop")
    eventually(lambda: first.states("c") == ("STOPPED", []))
    found = counts(kafka, topic)
    per_task = [len(log.read_text().split()) for log in presence.iterdir()]
    assert len(per_task) == TASKS
    complete = min(n for n, times in found.items() if times < TASKS) if min(found.values()) < TASKS else max(found) + 1
    assert complete > 4 * MORE_ROWS
    assert {times for n, times in found.items() if n < complete} == {TASKS}
    assert all(times <= TASKS for times in found.values())
