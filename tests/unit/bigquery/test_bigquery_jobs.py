"""Checks jobs under ids of ours: which are waited for, which count, and which are run again. And what errors mean."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import requests
from google.api_core import exceptions as api
from google.auth.exceptions import RefreshError

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType
from connectors.bigquery.warehouse.errors import RefusedAccessError, RefusedJobError, job_error, translated
from connectors.bigquery.warehouse.jobs import LIFE_LABEL
from connectors.bigquery.warehouse.warehouse import Warehouse


class Jobs:
    """Google's client, as far as jobs of queries go: `known` are jobs of an earlier life, `lost` answers of ours."""

    def __init__(self, known: dict[str, Any] | None = None, *, lost: int = 0, failing: int = 0) -> None:
        self.known = known or {}
        self.lost = lost
        self.failing = failing
        self.submitted: list[str] = []

    def query(self, sql: str, *, job_id: str, job_config: Any, **_: Any) -> Any:
        job_id = short(job_id)
        if self.failing:
            self.failing -= 1
            raise api.ServiceUnavailable("503")
        if job_id in self.known:
            raise api.Conflict("Already Exists")
        self.submitted.append(job_id)
        self.known[job_id] = job(job_id)
        self.known[job_id].labels = job_config.labels
        if self.lost:
            self.lost -= 1
            raise requests.exceptions.ConnectionError("the answer was lost")
        return self.known[job_id]

    def get_job(self, job_id: str, **_: Any) -> Any:
        return self.known[short(job_id)]


def short(job_id: str) -> str:
    """Without the mark of the dataset."""
    name, _, attempt = job_id.split("-")
    return f"{name}-{attempt}"


def job(job_id: str, *states: str, error: dict[str, str] | None = None) -> Any:
    """A finished job; with `states`, one that shows them, look by look, before it has ended."""
    left = list(states)
    found = SimpleNamespace(
        labels={LIFE_LABEL: "earlier"}, job_id=job_id, state=left.pop(0) if left else "DONE", error_result=error,
        total_bytes_billed=7,
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
    earlier = job("mrg-0", "RUNNING", "RUNNING")
    client = Jobs({"mrg-0": earlier})
    assert run(client).inserted == 1
    assert earlier.state == "DONE"
    assert client.submitted == ["mrg-1"]


def test_a_job_of_an_earlier_life_that_has_ended_is_run_again():
    client = Jobs({"mrg-0": job("mrg-0"), "mrg-1": job("mrg-1", error={"reason": "invalid", "message": "no"})})
    run(client)
    assert client.submitted == ["mrg-2"]


def test_a_submission_that_failed_is_no_job_of_an_earlier_life():
    client = Jobs({"mrg-0": job("mrg-0")}, failing=1)
    warehouse = Warehouse(client, "p", "d", timeout_s=1)
    with pytest.raises(RetriableError, match="503"):
        warehouse.run("MERGE", "mrg", "merging")
    warehouse.run("MERGE", "mrg", "merging")
    assert client.submitted == ["mrg-1"]


def test_a_job_whose_answer_came_is_run_again():
    client = Jobs()
    warehouse = Warehouse(client, "p", "d", timeout_s=1)
    for _ in range(2):
        warehouse.run("MERGE", "mrg", "merging")
    assert client.submitted == ["mrg-0", "mrg-1"]


@pytest.mark.parametrize(("is_new", "loads"), [(True, ["stg-0", "stg-1"]), (False, ["stg-0"])])
def test_a_load_whose_answer_was_lost_counts_unless_its_table_was_made_anew(is_new, loads):
    client = Jobs(lost=1)
    client.load_table_from_file = lambda file, table, **named: client.query("", **named)  # type: ignore[attr-defined]
    warehouse = Warehouse(client, "p", "d", timeout_s=1)
    columns = (ColumnSchema("id", ColumnType.INTEGER),)
    with pytest.raises(RetriableError, match="cannot be reached"):
        warehouse.fill("t", columns, b"rows", "stg", is_new=True)
    warehouse.fill("t", columns, b"rows", "stg", is_new=is_new)
    assert client.submitted == loads


def test_jobs_of_two_datasets_have_ids_of_their_own():
    ids: set[str] = set()
    for dataset in ("one", "two"):
        client = Jobs()
        client.query = lambda sql, *, job_id, job_config, **_: ids.add(job_id) or job(job_id)  # type: ignore[method-assign]
        Warehouse(client, "p", dataset, timeout_s=1).run("MERGE", "mrg", "merging")
    assert len(ids) == 2


def test_a_stop_ends_the_wait_for_a_job():
    running = job("mrg-0", *["RUNNING"] * 1000)
    warehouse = Warehouse(Jobs({"mrg-0": running}), "p", "d", timeout_s=1)
    running.reload = lambda **_: warehouse.stop()
    with pytest.raises(RetriableError, match="still running when the task was stopped"):
        warehouse.run("MERGE", "mrg", "merging")
    with pytest.raises(RetriableError, match="merging: the task was stopped"):
        warehouse.run("MERGE", "other", "merging")


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (api.NotFound("Not found: Dataset p:d"), ConfigError, "p.d does not exist"),
        (api.NotFound("Not found: Table p:d.dataset"), RetriableError, "Not found: Table"),
        (api.Forbidden("No", errors=[{"reason": "accessDenied"}]), RefusedAccessError, "BigQuery Data Editor"),
        (api.Forbidden("Quota", errors=[{"reason": "quotaExceeded"}]), RetriableError, "Quota"),
        (api.Forbidden("Slow", errors=[{"reason": "rateLimitExceeded"}]), RetriableError, "Slow"),
        (api.TooManyRequests("429"), RetriableError, "429"),
        (api.ServiceUnavailable("503"), RetriableError, "503"),
        (api.InternalServerError("500"), RetriableError, "500"),
        (api.Unauthorized("401"), ConfigError, "keyfile"),
        (api.PreconditionFailed("etag"), RetriableError, "somebody else changed it"),
        (api.BadRequest("Unrecognized name", errors=[{"reason": "invalidQuery"}]), RefusedJobError, "refused merging"),
        (
            api.BadRequest("Could not serialize access to table", errors=[{"reason": "invalidQuery"}]),
            RetriableError, "Could not serialize",
        ),
        (
            api.BadRequest("Failed to commit: Failed to commit transaction.", errors=[{"reason": "invalidQuery"}]),
            RetriableError, "Failed to commit",
        ),
        (requests.exceptions.ReadTimeout(), RetriableError, "cannot be reached"),
    ],
    ids=str,
)  # fmt: skip
def test_errors_of_the_client_say_what_happens_next(error, kind, told):
    with pytest.raises(ConnectError, match=told) as ours, translated("merging", project="p", dataset="d"):
        raise error
    assert type(ours.value) is kind


