from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest
from cluster_fakes import MemoryLog, eventually

from connect.api.errors import ConfigProblem, RetriableError
from connect.api.records import SourcePosition, TopicPartition
from connect.cluster.model.connector_values import PartitionOffset, TargetState
from connect.cluster.model.request_errors import (
    BadRequestError,
    ConflictError,
    FailedRequestError,
    NotFoundError,
    RequestError,
)
from connect.cluster.offsets.source_offsets import StoredSourceOffsets
from connect.lib.deadline import Deadline
from connect.runtime.task.messages import CallResult, StopTask, TaskState

GROUP = "connect-c"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def create(herder, kind="Source", target=TargetState.STOPPED):
    herder.connectors.create("c", {"connector.class": kind, "name": "c"}, target).result(60)


def sink(partition, offset):
    given = None if offset is None else {"kafka_offset": offset}
    return PartitionOffset({"kafka_topic": "t", "kafka_partition": partition}, given)


def test_a_sources_offsets_are_those_of_the_topic_and_other_connectors_are_left_out(world, herder):
    create(herder)
    world.offsets.append(b'["c",{"file":"a"}]', b'{"position":42}')
    world.offsets.append(b'["d",{"file":"a"}]', b'{"position":1}')
    assert herder.offsets.read("c").result(60) == [PartitionOffset({"file": "a"}, {"position": 42})]


def test_a_sources_altered_offset_is_written_under_the_stored_key_bytes(world, herder):
    create(herder)
    world.offsets.append(b'["c",{"y":1,"x":2}]', b'{"position":42}')
    altered = [PartitionOffset({"x": 2, "y": 1}, {"position": 7}), PartitionOffset({"z": 1}, None)]
    assert herder.offsets.alter("c", altered).result(60).is_whole
    assert world.offsets.records[1:] == [(b'["c",{"y":1,"x":2}]', b'{"position":7}'), (b'["c",{"z":1}]', None)]
    assert herder.offsets.reset("c").result(60) is True
    assert herder.offsets.read("c").result(60) == []


def test_offsets_are_set_once_the_tasks_have_stored_their_last_ones(world, herder):
    create(herder, target=TargetState.STARTED)
    eventually(world.started)
    (start,) = world.started()
    world.silent_on.add(StopTask)
    herder.connectors.set_target("c", TargetState.STOPPED).result(60)
    altering = herder.offsets.alter("c", [PartitionOffset({"file": "a"}, {"position": 7})])
    wait([altering], timeout=0.2)
    world.offsets.append(b'["c",{"file":"a"}]', b'{"position":42}')
    (host,) = (host for host in world.task_hosts() if start in host.heard)
    host.say(TaskState("c", start.task, start.run, None))
    altering.result(60)
    assert world.offsets.records[-1] == (b'["c",{"file":"a"}]', b'{"position":7}')


def meanwhile(world, act):
    """While a connector is asked for its approval, somebody else does something."""
    others = ThreadPoolExecutor(1)

    def answer(host, call):
        act()
        host.say(CallResult(call.id, [True, []]))

    world.answer_later = lambda host, call: others.submit(answer, host, call)


def test_offsets_of_a_connector_that_somebody_resumes_meanwhile_stay(world, herder):
    create(herder)
    meanwhile(world, lambda: herder.connectors.set_target("c", TargetState.STARTED).result(60))
    with pytest.raises(BadRequestError, match="must be in the STOPPED state"):
        herder.offsets.alter("c", [PartitionOffset({"file": "a"}, {"position": 7})]).result(60)
    assert world.offsets.records == []


def test_offsets_are_not_set_under_tasks_that_a_resume_and_a_stop_left_running(world, herder):
    create(herder)
    world.silent_on.add(StopTask)

    def run_and_stop():
        herder.connectors.set_target("c", TargetState.STARTED).result(60)
        eventually(world.started)
        herder.connectors.set_target("c", TargetState.STOPPED).result(60)

    meanwhile(world, run_and_stop)
    altering = herder.offsets.alter("c", [PartitionOffset({"file": "a"}, {"position": 7})])
    eventually(lambda: any(isinstance(m, StopTask) for host in world.task_hosts() for m in host.heard))
    assert world.offsets.records == []
    (start,) = world.started()
    (host,) = (host for host in world.task_hosts() if start in host.heard)
    world.offsets.append(b'["c",{"file":"a"}]', b'{"position":42}')
    host.say(TaskState("c", start.task, start.run, None))
    altering.result(60)
    assert world.offsets.records[-1] == (b'["c",{"file":"a"}]', b'{"position":7}')


