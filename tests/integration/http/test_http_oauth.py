"""Checks that HTTP sinks send tokens of a real OAuth issuer, by Confluent's keys and Aiven's, and ask anew when
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest
import requests
from api_server import ApiServer, api
from device_issuer import MACHINES_SECRET, DeviceIssuer

from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.http.api.config import AivenHttpSinkConfig, HttpSinkConfig
from connectors.http.api.sink import HttpSinkTask

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with DeviceIssuer() as service:
        yield service.endpoint


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api() as running:
        yield running


def confluents(issuer: str, server: ApiServer, **changes: str) -> HttpSinkTask:
    given = {
        "http.api.url": f"{server.url}/in", "retry.backoff.ms": "0", "auth.type": "OAUTH2",
        "oauth2.token.url": f"{issuer}/token", "oauth2.client.id": "machines-basic",
        "oauth2.client.secret": MACHINES_SECRET, "oauth2.client.scope": "", **changes,
    }  # fmt: skip
    return opened(HttpSinkTask(HttpSinkConfig.parse(given)))


def aivens(issuer: str, server: ApiServer) -> HttpSinkTask:
    given = {
        "http.url": f"{server.url}/in", "http.authorization.type": "oauth2",
        "oauth2.access.token.url": f"{issuer}/token",
        "oauth2.client.id": "machines-post", "oauth2.client.secret": MACHINES_SECRET,
        "oauth2.client.authorization.mode": "URL",
    }  # fmt: skip
    return opened(HttpSinkTask(AivenHttpSinkConfig.parse(given)))


def opened(task: HttpSinkTask) -> HttpSinkTask:
    task.open(FakeSinkContext())
    return task


def put(task: HttpSinkTask, *values: str) -> None:
    place = Consumed(TopicPartition("orders", 0), pa.array(range(len(values)), pa.int64()), len(values))
    task.put(Batch("orders", Column.from_rows(values, None), consumed=place), Deadline.after(30))


def tokens(server: ApiServer) -> list[str]:
    return [headers["authorization"].removeprefix("Bearer ") for _, _, headers, _ in server.asked]


def known(issuer: str, token: str) -> Mapping[str, Any]:
    """What the issuer itself says of a token."""
    login = ("machines-basic", "secret%2Bof%2Fmachines")
    found: Mapping[str, Any] = requests.post(
        f"{issuer}/token/introspection", {"token": token}, auth=login, timeout=30
    ).json()
    return found


def test_tokens_are_the_issuers_and_one_serves_many_requests(issuer: str, server: ApiServer) -> None:
    task = confluents(issuer, server)
    put(task, "a", "b")
    first, second = tokens(server)
    assert first == second
    assert {"active": True, "client_id": "machines-basic"}.items() <= known(issuer, first).items()
    assert server.bodies() == [b"a", b"b"]
    task.close()


def test_aivens_keys_send_id_and_secret_in_the_form(issuer: str, server: ApiServer) -> None:
    task = aivens(issuer, server)
    put(task, "a")
    [token] = tokens(server)
    put(task, "b")
    assert tokens(server) == [token, token]
    task.close()


def test_a_token_that_was_withdrawn_is_asked_for_anew_and_no_record_is_lost(issuer: str, server: ApiServer) -> None:
    task = confluents(issuer, server)
    put(task, "a")
    server.statuses = [401]
    put(task, "b")
    first, refused, second = tokens(server)
    assert first == refused != second
    assert known(issuer, second)["active"]
    assert server.bodies() == [b"a", b"b", b"b"]
    task.close()


def test_without_a_token_records_wait_and_the_secret_is_not_told(issuer: str, server: ApiServer) -> None:
    task = confluents(issuer, server, **{"oauth2.client.secret": "wrong-secret"})
    with pytest.raises(RetriableError, match="gives no token: HTTP 401 invalid_client") as refused:
        put(task, "a")
    assert "wrong-secret" not in str(refused.value)
    assert server.asked == []
    task.close()
