"""Asks `POST /poc` of a real worker: the evaluation runs beside it, under the leave that the worker gives."""

from __future__ import annotations

import json
import urllib.request

import pytest

from connect.client.rest import Access, ConnectClient
from connect.tools.services.process.polling import poll_until
from connect.tools.services.worker import WorkerService

LIMIT_S = 300.0


@pytest.fixture
def worker(kafka, unique, tmp_path):
    (tmp_path / "allowed").mkdir()
    settings = {"file.stream.paths": str(tmp_path / "allowed")}
    with WorkerService(kafka.bootstrap_servers, group_id=unique, settings=settings) as running:
        yield running


def evaluated(worker, file):
    client = ConnectClient(Access(worker.endpoint.url))
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": "lines"}
    options = {"sample_rows": 100, "duration_s": 60, "crashes": 0}
    begun = client.call("POST", "/poc", {"connectors": [{"name": "in", "config": config}], "options": options})
    path = f"/poc/{begun['id']}"
    poll_until(
        lambda: client.call("GET", path)["state"] != "RUNNING", deadline_s=LIMIT_S, waiting_for="an evaluation",
        fix="See the worker's log.",
    )  # fmt: skip
    return path, client.call("GET", path)


def test_a_worker_evaluates_a_connector(worker, tmp_path):
    file = tmp_path / "allowed" / "in.txt"
    file.write_text("".join(f"line {i}\n" for i in range(500)))
    path, found = evaluated(worker, file)
    assert found["state"] == "DONE", found
    outcomes = {check["name"]: check["outcome"] for check in found["result"]["checks"]}
    assert (outcomes["Round trip"], outcomes["Throughput"]) == ("pass", "pass"), json.dumps(found["result"], indent=1)
    with urllib.request.urlopen(f"{worker.endpoint.url}{path}/report") as report:
        assert b"This connector fits" in report.read()


def test_what_the_worker_does_not_allow_is_not_read_by_an_evaluation_either(worker, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("SENTINEL\n" * 10)
    _, found = evaluated(worker, secret)
    (config, *_) = found["result"]["checks"]
    assert (config["number"], config["outcome"]) == (1, "fail")
    assert "allowed.paths" in config["summary"]
    assert "SENTINEL" not in json.dumps(found)
