"""Listeners, advertised addresses, start and stop."""

from __future__ import annotations

import socket
import threading
import time

import pytest
import requests
from memory_cluster import MemoryOperations
from rest_client import Rest
from sample_plugins import catalog, worker_config

from connect.api.errors import ConfigError
from connect.rest.app import rest_app
from connect.rest.rest_server import HttpThread, RestServer
from connect.rest.server.context import RestContext
from connect.rest.server.listeners import bind


def test_a_free_port_is_advertised() -> None:
    bound = bind(worker_config(listeners="http://127.0.0.1:0"))
    try:
        (port,) = bound.ports
        assert port > 0
        assert (bound.url, bound.worker_id) == (f"http://127.0.0.1:{port}", f"127.0.0.1:{port}")
    finally:
        bound.close()


def test_the_settings_for_other_workers_win() -> None:
    settings = worker_config(
        listeners="http://127.0.0.1:0",
        rest_advertised_host_name="worker-1.example",
        rest_advertised_port="80",
        rest_advertised_listener="https",
    )
    bound = bind(settings)
    bound.close()
    assert bound.url == "https://worker-1.example:80"


def test_a_wildcard_listener_advertises_an_address() -> None:
    bound = bind(worker_config(listeners="http://:0"))
    bound.close()
    host = bound.worker_id.rpartition(":")[0]
    assert host not in {"", "0.0.0.0"}


@pytest.fixture
def _name_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this machine's name have the address that Debian's installer gives it on every machine."""
    monkeypatch.setattr(socket, "gethostbyname", lambda _: "127.0.1.1")


@pytest.mark.usefixtures("_name_on_loopback")
@pytest.mark.parametrize("brokers", ["192.0.2.7:9092", "no-such-host.invalid:1,192.0.2.7:9092"])
def test_an_address_that_every_machine_has_is_not_advertised(brokers: str) -> None:
    bound = bind(worker_config(listeners="http://:0", bootstrap_servers=brokers))
    bound.close()
    assert not bound.worker_id.startswith("127.")


@pytest.mark.usefixtures("_name_on_loopback")
@pytest.mark.parametrize("brokers", ["127.0.0.1:9092", "[::1]:9092"])
def test_where_all_are_on_one_machine_its_loopback_is_advertised(brokers: str) -> None:
    bound = bind(worker_config(listeners="http://:0", bootstrap_servers=brokers))
    bound.close()
    assert bound.worker_id.startswith("127.0.1.1:")


@pytest.mark.parametrize("listener", ["localhost:8083", "http://", "http://h:99999", "ftp://x:1"])
def test_a_listener_that_cannot_be_used(listener: str) -> None:
    with pytest.raises(ConfigError) as caught:
        bind(worker_config(listeners=listener))
    assert caught.value.key == "listeners"


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"Cannot listen on http://127.0.0.1:{port}: port {port} is taken"
        ) as told:
            bind(worker_config(listeners=f"http://127.0.0.1:{port}"))
    assert f"`ss -ltnp 'sport = :{port}'`" in str(told.value)
    assert "give listeners another port" in str(told.value)


def test_an_address_of_another_machine() -> None:
    for host in ("192.0.2.7", "no-such-host.invalid"):
        with pytest.raises(ConfigError, match=f"{host} is no address of this machine. Let admin.listeners name one"):
            bind(worker_config(**{"listeners": "http://127.0.0.1:0", "admin.listeners": f"http://{host}:1"}))


def test_several_listeners_serve_the_same() -> None:
    settings = worker_config(listeners="http://127.0.0.1:0,http://localhost:0")
    bound = bind(settings)
    server = HttpThread(rest_app(RestContext(MemoryOperations(), catalog(), settings)), bound)
    server.start()
    try:
        answers = [requests.get(f"http://127.0.0.1:{port}/connectors", timeout=10).json() for port in bound.ports]
        assert answers == [[], []]
    finally:
        server.stop()


def test_nothing_answers_after_stop() -> None:
    settings = worker_config(listeners="http://127.0.0.1:0")
    bound = bind(settings)
    server = HttpThread(rest_app(RestContext(MemoryOperations(), catalog(), settings)), bound)
    server.start()
    rest = Rest(MemoryOperations(), server.url)
    rest.get("/connectors")
    server.stop()
    with pytest.raises(requests.ConnectionError):
        requests.get(server.url, timeout=5)


@pytest.mark.thorough
def test_stop_does_not_wait_for_a_request_that_hangs() -> None:
    operations = MemoryOperations()
    operations.stuck = True
    server = RestServer(worker_config(listeners="http://127.0.0.1:0"), operations, catalog())
    server.start()
    sent = threading.Thread(target=_ignoring_errors, args=(server.url + "/connectors/x/topics/reset",))
    sent.start()
    assert operations.asked_while_stuck.wait(10)
    start_s = time.monotonic()
    server.stop()
    assert time.monotonic() - start_s < 8
    sent.join(10)
    assert not sent.is_alive()


def _ignoring_errors(url: str) -> None:
    with pytest.raises(requests.ConnectionError):
        requests.put(url, timeout=30)


def test_a_workers_server_names_itself_before_it_starts() -> None:
    server = RestServer(worker_config(listeners="http://127.0.0.1:0"), MemoryOperations(), catalog())
    assert server.start() == server.url
    try:
        assert requests.get(f"{server.url}/connectors", timeout=10).json() == []
    finally:
        server.stop()
        server.stop()


def test_a_server_that_never_started_frees_its_port() -> None:
    server = RestServer(worker_config(listeners="http://127.0.0.1:0"), MemoryOperations(), catalog())
    server.stop()
    again = RestServer(worker_config(listeners=server.url), MemoryOperations(), catalog())
    assert again.url == server.url
    again.stop()
