"""Checks what a backfill that is asked for by REST may take of a worker."""

from __future__ import annotations

import pytest

from connect.api.errors import ConfigError
from connect.backfill.child import BackfillChildren, _FirstAnswer
from connect.backfill.job import request_bounds
from connect.backfill.job.request_bounds import check_bounds, within_bounds
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobStateError
from connect.runtime.settings.worker_config import WorkerConfig

JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = {
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
}  # fmt: skip
CORES = 4


@pytest.fixture(autouse=True)
def _cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_bounds, "_CORES", CORES)


def worker(**more: str) -> WorkerConfig:
    return WorkerConfig.parse({**WORKER, **more})


def spec(**parts: dict[str, object]) -> BackfillSpec:
    return BackfillSpec.model_validate(
        {"apiVersion": "backfill/v1", "name": "x", "source": {"connector": "c"}, **parts}
    )


@pytest.mark.parametrize(
    "parts",
    [
        {}, {"engine": {"type": "local"}}, {"engine": {"type": "local", "processes": 4}, "chunking": {"lanes": 64}},
    ],
)  # fmt: skip
def test_as_many_processes_as_cores_may_be_asked_for(parts: dict[str, dict[str, object]]) -> None:
    check_bounds(spec(**parts), worker())


@pytest.mark.parametrize(
    ("processes", "lanes", "keys"),
    [(5, 4, ["engine.processes"]), (4, 65, ["chunking.lanes"]), (1000, 1000, ["engine.processes", "chunking.lanes"])],
)
def test_no_more_processes_than_cores_and_so_many_lanes(processes: int, lanes: int, keys: list[str]) -> None:
    wanted = spec(engine={"type": "local", "processes": processes}, chunking={"lanes": lanes})
    with pytest.raises(ConfigError, match="in the worker's file") as told:
        check_bounds(wanted, worker())
    assert [problem.key for problem in told.value.problems] == keys


def test_the_workers_file_says_how_many() -> None:
    wide = spec(engine={"type": "local", "processes": 24}, chunking={"lanes": 100})
    check_bounds(wide, worker(**{"backfill.processes.max": "24", "backfill.lanes.max": "100"}))
    with pytest.raises(ConfigError, match=r"4 at a time are wanted, and this worker allows 2"):
        check_bounds(spec(engine={"type": "local"}), worker(**{"backfill.processes.max": "2"}))


@pytest.mark.parametrize("engine", [{}, {"type": "local"}, {"type": "local", "processes": 24}])
def test_the_fix_of_too_many_processes_is_one_that_a_request_may_give(engine: dict[str, object]) -> None:
    small = worker(**{"backfill.processes.max": "2"})
    with pytest.raises(ConfigError) as told:
        check_bounds(spec(engine=engine), small)
    assert "write 2" in str(told.value)
    assert ("engine.type: local" in str(told.value)) == (not engine)
    assert "connect backfill" not in str(told.value)
    check_bounds(spec(engine={"type": "local", "processes": 2}), small)


def test_a_job_goes_on_with_what_this_worker_allows() -> None:
    wide = spec(engine={"type": "local", "processes": 24})
    assert within_bounds(wide, worker()).engine.processes == CORES
    assert (
        within_bounds(spec(engine={"type": "local"}), worker(**{"backfill.processes.max": "2"})).engine.processes == 2
    )
    for same in (spec(), spec(engine={"type": "local"}), spec(engine={"type": "local", "processes": 3})):
        assert within_bounds(same, worker()) is same


def test_so_many_processes_work_on_backfills_at_a_time() -> None:
    children = BackfillChildren(WORKER, most=2)
    try:
        children._started = [Alive(), Ended(), Alive(), Ended()]
        with pytest.raises(JobStateError, match=r"at work on 2 backfills, and backfill\.jobs\.max=2"):
            children.answer("verify", {"name": "x"}, 60)
        assert len(children._started) == 2
    finally:
        children.close()


class Alive:
    """A process."""

    exit_code = None


class Ended:
    """A process that has ended."""

    exit_code = 0


def test_what_a_process_fails_with_behind_its_answer_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    told = _FirstAnswer("orders")
    told.hear({"kind": "done", "answer": 3})
    told.hear({"kind": "failed", "answer": "The source is away."})
    told.ended(0)
    assert told.wait(1) == ("done", 3)
    assert "Backfill orders has ended: The source is away." in caplog.text
