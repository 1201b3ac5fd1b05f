"""While a worker is sent the dearest requests over many connections, another client is answered within a second."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator

import psutil
import pytest
import requests
from attacked import Target
from busy_clients import busy_clients
from dear_requests import STORED, dear_requests, stored

pytestmark = pytest.mark.attacks

ANSWERED_S = 1.0
QUESTIONS = 6
ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
OTHER = "127.0.0.77"


@pytest.fixture(scope="module")
def large(target: Target) -> Iterator[Target]:
    """The worker with a connector of the attacker's, whose configuration and history are as large as any may be."""
    for config in stored():
        url = f"{target.url}/connectors/{STORED}/config"
        made = requests.put(url, json=config, timeout=120)
        assert made.status_code in {200, 201}, made.text[:1000]
    yield target
    target.delete(STORED)


@pytest.mark.parametrize("kind", sorted(dear_requests()))
def test_another_client_is_answered_within_a_second(large: Target, kind: str) -> None:
    """What counts is how long the worker computes in between: others may have the machine meanwhile."""
    port, worker = int(large.url.rpartition(":")[2]), psutil.Process(large.worker.pid)
    with busy_clients(port, dear_requests()[kind], ADDRESSES) as clients:
        assert clients.stdout is not None
        assert clients.stdout.readline(), "the attack has begun"
        for path in ("/", "/connectors") * QUESTIONS:
            began_s = computed_s(worker)
            ask(port, path)
            spent_s = computed_s(worker) - began_s
            assert spent_s < ANSWERED_S, f"the worker computed for {spent_s:.2f} s before it answered GET {path}"
        assert clients.poll() is None
    wait_until_idle(worker)


def computed_s(worker: psutil.Process) -> float:
    times = worker.cpu_times()
    return times.user + times.system


def ask(port: int, path: str) -> None:
    client = http.client.HTTPConnection("127.0.0.1", port, 120, (OTHER, 0))
    client.request("GET", path)
    answer = client.getresponse()
    assert (answer.status, bool(answer.read())) == (200, True)
    client.close()


def wait_until_idle(worker: psutil.Process) -> None:
    """Wait until the worker is done with what it was sent, so that the next test sees its own attack alone."""
    limit_s = time.monotonic() + 120
    while True:
        before_s = computed_s(worker)
        threading.Event().wait(0.5)
        if computed_s(worker) - before_s < 0.1:
            return
        assert time.monotonic() < limit_s, "it goes on and on"
