"""The configs of many topics are described by few requests, and a topic that is gone is left out of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConfigSource  # type: ignore[attr-defined]  # it re-exports it without saying so

from connect.api.errors import RetriableError
from connect.kafka.admin.topic_changes import TopicChanges
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.quick
GONE, DENIED = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
AWAY = KafkaError(KafkaError._TIMED_OUT)


def _entry(value: str, source: ConfigSource) -> SimpleNamespace:
    return SimpleNamespace(value=value, source=source.value, is_read_only=False, is_sensitive=False)


class Client:
    """Stands for the admin client: it answers with one config that is set and one default, or with planted errors."""

    def __init__(self, errors: dict[str, list[KafkaError]]) -> None:
        self.errors = errors
        self.sizes: list[int] = []
        self.connections = 0

    def connect(self) -> Client:
        self.connections += 1
        return self

    def describe_configs(self, resources: Sequence[Any], request_timeout: float) -> dict[Any, Future[Any]]:
        self.sizes.append(len(resources))
        return {resource: self._answer(resource.name) for resource in resources}

    def _answer(self, topic: str) -> Future[Any]:
        answer: Future[Any] = Future()
        if planted := self.errors.get(topic):
            answer.set_exception(KafkaException(planted[0] if len(planted) == 1 else planted.pop(0)))
        else:
            answer.set_result({
                "retention.ms": _entry("5", ConfigSource.DYNAMIC_TOPIC_CONFIG),
                "segment.ms": _entry("9", ConfigSource.DEFAULT_CONFIG),
            })  # fmt: skip
        return answer


def _changes(errors: dict[str, list[KafkaError]]) -> tuple[TopicChanges, Client]:
    changes, client = TopicChanges({"bootstrap.servers": "127.0.0.1:1"}), Client(errors)
    changes._admin._connect = client.connect  # type: ignore[method-assign, assignment]
    changes._admin.client = client.connect()  # type: ignore[assignment]
    return changes, client


def test_many_topics_are_described_by_few_requests() -> None:
    changes, client = _changes({})
    found = changes.own_configs([f"t{number}" for number in range(1200)], Deadline.after(5))
    assert (len(found), found["t1199"], client.sizes) == (1200, {"retention.ms": "5"}, [500, 500, 200])
    assert changes.own_configs([], Deadline.after(5)) == {}


def test_topics_that_are_gone_or_denied_are_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    changes, _ = _changes({"gone": [GONE], "hidden": [DENIED]})
    assert changes.own_configs(["gone", "hidden", "o"], Deadline.after(5)) == {"o": {"retention.ms": "5"}}
    assert "describing the configs of topic gone" in caplog.text
    assert "describing the configs of topic hidden" in caplog.text


def test_brokers_that_are_away_are_asked_again_by_a_new_client_until_the_deadline() -> None:
    changes, client = _changes({"o": [AWAY, GONE]})
    assert changes.own_configs(["o"], Deadline.after(5)) == {}
    assert (client.sizes, client.connections) == ([1, 1], 2)
    changes, _ = _changes({"o": [AWAY]})
    with pytest.raises(RetriableError):
        changes.own_configs(["o"], Deadline.after(0.1))
