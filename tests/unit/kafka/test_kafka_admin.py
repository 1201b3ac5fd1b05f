"""Checks how long requests of the admin client may take before they are made again; no broker is asked."""

from concurrent.futures import Future

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.kafka.admin.calls import RetryingAdmin
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.errors import DeniedError
from connect.lib.deadline import Deadline


def test_a_request_that_gets_lost_is_made_again_with_more_patience_each_time():
    limits_s: list[float] = []

    def ask(timeout_s: float) -> Future[str]:
        limits_s.append(timeout_s)
        answer: Future[str] = Future()
        if len(limits_s) < 3:
            answer.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        else:
            answer.set_result("answered")
        return answer

    admin = RetryingAdmin({"bootstrap.servers": "127.0.0.1:1"})
    assert admin.call(ask, Deadline.after(60), "asking", first_s=0.5) == "answered"
    assert limits_s == [0.5, 1.0, 2.0]

    limits_s.clear()
    assert admin.call(ask, Deadline.after(60), "asking") == "answered"
    assert limits_s == [10.0, 10.0, 10.0]


def test_a_coordinator_has_the_whole_time_for_its_answer_and_the_own_client_stays():
    limits_s: list[float] = []

    def ask(_client: AdminClient, timeout_s: float) -> Future[str]:
        limits_s.append(round(timeout_s, 1))
        answer: Future[str] = Future()
        if len(limits_s) < 3:
            answer.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        else:
            answer.set_result("answered")
        return answer

    admin = RetryingAdmin({"bootstrap.servers": "127.0.0.1:1"})
    own = admin.client
    assert admin.call_coordinator(ask, Deadline.after(60), "asking") == "answered"
    assert limits_s[0] == 2.0
    assert admin.client is own


def test_metadata_that_does_not_come_is_asked_for_by_a_new_client_with_more_patience(monkeypatch):
    asked: list[tuple[AdminClient, float]] = []

    def list_topics(self, _topic, *, timeout):
        asked.append((self, timeout))
        if len(asked) < 3:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return "metadata"

    monkeypatch.setattr(AdminClient, "list_topics", list_topics)
    admin = RetryingAdmin({"bootstrap.servers": "127.0.0.1:1"})

    assert admin.metadata(Deadline.after(60), "asking") == "metadata"
    assert len({id(client) for client, _ in asked}) == 3
    assert [limit_s for _, limit_s in asked] == [2.0, 4.0, 8.0]
    assert admin.client is asked[-1][0]


@pytest.mark.parametrize("code", [KafkaError._NOENT, KafkaError.UNKNOWN_TOPIC_OR_PART, None])
def test_a_leader_that_has_not_heard_of_a_new_topic_is_asked_for_its_end_again(monkeypatch, code):
    asked: list[KafkaPartition] = []

    def list_offsets(_self, wanted, **_settings):
        asked.extend(wanted)
        answer: Future[ListOffsetsResultInfo] = Future()
        if len(asked) < 3 and code is None:
            answer.set_result(ListOffsetsResultInfo(OFFSET_INVALID, -1, -1))
        elif len(asked) < 3:
            answer.set_exception(KafkaException(KafkaError(code)))
        else:
            answer.set_result(ListOffsetsResultInfo(7, -1, 0))
        return {next(iter(wanted)): answer}

    monkeypatch.setattr(AdminClient, "list_offsets", list_offsets)
    place = TopicPartition("configs", 0)
    admin = TopicAdmin({"bootstrap.servers": "127.0.0.1:1"})
    assert admin.end_offsets([place], Deadline.after(60)) == {place: 7}
    assert len(asked) == 3


def test_an_end_that_nobody_knows_is_none(monkeypatch):
    """A log whose end is below all offsets would count as read."""

    def list_offsets(_self, wanted, **_settings):
        answer: Future[ListOffsetsResultInfo] = Future()
        answer.set_result(ListOffsetsResultInfo(OFFSET_INVALID, -1, -1))
        return {next(iter(wanted)): answer}

    monkeypatch.setattr(AdminClient, "list_offsets", list_offsets)
    admin = TopicAdmin({"bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(RetriableError, match="listing offsets of topics configs: nobody who was asked knew the leader"):
        admin.end_offsets([TopicPartition("configs", 0)], Deadline.after(0.5))


def test_who_may_not_create_a_topic_is_told_the_grant(monkeypatch):
    def create_topics(_self, wanted, **_settings):
        answer: Future[None] = Future()
        answer.set_exception(KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)))
        return {wanted[0].topic: answer}

    monkeypatch.setattr(AdminClient, "create_topics", create_topics)
    admin = TopicAdmin({"bootstrap.servers": "127.0.0.1:1", "sasl.username": "me"})
    with pytest.raises(DeniedError, match=r"--allow-principal User:me --operation Create --topic orders$"):
        admin.create("orders", deadline=Deadline.after(60))