def test_offsets_that_were_written_beside_a_resume_are_not_called_well_set(world, herder):
    create(herder)
    written = world.offsets.append

    def append(key, value):
        written(key, value)
        herder.connectors.set_target("c", TargetState.STARTED).result(60)

    world.offsets.append = append
    with pytest.raises(FailedRequestError, match="resumed or deleted meanwhile"):
        herder.offsets.alter("c", [PartitionOffset({"file": "a"}, {"position": 7})]).result(60)


class SlowLog(MemoryLog):
    """A topic whose brokers acknowledge nothing in time."""

    def put(self, key, value):
        self.late = Future()
        return self.late

    def give_up(self, reason):
        self.late.set_exception(RetriableError(reason))


def test_offsets_that_were_not_acknowledged_in_time_are_not_written_later(world):
    made = []

    def make_log(on_record):
        made.append(SlowLog(world.offsets, on_record))
        return made[-1]

    stored = StoredSourceOffsets(make_log, None, lambda config: False, None)
    with pytest.raises(FailedRequestError, match="did not acknowledge them in time"):
        stored.write("c", {}, [SourcePosition({"file": "a"}, {"position": 7})], Deadline.after(0.05))
    (log,) = made
    assert log.late.done()


def test_a_source_is_asked_before_its_offsets_are_altered_or_reset(world, herder):
    create(herder)
    herder.offsets.alter("c", [PartitionOffset({"file": "a"}, {"position": 7})]).result(60)
    herder.offsets.reset("c").result(60)
    asked = [list(call.positions) for call in world.calls if call.method == "alter_offsets"]
    assert asked == [[({"file": "a"}, {"position": 7})], [({"file": "a"}, None)]]


@pytest.mark.parametrize(
    ("problems", "kind"),
    [((), FailedRequestError), ((ConfigProblem("offset.position", "is wrong"),), BadRequestError)],
    ids=["by a text, as Java's", "by what is wrong"],
)
def test_what_a_source_refuses_is_not_written(world, herder, problems, kind):
    create(herder)
    why = "Offset objects should contain the key 'position'"
    world.alter_offsets = lambda call: CallResult(call.id, problems=problems, error=why)
    with pytest.raises(RequestError, match=f"^{why}$") as failed:
        herder.offsets.alter("c", [PartitionOffset({"file": "a"}, {})]).result(60)
    assert type(failed.value) is kind
    assert world.offsets.records == []


@pytest.mark.parametrize("whole", [True, False])
def test_a_source_says_whether_its_offsets_are_all_there_is_to_alter(world, herder, whole):
    create(herder, kind="Other")
    world.alter_offsets = lambda call: CallResult(call.id, [whole, ["It is of no file."]])
    said = herder.offsets.alter("c", [PartitionOffset({"file": "a"}, None)]).result(60)
    assert (said.is_whole, list(said.notes)) == (whole, ["It is of no file."])


def test_a_sinks_offsets_are_its_groups(world, herder):
    create(herder, "Sink")
    world.groups.committed[GROUP] = {T1: 9, T0: 5}
    assert herder.offsets.read("c").result(60) == [sink(0, 5), sink(1, 9)]


def test_a_sinks_offset_can_be_set_and_one_partition_forgotten(world, herder):
    create(herder, "Sink")
    world.groups.committed[GROUP] = {T0: 5, T1: 9}
    assert herder.offsets.alter("c", [sink("0", "7")]).result(60).is_whole is False
    assert world.groups.committed[GROUP] == {T0: 7, T1: 9}
    herder.offsets.alter("c", [sink(1, None)]).result(60)
    assert world.groups.committed[GROUP] == {T0: 7}
    herder.offsets.reset("c").result(60)
    assert world.groups.committed == {}


def test_no_offset_is_set_where_one_of_the_partitions_does_not_exist(world, herder):
    create(herder, "Sink")
    world.groups.committed[GROUP] = {T0: 5}
    gone = PartitionOffset({"kafka_topic": "gone", "kafka_partition": 0}, {"kafka_offset": 1})
    with pytest.raises(BadRequestError, match="No offset was changed, as these partitions do not exist: gone-0, t-9"):
        herder.offsets.alter("c", [sink(0, 7), sink(9, 2), gone]).result(60)
    assert world.groups.committed[GROUP] == {T0: 5}
    given = [sink(0, 7), sink(9, 2), gone, sink(8, None)]
    assert herder.offsets.unknown("c", given).result(60) == [sink(9, 2), gone]
    # The group may still have an offset of a topic that was deleted: one can forget it.
    herder.offsets.alter("c", [PartitionOffset(gone.partition, None), sink(0, 7)]).result(60)
    assert world.groups.committed[GROUP] == {T0: 7}


