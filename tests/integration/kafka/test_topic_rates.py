"""Checks how much comes into a topic, sampled by offsets of two times in a real Kafka."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer

from connect.api.errors import ConnectError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.runtime.topics.topic_rates import sampled_rates

HOUR_S = 3600


@pytest.fixture
def worker(kafka):
    return {"bootstrap.servers": kafka.bootstrap_servers}


def topic(worker, name: str, partitions: int = 2) -> str:
    admin = TopicAdmin(admin_settings(worker, {}, "rates").properties)
    # Records of long ago stay.
    admin.create(name, partitions=partitions, configs={"retention.ms": "-1"}, deadline=Deadline.after(60))
    return name


def send(worker, name: str, ages_s: list[float], now_ms: int, value: bytes = b"12345678", keys: int = 3) -> None:
    producer = Producer(worker)
    for number, age_s in enumerate(ages_s):
        producer.produce(
            name, value, key=f"k{number % keys}".encode(), partition=number % 2, timestamp=now_ms - round(age_s * 1000)
        )
    assert producer.flush(60) == 0


def test_a_day_is_counted_where_the_topic_reaches_back_so_far(worker, topic_name):
    now_ms, name = time.time_ns() // 1_000_000, topic(worker, topic_name)
    send(worker, name, [30 * HOUR_S] * 10 + [20 * HOUR_S] * 30 + [60] * 20, now_ms)
    found = sampled_rates(worker, [name, f"{name}-missing"], now_ms, Deadline.after(60))
    assert set(found) == {name}
    rate = found[name]
    assert (rate.rows_per_day, rate.span_s) == (50, 24 * HOUR_S)
    assert (rate.row_bytes, rate.sampled_records, rate.distinct_keys) == (8, 60, 3)


@pytest.mark.parametrize(
    ("ages_s", "rows_per_day", "span_s"),
    [
        ([2 * HOUR_S] * 5 + [1800] * 10, 240, HOUR_S),
        ([8 * HOUR_S] * 2 + [5 * HOUR_S] * 6, 24, 6 * HOUR_S),
        ([60] * 7, 7 * 144, 600),
        ([30 * HOUR_S] * 8, 0, 24 * HOUR_S),
    ],
)
def test_a_younger_topic_is_counted_over_a_shorter_time(worker, topic_name, ages_s, rows_per_day, span_s):
    now_ms, name = time.time_ns() // 1_000_000, topic(worker, topic_name)
    send(worker, name, ages_s, now_ms)
    rate = sampled_rates(worker, [name], now_ms, Deadline.after(60))[name]
    assert (rate.rows_per_day, rate.span_s) == (rows_per_day, span_s)


def test_an_empty_topic_is_left_out_and_a_large_one_is_read_no_further_than_its_end(worker, topic_name):
    now_ms = time.time_ns() // 1_000_000
    name, empty = topic(worker, topic_name), topic(worker, f"{topic_name}-empty")
    send(worker, name, [30.0] * 5000, now_ms, keys=10_000)
    found = sampled_rates(worker, [name, empty], now_ms, Deadline.after(60))
    assert set(found) == {name}
    assert found[name].sampled_records == found[name].distinct_keys == 400


def test_where_no_broker_answers_an_error_says_so():
    with pytest.raises(ConnectError):
        sampled_rates({"bootstrap.servers": "127.0.0.1:1"}, ["t"], 0, Deadline.after(2))
