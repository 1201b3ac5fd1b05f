"""The doctor looks if somebody listens where alerts are posted, and shows no more of the address than host and port."""

from __future__ import annotations

import socket

import pytest
from doctor_faults import KEYS

from connect.doctor.gathering.receiver_facts import receiver_trouble
from connect.runtime.settings.worker_config import WorkerConfig


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_a_receiver_that_listens_is_no_finding_and_one_that_is_away_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        worker = WorkerConfig.parse(KEYS | {"alerts.webhook.url": f"http://127.0.0.1:{port}/services/s3cr3t"})
        assert receiver_trouble(worker) == ""
    assert receiver_trouble(worker) == f"Nobody answers at 127.0.0.1:{port}: Connection refused."


def test_what_a_proxy_reaches_is_not_judged_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    worker = WorkerConfig.parse(KEYS | {"alerts.webhook.url": "http://alerts.invalid/x"})
    assert receiver_trouble(worker) == ""
    assert receiver_trouble(WorkerConfig.parse(KEYS)) == ""
