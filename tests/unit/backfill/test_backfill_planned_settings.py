"""A job goes on with its connectors as they were when it was planned, or says what is other, or is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_backfill_service import SPEC, WORKER

from connect.api.errors import ConfigError
from connect.backfill.job.job import Job, Jobs
from connect.backfill.job.kinds import JobConnectors
from connect.backfill.job.planned_settings import digests_of, require_as_planned
from connect.backfill.job.states import JobState
from connect.runtime.parts.connector_settings import ConnectorSettings

GIVEN = {
    "name": "orders-source", "connector.class": "JdbcSource", "connection.url": "jdbc:postgresql://localhost/shop",
    "connection.password": "hunter2", "mode": "timestamp", "timestamp.column.name": "updated_at", "topic.prefix": "a-",
}  # fmt: skip


def connectors(**changes: str) -> JobConnectors:
    changed = {name.replace("__", "."): text for name, text in changes.items()}
    return JobConnectors(ConnectorSettings(WORKER, GIVEN | changed))


PLANNED = Job(SPEC, JobState.PAUSED, "r", 1, 1, 1, (), (), (), 0, 0, configs=digests_of(connectors()), id="ab12cd34")


@pytest.mark.parametrize(
    "changes",
    [{"timestamp__column__name": "created_at"}, {"mode": "incrementing"}, {"db__timezone": "Europe/Berlin"},
     {"topic__prefix": "b-"}],
)  # fmt: skip
def test_what_decides_where_chunks_end_and_rows_go_may_not_change(changes: dict[str, str]):
    with pytest.raises(ConfigError, match="Put them back") as refused:
        require_as_planned(PLANNED, connectors(**changes))
    assert [key.replace(".", "__") for key in (problem.key for problem in refused.value.problems)] == list(changes)


def test_other_changes_are_told_and_secrets_are_neither_kept_nor_compared():
    assert require_as_planned(PLANNED, connectors()) == []
    assert require_as_planned(PLANNED, connectors(connection__password="other")) == []
    (told,) = require_as_planned(
        PLANNED, connectors(connection__url="jdbc:postgresql://localhost/other", transforms="t")
    )
    assert "other values of connection.url, transforms than when the job was planned" in told
    assert "connection.password" not in PLANNED.configs["orders-source"]
    assert "localhost" not in str(PLANNED.configs)


def test_what_a_plug_in_declares_as_secret_is_neither_kept_nor_compared_whatever_its_name():
    masked = {"transforms": "hide", "transforms.hide.type": "connect.transforms.Redact$Value"}
    given = GIVEN | masked | {"transforms.hide.hash.salt": "pepper", "query.masked": "SELECT 1"}
    kept = digests_of(JobConnectors(ConnectorSettings(WORKER, given)))["orders-source"]
    assert kept.keys() == (GIVEN | masked).keys() - {"connection.password"}
    job = replace(PLANNED, configs={"orders-source": kept})
    other = given | {"transforms.hide.hash.salt": "salt"}
    assert require_as_planned(job, JobConnectors(ConnectorSettings(WORKER, other))) == []
    former = replace(
        job, configs={"orders-source": {**kept, "transforms.hide.hash.salt": "a digest of a former build"}}
    )
    assert require_as_planned(former, JobConnectors(ConnectorSettings(WORKER, other))) == []


def test_a_job_of_a_release_that_kept_no_settings_goes_on_and_its_name_in_sinks_stays():
    older = replace(PLANNED, configs={}, id="")
    assert require_as_planned(older, connectors(mode="incrementing")) == []
    assert older.name_in_sinks == "orders"
    assert b"format_version" not in older.record[1]
    assert b'"format_version":2' in PLANNED.record[1], "an older version would name its chunks in a sink otherwise"
    again = Jobs([PLANNED.record]).known("orders")
    assert (again.configs, again.name_in_sinks) == (PLANNED.configs, "orders.ab12cd34")
