"""A batch that the database does not take is tried again as often as max.retries says, and no sooner than it says."""

from __future__ import annotations

import socket

import pytest
from jdbc_sink_rows import batch

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.settings.retries import WITHOUT_END, Retries
from connectors.jdbc.sink.sink import JdbcSinkTask

AWAY = RetriableError("The database is away.")


def test_a_batch_has_so_many_tries_more_and_the_next_one_as_many():
    retries = Retries(2, 0.0)
    for _ in range(2):
        retries.failed(AWAY)
        retries.failed(AWAY)
        retries.succeeded()
    retries.failed(AWAY)
    retries.failed(AWAY)
    with pytest.raises(ConnectError, match=r"not written in 3 tries: The database is away\.") as caught:
        retries.failed(AWAY)
    assert not isinstance(caught.value, RetriableError)
    assert caught.value.key == "max.retries"


def test_without_the_key_there_is_no_end():
    retries = Retries(WITHOUT_END, 0.0)
    for _ in range(1000):
        retries.failed(AWAY)


def test_no_try_comes_before_the_backoff_is_over():
    now_s = 100.0
    retries = Retries(WITHOUT_END, 3.0, lambda: now_s)
    retries.wait(Deadline.after(0.0))
    retries.failed(AWAY)
    with pytest.raises(RetriableError, match=r"retry\.backoff\.ms"):
        retries.wait(Deadline.after(0.0))
    now_s += 3.0
    retries.wait(Deadline.after(0.0))


def test_a_task_whose_database_is_away_fails_behind_its_last_try():
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"jdbc:postgresql://127.0.0.1:{nobody.getsockname()[1]}/none"
        given = {"connection.url": url, "topics": "t", "max.retries": "1", "retry.backoff.ms": "0"}
        task = JdbcSinkTask(JdbcSinkConfig.parse({**given, **EVERYWHERE}))
        with pytest.raises(RetriableError):
            task.put(batch([{"id": 1}]), Deadline.after(30))
        with pytest.raises(ConnectError, match="not written in 2 tries"):
            task.put(batch([{"id": 1}]), Deadline.after(30))
        task.close()


def test_a_number_of_tries_that_is_none_is_refused():
    with pytest.raises(ConfigError, match=r"max\.retries"):
        JdbcSinkConfig.parse({**EVERYWHERE, "connection.url": "jdbc:sqlite:x", "max.retries": "-2"})
