"""Jobs under ids of ours: which are waited for, which count, and which are run again. And what errors mean."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import requests
from google.api_core import exceptions as api

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.bigquery.errors import job_error, translated
from connectors.bigquery.warehouse import Warehouse


class Jobs:
    """Google's client, as far as jobs of queries go: `known` are jobs of an earlier life, `lost` answers of ours."""

    def __init__(self, known: dict[str, Any] | None = None, *, lost: int = 0) -> None:
        self.known = known or {}
        self.lost = lost
        self.submitted: list[str] = []

    def query(self, sql: str, *, job_id: str, **_: Any) -> Any:
        if job_id in self.known:
            raise api.Conflict("Already Exists")
        self.submitted.append(job_id)
        self.known[job_id] = job(job_id)
        if self.lost:
            self.lost -= 1
            raise requests.exceptions.ConnectionError("the answer was lost")
        return self.known[job_id]

    def get_job(self, job_id: str, **_: Any) -> Any:
        return self.known[job_id]


def job(job_id: str, *states: str, error: dict[str, str] | None = None) -> Any:
    """A finished job; with `states`, one that shows them, look by look, before it has ended."""
    left = list(states)
    found = SimpleNamespace(
        job_id=job_id, state=left.pop(0) if left else "DONE", error_result=error, total_bytes_billed=7,
        dml_stats=SimpleNamespace(inserted_row_count=1, updated_row_count=2, deleted_row_count=3),
    )  # fmt: skip

    def reload(**_: Any) -> None:
        found.state = left.pop(0) if left else "DONE"

    found.reload = reload
    return found


def run(client: Jobs) -> Any:
    return Warehouse(client, "p", "d", timeout_s=1).run("MERGE", "mrg", "merging")


def test_a_job_runs_under_the_id_and_says_what_it_did():
    client = Jobs()
    changed = run(client)
    assert client.submitted == ["mrg-0"]
    assert (changed.inserted, changed.updated, changed.deleted, changed.billed_bytes) == (1, 2, 3, 7)


def test_a_job_whose_answer_was_lost_is_found_again():
    client = Jobs(lost=1)
    warehouse = Warehouse(client, "p", "d", timeout_s=1)
    with pytest.raises(RetriableError, match="cannot be reached"):
        warehouse.run("MERGE", "mrg", "merging")
    warehouse.run("MERGE", "mrg", "merging")
    assert client.submitted == ["mrg-0"]


def test_a_job_of_an_earlier_life_that_still_runs_is_waited_for():
    client = Jobs({"mrg-0": job("mrg-0", "RUNNING", "RUNNING")})
    assert run(client).inserted == 1
    assert client.submitted == []


def test_a_job_of_an_earlier_life_that_has_ended_is_run_again():
    client = Jobs({"mrg-0": job("mrg-0"), "mrg-1": job("mrg-1", error={"reason": "invalid", "message": "no"})})
    run(client)
    assert client.submitted == ["mrg-2"]


def test_a_stop_ends_the_wait_for_a_job():
    client = Jobs({"mrg-0": job("mrg-0", *["RUNNING"] * 1000)})
    warehouse = Warehouse(client, "p", "d", timeout_s=1)
    warehouse.stop()
    with pytest.raises(RetriableError, match="still running when the task was stopped"):
        warehouse.run("MERGE", "mrg", "merging")


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (api.NotFound("Not found: Dataset p:d"), ConfigError, "p.d does not exist"),
        (api.NotFound("Not found: Table p:d.dataset"), RetriableError, "Not found: Table"),
        (api.Forbidden("Access Denied", errors=[{"reason": "accessDenied"}]), ConfigError, "BigQuery Data Editor"),
        (api.Forbidden("Quota", errors=[{"reason": "quotaExceeded"}]), RetriableError, "Quota"),
        (api.Forbidden("Slow", errors=[{"reason": "rateLimitExceeded"}]), RetriableError, "Slow"),
        (api.TooManyRequests("429"), RetriableError, "429"),
        (api.ServiceUnavailable("503"), RetriableError, "503"),
        (api.InternalServerError("500"), RetriableError, "500"),
        (api.Unauthorized("401"), ConfigError, "keyfile"),
        (api.PreconditionFailed("etag"), RetriableError, "somebody else changed it"),
        (api.BadRequest("Unrecognized name", errors=[{"reason": "invalidQuery"}]), ConnectError, "refused merging"),
        (
            api.BadRequest("Could not serialize access to table", errors=[{"reason": "invalidQuery"}]),
            RetriableError, "Could not serialize",
        ),
        (requests.exceptions.ReadTimeout(), RetriableError, "cannot be reached"),
    ],
    ids=str,
)  # fmt: skip
def test_errors_of_the_client_say_what_happens_next(error, kind, told):
    with pytest.raises(ConnectError, match=told) as ours, translated("merging", project="p", dataset="d"):
        raise error
    assert type(ours.value) is kind


def test_errors_of_jobs_say_what_happens_next():
    passing = job_error({"reason": "jobBackendError", "message": "try again"}, "merging")
    final = job_error({"reason": "invalidQuery", "message": "no such column"}, "merging into table t")
    assert isinstance(passing, RetriableError)
    assert not isinstance(final, RetriableError)
    assert "merging into table t" in str(final)
