"""Why a transaction has to be aborted is told, where librdkafka tells only that rows are taken no more."""

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException

from connect.api.errors import ConnectError
from connect.kafka.client.errors import AbortableError, DeniedError
from connect.kafka.produce import producer as module
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.produce.receipt import Undelivered
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

ROWS = RawBatch("orders", pa.array([b"x"]))
SETTINGS = {"bootstrap.servers": "k1", "sasl.username": "me"}


class FailedPath:
    """What librdkafka answers when a transaction has failed with `cause`, or is well when there is none."""

    def __init__(self, cause):
        self.cause = cause
        self.lost = None
        self.begun = 0
        self.ended = []

    def enqueue(self, batch, start, receipt):
        raise KafkaException(KafkaError(KafkaError._STATE))

    def begin_transaction(self):
        self.begun += 1
        if self.begun > 1:
            raise KafkaException(self.cause or KafkaError(KafkaError._STATE))

    def fatal(self):
        return None

    def failure(self):
        return self.lost

    def poll(self):
        pass

    def outstanding(self):
        return 0

    def commit_transaction(self, timeout_s):
        self.ended.append("commit")

    def abort_transaction(self, timeout_s):
        self.ended.append("abort")
        if self.cause is not None and self.cause.fatal():
            raise KafkaException(self.cause)

    def close(self):
        self.ended.append("close")

    def purge(self):
        self.lost = Undelivered(KafkaError(KafkaError._PURGE_QUEUE), "orders", 1)


@pytest.fixture
def producer(monkeypatch):
    def made(cause, **more):
        path = FailedPath(cause)
        monkeypatch.setattr(module, "_paths", lambda: {"columnar": lambda _: path, "plain": lambda _: path})
        made = BatchProducer({**SETTINGS, **more})
        made.begin()
        return made, path

    return made


def cause(code):
    return KafkaError(code, "Failed to add partitions", txn_requires_abort=True)


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, DeniedError, "--operation Write --topic orders"),
        (KafkaError.NOT_ENOUGH_REPLICAS, AbortableError, "NOT_ENOUGH_REPLICAS"),
    ],
)
def test_a_row_that_is_refused_after_the_transaction_failed_tells_why_that_failed(producer, code, kind, said):
    sending, _ = producer(cause(code), **{"transactional.id": "t"})
    with pytest.raises(kind) as caught:
        sending.send(ROWS, Deadline.after(1))
    assert type(caught.value) is kind
    assert said in str(caught.value)


def test_a_row_that_was_thrown_away_with_its_transaction_tells_why(producer):
    sending, path = producer(cause(KafkaError.TOPIC_AUTHORIZATION_FAILED), **{"transactional.id": "t"})
    path.purge()
    with pytest.raises(ConnectError, match="--topic orders"):
        sending.check()


def test_rows_that_are_thrown_away_on_purpose_begin_nothing(producer):
    sending, path = producer(None, **{"transactional.id": "t"})
    sending.purge()
    with pytest.raises(ConnectError, match="_PURGE_QUEUE"):
        sending.check()
    assert path.begun == 1


def test_outside_of_transactions_the_error_is_what_it_says(producer):
    sending, path = producer(cause(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(ConnectError, match="_STATE"):
        sending.send(ROWS, Deadline.after(1))
    assert path.begun == 1


FATAL = KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Failed to end", fatal=True)


@pytest.mark.parametrize(
    ("cause", "end", "seen"),
    [
        (None, lambda _: None, ["abort", "close"]),
        (FATAL, lambda _: None, ["abort", "close"]),
        (None, lambda sending: sending.commit(Deadline.after(1)), ["commit", "close"]),
        (None, lambda sending: sending.abort(Deadline.after(1)), ["abort", "close"]),
        (None, lambda sending: sending.purge(), ["close"]),
    ],
    ids=["open", "denied", "committed", "aborted", "killed"],
)
def test_a_transaction_that_is_open_when_its_producer_is_closed_is_aborted(producer, cause, end, seen):
    sending, path = producer(cause, **{"transactional.id": "t"})
    end(sending)
    sending.close()
    assert path.ended == seen
