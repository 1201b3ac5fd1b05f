"""A cluster's configurations are sealed, opened, written anew when the key changes, and never lost for want of one."""

import base64
import json
import logging

import pytest
from cluster_fakes import MemoryTopic, eventually
from cluster_herders import create, is_running

from connect.api.errors import ConnectError
from connect.cluster.model.config_records import ConnectorRecord, TaskRecord, encode
from connect.cluster.store.config_store import ConfigStore
from connect.cluster.store.record_seals import RecordSeals
from connect.lib.deadline import Deadline
from connect.runtime.task.task_id import TaskId

OLD, NEW = bytes(32), bytes(range(32))
SETTING = "config.storage.encryption.key"
SECRET = "hunter2-of-the-database"


def keys(*given):
    return {SETTING: ",".join("none" if key is None else base64.b64encode(key).decode() for key in given)}


class Nobody:
    """Hears of changes."""

    def config_changed(self):
        """Nothing has to be done."""


def store(topic, *given):
    return ConfigStore(topic.log, Nobody(), seals=RecordSeals(given))


def started(topic, *given):
    opened = store(topic, *given)
    opened.start(Deadline.after(60))
    return opened


def newest(topic):
    return {key.decode(): value for key, value in topic.records if value is not None}


def compact(topic):
    """Leave the last record of each key, as Kafka does."""
    last = {key: at for at, (key, _) in enumerate(topic.records)}
    topic.records[:] = [record for at, record in enumerate(topic.records) if last[record[0]] == at]


def names_of_keys(topic):
    """Record key -> what its newest value is sealed by."""
    return {
        key: json.loads(value).get("key") if value.startswith(b'{"sealed"') else None
        for key, value in newest(topic).items()
        if key.startswith(("connector-", "task-", "history-config-", "session-key"))
    }


@pytest.fixture
def sealed():
    topic = MemoryTopic()
    first = started(topic, OLD)
    first.put_connector("orders", {"password": SECRET})
    first.put_tasks("orders", [{"password": SECRET}])
    return topic


def test_no_record_shows_a_configuration(sealed):
    assert SECRET.encode() not in b"".join(value for _, value in sealed.records if value)
    snapshot = started(sealed, OLD).snapshot
    assert snapshot.connectors == {"orders": {"password": SECRET}}
    assert snapshot.tasks == {"orders": {0: {"password": SECRET}}}
    assert snapshot.history["orders"][1].config == {"password": SECRET}


@pytest.mark.parametrize("given", [(), (NEW,)], ids=["no key", "another key"])
def test_a_worker_without_the_key_refuses_and_writes_nothing(sealed, given):
    before = list(sealed.records)
    with pytest.raises(
        ConnectError, match="of the record of connector orders it is sealed by key '66687aad'"
    ) as refused:
        started(sealed, *given)
    assert f"Give {SETTING} all keys" in str(refused.value)
    assert sealed.records == before


def test_records_from_before_there_was_a_key_are_read(sealed):
    sealed.append(*encode(ConnectorRecord("bills", {"a": "b"})))
    assert started(sealed, OLD).snapshot.connectors.keys() == {"orders", "bills"}


def test_a_configuration_that_another_key_seals_is_kept_as_it_was(sealed, caplog):
    """Another worker has the new key already."""
    reader = started(sealed, OLD)
    with caplog.at_level(logging.WARNING):
        started(sealed, NEW, OLD).put_connector("orders", {"password": "newer"})
    assert reader.snapshot.connectors == {"orders": {"password": SECRET}}
    assert any("connector orders" in record.__dict__["reason"] for record in caplog.records)
    with pytest.raises(ConnectError, match="Nothing of connector orders was written: of its present configuration"):
        reader.put_tasks("orders", [{"a": "b"}])
    reader.put_connector("bills", {"a": "b"})
    started(sealed, NEW, OLD).put_connector("orders", {"password": "newest"})
    assert started(sealed, NEW, OLD).snapshot.connectors == {"orders": {"password": "newest"}, "bills": {"a": "b"}}


def test_a_damaged_record_is_named_and_stops_nobody(sealed, caplog):
    moved = newest(sealed)["connector-orders"]
    started(sealed, OLD).put_connector("bills", {"a": "b"})
    sealed.append(b"connector-bills", moved)
    with caplog.at_level(logging.WARNING):
        reader = started(sealed, OLD)
    assert reader.snapshot.connectors == {"orders": {"password": SECRET}, "bills": {"a": "b"}}
    assert reader.closed == {"bills"}
    assert {record.__dict__["reason"].partition(":")[0] for record in caplog.records} == {"a record of connector bills"}
    reader.put_connector("bills", {"mended": "yes"})
    assert reader.snapshot.connectors["bills"] == {"mended": "yes"}
    assert reader.closed == frozenset()


