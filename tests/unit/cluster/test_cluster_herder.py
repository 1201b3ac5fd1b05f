from functools import partial

import pytest
from captured_logs import capture_logs
from cluster_fakes import eventually
from cluster_herders import SOURCE, create, is_running, states

from connect.api.errors import ConfigProblem
from connect.cluster.leader import connector_runs
from connect.cluster.model.config_records import ConnectorRecord, encode
from connect.cluster.model.connector_values import Checked, TargetState
from connect.cluster.model.request_errors import (
    BadRequestError,
    ConflictError,
    NotFoundError,
    RequestError,
    UnavailableError,
)
from connect.cluster.model.status_records import TaskStatusRecord
from connect.cluster.model.status_records import encode as encode_status
from connect.cluster.model.statuses import Status
from connect.lib.deadline import Deadline
from connect.runtime.task.messages import Call, CallResult, SetPaused, StartTask, StopTask, TopicsUsed
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId


def test_a_created_connector_runs_its_tasks_on_few_hosts(world, herder):
    saved = create(herder)

    assert saved.created
    assert saved.info.config == SOURCE
    eventually(is_running(herder))
    assert herder.connectors.names() == ["s"]
    assert list(herder.tasks.configs("s")) == [0, 1]
    assert herder.connectors.info("s").tasks == [TaskId("s", 0), TaskId("s", 1)]
    assert len(world.task_hosts()) == 2
    status = herder.connectors.status("s").tasks[0]
    assert (status.worker_id, status.version, status.generation) == ("me:1", "1.0", 1)


def test_the_config_topic_gets_javas_records_in_javas_order(world, herder):
    create(herder, initial=TargetState.STARTED)
    eventually(is_running(herder))
    written = [key for key in world.configs.keys() if key != "session-key"]  # noqa: SIM118 - a list, not a mapping
    written.remove("history-config-s-1")
    assert written == ["target-state-s", "connector-s", "task-s-0", "task-s-1", "commit-s"]
    assert herder.tasks.configs("s")[0]["task.class"] == "SourceTask"


def test_a_leader_writes_a_session_key_and_keeps_it(world, start):
    first = start()
    eventually(lambda: world.configs.keys().count("session-key") == 1)
    first.stop(Deadline.after(60))
    start().worker.ping().result(60)
    assert world.configs.keys().count("session-key") == 1


def test_a_name_is_taken_once(herder):
    create(herder)
    with pytest.raises(RequestError, match="Connector s already exists") as taken:
        create(herder)
    assert type(taken.value) is ConflictError


def test_saving_the_same_configuration_again_disturbs_nothing(world, herder):
    create(herder)
    eventually(is_running(herder))
    assert not herder.connectors.save("s", SOURCE).result(60).created
    herder.worker.ping().result(60)
    assert len(world.started()) == 2


def test_a_changed_configuration_restarts_tasks_once_even_if_their_own_is_the_same(world, herder):
    world.plan_tasks = lambda config: [{"fixed": "1"}]
    create(herder)
    eventually(is_running(herder, tasks=1))

    herder.connectors.save("s", {**SOURCE, "x": "2"}).result(60)

    eventually(lambda: len(world.started()) == 2 and states(herder) == ("RUNNING", ["RUNNING"]))
    assert world.started()[-1].connector_config["x"] == "2"
    assert world.configs.keys().count("commit-s") == 2


def test_fewer_tasks_leave_no_status_behind(world, herder):
    create(herder)
    eventually(is_running(herder))
    herder.connectors.save("s", {**SOURCE, "tasks.max": "1"}).result(60)
    eventually(is_running(herder, tasks=1))
    eventually(lambda: ("status-task-s-1", None) in decoded(world.statuses))


def decoded(topic):
    return [(key.decode(), value) for key, value in topic.records]


def test_pause_keeps_runs_and_resume_wakes_them(world, herder):
    create(herder)
    eventually(is_running(herder))

    herder.connectors.set_target("s", TargetState.PAUSED).result(60)
    eventually(lambda: states(herder) == ("PAUSED", ["PAUSED", "PAUSED"]))
    herder.connectors.set_target("s", TargetState.STARTED).result(60)
    eventually(is_running(herder))

    heard = [m for h in world.hosts for m in h.heard]
    assert len([m for m in heard if isinstance(m, SetPaused)]) == 4
    assert not [m for m in heard if isinstance(m, StopTask)]


