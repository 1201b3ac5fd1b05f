"""A leader's transaction ends soon where nobody ends it, whatever the worker's file says for those of sources."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from connect.cluster.store.config_store import WRITE_TIMEOUT_S
from connect.cluster.store.leader_producer import LEADER_TRANSACTION_MS, leader_producer

BROKERS_LOOK_S = 10
"""Brokers look for transactions that are over in this interval: transaction.abort.timed.out....cleanup.interval.ms."""


@pytest.mark.parametrize(
    ("given", "timeout_ms"),
    [
        ({}, LEADER_TRANSACTION_MS),
        ({"producer.transaction.timeout.ms": "900000"}, LEADER_TRANSACTION_MS),
        ({"producer.transaction.timeout.ms": "5000"}, 5000),
        ({"producer.request.timeout.ms": "60000", "producer.delivery.timeout.ms": "600000"}, LEADER_TRANSACTION_MS),
        ({"producer.socket.timeout.ms": "60000", "producer.message.timeout.ms": "59000"}, LEADER_TRANSACTION_MS),
        ({"request.timeout.ms": "45000", "producer.delivery.timeout.ms": "2147483647"}, LEADER_TRANSACTION_MS),
    ],
)
def test_a_producer_can_be_made_whose_transactions_end_in_time(given, timeout_ms):
    settings = leader_producer({"bootstrap.servers": "127.0.0.1:1", **given}, "client", "connect-cluster-g")
    assert int(settings["transaction.timeout.ms"]) == timeout_ms
    assert settings["transactional.id"] == "connect-cluster-g"
    Producer({key: value for key, value in settings.items() if key != "producer.path"}).purge()


def test_a_claim_is_read_back_behind_a_transaction_that_nobody_ends():
    assert LEADER_TRANSACTION_MS / 1000 + BROKERS_LOOK_S < WRITE_TIMEOUT_S