def test_the_history_of_a_damaged_connector_stays(start, world):
    herder = start(**keys(OLD))
    create(herder)
    eventually(is_running(herder))
    herder.stop(Deadline.after(60))
    world.configs.append(b"connector-s", newest(world.configs)["task-s-0"])
    compact(world.configs)
    herder = start(**keys(OLD))
    create(herder, "other")
    eventually(is_running(herder, "other"))
    assert newest(world.configs)["history-config-s-1"]
    assert (b"history-config-s-1", None) not in world.configs.records


def test_the_next_leader_seals_everything_by_the_new_key(start, world):
    herder = start(**keys(OLD))
    create(herder, password=SECRET)
    eventually(is_running(herder))
    herder.stop(Deadline.after(60))
    herder = start(**keys(NEW, OLD))
    eventually(is_running(herder))
    assert set(names_of_keys(world.configs).values()) == {"630dcd29"}
    assert names_of_keys(world.configs).keys() >= {"connector-s", "task-s-0", "task-s-1", "history-config-s-1"}
    herder.stop(Deadline.after(60))
    before = len(world.configs.records)
    herder = start(**keys(NEW))
    eventually(is_running(herder))
    assert [
        key for key, _ in world.configs.records[before:] if key.startswith((b"connector", b"task-", b"commit"))
    ] == []


def test_the_way_back_to_plain_records_is_none_before_the_key(start, world):
    herder = start(**keys(OLD))
    create(herder)
    eventually(is_running(herder))
    herder.stop(Deadline.after(60))
    herder = start(**keys(None, OLD))
    eventually(is_running(herder))
    assert set(names_of_keys(world.configs).values()) == {None}
    herder.stop(Deadline.after(60))
    eventually(is_running(start()))


def test_a_compacted_topic_holds_the_same_after_it_was_sealed_anew(start, world):
    herder = start()
    create(herder, password=SECRET)
    create(herder, "paused", password=SECRET)
    eventually(lambda: is_running(herder)() and is_running(herder, "paused")())
    herder.stop(Deadline.after(60))
    before = started(world.configs).snapshot
    herder = start(**keys(NEW))
    eventually(lambda: set(names_of_keys(world.configs).values()) == {"630dcd29"})
    herder.stop(Deadline.after(60))
    compact(world.configs)
    assert SECRET.encode() not in b"".join(value for _, value in world.configs.records if value)
    after = started(world.configs, NEW).snapshot
    for part in ("connectors", "tasks", "applied", "inconsistent", "history", "targets"):
        assert getattr(after, part) == getattr(before, part), part


def test_what_is_left_of_tasks_that_are_no_more_is_forgotten(start, world):
    """Compaction keeps the last record of each key for ever, and a deleted connector's secrets in it."""
    plain = TaskRecord(TaskId("gone", 7), {"password": SECRET})
    world.configs.append(*encode(plain))
    start(**keys(NEW))
    eventually(lambda: world.configs.records.count((b"task-gone-7", None)) == 1)
    assert started(world.configs, NEW).snapshot.tasks == {}


def test_a_refused_size_counts_what_is_sealed(start):
    from connect.cluster.model.request_errors import BadRequestError

    config = {"text": "x" * 900_000}
    create(start(), "plain", **config)
    with pytest.raises(BadRequestError, match="is 1200"):
        create(start(**keys(NEW)), "sealed", **config)


def test_nothing_of_a_connector_is_sealed_anew_where_one_of_its_records_would_not_fit(start, world, caplog):
    plain = start()
    plain.connectors.create("c", {"connector.class": "Source", "padding": "x" * 900_000}, None).result(60)
    eventually(is_running(plain, "c", 1))
    plain.stop(Deadline.after(60))
    herder = start(**{**keys(OLD), "producer.max.request.size": "1000000"})
    eventually(lambda: "configuration_not_sealed_anew" in caplog.text)
    herder.connectors.create("new", {"connector.class": "Source"}, None).result(60)
    eventually(is_running(herder, "new", 1))
    sealed = {key for key, by in names_of_keys(world.configs).items() if by is not None}
    assert not {key for key in sealed if key.endswith("-c") or "-c-" in key}


def test_a_configuration_that_is_too_large_once_it_is_sealed_keeps_no_other_one_from_its_seal(start, world, caplog):
    plain = start()
    for name, padding in (("a", ""), ("large", "x" * 3000), ("z", "")):
        plain.connectors.create(name, {"connector.class": "Source", "padding": padding}, None).result(60)
    eventually(lambda: world.configs.keys().count("commit-z"))
    plain.stop(Deadline.after(60))
    world.configs.refusal = lambda records: next(
        (ConnectError("too large") for _, value in records if value is not None and len(value) > 3500), None
    )
    herder = start(**keys(OLD))
    eventually(lambda: [key for key, by in names_of_keys(world.configs).items() if by and key == "connector-z"])
    assert {key for key, by in names_of_keys(world.configs).items() if by is None} >= {"connector-large"}
    assert "configuration_not_sealed_anew" in caplog.text
    herder.connectors.create("new", {"connector.class": "Source"}, None).result(60)
    eventually(is_running(herder, "new", 1))