def test_stop_takes_the_tasks_away_and_resume_brings_them_back(world, herder):
    create(herder)
    eventually(is_running(herder))
    herder.connectors.set_target("s", TargetState.STOPPED).result(60)
    eventually(lambda: states(herder) == ("STOPPED", []))
    assert herder.tasks.configs("s") == {}
    herder.connectors.set_target("s", TargetState.STARTED).result(60)
    eventually(is_running(herder))


def test_a_stop_and_a_resume_between_two_looks_bring_the_tasks_back(world, herder):
    create(herder)
    eventually(is_running(herder))

    def stop_and_resume():
        herder._parts.configs.put_target("s", TargetState.STOPPED)
        herder._parts.configs.put_target("s", TargetState.STARTED)

    herder._parts.loop.submit("stopping and resuming", stop_and_resume).result(60)
    eventually(lambda: len(world.started()) == 4 and is_running(herder)())


@pytest.mark.parametrize("initial", [TargetState.PAUSED, TargetState.STOPPED])
def test_a_connector_created_at_rest_has_no_tasks_until_it_is_resumed(world, herder, initial):
    create(herder, initial=initial)
    eventually(lambda: states(herder) == (initial.value, []))
    assert world.calls == []
    herder.connectors.set_target("s", TargetState.STARTED).result(60)
    eventually(is_running(herder))


def test_a_deleted_connector_is_gone_with_its_statuses(world, herder):
    create(herder)
    eventually(is_running(herder))
    herder.connectors.delete("s").result(60)
    assert herder.connectors.names() == []
    eventually(lambda: len([m for h in world.hosts for m in h.heard if isinstance(m, StopTask)]) == 2)
    with pytest.raises(NotFoundError, match="No status found for connector s"):
        herder.connectors.status("s")
    with pytest.raises(NotFoundError, match="Connector s not found"):
        herder.connectors.info("s")
    eventually(lambda: ("status-connector-s", None) in decoded(world.statuses))


def test_what_is_not_there_is_named_as_java_does(herder):
    for request, text in (
        (lambda: herder.connectors.delete("x").result(60), "Connector x not found"),
        (lambda: herder.connectors.set_target("x", TargetState.PAUSED).result(60), "Unknown connector x"),
        (
            lambda: herder.connectors.restart("x", include_tasks=True, only_failed=False).result(60),
            "Unknown connector: x",
        ),
        (lambda: herder.connectors.restart_connector("x").result(60), "Unknown connector: x"),
        (lambda: herder.tasks.restart(TaskId("x", 0)).result(60), "Unknown connector: x"),
    ):
        with pytest.raises(NotFoundError, match=text):
            request()
    create(herder)
    with pytest.raises(NotFoundError, match="Unknown task: s-9"):
        herder.tasks.restart(TaskId("s", 9)).result(60)


def test_a_failure_that_only_other_workers_have_read_yet_is_restarted_too(world, herder):
    create(herder)
    eventually(is_running(herder))
    task = TaskId("s", 1)
    failed = Status(State.FAILED, "me:1", trace="Trace: no", generation=1)
    world.statuses.arrive_unread(*encode_status(TaskStatusRecord(task, failed)))

    said = herder.connectors.restart("s", include_tasks=True, only_failed=True).result(60)

    assert [status.state for status in said.tasks.values()] == [State.RUNNING, State.RESTARTING]
    eventually(lambda: [(m.task, m.run) for m in world.started()] == [(0, 1), (1, 2), (1, 3)])


def test_a_restarted_worker_goes_on_with_the_same_connectors_and_publishes_nothing_new(world, start):
    first = start()
    create(first)
    eventually(is_running(first))
    first.stop(Deadline.after(60))
    eventually(lambda: world.statuses.keys()[-1:] != [])
    written = len(world.configs.records)

    second = start()

    eventually(is_running(second))
    eventually(lambda: len(world.started()) == 4)
    assert len(world.configs.records) == written


def test_a_stopping_worker_reports_everything_unassigned(world, start):
    herder = start()
    create(herder)
    eventually(is_running(herder))
    herder.stop(Deadline.after(60))
    last = dict(decoded(world.statuses))
    for key in ("status-connector-s", "status-task-s-0", "status-task-s-1"):
        assert b"UNASSIGNED" in last[key], key


