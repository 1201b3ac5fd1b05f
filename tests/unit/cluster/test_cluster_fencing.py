import pytest
from cluster_fakes import MemoryLog, eventually

from connect.api.errors import ConnectError
from connect.cluster.herder import task_statuses
from connect.cluster.leader.fencing import producers_to_fence
from connect.cluster.model.config_records import CommitRecord, FencingRecord, decode, encode
from connect.cluster.model.connector_values import PartitionOffset, TargetState
from connect.cluster.model.request_errors import FailedRequestError, NotFoundError, RequestError
from connect.runtime.task.messages import AsksToWrite, CallResult, MayWrite, StartTask, TaskState
from connect.runtime.task.state import State

SOURCE = {"connector.class": "Source", "tasks.max": "2", "name": "s", "exactly.once.support": "required"}


def states(herder, name="s"):
    try:
        return [task.state.value for task in herder.connectors.status(name).tasks.values()]
    except NotFoundError:
        return None


def runs(herder, tasks=2):
    return lambda: states(herder) == ["RUNNING"] * tasks


def history(world):
    """Commits and fencing records, in order."""
    found = [decode(key, value) for key, value in world.configs.records if not key.startswith(b"history-")]
    return [record for record in found if isinstance(record, (CommitRecord, FencingRecord))]


def fences(world):
    return [call.count for call in world.calls if call.method == "fence"]


@pytest.mark.parametrize(("recorded", "tasks", "count"), [(None, 3, 0), (1, 1, 0), (1, 2, 1), (3, 1, 3), (0, 2, 0)])
def test_how_many_producers_are_shut_out(recorded, tasks, count):
    assert producers_to_fence(recorded, tasks) == count


def test_the_first_tasks_are_recorded_before_they_start(world, herder):
    herder.connectors.create("s", SOURCE, None).result(60)
    eventually(runs(herder))
    assert history(world) == [CommitRecord("s", 2), FencingRecord("s", 2)]
    assert fences(world) == []


def test_new_tasks_start_once_the_last_ones_are_shut_out(world, herder):
    herder.connectors.create("s", SOURCE, None).result(60)
    eventually(runs(herder))
    world.fence = lambda call: None  # takes its time
    herder.connectors.save("s", {**SOURCE, "tasks.max": "3"}).result(60)
    eventually(lambda: fences(world) == [2])
    herder.worker.ping().result(60)
    assert len(world.started()) == 2
    world.say_call(CallResult(world.calls[-1].id))
    eventually(runs(herder, 3))
    assert history(world)[2:] == [CommitRecord("s", 3), FencingRecord("s", 3)]
    assert world.calls[-1].config["tasks.max"] == "3"


def test_a_source_without_transactions_is_not_held_up(world, herder):
    herder.connectors.create("s", {**SOURCE, "exactly.once.support": "requested"}, None).result(60)
    eventually(runs(herder))
    assert history(world) == [CommitRecord("s", 2)]


def test_tasks_that_were_published_meanwhile_need_a_round_of_their_own(world, herder):
    herder.connectors.create("s", SOURCE, None).result(60)
    eventually(runs(herder))
    world.fence = lambda call: None
    herder.connectors.save("s", {**SOURCE, "tasks.max": "3"}).result(60)
    eventually(lambda: len(fences(world)) == 1)
    first = world.calls[-1].id
    herder.connectors.save("s", {**SOURCE, "tasks.max": "4"}).result(60)
    eventually(lambda: history(world)[-1] == CommitRecord("s", 4))
    world.fence = lambda call: CallResult(call.id)
    world.say_call(CallResult(first))
    eventually(runs(herder, 4))
    assert history(world)[-2:] == [CommitRecord("s", 4), FencingRecord("s", 4)]
    assert fences(world) == [2, 2]


def test_who_cannot_be_shut_out_keeps_tasks_from_starting_until_it_can(world, herder):
    herder.connectors.create("s", SOURCE, None).result(60)
    eventually(runs(herder))
    world.fence = lambda call: CallResult(call.id, error="not authorized for this transactional id")
    herder.connectors.save("s", {**SOURCE, "tasks.max": "1"}).result(60)
    eventually(lambda: states(herder) == ["FAILED"])
    assert "not authorized for this transactional id" in herder.connectors.status("s").tasks[0].trace
    assert len(world.started()) == 2
    world.fence = lambda call: CallResult(call.id)
    herder.connectors.restart("s", include_tasks=True, only_failed=False).result(60)
    eventually(runs(herder, 1))


def test_who_cannot_be_shut_out_is_told_as_long_as_it_keeps_tasks_from_starting(world, herder, monkeypatch):
    monkeypatch.setattr(task_statuses, "SAY_AGAIN_S", 0.0)  # as of runs that began long ago
    herder.connectors.create("s", SOURCE, None).result(60)
    eventually(runs(herder))
    world.fence = lambda call: CallResult(call.id, error="not authorized for this transactional id")
    herder.connectors.save("s", {**SOURCE, "topic": "other"}).result(60)
    eventually(lambda: states(herder) == ["FAILED"] * 2)
    for _ in range(3):
        herder.worker.ping().result(60)  # it reconciles after each step
    assert states(herder) == ["FAILED"] * 2
    world.fence = lambda call: CallResult(call.id)
    herder.connectors.restart("s", include_tasks=True, only_failed=False).result(60)
    eventually(runs(herder))


