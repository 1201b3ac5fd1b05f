from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.cluster.model.plan import Forget, Phase, Run, SetPaused, Start, Stop, TaskSpec, plan
from connect.runtime.task.task_id import TaskId

T = TaskId("c", 0)
SPEC = TaskSpec("source", {"a": "1"}, {"b": "1"})

tasks = st.builds(TaskId, st.sampled_from(["a", "b-1"]), st.integers(0, 2))
specs = st.builds(
    TaskSpec,
    st.just("source"),
    st.sampled_from([{"v": "1"}, {"v": "2"}]),
    st.sampled_from([{"t": "1"}, {"t": "2"}]),
    st.integers(0, 1),
    st.booleans(),
)
runs = st.builds(Run, st.integers(1, 100), specs, st.sampled_from(Phase))


def carry_out(actions, running):
    """What the world looks like once the actions are done and every stopping run has ended."""
    after = {task: run for task, run in running.items() if run.phase is not Phase.STOPPING}
    for action in actions:
        match action:
            case Start(task, spec):
                after[task] = Run(1000, spec)
            case Stop(task) | Forget(task):
                after.pop(task)
            case SetPaused(task, run, paused):
                after[task] = replace(run, spec=replace(run.spec, paused=paused))
    return after


@pytest.mark.thorough
@given(st.dictionaries(tasks, specs), st.sets(tasks), st.dictionaries(tasks, runs))
def test_carrying_out_plans_reaches_the_goal_and_then_there_is_nothing_to_do(desired, assigned, running):
    for _ in range(3):
        running = carry_out(plan(desired, assigned, running), running)

    assert plan(desired, assigned, running) == []
    assert running.keys() == desired.keys() & assigned
    for task, run in running.items():
        assert run.spec.is_run_of(desired[task])
        assert run.phase is Phase.FAILED or run.spec == desired[task]


@pytest.mark.thorough
@given(st.dictionaries(tasks, specs), st.sets(tasks), st.dictionaries(tasks, runs))
def test_no_plan_starts_a_task_whose_old_run_may_still_work(desired, assigned, running):
    for action in plan(desired, assigned, running):
        if isinstance(action, Start):
            assert action.task not in running or running[action.task].phase is Phase.FAILED


OTHER = {
    "kind": "sink",
    "connector_config": {"a": "2"},
    "task_config": {"b": "2"},
    "attempt": 1,
    "paused": True,
    "publication": 1,
}


@pytest.mark.parametrize("name", [field.name for field in fields(TaskSpec)])
def test_a_run_is_replaced_for_all_that_differs_but_a_pause(name):
    assert replace(SPEC, **{name: OTHER[name]}).is_run_of(SPEC) is (name == "paused")


def test_a_wanted_task_starts():
    assert plan({T: SPEC}, {T}, {}) == [Start(T, SPEC)]


def test_a_task_of_another_worker_is_left_alone():
    assert plan({T: SPEC}, set(), {}) == []


def test_a_changed_configuration_stops_the_old_run_first():
    old = Run(1, SPEC)
    assert plan({T: replace(SPEC, task_config={"b": "2"})}, {T}, {T: old}) == [Stop(T, old)]


def test_a_higher_attempt_is_a_restart():
    run = Run(1, SPEC)
    assert plan({T: replace(SPEC, attempt=1)}, {T}, {T: run}) == [Stop(T, run)]


def test_pause_keeps_the_run():
    run = Run(1, SPEC)
    assert plan({T: replace(SPEC, paused=True)}, {T}, {T: run}) == [SetPaused(T, run, True)]


def test_a_failed_run_stays_failed_until_something_changes():
    failed = Run(1, SPEC, Phase.FAILED)
    assert plan({T: SPEC}, {T}, {T: failed}) == []
    assert plan({T: replace(SPEC, paused=True)}, {T}, {T: failed}) == []
    assert plan({T: replace(SPEC, attempt=1)}, {T}, {T: failed}) == [Start(T, replace(SPEC, attempt=1))]
    assert plan({}, {T}, {T: failed}) == [Forget(T, failed)]
