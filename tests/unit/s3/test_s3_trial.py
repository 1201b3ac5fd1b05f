"""Objects of a trial's own in each kind of store: beside the real ones, read back, removed with their folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from s3_http_store import Store, config
from s3_task_runs import batch

from connect.api import schema as s
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.formats.format_specs import JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.settings.classes import GCS_STORAGE, LOCAL_STORAGE
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkConnector, S3SinkTask
from connectors.s3.stores.store import Bucket

ROW = s.struct({"n": s.INT64})


@pytest.fixture(params=["s3", "google", "folder"])
def settings(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Mapping[str, str]:
    """The configuration of a sink to each kind of store."""
    if request.param == "folder":
        given = {
            "storage.class": LOCAL_STORAGE, "s3.bucket.name": str(tmp_path), "s3.local.folders": str(tmp_path),
            "flush.size": "2",
        }  # fmt: skip
        return {**given, "format.class": JSON_FORMAT}
    of_google = {"storage_class": GCS_STORAGE} if request.param == "google" else {}
    return config(store, format_class=JSON_FORMAT, **of_google).originals


def write(settings: Mapping[str, str], count: int) -> None:
    task = S3SinkTask(ConfluentPlan(S3SinkConfig.parse(dict(settings))))
    task.open(FakeSinkContext())
    task.put(batch([{"n": n} for n in range(count)], ROW), Deadline.after(10))
    task.flush(Deadline.after(10))
    task.close()


def test_a_trials_rows_are_read_and_removed_and_the_real_ones_stay(settings: Mapping[str, str], tmp_path: Path):
    write(settings, 2)
    parsed = S3SinkConfig.parse(dict(settings))
    trial = S3SinkConnector(parsed).trial_target("poc-1")
    trial.make(Deadline.after(10))
    assert list(trial.rows(Deadline.after(10))) == []
    write({**settings, **trial.settings}, 100)
    found = [json.loads(row)["n"] for row in trial.rows(Deadline.after(10))]
    assert sorted(found) == list(range(100))
    assert trial.column_types(Deadline.after(10)) == {}, "lines of JSON name no types"
    trial.remove(Deadline.after(10))
    assert list(trial.rows(Deadline.after(10))) == []
    assert [path for path in tmp_path.rglob("*") if "poc-1" in path.name] == []
    with closing(Bucket(parsed)) as bucket:
        assert [one.key for one in bucket.objects("", Deadline.after(10))] == [
            "topics/t/partition=0/t+0+0000000000.json"
        ]


def test_the_columns_of_parquet_files_have_types(settings: Mapping[str, str]):
    parquet = {**settings, "format.class": PARQUET_FORMAT}
    trial = S3SinkConnector(S3SinkConfig.parse(parquet)).trial_target("poc-1")
    write({**parquet, **trial.settings}, 4)
    assert trial.column_types(Deadline.after(10)) == {"t.n": "int64"}
    trial.remove(Deadline.after(10))


def test_a_trial_in_an_empty_folder_leaves_it_empty(tmp_path: Path):
    given = {
        "storage.class": LOCAL_STORAGE, "s3.bucket.name": str(tmp_path), "s3.local.folders": str(tmp_path),
        "flush.size": "2", "format.class": JSON_FORMAT, "topics.dir": "a/b",
    }  # fmt: skip
    trial = S3SinkConnector(S3SinkConfig.parse(given)).trial_target("poc-1")
    write({**given, **trial.settings}, 10)
    assert list(tmp_path.iterdir()) != []
    trial.remove(Deadline.after(10))
    assert (tmp_path.is_dir(), list(tmp_path.iterdir())) == (True, [])