def test_an_offset_of_a_topic_that_the_sink_does_not_read_is_set_and_said(world, herder):
    world.groups.there = {"t": 2, "u": 1}
    herder.connectors.create(
        "c", {"connector.class": "Sink", "name": "c", "topics": "u, v"}, TargetState.STOPPED
    ).result(60)
    (note,) = herder.offsets.alter("c", [sink(0, 7)]).result(60).notes
    assert note == "The topic is not among the connector's, so that nothing is read from there: t."
    assert world.groups.committed[GROUP] == {T0: 7}
    given = PartitionOffset({"kafka_topic": "u", "kafka_partition": 0}, {"kafka_offset": 1})
    assert herder.offsets.alter("c", [given, sink(0, None)]).result(60).notes == []


def test_nothing_is_said_of_topics_whose_names_a_config_provider_has(world, herder):
    config = {"connector.class": "Sink", "name": "c", "topics": "u,${env:TOPIC}"}
    herder.connectors.create("c", config, TargetState.STOPPED).result(60)
    assert herder.offsets.alter("c", [sink(0, 7)]).result(60).notes == []
    assert world.groups.committed[GROUP] == {T0: 7}


def test_a_busy_group_is_told_as_such(world, herder):
    create(herder, "Sink")
    world.groups.busy = True
    with pytest.raises(RequestError, match="tasks haven't stopped completely") as failed:
        herder.offsets.reset("c").result(60)
    assert type(failed.value) is FailedRequestError


def test_only_a_stopped_connectors_offsets_change(herder):
    create(herder, target=TargetState.PAUSED)
    with pytest.raises(RequestError, match="must be in the STOPPED state") as failed:
        herder.offsets.reset("c").result(60)
    assert type(failed.value) is BadRequestError


def test_who_is_not_there_has_no_offsets(herder):
    with pytest.raises(NotFoundError, match="Connector x not found"):
        herder.offsets.read("x").result(60)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([], "Partitions / offsets need to be provided"),
        ([PartitionOffset(None, None)], "cannot be null or missing"),
        ([PartitionOffset({"kafka_topic": "t"}, None)], "must contain the keys 'kafka_topic' and 'kafka_partition'"),
        ([sink("x", 1)], "Partition values for sink connectors need to be integers"),
        ([PartitionOffset(sink(0, 1).partition, {"x": 1})], "should either be null or contain the key 'kafka_offset'"),
        ([sink(0, "x")], "Offset values for sink connectors need to be integers"),
        ([sink(0, -5)], "Offset values for sink connectors need to be 0 or more: found -5"),
        ([sink(0, True)], "Offset values for sink connectors need to be integers"),
    ],
)
def test_a_sinks_broken_offsets_are_refused(herder, given, text):
    create(herder, "Sink")
    with pytest.raises(RequestError, match=text) as failed:
        herder.offsets.alter("c", given).result(60)
    assert type(failed.value) is BadRequestError


def test_initial_offsets_replace_what_a_connector_of_that_name_left_behind(world, herder):
    world.offsets.append(b'["c",{"y":1,"x":2}]', b'{"position":42}')
    world.offsets.append(b'["c",{"file":"old"}]', b'{"position":9}')
    given = [PartitionOffset({"x": 2, "y": 1}, {"position": 7}), PartitionOffset({"z": 1}, {"position": 1})]
    saved = herder.connectors.create("c", {"connector.class": "Source", "name": "c"}, None, "me", given).result(60)
    assert (saved.created, saved.offsets_whole) == (True, True)
    assert world.offsets.records[2:] == [
        (b'["c",{"file":"old"}]', None),
        (b'["c",{"y":1,"x":2}]', b'{"position":7}'),
        (b'["c",{"z":1}]', b'{"position":1}'),
    ]
    assert [list(call.positions) for call in world.calls if call.method == "alter_offsets"] == [
        [(p.partition, p.offset) for p in given]
    ]


def test_a_connector_whose_initial_offsets_are_refused_is_not_created(world, herder):
    world.offsets.append(b'["c",{"file":"old"}]', b'{"position":9}')
    world.alter_offsets = lambda call: CallResult(call.id, error="not these")
    with pytest.raises(RequestError, match="not these") as failed:
        herder.connectors.create(
            "c", {"connector.class": "Source"}, None, "me", [PartitionOffset({"a": 1}, {})]
        ).result(60)
    assert type(failed.value) is BadRequestError
    assert (list(herder.connectors.names()), len(world.offsets.records)) == ([], 1)
    create(herder)