def test_a_task_that_waits_until_others_are_shut_out_is_not_told_as_running(world, herder):
    herder.connectors.create("s", SOURCE, None).result(60)
    eventually(runs(herder))
    world.fence = lambda call: None  # takes its time
    herder.connectors.save("s", {**SOURCE, "topic": "other"}).result(60)
    eventually(lambda: states(herder) == ["RESTARTING"] * 2)
    assert "shut out" in herder.connectors.status("s").tasks[0].condition.reason
    world.say_call(CallResult(world.calls[-1].id))
    eventually(runs(herder))


def test_offsets_change_after_zombies_are_shut_out_and_not_without(world, herder):
    herder.connectors.create("s", SOURCE, None).result(60)
    eventually(runs(herder))
    herder.connectors.set_target("s", TargetState.STOPPED).result(60)
    wanted = [PartitionOffset({"file": "a"}, {"position": 7})]
    world.fence = lambda call: CallResult(call.id, error="not authorized")
    with pytest.raises(RequestError, match=r"zombie fencing .* prior to modifying offsets: not authorized") as failed:
        herder.offsets.alter("s", wanted).result(60)
    assert type(failed.value) is FailedRequestError
    world.fence = lambda call: CallResult(call.id)
    assert herder.offsets.alter("s", wanted).result(60)
    asked = [call.method for call in world.calls if call.method not in {"task_configs", "check"}]
    assert asked == ["fence", "fence", "alter_offsets", "write_offsets"]
    assert list(world.calls[-1].positions) == [({"file": "a"}, {"position": 7})]
    assert history(world)[-1] == FencingRecord("s", 0)
    assert world.offsets.records == []


def test_offsets_of_a_topic_of_its_own_are_read_by_a_host(world, herder):
    herder.connectors.create(
        "s", {"connector.class": "Source", "offsets.storage.topic": "own"}, TargetState.STOPPED
    ).result(60)
    world.stored = [[{"file": "a"}, {"position": 1}]]
    assert herder.offsets.read("s").result(60) == [PartitionOffset({"file": "a"}, {"position": 1})]
    assert herder.offsets.reset("s").result(60)
    assert [list(c.positions) for c in world.calls if c.method == "write_offsets"] == [[({"file": "a"}, None)]]


def asked(world, start):
    host = next(h for h in world.hosts if start in h.heard)
    host.say(AsksToWrite(start.connector, start.task, start.run))
    eventually(lambda: any(isinstance(m, MayWrite) and m.run == start.run for m in host.heard))
    return next(m.refusal for m in host.heard if isinstance(m, MayWrite) and m.run == start.run)


def test_a_run_may_write_as_long_as_it_is_the_one_that_is_wanted(world, herder):
    world.silent_on = {StartTask}
    herder.connectors.create("s", SOURCE, None).result(60)
    eventually(lambda: len(world.started()) == 2)
    first = world.started()[0]
    assert asked(world, first) is None


def test_a_run_of_an_older_configuration_may_not_write(world, herder):
    world.silent_on = {StartTask}
    herder.connectors.create("s", SOURCE, None).result(60)
    eventually(lambda: len(world.started()) == 2)
    first = world.started()[0]
    # Another worker was faster, and this one has not heard of it: as a log that is read a moment later.
    world.configs.append(*encode(CommitRecord("s", 0)))
    assert "another configuration" in asked(world, first)


def test_a_run_that_its_successor_shut_out_is_no_failure(world, herder):
    world.silent_on = {StartTask}
    herder.connectors.create("s", SOURCE, None).result(60)
    eventually(lambda: len(world.started()) == 2)
    first = world.started()[0]
    host = next(h for h in world.hosts if first in h.heard)
    world.configs.append(*encode(CommitRecord("s", 0)))
    host.say(TaskState("s", 0, first.run, State.FAILED, trace="fenced", retriable=True))
    herder.worker.ping().result(60)
    assert states(herder) in (None, [])
    assert not any(b"FAILED" in (value or b"") for _, value in world.statuses.records)


@pytest.fixture
def preparing(start):
    return start(**{"exactly.once.source.support": "preparing"})


def test_a_leader_that_was_shut_out_writes_nothing_until_it_has_seen_that_it_leads(world, preparing):
    preparing.connectors.create("s", {"connector.class": "Source"}, None).result(60)
    eventually(runs(preparing, 1))
    before = list(world.configs.records)
    world.configs.claimed_by = object()
    with pytest.raises(
        ConnectError, match="this may be due to a transient error and the request can be safely retried"
    ):
        preparing.connectors.create("t", {"connector.class": "Source"}, None).result(60)
    assert [r for r in world.configs.records if r not in before] == []
    # It does lead, so it claims the topic again.
    eventually(lambda: type(world.configs.claimed_by) is MemoryLog)
    preparing.connectors.create("t", {"connector.class": "Source"}, None).result(60)
    assert preparing.connectors.names() == ["s", "t"]


def test_anyone_may_pause_whoever_leads(world, preparing):
    preparing.connectors.create("s", {"connector.class": "Source"}, None).result(60)
    eventually(runs(preparing, 1))
    world.configs.claimed_by = object()
    preparing.connectors.set_target("s", TargetState.PAUSED).result(60)
    eventually(lambda: states(preparing) == ["PAUSED"])


def test_a_leader_writes_without_transactions_where_the_file_says_nothing(world, herder):
    herder.connectors.create("s", SOURCE, None).result(60)
    assert world.configs.claimed_by is None
