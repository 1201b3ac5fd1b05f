# ruff: noqa: SLF001 - librdkafka's own error codes begin with an underscore
"""Translates Kafka's errors into ours, which say what happens next and what to change, and never show a secret."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from connect.api.errors import ConnectError, RetriableError
from connect.kafka.client.rights import DENIALS, Needs


class FencedError(ConnectError):
    """Says that another producer or group member took over: this one has to stop writing and committing."""


class FatalProducerError(ConnectError):
    """Says that the producer cannot go on: close it, make a new one, and resume from the last stored position."""


class AbortableError(ConnectError):
    """Says that the transaction must be aborted and its work done again. The producer itself can go on."""


class MissingTopicError(ConnectError):
    """Says that a topic does not exist, or no longer."""


class MissingPartitionError(MissingTopicError):
    """Says that a topic does not have this partition, or no longer: it may have been deleted and made again."""


class DeniedError(ConnectError):
    """Says that the brokers deny this login a right.

    `fix` ends with the command that grants it, where its resource is known.
    """


class PartlySentError(RetriableError):
    """Says that the local queue stayed full.

    The queue took `sent` rows of the batch. Sending the same batch again adds the rest.
    """

    def __init__(self, message: str, *, sent: int) -> None:
        super().__init__(message)
        self.sent = sent


class _Advice(NamedTuple):
    fix: str
    key: str | None = None


_E = KafkaError

GIVEN_UP: Final = frozenset({_E._PURGE_QUEUE, _E._PURGE_INFLIGHT})
"""A record gets one of these codes when its client is given up. The record may be written again."""
PARTITION_GONE: Final = _E._DESTROY
"""librdkafka gives this code to records that still wait in the queue of a partition that was deleted."""
_FENCED = frozenset({
    _E._FENCED, _E.PRODUCER_FENCED, _E.INVALID_PRODUCER_EPOCH, _E.FENCED_INSTANCE_ID, _E.UNKNOWN_MEMBER_ID,
    _E._ASSIGNMENT_LOST, _E.FENCED_MEMBER_EPOCH, _E.TRANSACTION_COORDINATOR_FENCED,
})  # fmt: skip

# These errors are transient; librdkafka sets its own retriable flag on few of them.
_RETRIABLE = frozenset({
    _E._TRANSPORT, _E._ALL_BROKERS_DOWN, _E._TIMED_OUT, _E._TIMED_OUT_QUEUE, _E._MSG_TIMED_OUT, _E._RESOLVE,
    _E._WAIT_COORD, _E._WAIT_CACHE, _E._QUEUE_FULL, _E._IN_PROGRESS, _E._PREV_IN_PROGRESS, _E._RETRY, _E._NODE_UPDATE,
    _E._NO_OFFSET, _E._DESTROY, _E._BAD_MSG,
    _E.REQUEST_TIMED_OUT, _E.BROKER_NOT_AVAILABLE, _E.REPLICA_NOT_AVAILABLE, _E.LEADER_NOT_AVAILABLE,
    _E.NOT_LEADER_FOR_PARTITION, _E.NETWORK_EXCEPTION, _E.COORDINATOR_LOAD_IN_PROGRESS, _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_COORDINATOR, _E.NOT_ENOUGH_REPLICAS, _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND, _E.NOT_CONTROLLER,
    _E.KAFKA_STORAGE_ERROR, _E.CONCURRENT_TRANSACTIONS, _E.REBALANCE_IN_PROGRESS, _E.ILLEGAL_GENERATION,
    _E.STALE_MEMBER_EPOCH, _E.UNSTABLE_OFFSET_COMMIT, _E.THROTTLING_QUOTA_EXCEEDED, _E.OFFSET_NOT_AVAILABLE,
    _E.PREFERRED_LEADER_NOT_AVAILABLE, _E.FENCED_LEADER_EPOCH, _E.UNKNOWN_LEADER_EPOCH,
    _E.FETCH_SESSION_ID_NOT_FOUND, _E.INVALID_FETCH_SESSION_EPOCH,
})  # fmt: skip

_LOST_SEQUENCE = frozenset({_E.OUT_OF_ORDER_SEQUENCE_NUMBER, _E.UNKNOWN_PRODUCER_ID})
"""The broker does not know which rows of this producer it has. A new producer, or a new transaction, mends that."""

_MESSAGE_SIZE = _Advice(
    "Raise max.message.bytes of the topic and producer.override.max.request.size, or make the records smaller.",
    "producer.override.max.request.size",
)
_UNKNOWN_TOPIC = _Advice(
    "Create the topic, set topic.creation.default.partitions and .replication.factor, or mend its name."
)
_UNKNOWN_PARTITION = _Advice("Write to a partition the topic has, or give the topic more partitions.")
_TOPIC_RIGHTS = _Advice("Grant this principal WRITE (sources), or READ (sinks), and DESCRIBE on the topic.")
_LOGIN = _Advice(
    "Mend the credentials: sasl.jaas.config (or sasl.username and sasl.password) and sasl.mechanism.",
    "sasl.jaas.config",
)

_ADVICE = {
    _E.MSG_SIZE_TOO_LARGE: _MESSAGE_SIZE,
    _E.RECORD_LIST_TOO_LARGE: _MESSAGE_SIZE,
    _E._UNKNOWN_TOPIC: _UNKNOWN_TOPIC,
    _E.UNKNOWN_TOPIC_OR_PART: _UNKNOWN_TOPIC,
    _E._UNKNOWN_PARTITION: _UNKNOWN_PARTITION,
    _E.TOPIC_AUTHORIZATION_FAILED: _TOPIC_RIGHTS,
    _E.GROUP_AUTHORIZATION_FAILED: _Advice("Grant this principal READ on the consumer group.", "group.id"),
    _E.CLUSTER_AUTHORIZATION_FAILED: _Advice("Grant this principal IDEMPOTENT_WRITE on the cluster."),
    _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _Advice(
        "Grant this principal WRITE and DESCRIBE on the transactional id.", "transactional.id"
    ),
    _E.SASL_AUTHENTICATION_FAILED: _LOGIN,
    _E._AUTHENTICATION: _LOGIN,
    _E.INVALID_REPLICATION_FACTOR: _Advice(
        "Set a replication factor of at most the number of brokers, or -1 for the broker's default."
    ),
    _E._AUTO_OFFSET_RESET: _Advice(
        "The offset to read is not in the log. Set the sink's offsets to where it shall go on.",
        "consumer.override.auto.offset.reset",
    ),
    _E._MAX_POLL_EXCEEDED: _Advice(
        "Raise max.poll.interval.ms above the longest time one put may take.", "consumer.override.max.poll.interval.ms"
    ),
    _E.INVALID_RECORD: _Advice("The broker refused a record: a compacted topic takes no record without a key."),
    _E.INVALID_TRANSACTION_TIMEOUT: _Advice(
        "Set a transaction.timeout.ms of at most the broker's transaction.max.timeout.ms.", "transaction.timeout.ms"
    ),
}  # fmt: skip


def is_retriable(error: KafkaError) -> bool:
    """Return True if the same call may succeed later though nobody changes anything."""
    return bool(error.retriable()) or error.code() in _RETRIABLE


def is_of_unjoined_group(error: KafkaError) -> bool:
    """Return True if a reader by assignment may ignore the error, which is about a group that it never joins.

    librdkafka looks for the coordinator of the group that such a reader names. Java does not, so nobody grants rights
    to that group. The records come all the same.
    """
    return error.code() == _E.GROUP_AUTHORIZATION_FAILED


def translate(error: KafkaError, doing: str, needs: Needs | None = None) -> ConnectError:
    """Return our error for Kafka's. `doing` is a phrase such as "writing to topic t"; it must hold no secret.

    With `needs` the error names the command that grants a missing right.
    """
    code = error.code()
    message = f"{_sentence(doing)}: {error.str()} ({error.name()})."
    if code in DENIALS:  # also where librdkafka calls it fatal, as a new producer would be refused, too
        right, grant = _ADVICE[code], needs.grant(code) if needs is not None else None
        return DeniedError(message, key=right.key, fix=f"Grant what is missing: {grant}" if grant else right.fix)
    if code in _FENCED:
        return FencedError(message, fix="Another instance took over; this one must stop.")
    if error.fatal() or code == _E._FATAL:
        return FatalProducerError(message)
    if error.txn_requires_abort():
        return AbortableError(message)
    if is_retriable(error):
        return RetriableError(message)
    advice = _ADVICE.get(code)
    if advice is _UNKNOWN_TOPIC:
        return MissingTopicError(message, fix=advice.fix)
    if advice is _UNKNOWN_PARTITION:
        return MissingPartitionError(message, fix=advice.fix)
    return ConnectError(message, key=advice.key, fix=advice.fix) if advice else ConnectError(message)


def undelivered(error: KafkaError, doing: str, needs: Needs | None = None, *, in_transaction: bool) -> ConnectError:
    """Return our error for a record whose delivery failed after it was queued, so that the call cannot be repeated.

    What may pass by itself is AbortableError in a transaction, else FatalProducerError: the row has to be read again.
    """
    ours = translate(error, doing, needs)
    if type(ours) is RetriableError or (error.code() in _LOST_SEQUENCE and type(ours) is ConnectError):
        return AbortableError(ours.message) if in_transaction else FatalProducerError(ours.message)
    return ours


@contextmanager
def translated(doing: str, needs: Needs | None = None) -> Iterator[None]:
    """Translate Kafka's errors that are raised inside. `doing` says what was tried, in the form "reading topic t"."""
    try:
        yield
    except KafkaException as error:
        cause = error.args[0] if error.args else None
        if not isinstance(cause, KafkaError):
            raise ConnectError(f"{_sentence(doing)}: {cause}.") from error
        raise translate(cause, doing, needs) from error


def _sentence(doing: str) -> str:
    return f"Failed {doing}"
