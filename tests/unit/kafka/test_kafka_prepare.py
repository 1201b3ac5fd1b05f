"""A producer meets its brokers before it sends, and does not wait for those that are away."""

import time

import pytest

from connect.kafka.client.settings import producer_settings
from connect.kafka.produce.producer import BatchProducer

NOBODY = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize("path", ["columnar", "plain"])
def test_brokers_that_are_away_cost_half_a_second_and_no_error(path):
    settings = producer_settings({**NOBODY, "producer.path": path}, {}, client_id="p").properties
    producer = BatchProducer(settings)
    began_s = time.monotonic()
    producer.prepare()
    took_s = time.monotonic() - began_s
    producer.close()
    assert took_s < 5
