"""Lets tasks and hosts fail, and checks what brings them back."""

from functools import partial

import pytest
from cluster_fakes import eventually
from cluster_herders import SOURCE, create, is_running, states

from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.request_errors import ConflictError, FailedRequestError, RequestError
from connect.rest.server.answers import task_status_json
from connect.runtime.task.condition import Condition
from connect.runtime.task.messages import CallResult, StartTask, StopTask, TaskBuilt, TaskCondition, TaskState
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId


def has_written(world, text):
    return any(text in (value or b"") for _, value in world.statuses.records)


def fail(world, task=0, *, retriable):
    message = [m for m in world.started() if m.task == task][-1]
    host = next(h for h in world.hosts if message in h.heard)
    state = TaskState(message.connector, message.task, message.run, State.FAILED, "Trace: boom", retriable)
    host.say(state)


def test_a_failure_that_may_pass_is_healed_by_itself(world, herder):
    create(herder)
    eventually(is_running(herder))
    fail(world, retriable=True)
    eventually(lambda: len(world.started()) == 3 and is_running(herder)())
    assert any(b'"FAILED","trace":"Trace: boom"' in (v or b"") for _, v in world.statuses.records)


def test_a_status_says_why_a_task_does_not_move_and_when_it_is_tried_again(world, herder):
    create(herder)
    eventually(is_running(herder))
    start = next(m for m in world.started() if m.task == 0)
    host = next(h for h in world.hosts if start in h.heard)
    refused = Condition("The store refused the object.", 1_000, "sink", 1_000, 61_000)

    host.say(TaskCondition("s", 0, start.run, State.RUNNING, refused))
    eventually(lambda: herder.connectors.status("s").tasks[0].condition == refused)
    assert states(herder) == ("RUNNING", ["RUNNING", "RUNNING"])
    told = task_status_json(0, herder.connectors.status("s").tasks[0])
    assert (told["state"], told["reason"], told["waiting_for"]) == ("RUNNING", refused.reason, "sink")
    assert (told["since"], told["next_attempt"]) == ("1970-01-01T00:00:01.000Z", "1970-01-01T00:01:01.000Z")

    host.say(TaskCondition("s", 0, start.run, State.RUNNING, None))
    eventually(lambda: herder.connectors.status("s").tasks[0].condition is None)
    assert "reason" not in task_status_json(0, herder.connectors.status("s").tasks[0])


def test_a_failed_task_says_whether_it_restarts_by_itself(world, herder):
    create(herder)
    eventually(is_running(herder))
    world.silent_on = {StartTask}
    for task, retriable, waits in ((0, True, "restart"), (1, False, "person")):
        start = [m for m in world.started() if m.task == task][-1]
        host = next(h for h in world.hosts if start in h.heard)
        host.say(TaskState("s", task, start.run, State.FAILED, "Trace", retriable, "The password is wrong."))
        eventually(partial(has_written, world, b'"waiting_for":"%s"' % waits.encode()))
    failed = herder.connectors.status("s").tasks[1]
    assert (failed.condition.reason, failed.condition.next_attempt_ms) == ("The password is wrong.", None)


def test_a_failure_that_a_person_must_mend_stays_until_a_restart(world, herder):
    create(herder)
    eventually(is_running(herder))
    fail(world, retriable=False)
    eventually(lambda: states(herder) == ("RUNNING", ["FAILED", "RUNNING"]))
    assert herder.connectors.status("s").tasks[0].trace == "Trace: boom"
    herder.tasks.restart(TaskId("s", 0)).result(60)
    eventually(is_running(herder))
    assert len(world.started()) == 3


def test_a_restart_of_a_task_that_cannot_be_built_says_so_and_one_that_fails_later_does_not(world, herder):
    create(herder)
    eventually(is_running(herder))
    world.build_error = "Trace: no such converter"
    with pytest.raises(RequestError, match=r"^Failed to start task: s-1$") as failed:
        herder.tasks.restart(TaskId("s", 1)).result(60)
    assert type(failed.value) is FailedRequestError
    eventually(lambda: states(herder) == ("RUNNING", ["RUNNING", "FAILED"]))
    world.build_error = None
    world.silent_on = {StartTask}
    again = herder.tasks.restart(TaskId("s", 1))
    eventually(lambda: len(world.started()) == 4)
    start = world.started()[-1]
    (host,) = (host for host in world.task_hosts() if start in host.heard)
    assert not again.done()
    host.say(TaskBuilt("s", 1, start.run))
    assert again.result(60) is None
    host.say(TaskState("s", 1, start.run, State.FAILED, "Trace: no such table"))
    eventually(lambda: states(herder) == ("RUNNING", ["RUNNING", "FAILED"]))


