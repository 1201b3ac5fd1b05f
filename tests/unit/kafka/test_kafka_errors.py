import pytest
from confluent_kafka import KafkaError, KafkaException

from connect.api.errors import RetriableError
from connect.kafka.client.errors import (
    AbortableError,
    DeniedError,
    FatalProducerError,
    FencedError,
    MissingPartitionError,
    MissingTopicError,
    translate,
    translated,
    undelivered,
)
from connect.kafka.client.rights import Needs


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (KafkaError(KafkaError._TRANSPORT), RetriableError),
        (KafkaError(KafkaError._TIMED_OUT), RetriableError),
        (KafkaError(KafkaError.NOT_ENOUGH_REPLICAS), RetriableError),
        (KafkaError(KafkaError.REBALANCE_IN_PROGRESS), RetriableError),
        (KafkaError(KafkaError.ILLEGAL_GENERATION), RetriableError),
        (KafkaError(KafkaError.UNKNOWN_MEMBER_ID), FencedError),
        (KafkaError(KafkaError.PRODUCER_FENCED), FencedError),
        (KafkaError(KafkaError._FENCED, fatal=True), FencedError),
        (KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, fatal=True), FatalProducerError),
        (KafkaError(KafkaError._TIMED_OUT, txn_requires_abort=True), AbortableError),
        (KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), DeniedError),
        (KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), MissingTopicError),
        (KafkaError(KafkaError._UNKNOWN_PARTITION), MissingPartitionError),
    ],
)
def test_an_error_is_named_by_what_happens_next(error, ours):
    assert type(translate(error, "testing")) is ours


def test_an_error_says_what_was_done_and_what_to_change():
    error = translate(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), "writing to topic t (record of 9 bytes)")

    assert "writing to topic t (record of 9 bytes)" in str(error)
    assert "max.message.bytes" in str(error)
    assert error.key == "producer.override.max.request.size"


def test_a_row_that_was_taken_and_then_lost_is_not_just_sent_again():
    timed_out = KafkaError(KafkaError._MSG_TIMED_OUT)

    assert type(undelivered(timed_out, "writing", in_transaction=False)) is FatalProducerError
    assert type(undelivered(timed_out, "writing", in_transaction=True)) is AbortableError


def test_kafkas_exceptions_are_translated_with_their_cause():
    with pytest.raises(RetriableError, match="Failed reading topic t") as caught, translated("reading topic t"):
        raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))

    assert isinstance(caught.value.__cause__, KafkaException)


def test_other_exceptions_pass():
    with pytest.raises(ZeroDivisionError), translated("reading"):
        raise ZeroDivisionError


CLIENT = {
    "bootstrap.servers": "k1:9093", "sasl.username": "orders app", "sasl.password": "canary-4711",
    "group.id": "connect-s3", "transactional.id": "c-orders-0",
}  # fmt: skip
GRANT = "kafka-acls.sh --bootstrap-server k1:9093 --add --allow-principal 'User:orders app' --operation "


@pytest.mark.parametrize(
    ("code", "granted"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Write --topic a --topic b"),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, "Read --group connect-s3"),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Write --transactional-id c-orders-0"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "IdempotentWrite --cluster"),
    ],
)
@pytest.mark.parametrize("more", [{}, {"fatal": True}, {"txn_requires_abort": True}])
def test_a_right_that_is_missing_is_told_as_the_command_that_grants_it(code, granted, more):
    needs = Needs.of(CLIENT, "Write", ["b", "a"])
    error = translate(KafkaError(code, **more), "writing", needs)
    assert type(error) is DeniedError
    assert str(error).endswith(f": {GRANT}{granted}")
    assert "canary" not in f"{error}{needs}"


def test_a_command_names_no_resource_that_is_not_known():
    denied = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    assert "kafka-acls" not in str(translate(denied, "reading", Needs.of({}, "Read")))
