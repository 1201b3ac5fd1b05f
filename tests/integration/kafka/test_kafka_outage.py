"""Checks what the clients keep while their broker is killed and comes back: one broker, killed once for each test."""

from contextlib import ExitStack, suppress
from functools import partial

import pytest
from kafka_drive import Member, in_s, read_values, send

from connect.api.errors import RetriableError
from connect.cluster.model.config_records import TargetRecord
from connect.cluster.model.connector_values import TargetState
from connect.cluster.store.config_store import ConfigStore
from connect.kafka.client.settings import consumer_settings, producer_settings
from connect.kafka.log.kv_log import KeyValueLog


def test_producers_lose_no_row_and_repeat_none(own_kafka, own_clients, topic_name, values):
    rows = [b"%d" % i for i in range(6000)]
    producers = {}
    for path in ("columnar", "plain"):
        topic = own_clients.topic(f"{topic_name}-{path}", 3)
        producers[topic] = own_clients.producer(path=path, socket_timeout_ms="3000")
    for topic, producer in producers.items():
        producer.send(values(topic, rows[:2000]), in_s(60))
        producer.flush(in_s(60))
        producer.send(values(topic, rows[2000:4000]), in_s(60))

    own_kafka.kill()
    for topic, producer in producers.items():
        producer.send(values(topic, rows[4000:]), in_s(60))
        with pytest.raises(RetriableError, match="acknowledgement"):
            producer.flush(in_s(1))
    own_kafka.start()
    for topic, producer in producers.items():
        producer.flush(in_s(60))
        assert sorted(read_values(own_clients, topic, 6000)) == sorted(rows)


def test_a_member_of_a_group_commits_by_its_deadline_and_reads_on(own_kafka, own_clients, topic_name, unique):
    topic = own_clients.topic(topic_name)
    send(own_clients, topic, [b"1"])
    member = Member(own_clients.consumer(unique), [topic])
    member.until(lambda: member.values == [b"1"])
    leaving = Member(own_clients.consumer(f"{unique}-leaving"), [topic])
    leaving.until(lambda: leaving.values == [b"1"])
    member.consumer.commit(member.next_offsets, in_s(60))

    own_kafka.kill()
    with pytest.raises(RetriableError, match="committing offsets"):
        member.consumer.commit(member.next_offsets, in_s(2))
    closing = in_s(30)
    leaving.consumer.close(closing)
    assert not closing.expired
    own_kafka.start()
    send(own_clients, topic, [b"2"])
    member.until(lambda: len(member.values) == 2, timeout_s=60)

    assert member.values == [b"1", b"2"]


class Nobody:
    """A listener of the config topic that takes note of nothing."""

    def config_changed(self):
        pass


def test_a_configuration_that_was_not_written_in_time_does_not_come_later(own_kafka, own_clients, topic_name):
    """It would replace the one that a later leader has written meanwhile, see `DELIVERY_TIMEOUT_S`."""
    topic = own_clients.topic(topic_name, cleanup_policy="compact")

    def store_of(within_ms):
        store = ConfigStore(partial(log_of, within_ms), Nobody())
        closing.callback(store.close)
        store.start(in_s(60))
        return store

    def log_of(within_ms, on_record):
        worker = own_clients.worker
        return KeyValueLog(
            topic,
            consumer_settings(worker, {}, client_id="configs").properties,
            producer_settings(worker, {}, client_id="configs", deliver_within_ms=within_ms).properties,
            on_record=on_record,
        )

    with ExitStack() as closing:
        hasty, patient = store_of(2000), store_of(25_000)
        hasty.put_connector("c", {"version": "1"})
        own_kafka.kill()
        with pytest.raises(RetriableError, match=r"can be safely retried.*timed out"):
            hasty.put_connector("c", {"version": "2"})
        own_kafka.start()
        patient.put_connector("c", {"version": "3"})
        written, deadline = False, in_s(60)
        while not written:  # by the same client, so behind all that it still holds
            assert not deadline.expired
            with suppress(RetriableError):
                hasty.put(TargetRecord("c", TargetState.PAUSED))
                written = True
        assert hasty.refresh().connectors == {"c": {"version": "3"}}


@pytest.mark.chaos
def test_an_outage_is_survived_and_nothing_that_was_put_is_lost(own_kafka, own_clients, topic_name, open_log):
    topic = own_clients.topic(topic_name, cleanup_policy="compact")
    errors = []
    log, table = open_log(own_clients, topic, on_error=errors.append)
    log.put(b"before", b"1").result(60)

    own_kafka.kill()
    during = log.put(b"during", b"2")
    with pytest.raises(RetriableError):
        log.read_to_end(in_s(3))
    assert log.last_error is not None
    own_kafka.start()
    during.result(60)
    log.read_to_end(in_s(60))

    assert table.now == {b"before": b"1", b"during": b"2"}
    assert log.last_error is None
    assert errors == []