def test_a_restart_of_a_task_that_is_deleted_meanwhile_is_a_conflict(world, herder):
    create(herder)
    eventually(is_running(herder))
    world.silent_on = {StopTask}
    restarting = herder.tasks.restart(TaskId("s", 0))
    herder.connectors.delete("s").result(60)
    with pytest.raises(RequestError, match="conflicting operation") as failed:
        restarting.result(60)
    assert type(failed.value) is ConflictError


def test_auto_restart_can_be_turned_off_for_a_connector(world, herder):
    create(herder, **{"auto.restart.enabled": "false"})
    eventually(is_running(herder))
    fail(world, retriable=True)
    eventually(lambda: states(herder) == ("RUNNING", ["FAILED", "RUNNING"]))


def test_restarts_end_at_the_limit(world, start):
    herder = start(**{"auto.restart.limit": "2"})
    create(herder, **{"tasks.max": "1"})
    for runs in (1, 2, 3):
        eventually(lambda runs=runs: len(world.started()) == runs and is_running(herder, tasks=1)())
        fail(world, retriable=True)
    eventually(lambda: states(herder) == ("RUNNING", ["FAILED"]))


def test_restarts_in_vain_do_not_count_for_the_configuration_that_mends_them(world, start):
    herder = start(**{"auto.restart.limit": "1"})
    create(herder, **{"tasks.max": "1", "host": "wrong"})
    for runs in (1, 2):
        eventually(lambda runs=runs: len(world.started()) == runs and is_running(herder, tasks=1)())
        fail(world, retriable=True)
    eventually(lambda: states(herder) == ("RUNNING", ["FAILED"]))
    herder.connectors.save("s", {**SOURCE, "tasks.max": "1", "host": "right"}).result(60)
    eventually(lambda: len(world.started()) == 3 and is_running(herder, tasks=1)())
    fail(world, retriable=True)
    eventually(lambda: len(world.started()) == 4 and is_running(herder, tasks=1)())


@pytest.mark.parametrize(
    ("include_tasks", "only_failed", "connector_calls", "task_starts"),
    [(True, False, 1, 2), (True, True, 0, 1), (False, True, 0, 0)],
)
def test_a_restart_touches_exactly_what_its_flags_select(
    world, herder, include_tasks, only_failed, connector_calls, task_starts
):
    create(herder)
    eventually(is_running(herder))
    fail(world, retriable=False)
    eventually(lambda: states(herder) == ("RUNNING", ["FAILED", "RUNNING"]))

    answer = herder.connectors.restart("s", include_tasks=include_tasks, only_failed=only_failed).result(60)

    assert (answer.connector.state is State.RESTARTING) == bool(connector_calls)
    restarting = [n for n, task in answer.tasks.items() if task.state is State.RESTARTING]
    assert len(restarting) == task_starts
    eventually(lambda: len(world.started()) == 2 + task_starts and len(world.calls) == 1 + connector_calls)


def test_a_plain_restart_of_a_connector_leaves_its_tasks_alone(world, herder):
    create(herder)
    eventually(is_running(herder))
    herder.connectors.restart_connector("s").result(60)
    assert len(world.calls) == 2
    assert len(world.started()) == 2


def test_a_plain_restart_that_fails_says_so(world, herder):
    create(herder)
    eventually(is_running(herder))
    world.plan_tasks = lambda config: CallResult(world.calls[-1].id, error="no", trace="Trace: no")
    with pytest.raises(RequestError, match="Failed to start connector: s") as failed:
        herder.connectors.restart_connector("s").result(60)
    assert type(failed.value) is FailedRequestError


def test_a_dead_host_fails_its_tasks_with_the_reason_and_they_come_back(world, herder):
    create(herder)
    eventually(is_running(herder))
    world.task_hosts()[0].die("was ended by signal SIGSEGV")
    eventually(lambda: len(world.started()) == 3 and is_running(herder)())
    traces = [value for _, value in world.statuses.records if value and b"SIGSEGV" in value]
    assert traces


def test_a_task_that_does_not_stop_costs_its_host_and_the_neighbours_restart(world, start):
    herder = start(**{"task.shutdown.graceful.timeout.ms": "50"})
    for name in ("s", "t", "u"):
        create(herder, name, **{"tasks.max": "1"})
    eventually(lambda: all(is_running(herder, name, 1)() for name in "stu"))
    host = next(h for h in world.task_hosts() if len([m for m in h.heard if isinstance(m, StartTask)]) == 2)
    hanging, neighbour = (m.connector for m in host.heard if isinstance(m, StartTask))
    world.silent_on = {StopTask}

    herder.connectors.set_target(hanging, TargetState.STOPPED).result(60)

    eventually(lambda: host.killed is not None)
    eventually(lambda: states(herder, hanging) == ("STOPPED", []) and is_running(herder, neighbour, 1)())
    assert [m.connector for m in world.started()].count(neighbour) == 2
    assert [m.connector for m in world.started()].count(hanging) == 1
