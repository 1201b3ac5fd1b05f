"""Causes faults between the sink and BigQuery: each is tried again and told by name, and every row is there once."""

from __future__ import annotations

import pytest
from bigquery_faults import FaultProxy
from bigquery_oracle import Message
from bigquery_run import Life

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkConnector

UPLOAD, QUERY, INSERT_ALL = (
    r"^POST /upload/",
    r'^POST [^ ]*/(jobs|queries)[ ?](?!.*"dryRun": true).*MERGE',
    r"^POST [^ ]*/insertAll",
)
QUOTA, RATE = {"status": 403, "reason": "quotaExceeded"}, {"status": 429, "reason": "rateLimitExceeded"}
INTERNAL, BACKEND = {"status": 500, "reason": "internalError"}, {"status": 503, "reason": "backendError"}
STORMS = {
    "load 403": (UPLOAD, QUOTA), "load 503": (UPLOAD, BACKEND),
    "merge 429": (QUERY, RATE), "merge 500": (QUERY, INTERNAL),
    "insertAll 403": (INSERT_ALL, QUOTA), "insertAll 503": (INSERT_ALL, BACKEND),
}  # fmt: skip


def settings_of(dataset, proxy: FaultProxy, *, merges: bool = True) -> dict[str, str]:
    settings = {**dataset.settings(dedup__merge__interval__ms="0"), "bigquery.endpoint": proxy.url}
    if not merges:
        del settings["dedup.fields"], settings["dedup.merge.interval.ms"]
    return settings


def write(life: Life, proxy: FaultProxy) -> None:
    life.put([Message(0, 0, 1, 0), Message(0, 1, 2, 0, text="older"), Message(0, 2, 2, 1, text="newer")])
    life.settle()
    assert proxy.met, "no request met the fault"


@pytest.mark.parametrize(("where", "storm"), STORMS.values(), ids=STORMS)
def test_refused_requests_are_made_again_and_told_in_the_status(dataset, proxy, where, storm):
    proxy.add(where, **storm)
    told: list[str | None] = []
    with Life(settings_of(dataset, proxy, merges=where != INSERT_ALL)) as life:
        explain = life.context.explain

        def tell(reason: str | None, *, waiting_for: str | None = None) -> None:
            told.append(reason)
            explain(reason, waiting_for=waiting_for)

        life.context.explain = tell  # type: ignore[method-assign]  # `tell` notes what the sink explains, and passes it on
        write(life, proxy)
    assert [row["text"] for row in dataset.rows("orders")][:2] == (
        ["x", "older"] if where == INSERT_ALL else ["x", "newer"]
    )
    assert told[-1] is None
    assert storm["reason"] in str(told[0])
    assert "Table orders waits" in str(told[0])
    assert not life.context.rejected


@pytest.mark.parametrize("where", [UPLOAD, QUERY], ids=["load", "merge"])
def test_a_reply_that_is_lost_after_the_work_was_done_changes_nothing(dataset, proxy, where):
    proxy.add(where, lost=True)
    with Life(settings_of(dataset, proxy)) as life:
        write(life, proxy)
    assert [(row["id"], row["text"]) for row in dataset.rows("orders")] == [(1, "x"), (2, "newer")]
    assert not [name for name in dataset.tables() if "_tmp_" in name]


def test_a_reply_of_an_append_that_is_lost_repeats_no_row_of_the_last_minute(dataset, proxy):
    proxy.add(INSERT_ALL, lost=True)
    with Life(settings_of(dataset, proxy, merges=False)) as life:
        write(life, proxy)
    assert [row["id"] for row in dataset.rows("orders")] == [1, 2, 2]


def test_a_request_that_takes_too_long_is_given_up_and_made_again(dataset, proxy):
    proxy.add(UPLOAD, delay_s=3.0)
    with Life({**settings_of(dataset, proxy), "bigquery.request.timeout.ms": "1000"}) as life:
        write(life, proxy)
    assert any("cannot be reached" in warning for warning in life.warnings)
    assert [row["id"] for row in dataset.rows("orders")] == [1, 2]


def test_a_limit_of_one_merge_is_kept_by_several(dataset, proxy):
    """As that of the partitions which one statement may change: no row is at fault."""
    proxy.add(QUERY, times=1, status=400, reason="invalidQuery")
    with Life(settings_of(dataset, proxy)) as life:
        write(life, proxy)
    assert [(row["id"], row["text"]) for row in dataset.rows("orders")] == [(1, "x"), (2, "newer")]
    assert life.context.rejected == []
    assert not [name for name in dataset.tables() if "_tmp_" in name]


def test_missing_rights_end_the_task_with_the_roles_to_give(dataset, proxy):
    proxy.add(UPLOAD, times=9, status=403, reason="accessDenied")
    with Life(settings_of(dataset, proxy)) as life, pytest.raises(ConfigError, match="BigQuery Data Editor"):
        write(life, proxy)


def test_missing_rights_to_run_jobs_are_known_before_anything_runs(dataset, proxy):
    proxy.add(r"^POST [^ ]*/jobs[ ?].*dryRun", times=9, status=403, reason="accessDenied")
    connector = BigQuerySinkConnector(BigQuerySinkConfig.parse(settings_of(dataset, proxy)))
    with pytest.raises(ConfigError, match="BigQuery Job User"):
        connector.check(Deadline.after(60))
    (found,) = connector.examine(Deadline.after(60))
    assert found.remedy == (
        f"gcloud projects add-iam-policy-binding {dataset.project} --member=serviceAccount:ACCOUNT"
        " --role=roles/bigquery.jobUser"
    )
