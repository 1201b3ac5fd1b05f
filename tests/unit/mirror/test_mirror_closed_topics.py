"""A connector that reaches clusters changes no topic that holds the state of a cluster of workers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from connect.lib.deadline import Deadline
from connect.runtime.settings.internal_topics import ReservedTopicError, StateKind
from connect.runtime.settings.topic_inspector import BrokerTopicInspector
from connect.runtime.topics import other_cluster
from connect.runtime.topics.other_cluster import KafkaCluster, open_cluster

pytestmark = pytest.mark.quick

WORKER = {
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets", "status.storage.topic": "connect-status",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter", "internal.topics.writable": "replica",
}  # fmt: skip
Change = Callable[[KafkaCluster, str], object]
CHANGES: list[Change] = [
    lambda cluster, topic: cluster.make_topic(topic, 1, 1, {}, Deadline.after(1)),
    lambda cluster, topic: cluster.widen_topic(topic, 2, Deadline.after(1)),
    lambda cluster, topic: cluster.change_configs(topic, {"retention.ms": "1"}, [], Deadline.after(1)),
]


class _Changed:
    """Stands for the clients that change topics, and keeps what reached them."""

    def __init__(self, asked: list[str]) -> None:
        self.asked = asked

    def create(self, topic: str, **_: object) -> bool:
        self.asked.append(topic)
        return True

    def widen(self, topic: str, *_: object) -> None:
        self.asked.append(topic)

    change = widen


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of topics that were changed; other clusters' state is in `theirs` and `replica`."""
    found: list[str] = []
    monkeypatch.setattr(other_cluster, "TopicAdmin", lambda _: _Changed(found))
    monkeypatch.setattr(other_cluster, "TopicChanges", lambda _: _Changed(found))
    held = {"theirs": StateKind.CONFIGS, "replica": StateKind.CONFIGS}
    monkeypatch.setattr(BrokerTopicInspector, "__call__", lambda _, topic, deadline=None: held.get(topic))
    return found


def _cluster(brokers: str) -> KafkaCluster:
    return open_cluster(WORKER, "copy", {"bootstrap.servers": brokers} if brokers else {}, "target.cluster.")


@pytest.mark.parametrize("brokers", ["", "127.0.0.1:2"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "topic", ["connect-configs", "connect-offsets", "connect-status", "g-slots", "theirs", "__consumer_offsets"]
)
def test_topics_of_a_clusters_state_are_not_changed(asked: list[str], brokers: str, change: Change, topic: str) -> None:
    with pytest.raises(ReservedTopicError, match=f"Topic {topic} holds"):
        change(_cluster(brokers), topic)
    assert asked == []


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("topic", ["west.orders", "replica"])
def test_other_topics_are_changed(asked: list[str], change: Change, topic: str) -> None:
    change(_cluster(""), topic)
    assert asked == [topic]


@pytest.mark.usefixtures("asked")
def test_the_state_that_a_topic_holds_is_told_unless_the_worker_lists_the_topic() -> None:
    cluster = _cluster("127.0.0.1:2")
    assert [cluster.state_of(topic, Deadline.after(1)) for topic in ("theirs", "replica", "orders")] == [
        StateKind.CONFIGS, None, None,
    ]  # fmt: skip


def test_a_look_at_a_topics_records_ends_with_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(BrokerTopicInspector, "_found", lambda _, topic, deadline: asked.append(deadline.remaining_s))
    cluster = _cluster("127.0.0.1:2")
    for seconds in (3, 90):
        cluster.state_of("orders", Deadline.after(seconds))
    assert [round(left) for left in asked] == [3, 20]