def test_a_question_under_way_does_not_keep_a_worker_from_its_end(world, start):
    herder = start()
    world.silent_on.add(Call)
    planned = herder.trials.plan("c", {"connector.class": "Source"}, 60.0, "me")
    eventually(lambda: any(isinstance(m, Call) for host in world.hosts for m in host.heard))
    herder.stop(Deadline.after(60))
    assert planned.exception(10) is not None


def test_a_failing_plan_of_tasks_fails_the_connector_and_heals(world, start):
    herder = start(**{"auto.restart.backoff.initial.ms": "300"})
    world.plan_tasks = lambda config: CallResult(world.calls[-1].id, error="no", trace="Trace: no")
    create(herder)
    eventually(lambda: states(herder) == ("FAILED", []))
    assert herder.connectors.status("s").connector.trace == "Trace: no"
    world.plan_tasks = lambda config: [config]
    eventually(is_running(herder, tasks=1))


def test_broken_keys_found_by_the_connector_are_all_in_its_trace(world, herder):
    problems = (ConfigProblem("a", "a is bad"), ConfigProblem("b", "b is bad"))
    world.plan_tasks = lambda config: CallResult(world.calls[-1].id, problems=problems)
    create(herder)
    eventually(lambda: states(herder) == ("FAILED", []))
    assert herder.connectors.status("s").connector.trace == "a is bad\nb is bad"


def test_too_many_tasks_fail_the_connector_and_old_tasks_run_on(world, herder):
    create(herder)
    eventually(is_running(herder))
    world.plan_tasks = lambda config: [config] * 3
    herder.connectors.save("s", {**SOURCE, "x": "1"}).result(60)
    eventually(lambda: states(herder) == ("FAILED", ["RUNNING", "RUNNING"]))
    assert "generated 3 tasks" in herder.connectors.status("s").connector.trace


def looked(world):
    return sum(call.method == "task_configs" for call in world.calls)


def test_a_connector_that_looks_for_changes_gets_other_tasks_when_there_are_any(world, herder, monkeypatch):
    monkeypatch.setattr(connector_runs, "LOOK_LEAST_S", 0.01)
    tables = ["a", "b"]

    def plan(config):
        return CallResult(world.calls[-1].id, [{**config, "tables": table} for table in tables], again_s=0.01)

    world.plan_tasks = plan
    create(herder)
    eventually(is_running(herder))
    before = looked(world)
    eventually(lambda: looked(world) > before + 3)
    assert len(world.started()) == 2
    assert world.configs.keys().count("commit-s") == 1

    tables[1] = "c"
    eventually(lambda: len(world.started()) == 3 and is_running(herder)())
    assert world.started()[-1].task_config["tables"] == "c"
    assert world.configs.keys().count("commit-s") == 2


@pytest.mark.parametrize(
    "refusal",
    [{"error": "The database is away."}, {"problems": [ConfigProblem("tables", "The database is away.")]}],
    ids=["error", "problem"],
)
def test_tasks_stay_when_the_connector_cannot_look_for_changes_now(world, herder, monkeypatch, refusal):
    monkeypatch.setattr(connector_runs, "LOOK_LEAST_S", 0.01)
    tables = ["a"]

    def plan(config):
        if not tables:
            return CallResult(world.calls[-1].id, **refusal, again_s=None)
        return CallResult(world.calls[-1].id, [{**config, "tables": table} for table in tables], again_s=0.01)

    world.plan_tasks = plan
    create(herder)
    eventually(is_running(herder, tasks=1))
    tables.clear()
    with capture_logs() as lines:
        before = looked(world)
        eventually(lambda: looked(world) > before + 3)
    assert next(one["reason"] for one in lines if one["event"] == "connector_tasks_kept") == "The database is away."
    assert states(herder) == ("RUNNING", ["RUNNING"])
    held = herder.connectors.status("s").connector.condition
    assert held.reason == "Its tasks stay as they are: The database is away."
    assert held.waiting_for == ("person" if "problems" in refusal else "source")
    tables[:] = ["a", "b"]
    eventually(is_running(herder))
    eventually(lambda: herder.connectors.status("s").connector.condition is None)


def test_values_of_config_providers_never_reach_the_config_topic(world, herder):
    world.plan_tasks = lambda config: [{**config, "password": "resolved", "share": "1"}]
    create(herder, password="${file:/secrets:db}")
    eventually(is_running(herder, tasks=1))
    assert herder.tasks.configs("s")[0]["password"] == "${file:/secrets:db}"
    assert not [value for _, value in world.configs.records if value and b"resolved" in value]


