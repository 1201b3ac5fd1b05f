"""Checks configurations with placeholders of config providers: what only a task host may look up is asked of one."""

import json

import pytest

from connect.api.errors import ConnectError
from connect.cluster.hosts.host_validation import validated
from connect.cluster.model.connector_values import PartitionOffset, TargetState
from connect.cluster.model.request_errors import FailedRequestError, RequestError
from connect.cluster.model.validation_infos import ConfigInfos, Definition, Info, Value
from connect.cluster.offsets.sink_groups import needs_host
from connect.runtime.task.messages import CallResult

OVERRIDE = {"connector.class": "Sink", "topics": "t", "admin.override.sasl.jaas.config": "${file:/s:jaas}"}
INFOS = ConfigInfos(
    "C",
    ("Common", "g"),
    (
        Info(Definition("a", "LIST", True, None, "HIGH", "d", "g", "NONE", "A", ("b",), 1), Value("a", "x", ("y",))),
        Info(None, Value("b", None, (), ("broken",), False)),
    ),
)


def test_what_a_validation_found_survives_its_way_through_json():
    assert ConfigInfos.of_json(json.loads(json.dumps(INFOS.as_json()))) == INFOS


def test_a_host_validates_and_its_refusals_are_the_requests_own(world, herder):
    world.validate = lambda call: CallResult(call.id, {"infos": INFOS.as_json()})
    assert herder.trials.validate({"a": "${file:/s:a}"}, 5, "me").result(60) == INFOS
    world.validate = lambda call: CallResult(call.id, {"refusal": "BadRequestError", "message": "no such class"})
    with pytest.raises(RequestError, match="no such class"):
        herder.trials.validate({}, 5, "me").result(60)
    world.validate = lambda call: CallResult(call.id, error="it died")
    with pytest.raises(ConnectError, match="it died"):
        herder.trials.validate({}, 5, "me").result(60)


def test_an_answer_that_nobody_understands_reaches_who_waits(world, herder):
    world.validate = lambda call: CallResult(call.id, {"neither": "infos nor a refusal"})
    with pytest.raises(KeyError, match="refusal"):
        herder.trials.validate({}, 5, "me").result(60)


def test_a_refusal_keeps_its_kind():
    with pytest.raises(FailedRequestError) as refused:
        validated({"refusal": "FailedRequestError", "message": "m"})
    assert refused.value.message == "m"


@pytest.mark.parametrize(
    ("key", "value", "needed"),
    [
        ("admin.override.ssl.key.password", "${file:/s:k}", True),
        ("consumer.override.group.id", "${env:G}", True),
        ("consumer.override.group.id", "g", False),
        ("connection.password", "${file:/s:k}", False),
    ],
)
def test_a_group_is_asked_by_a_host_where_a_provider_knows_the_client(key, value, needed):
    assert needs_host({"name": "c", key: value}) is needed


def test_a_sinks_offsets_are_asked_for_in_a_host(world, herder):
    herder.connectors.create("c", OVERRIDE, TargetState.STOPPED).result(60)
    said = {
        "read_group": CallResult(0, [({"topic": "t", "partition": 1}, {"offset": 7})]),
        "list_topics": CallResult(0, {"t": 2}),
        "alter_group": CallResult(0),
        "delete_group": CallResult(0, error="the group still has members", retriable=True),
    }
    asked = []

    def answer(call):
        if call.method == "hide":
            return CallResult(call.id, call.positions)
        asked.append((call.method, list(call.positions)))
        assert call.config["name"] == "c"
        result = said[call.method]
        return CallResult(call.id, result.value, error=result.error, retriable=result.retriable)

    world.answer = answer
    (there,) = herder.offsets.read("c").result(60)
    assert there == PartitionOffset({"kafka_topic": "t", "kafka_partition": 1}, {"kafka_offset": 7})
    forget = PartitionOffset({"kafka_topic": "t", "kafka_partition": 1}, None)
    herder.offsets.alter(
        "c", [PartitionOffset({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 3}), forget]
    ).result(60)
    assert asked[1] == ("list_topics", [])
    assert asked[2] == (
        "alter_group",
        [({"topic": "t", "partition": 0}, {"offset": 3}), ({"topic": "t", "partition": 1}, None)],
    )
    with pytest.raises(RequestError, match="tasks haven't stopped completely"):
        herder.offsets.reset("c").result(60)
    assert world.groups.committed == {}
