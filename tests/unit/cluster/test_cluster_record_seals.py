"""Values of the config topic are sealed by the first key and opened by all, each in the place of its own alone."""

import base64
import json
from pathlib import Path

import pytest

from connect.api.errors import ConfigError
from connect.cluster.model.config_records import ConnectorRecord, PlacementRecord, SessionKeyRecord, encode
from connect.cluster.store.record_seals import NoKeyError, RecordSeals, SealError
from connect.runtime.settings.worker_config import WorkerConfig

KEY, OTHER = bytes(range(32)), bytes(32)
GOLDEN = Path(__file__).parents[2] / "golden" / "sealed_record_1.json"
ORDERS = encode(ConnectorRecord("orders", {"password": "hunter2"}))
WORKER = {
    "bootstrap.servers": "nowhere:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": "J", "value.converter": "J",
}  # fmt: skip


def text(key):
    return base64.b64encode(key).decode()


def test_a_record_of_form_1_is_opened_for_ever():
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    seals = RecordSeals([base64.b64decode(golden["encryption_key"])])
    assert seals.open(golden["record_key"].encode(), golden["sealed"].encode()) == golden["plain"].encode()
    assert list(json.loads(golden["sealed"])) == ["sealed", "key", "nonce", "text"]


def test_what_is_sealed_shows_nothing_and_is_another_text_each_time():
    seals = RecordSeals([KEY])
    first, second = seals.seal(ORDERS), seals.seal(ORDERS)
    assert b"hunter2" not in first.value
    assert first.value != second.value
    assert seals.open(*first) == seals.open(*second) == ORDERS.value


@pytest.mark.parametrize(
    "record", [ConnectorRecord("orders", None), PlacementRecord("orders", [1])], ids=["a tombstone", "a placement"]
)
def test_what_holds_no_configuration_stays_as_it_is(record):
    seals = RecordSeals([KEY])
    assert seals.seal(encode(record)) == encode(record)
    assert seals.is_current(*encode(record))


def test_the_key_of_java_workers_is_sealed_too():
    record = encode(SessionKeyRecord("c2VjcmV0", "HmacSHA256", 1))
    assert b"c2VjcmV0" not in RecordSeals([KEY]).seal(record).value


def test_a_value_opens_under_its_own_key_alone():
    sealed = RecordSeals([KEY]).seal(ORDERS)
    for place in (b"connector-bills", b"history-config-orders-1", b"task-orders-0"):
        with pytest.raises(SealError, match="was moved here from another record"):
            RecordSeals([KEY]).open(place, sealed.value)


def test_a_changed_value_does_not_open():
    members = json.loads(RecordSeals([KEY]).seal(ORDERS).value)
    content = bytearray(base64.b64decode(members["text"]))
    content[3] ^= 1
    for damaged in (base64.b64encode(content).decode(), "", "no base64", "ä"):
        value = json.dumps({**members, "text": damaged}, separators=(",", ":")).encode()
        with pytest.raises(SealError, match="is damaged"):
            RecordSeals([KEY]).open(ORDERS.key, value)


def test_a_value_of_an_unknown_key_or_form_names_it():
    sealed = RecordSeals([OTHER]).seal(ORDERS)
    name = json.loads(sealed.value)["key"]
    with pytest.raises(NoKeyError, match=f"by key '{name}', and config.storage.encryption.key is not set"):
        RecordSeals().open(*sealed)
    with pytest.raises(NoKeyError, match=f"by key '{name}', and config.storage.encryption.key has '630dcd29'"):
        RecordSeals([KEY]).open(*sealed)
    with pytest.raises(NoKeyError, match="in the form 2, and this version knows 1"):
        RecordSeals([KEY]).open(ORDERS.key, b'{"sealed":2,"more":"x"}')


def test_the_first_key_seals_and_all_open():
    old, both, plain = RecordSeals([OTHER]), RecordSeals([KEY, OTHER]), RecordSeals([None, KEY])
    assert both.open(*old.seal(ORDERS)) == both.open(*ORDERS) == ORDERS.value
    assert [both.is_current(*record) for record in (ORDERS, old.seal(ORDERS), both.seal(ORDERS))] == [0, 0, 1]
    assert plain.seal(ORDERS) == ORDERS
    assert [plain.is_current(*record) for record in (ORDERS, both.seal(ORDERS))] == [1, 0]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("hunter2-is-no-key", "it is no base64 of 32 bytes; take `openssl rand -base64 32`"),
        ("", "it is no base64 of 32 bytes"),
        (f"{text(KEY)},{text(KEY[:16])}", "key 2 of 2 is no base64 of 32 bytes"),
        (f"{text(KEY)},none", "none is key 2 of 2, and may be the first alone"),
        (f"{text(KEY)}, {text(KEY)}", "a key is there twice"),
        ("none", "where nothing is, leave the setting out"),
    ],
)
def test_a_list_that_is_none_is_refused_without_showing_it(given, why):
    with pytest.raises(ConfigError) as refused:
        WorkerConfig.parse({**WORKER, "config.storage.encryption.key": given})
    assert why in str(refused.value)
    assert "config.storage.encryption.key" in str(refused.value)
    for secret in filter(None, (part.strip() for part in given.split(","))):
        assert secret == "none" or secret not in str(refused.value)


def test_the_keys_are_not_told_to_brokers_as_settings_of_the_topic():
    from connect.cluster.model.cluster_topics import internal_topics

    worker = WorkerConfig.parse(
        {**WORKER, "config.storage.encryption.key": text(KEY), "config.storage.segment.ms": "9"}
    )
    assert internal_topics(worker)[0].spec.configs == {"segment.ms": "9", "cleanup.policy": "compact"}
