"""Plans, runs, watches, verifies and hands over a backfill in a worker's own process by REST alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from backfill_job import Table
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint

ROWS = 2000


@pytest.fixture(scope="module")
def worker(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    process = WorkerProcess(tmp_path_factory.mktemp("worker"), kafka.bootstrap_servers, "backfill-rest")
    process.start()
    yield process
    process.stop()


def call(worker: WorkerProcess, method: str, path: str, body: Any = None) -> requests.Response:
    return requests.request(method, worker.url + path, json=body, timeout=90)


def planned(table: Table, worker: WorkerProcess, *, lanes: int) -> dict[str, Any]:
    """Fill the table and create its connector, stopped; return the spec of a job that copies it."""
    table.fill(ROWS)
    stopped = {"name": table.name, "config": table.connector(), "initial_state": "STOPPED"}
    assert call(worker, "POST", "/connectors", stopped).status_code == 201
    return {
        "apiVersion": "backfill/v1", "name": table.name, "source": {"connector": table.name},
        "engine": {"type": "local"}, "chunking": {"rows": 500, "lanes": lanes},
    }  # fmt: skip


def test_a_backfill_is_run_and_handed_over_by_requests(table: Table, worker: WorkerProcess):
    spec = planned(table, worker, lanes=2)
    name, path = table.name, f"/backfills/{table.name}"
    made = call(worker, "POST", "/backfills", spec)
    assert made.status_code == 201, made.text
    assert (made.json()["chunks"], made.json()["runs_here"]) == (4, True)
    wait_for(lambda: call(worker, "GET", path).json()["state"] == "COPIED", 60, "the job's end")
    found = call(worker, "GET", path).json()
    assert (found["progress"]["chunks_done"], found["progress"]["rows_done"]) == (4, ROWS)
    assert [chunk["rows"] for chunk in call(worker, "GET", f"{path}/chunks").json()] == [500] * 4
    assert name in [job["name"] for job in call(worker, "GET", "/backfills").json()]
    verdict = call(worker, "POST", f"{path}/verify").json()
    assert (verdict["good"], verdict["missing"], verdict["twice"]) == (True, 0, 0)
    assert call(worker, "POST", f"{path}/handover").status_code == 202
    table.run("INSERT INTO {t} (name) SELECT 'later' FROM generate_series(1, 10)")
    everything = Counter(range(1, ROWS + 11))
    wait_for(lambda: Counter(table.ids()) == everything, 60, "the rows of the connector")
    assert call(worker, "GET", path).json()["state"] == "DONE"
    for act in ("cancel", "pause", "resume"):
        refused = call(worker, "PUT", f"{path}/{act}")
        assert (refused.status_code, f"Backfill {name} is DONE" in refused.json()["message"]) == (409, True)
    assert call(worker, "PATCH", f"{path}/limits", {"max_rows_per_second": 1}).status_code == 409
    assert call(worker, "POST", f"{path}/handover").status_code == 202, "as it was"
    assert call(worker, "GET", path).json()["state"] == "DONE"


def test_a_job_that_two_requests_begin_at_once_is_one_job_and_a_copied_one_can_still_be_handed_over(
    table: Table, worker: WorkerProcess
):
    spec = planned(table, worker, lanes=1)
    path = f"/backfills/{table.name}"
    with ThreadPoolExecutor(2) as posts:
        answers = list(posts.map(lambda _: call(worker, "POST", "/backfills", spec), range(2)))
    assert {answer.status_code for answer in answers} <= {201, 409}, [answer.text for answer in answers]
    wait_for(lambda: call(worker, "GET", path).json()["state"] == "COPIED", 120, "the job's end")
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
    for act in ("cancel", "pause", "resume"):
        refused = call(worker, "PUT", f"{path}/{act}")
        assert (refused.status_code, f"POST {path}/handover" in refused.json()["message"]) == (409, True)
    assert call(worker, "POST", "/backfills", spec).status_code == 201, "once more, which does nothing"
    assert call(worker, "POST", f"{path}/handover").status_code == 202
    assert call(worker, "GET", path).json()["state"] == "DONE"


def test_a_request_may_not_choose_what_runs_on_the_worker_and_every_mistake_is_told(worker: WorkerProcess):
    spec = {
        "apiVersion": "backfill/v1", "name": "a b", "source": {"connector": "c", "config": "/etc/passwd"},
        "engine": {"master": "spark://elsewhere:7077", "conf": {"spark.jars": "x.jar"}, "packages": ["a:b:1"]},
        "chunking": {"lanes": 0}, "state": {"jobs_topic": "elsewhere"},
    }  # fmt: skip
    refused = call(worker, "POST", "/backfills", spec)
    assert refused.status_code == 400
    text = refused.json()["message"]
    for part in (
        "engine.conf",
        "engine.packages",
        "engine.master",
        "source.config",
        "name:",
        "chunking.lanes",
        "state.jobs_topic",
    ):
        assert part in text
    for method, path in (("GET", ""), ("GET", "/chunks"), ("PUT", "/pause"), ("POST", "/verify")):
        assert call(worker, method, f"/backfills/none{path}").status_code == 404
    missing = call(
        worker, "POST", "/backfills", {"apiVersion": "backfill/v1", "name": "x", "source": {"connector": "c"}}
    )
    assert missing.status_code == 400
    assert "no connector c" in missing.json()["message"]
    assert "source.config" not in missing.json()["message"], "which no request may name"