def test_nobody_else_takes_the_name_while_initial_offsets_are_set(world, herder):
    refused = []

    def alter(call):
        for create_again in (herder.connectors.create, lambda *given: herder.connectors.save(*given[:2])):
            try:
                create_again("c", {"connector.class": "Source"}, None).result(60)
            except RequestError as error:
                refused.append(type(error))
        return CallResult(call.id, [True, []])

    answers = ThreadPoolExecutor(1)
    world.answer_later = lambda host, call: answers.submit(lambda: host.say(alter(call)))
    given = [PartitionOffset({"a": 1}, {"position": 1})]
    assert herder.connectors.create("c", {"connector.class": "Source"}, None, "me", given).result(60).created
    assert refused == [ConflictError, ConflictError]
    with pytest.raises(RequestError, match="already exists") as failed:
        herder.connectors.create("c", {"connector.class": "Source"}, None, "me", given).result(60)
    assert type(failed.value) is ConflictError
    answers.shutdown()


def test_a_sinks_initial_offsets_are_its_groups_only_ones(world, herder):
    world.groups.there = {"t": 2}
    world.groups.committed[GROUP] = {T0: 5}
    sinks = {"connector.class": "Sink", "name": "c"}
    with pytest.raises(RequestError, match="do not exist: t-2") as failed:
        herder.connectors.create("c", sinks, None, "me", [sink(2, 7)]).result(60)
    assert type(failed.value) is BadRequestError
    assert world.groups.committed[GROUP] == {T0: 5}
    assert (
        herder.connectors.create("c", sinks, None, "me", [sink(1, 7), sink(0, None)]).result(60).offsets_whole is False
    )
    assert world.groups.committed[GROUP] == {T1: 7}


PROVIDED = {"connector.class": "Source", "name": "c", "file": "${file:/s:name}"}


def test_offsets_are_shown_as_a_host_that_knows_the_providers_says(world, herder):
    herder.connectors.create("c", PROVIDED, TargetState.STOPPED).result(60)
    world.offsets.append(b'["c",{"file":"s3cr3t"}]', b'{"position":42}')
    world.hide = lambda call: CallResult(call.id, [({"file": "[hidden]"}, {"position": 42})])
    masked = PartitionOffset({"file": "[hidden]"}, {"position": 42})
    assert herder.offsets.read("c").result(60) == [masked]
    herder.offsets.alter("c", [PartitionOffset(masked.partition, {"position": 7})]).result(60)
    assert world.offsets.records[-1] == (b'["c",{"file":"s3cr3t"}]', b'{"position":7}')
    with pytest.raises(RequestError, match="none is stored") as refused:
        herder.offsets.alter("c", [PartitionOffset({"file": "[hidden]x"}, None)]).result(60)
    assert type(refused.value) is BadRequestError


def test_no_text_of_an_offset_is_shown_while_a_provider_cannot_be_asked(world, herder):
    herder.connectors.create("c", PROVIDED, TargetState.STOPPED).result(60)
    world.offsets.append(b'["c",{"file":"s3cr3t"}]', b'{"position":42}')
    world.hide = lambda call: CallResult(call.id, error="The file is locked.")
    assert herder.offsets.read("c").result(60) == [PartitionOffset({"file": "[hidden]"}, {"position": 42})]


@pytest.mark.parametrize("kind", ["Source", "Sink"])
def test_another_name_in_a_configuration_leads_to_no_other_connector(world, herder, kind):
    """A PATCH may store one, as in Java: who may change this connector has no right to the other one's offsets."""
    create(herder, kind)
    herder.connectors.save("c", {"connector.class": kind, "name": "d", "topics": "t"}).result(60)
    assert herder.connectors.info("c").config["name"] == "d"
    world.groups.committed = {"connect-c": {T0: 5}, "connect-d": {T0: 9}}
    world.offsets.append(b'["d",{"file":"a"}]', b'{"position":1}')
    herder.connectors.set_target("c", TargetState.STARTED).result(60)
    eventually(lambda: any(call.method == "task_configs" for call in world.calls))
    herder.connectors.set_target("c", TargetState.STOPPED).result(60)
    given = [sink(0, 3)] if kind == "Sink" else [PartitionOffset({"file": "a"}, {"position": 7})]
    herder.offsets.alter("c", given).result(60)
    assert {call.config.get("name") for call in world.calls} == {"c"}
    if kind == "Sink":
        assert world.groups.committed["connect-d"] == {T0: 9}
    else:
        assert [key for key, _ in world.offsets.records] == [b'["d",{"file":"a"}]', b'["c",{"file":"a"}]']