def test_what_google_says_is_one_sentence_before_the_fix():
    denied = api.Forbidden("Access Denied: no.\n\nLocation: US\nJob ID: 7\n", errors=[{"reason": "accessDenied"}])
    with (
        pytest.raises(RefusedAccessError, match=r"no\. Location: US Job ID: 7\. Give the account the roles"),
        translated("merging", project="p", dataset="d"),
    ):
        raise denied


def test_the_limit_of_partitions_that_a_day_may_change_passes_and_says_how_to_keep_it():
    said = (
        "Quota exceeded: Your table exceeded quota for Number of partition modifications to a column partitioned table"
    )
    refused = api.Forbidden(said, errors=[{"reason": "quotaExceeded"}])
    with (
        pytest.raises(RetriableError, match=r"table orders.*timePartitioningType.*dedup\.merge\.interval\.ms"),
        translated("merging into table orders", project="p", dataset="d"),
    ):
        raise refused
    ended = job_error({"reason": "quotaExceeded", "message": said}, "loading into table orders")
    assert isinstance(ended, RetriableError)
    assert "timestampPartitionFieldName" in str(ended)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Invalid JWT: Check your iat and exp values. s3cr3t",
            "Set the clock of the worker's machine",
        ),
        ("Invalid JWT Signature. s3cr3t", "Check keyfile and keySource"),
    ],
    ids=["clock", "key"],
)
def test_credentials_that_google_refuses_are_told_from_a_wrong_clock_and_not_shown(said, told):
    with pytest.raises(ConfigError, match=told) as ours, translated("merging", project="p", dataset="d"):
        raise RefreshError(said)
    assert ours.value.key == "keyfile"
    assert "s3cr3t" not in str(ours.value)


def test_errors_of_jobs_say_what_happens_next():
    passing = job_error({"reason": "jobBackendError", "message": "try again"}, "merging")
    final = job_error({"reason": "invalidQuery", "message": "no such column"}, "merging into table t")
    assert isinstance(passing, RetriableError)
    assert not isinstance(final, RetriableError)
    assert "merging into table t" in str(final)


def test_a_request_whose_answer_was_lost_twice_tells_no_timeout_that_is_not_its_own():
    lost = api.RetryError("Timeout of 0.5s exceeded", cause=requests.exceptions.ConnectionError("lost"))
    with (
        pytest.raises(
            RetriableError, match=r"^BigQuery dataset p\.d cannot be reached, looking: ConnectionError, also"
        ),
        translated("looking", project="p", dataset="d"),
    ):
        raise lost
