"""Names of copies, and which topics are copied, are those of MirrorMaker's policies and filters."""

from __future__ import annotations

import pytest

from connect.api.errors import ConfigError
from connectors.mirror.config import IDENTITY_POLICY, MirrorSourceConfig
from connectors.mirror.topics import TopicChoice

CLUSTERS = {
    "source.cluster.alias": "a", "target.cluster.alias": "b", "source.cluster.bootstrap.servers": "127.0.0.1:1",
}  # fmt: skip


def _config(**given: str) -> MirrorSourceConfig:
    return MirrorSourceConfig.parse({**CLUSTERS, **{name.replace("__", "."): text for name, text in given.items()}})


def _chosen(*topics: str, **given: str) -> list[str]:
    return TopicChoice(_config(**given)).chosen(topics)


def test_all_topics_but_those_of_kafka_connect_and_mirrormaker_are_copied() -> None:
    internal = ("__consumer_offsets", ".odd", "mm2-offset-syncs.b.internal", "x.checkpoints.internal", "s-internal")
    assert _chosen("orders", "orders.replica", "users", *internal) == ["orders", "users"]


def test_what_was_copied_from_the_target_is_not_copied_back() -> None:
    assert _chosen("b.orders", "c.b.orders", "c.orders", "orders") == ["c.orders", "orders"]


def test_lists_of_patterns_match_whole_names() -> None:
    assert _chosen("orders", "orders2", "users1", "x", topics="orders,users\\d") == ["orders", "users1"]
    assert _chosen("orders", "users", topics__exclude="us.*") == ["orders"]


def test_the_names_that_keys_had_in_kafka_3_go_on_working() -> None:
    assert _chosen("orders", "users", topics__blacklist="us.*") == ["orders"]
    assert _config(config__properties__blacklist="a").configs_excluded == ("a",)


def test_heartbeats_are_copied_whatever_is_chosen() -> None:
    assert _chosen("heartbeats", "c.heartbeats", "users", topics="orders") == ["c.heartbeats", "heartbeats"]
    assert _chosen("heartbeats", topics="orders", heartbeats__replication__enabled="false") == []


def test_a_separator_of_ones_own_parts_alias_and_name() -> None:
    assert _config(replication__policy__separator="__").naming.target_name("orders") == "a__orders"
    assert _chosen("b__orders", "b.orders", replication__policy__separator="__") == ["b.orders"]


def test_the_identity_policy_keeps_names_but_those_of_heartbeats() -> None:
    naming = _config(replication__policy__class=IDENTITY_POLICY).naming
    assert [naming.target_name(topic) for topic in ("orders", "heartbeats")] == ["orders", "a.heartbeats"]
    assert _chosen("b.orders", "b.heartbeats", replication__policy__class=IDENTITY_POLICY) == ["b.orders"]
    # Java asks for the end of the name alone.
    assert [naming.target_name(topic) for topic in ("my-heartbeats", "heartbeats2")] == [
        "a.my-heartbeats",
        "heartbeats2",
    ]
    assert _chosen("b.my-heartbeats", replication__policy__class=IDENTITY_POLICY) == []


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("topics", "orders,(", "Java pattern"),
        ("replication.policy.class", "com.acme.Own", "could not be found"),
        ("source.cluster.bootstrap.servers", "", "source.cluster.bootstrap.servers"),
        ("exactly.once.support", "required", "isolation.level=read_committed"),
    ],
)
def test_what_cannot_work_is_refused(key: str, value: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        MirrorSourceConfig.parse({**CLUSTERS, key: value})


def test_clients_get_the_settings_that_java_gives_them() -> None:
    config = MirrorSourceConfig.parse({
        **CLUSTERS, "source.cluster.security.protocol": "SSL", "consumer.fetch.min.bytes": "1",
        "source.consumer.fetch.min.bytes": "2", "source.admin.retries": "3",
    })  # fmt: skip
    brokers = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SSL"}
    assert config.source_client == {**brokers, "fetch.min.bytes": "2"}
    assert config.source_admin == {**brokers, "retries": "3"}
    assert config.target_admin == {}


def test_settings_of_one_client_reach_it_in_both_clusters_as_in_java() -> None:
    config = MirrorSourceConfig.parse({
        **CLUSTERS, "target.cluster.security.protocol": "SSL", "admin.security.protocol": "SASL_SSL",
        "admin.retries": "1", "target.admin.retries": "2", "admin.override.retries": "9",
    })  # fmt: skip
    assert config.source_admin == {
        "bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_SSL", "retries": "1",
    }  # fmt: skip
    assert config.target_admin == {"security.protocol": "SASL_SSL", "retries": "2"}


def test_equal_aliases_are_a_note_as_java_takes_them() -> None:
    told = [note.message for note in _config(target__cluster__alias="a").notes()]
    assert any(text.startswith("Both clusters are called a:") for text in told)
    assert not any(note.message.startswith("Both clusters") for note in _config().notes())
