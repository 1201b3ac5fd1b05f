"""Checks the versions of configurations in the config topic."""

import pytest
from cluster_fakes import World

from connect.cluster.model.config_history import KEPT, added, orphans, removed, versions
from connect.cluster.model.config_records import ConfigHistoryRecord, ConnectorRecord, decode, encode
from connect.cluster.model.config_state import ConfigState
from connect.cluster.model.history import Author, ConfigVersion
from connect.cluster.model.record_json import RecordFormatError
from connect.cluster.model.request_errors import ChangedMeanwhileError, NotFoundError
from connect.lib.deadline import Deadline

AUTHOR = Author("me", 5)


def config(value):
    return {"connector.class": "Source", "name": "c-1", "v": str(value)}


def folded(*records):
    state = ConfigState()
    for record in records:
        state.apply(record)
    return state.snapshot()


def saved(snapshot_records, value):
    snapshot = folded(*snapshot_records)
    return [*snapshot_records, ConnectorRecord("c-1", config(value)), *added("c-1", snapshot, config(value), AUTHOR)]


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (
            ConfigHistoryRecord("c-1", 12, ConfigVersion(12, {"a": "b"}, Author("me", 5))),
            b"history-config-c-1-12",
            b'{"properties":{"a":"b"},"who":"me","changed_ms":5}',
        ),
        (
            ConfigHistoryRecord("c-1", 2, ConfigVersion(2, {"a": "${file:x:y}"})),
            b"history-config-c-1-2",
            b'{"properties":{"a":"${file:x:y}"}}',
        ),
        (ConfigHistoryRecord("c-1", 1, None), b"history-config-c-1-1", None),
    ],
)
def test_a_version_comes_back_from_its_bytes(record, key, value):
    assert encode(record) == (key, value)
    assert decode(key, value) == record


def test_a_version_without_a_number_is_garbage():
    with pytest.raises(RecordFormatError):
        decode(b"history-config-c", b'{"properties":{}}')


def test_each_configuration_is_a_version_and_the_oldest_are_forgotten():
    records = []
    for value in range(KEPT + 3):
        records = saved(records, value)
    found = versions("c-1", folded(*records))
    assert [v.version for v in found] == list(range(4, KEPT + 4))
    assert (found[-1].config, found[-1].author) == (config(KEPT + 2), AUTHOR)


def test_a_configuration_that_came_another_way_is_a_version_of_nobody():
    records = [*saved([], 1), ConnectorRecord("c-1", config("java"))]
    shown = versions("c-1", folded(*records))
    assert shown[-1] == ConfigVersion(2, config("java"))

    recorded = versions("c-1", folded(*saved(records, 3)))
    assert [(v.version, v.config["v"], v.author) for v in recorded] == [
        (1, "1", AUTHOR),
        (2, "java", None),
        (3, "3", AUTHOR),
    ]


def test_a_deleted_connector_leaves_no_version():
    records = saved(saved([], 1), 2)
    assert folded(*records, *removed("c-1", folded(*records))).history == {}
    assert orphans(folded(*records)) == []
    gone = folded(*records, ConnectorRecord("c-1", None))
    assert folded(*records, *orphans(gone)).history == {}


def test_a_snapshot_keeps_the_versions_it_had():
    state = ConfigState()
    state.apply(ConfigHistoryRecord("c", 1, ConfigVersion(1, {})))
    before = state.snapshot()
    state.apply(ConfigHistoryRecord("c", 1, None))
    assert list(before.history["c"]) == [1]


def test_a_herder_keeps_versions_over_restarts_and_drops_them_with_the_connector():
    world = World()
    herder = world.herder()
    herder.connectors.create("c-1", config(1), None, "alice").result(60)
    herder.connectors.save("c-1", config(2), "bob").result(60)
    herder.connectors.save("c-1", config(2), "carol").result(60)
    herder.stop(Deadline.after(60))

    herder = world.herder()
    assert [(v.version, v.config["v"], v.author.who) for v in herder.history.config_versions("c-1")] == [
        (1, "1", "alice"),
        (2, "2", "bob"),
    ]
    herder.connectors.delete("c-1").result(60)
    with pytest.raises(NotFoundError, match="Connector c-1 not found"):
        herder.history.config_versions("c-1")
    herder.stop(Deadline.after(60))
    last = dict(world.configs.records)
    assert [key for key, value in last.items() if key.startswith(b"history-config-") and value] == []


def test_a_change_that_was_computed_from_another_configuration_is_not_written():
    herder = World().herder()
    herder.connectors.create("c-1", config(1), None, "alice").result(60)
    first = herder.connectors.info("c-1").config
    second = {**first, "password": "p4ssw0rd"}
    herder.connectors.save("c-1", second, instead_of=first).result(60)
    with pytest.raises(ChangedMeanwhileError, match=r"by another request .*: keys password\.") as late:
        herder.connectors.save("c-1", {**first, "x": "1"}, instead_of=first).result(60)
    assert "p4ssw0rd" not in str(late.value)
    assert herder.connectors.info("c-1").config == second
    herder.connectors.delete("c-1").result(60)
    with pytest.raises(ChangedMeanwhileError, match="was deleted while"):
        herder.connectors.save("c-1", second, instead_of=second).result(60)
    assert herder.connectors.names() == []
    herder.stop(Deadline.after(60))
