"""Runs the engine `local` on real Kafka and PostgreSQL; killed processes and replaced drivers leave every row there
once.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter

import psutil
import pytest
from backfill_job import KillEachStepOnce, OneAfterTheOther, Table

from connect.api.errors import ConfigError, ConnectError
from connect.backfill.engines.local import LocalEngine
from connect.backfill.job.chunk import LaneReport, Signal, Step
from connect.backfill.job.job import JobPace, JobSignal
from connect.backfill.job.job_store import JobStore, known_spec
from connect.backfill.job.pace import Pace
from connect.backfill.job.states import JobState, JobStateError
from connect.backfill.lane.lane import LaneTask, run_lane
from connect.backfill.ownership import TakenOverError
from connect.backfill.verify.export import exported
from connect.backfill.verify.verify import verify
from connect.lib.deadline import Deadline

ROWS = 4000
EVERY_ROW = Counter(range(1, ROWS + 1))


class InThisProcess(OneAfterTheOther):
    """An engine that calls `before` and then runs the lanes here, one after the other."""

    def __init__(self, before=lambda tasks: None) -> None:
        self.before = before

    def run(self, tasks: list[LaneTask], _at_once: int) -> list[LaneReport]:
        self.before(tasks)
        return [run_lane(task) for task in tasks]


def processes() -> set[int]:
    """Those of the engine, which `warm_lanes` forks."""
    servers = [p for p in psutil.Process().children() if "forkserver" in " ".join(p.cmdline())]
    return {process.pid for server in servers for process in server.children()}


def test_processes_load_while_the_job_is_planned_and_are_gone_with_it(table: Table):
    table.fill(ROWS)
    before = processes()
    with table.driver(engine={"type": "local", "processes": 2}) as driver:
        driver.begin()
        prepared = processes() - before
        assert driver.run().state is JobState.COPIED
    assert (len(prepared), processes() & prepared) == (2, set())
    assert Counter(table.ids()) == EVERY_ROW


def test_a_job_that_cannot_be_planned_leaves_no_processes_behind(table: Table):
    before = processes()
    with pytest.raises(ConnectError, match="No table matches"), table.driver() as driver:
        driver.run()
    assert processes() == before


class DriverDiedError(Exception):
    """As kill -9 of a driver: it says nothing more."""


def test_lanes_that_are_killed_at_every_step_write_every_row_once(table: Table, tmp_path):
    table.fill(ROWS)
    kills = KillEachStepOnce(tmp_path)
    with table.driver() as driver:
        job = driver.run(LocalEngine(2, 8, kills))
        assert job.state is JobState.COPIED
        assert kills.killed_at == {step.name for step in Step}
        assert Counter(table.ids()) == EVERY_ROW
        verdict = verify(driver)
    assert (verdict.missing, verdict.twice, verdict.is_good) == (0, 0, True)
    assert len(verdict.chunks) == 8
    headers = {(h[0][1], h[1][0]) for h in (message.headers() for message in table.records())}
    assert headers == {(table.name.encode(), "bf.chunk")}


def test_a_driver_that_died_half_way_is_replaced_and_its_chunks_are_not_written_again(table: Table):
    table.fill(ROWS)
    seen = []

    def die_behind_one_lane(tasks: list[LaneTask]) -> None:
        seen.append(run_lane(tasks[0]))
        raise DriverDiedError

    with table.driver() as first, pytest.raises(DriverDiedError):
        first.run(InThisProcess(die_behind_one_lane))
    half = Counter(table.ids())
    assert sum(half.values()) == ROWS // 2
    with table.driver(limits={"max_rows_per_second": 100_000}) as second:
        lanes = []
        job = second.run(InThisProcess(lambda tasks: lanes.extend(task.work.lane for task in tasks)))
        assert job.state is JobState.COPIED
        assert lanes == [1], "the lane that is done is not even started"
        assert Counter(table.ids()) == EVERY_ROW
        assert verify(second).is_good
        assert second.run().state is JobState.COPIED


def test_of_two_runs_at_once_the_later_one_goes_on_alone(table: Table):
    table.fill(ROWS)

    def be_overtaken(_tasks: list[LaneTask]) -> None:
        with table.driver() as later:
            later.run(InThisProcess())

    with table.driver() as first, pytest.raises(TakenOverError):
        first.run(InThisProcess(be_overtaken))
    assert Counter(table.ids()) == EVERY_ROW


def test_a_paused_job_is_resumed_by_its_name_and_a_copied_one_is_not_cancelled(table: Table):
    table.fill(ROWS)
    store: JobStore = table.driver().store

    def pause(_tasks: list[LaneTask]) -> None:
        store.say(JobSignal(table.name, Signal.PAUSE), Deadline.after(30))

    with table.driver() as driver:
        assert driver.run(InThisProcess(pause)).state is JobState.PAUSED
    with pytest.raises(ConfigError, match="chunking"), table.driver(chunking={"rows": 50, "lanes": 2}) as other:
        other.run(InThisProcess())
    with table.driver() as driver:
        assert driver.run(InThisProcess()).state is JobState.COPIED
    assert Counter(table.ids()) == EVERY_ROW
    state = exported(store, table.name, Deadline.after(30))
    assert state["job"]["state"] == "COPIED"
    assert sum(marker["rows"] for marker in state["markers"]) == ROWS
    assert "password" not in str(state)
    with table.driver() as owner, pytest.raises(JobStateError, match=r"is COPIED: .* It cannot be cancelled"):
        owner.cancel()


def test_a_cancelled_job_stays_ended(table: Table):
    table.fill(10)
    with table.driver() as driver:
        driver.begin()
    with table.driver() as owner:
        assert owner.cancel().state is JobState.CANCELLED
        assert owner.cancel().state is JobState.CANCELLED, "who asks again is told the same"
    with table.driver() as again, pytest.raises(JobStateError, match="was cancelled"):
        again.run(InThisProcess())


def test_limits_that_are_changed_while_a_job_runs_count_from_then_on(table: Table):
    table.fill(ROWS)
    store: JobStore = table.driver().store
    committed: list[float] = []

    def let_go(step: Step, _chunk: str) -> None:
        if step is not Step.COMMITTED:
            return
        committed.append(time.monotonic())
        if len(committed) == 1:
            # At the pace that the job began with, the next chunk would have to wait for 250 seconds.
            threading.Timer(1.0, store.say, (JobPace(table.name, Pace()), Deadline.after(30))).start()

    class Watched(OneAfterTheOther):
        def run(self, tasks: list[LaneTask], _at_once: int) -> list[LaneReport]:
            assert [task.sharers for task in tasks] == [1, 1], "one process: each lane in its turn has the whole limit"
            return [run_lane(task, let_go) for task in tasks]

    with table.driver(limits={"max_rows_per_second": 2}, engine={"type": "local", "processes": 1}) as driver:
        assert driver.run(Watched()).state is JobState.COPIED
    assert Counter(table.ids()) == EVERY_ROW
    assert committed[1] - committed[0] >= 1.0, "the first pace was kept as long as it counted"
    assert committed[-1] - committed[1] < 60
    assert known_spec(table.worker(), table.name, f"{table.name}-jobs", Deadline.after(30)).limits.pace == Pace()


def test_a_lane_that_runs_on_while_its_job_is_cancelled_commits_nothing_more(table: Table):
    table.fill(ROWS)
    committed = []

    def cancel_in_the_middle(step: Step, _chunk: str) -> None:
        if step is Step.COMMITTED:
            committed.append(step)
        if step is Step.MARKER_SENT and len(committed) == 1:
            with table.driver() as owner:
                owner.cancel()

    def run_the_zombie(tasks: list[LaneTask]) -> None:
        run_lane(tasks[0], cancel_in_the_middle)

    with table.driver() as driver, pytest.raises(ConnectError):
        driver.run(InThisProcess(run_the_zombie))
    assert len(table.ids()) == 500, "the one chunk that was committed before"


def test_a_row_that_cannot_become_a_record_ends_the_job_or_is_a_dead_letter_as_its_connector_says(table: Table):
    table.fill(1000)
    bad = table.connector(transforms="cast", transforms__cast__type="org.apache.kafka.connect.transforms.Cast$Value")
    bad |= {"transforms.cast.spec": "name:int32"}
    tolerant = bad | {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"{table.name}-letters"}
    tolerant["errors.deadletterqueue.topic.replication.factor"] = "1"
    table.run("UPDATE {t} SET name = '7' WHERE id > 3")
    with table.driver(bad) as driver, pytest.raises(ConnectError, match="TRANSFORMATION"):
        driver.run(InThisProcess())
    known = table.driver().ownership.require_known()
    assert known.state is JobState.FAILED
    assert "TRANSFORMATION" in (known.error or "")
    with table.driver(tolerant) as driver:
        assert driver.run(InThisProcess()).state is JobState.COPIED
        verdict = verify(driver)
    assert (verdict.is_good, sum(chunk.letters for chunk in verdict.chunks)) == (True, 3)
    assert Counter(table.ids()) == Counter(range(4, 1001))
    letters = [json.loads(message.value())["payload"]["id"] for message in table.records(f"{table.name}-letters")]
    assert letters == [1, 2, 3]