def test_topics_that_tasks_used_are_remembered_until_reset(world, herder):
    create(herder)
    eventually(is_running(herder))
    world.task_hosts()[0].say(TopicsUsed("s", 0, ["t2", "t1"]))
    eventually(lambda: herder.topics.used("s") == ["t1", "t2"])
    assert "status-topic-t1:connector-s" in world.statuses.keys()  # noqa: SIM118 - a list of keys
    herder.topics.reset("s").result(60)
    assert herder.topics.used("s") == []


def test_a_check_tells_broken_keys_and_errors(world, herder):
    world.answer = lambda call: CallResult(call.id, problems=(ConfigProblem("url", "not reached"),))
    assert herder.trials.check(SOURCE, 5, "me").result(60) == Checked({"url": ["not reached"]})
    world.answer = lambda call: CallResult(call.id, error="boom")
    assert herder.trials.check(SOURCE, 5, "me").result(60) == Checked({"": ["boom"]})
    world.answer = lambda call: CallResult(call.id)
    assert herder.trials.check(SOURCE, 5, "me").result(60) == Checked({})
    world.answer = lambda call: CallResult(call.id, value=["Table a is left aside."])
    assert herder.trials.check(SOURCE, 5, "me").result(60) == Checked({}, ("Table a is left aside.",))


def test_an_isolated_connector_has_a_host_of_its_own(world, herder):
    create(herder, "a", **{"connector.isolation": "process"})
    create(herder, "b", **{"tasks.max": "3"})
    eventually(lambda: is_running(herder, "a", 2)() and is_running(herder, "b", 3)())
    for host in world.task_hosts():
        assert len({m.connector for m in host.heard if isinstance(m, StartTask)}) == 1


def test_garbage_in_the_config_topic_harms_nobody(world, start):
    world.configs.append(b"connector-bad", b"{broken")
    world.configs.append(None, b"x")
    world.configs.append(*encode(ConnectorRecord("s", SOURCE)))
    eventually(is_running(start()))


def test_a_connector_of_an_unknown_class_is_failed_not_forgotten(world, herder):
    world.plan_tasks = lambda config: CallResult(world.calls[-1].id, error="Failed to find any class", trace="T")
    create(herder, **{"connector.class": "Java", "auto.restart.enabled": "false"})
    eventually(lambda: states(herder) == ("FAILED", []))
    assert herder.connectors.info("s").type == "unknown"


def test_a_log_level_reaches_every_worker(world, herder):
    herder.worker.set_cluster_log_level("connect.rest", "DEBUG").result(60)
    assert world.levels == [("connect.rest", "DEBUG")]


def test_requests_after_the_end_are_refused(start):
    herder = start()
    herder.stop(Deadline.after(60))
    with pytest.raises(UnavailableError, match="shutting down"):
        herder.worker.ping().result(60)


def test_the_stage_names_what_the_herder_did_last(herder):
    herder.worker.ping().result(60)
    assert herder.worker.stage.started_ms > 0
    assert herder.worker.stage.description


def test_odd_names_live_and_die(world, herder):
    for name in ("a-0", "task-1-2", "x;y {z} ü😀", "%2F"):
        create(herder, name)
        eventually(is_running(herder, name))
        herder.connectors.delete(name).result(60)
        with pytest.raises(NotFoundError):
            herder.connectors.info(name)


def test_a_configuration_that_kafka_could_not_hold_is_refused_before_anything_is_written(world, herder):
    herder.connectors.create("c", {"connector.class": "Source", "x": "y" * 1_000_000}, None).result(60)
    written = len(world.configs.records)
    for text in ("y" * 1_048_000, "\N{GRINNING FACE}" * 90_000):  # twelve bytes each in the record
        for change in (
            partial(herder.connectors.create, "d", initial_state=None),
            partial(herder.connectors.save, "c"),
        ):
            with pytest.raises(RequestError, match="bytes as a record of the config topic") as failed:
                change(config={"connector.class": "Source", "x": text}).result(60)
            assert type(failed.value) is BadRequestError
    assert len([key for key in world.configs.keys()[written:] if key.startswith(("connector-", "history-"))]) == 0
    assert list(herder.connectors.names()) == ["c"]
