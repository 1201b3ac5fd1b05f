"""Copies a table into a bucket without Kafka, on real PostgreSQL and S3; killed at each step, it copies each row
once.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from backfill_job import KillEachStepOnce, OneAfterTheOther, Table
from replay_job import Bucket, s3_sink

from connect.api.errors import ConfigError, ConnectError
from connect.backfill.driver import Driver
from connect.backfill.engines.local import LocalEngine
from connect.backfill.job.chunk import Step
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobState
from connect.backfill.verify.verify import verify
from connect.tools.services import S3Endpoint

ROWS = 3000


def copy(table: Table, sink: dict[str, str], cluster: str = "jobs") -> Driver:
    """A job whose state is in topics that are named by `cluster`."""
    given: dict[str, Any] = table.spec().model_dump(mode="json", by_alias=True)
    given["state"] = {"jobs_topic": f"{table.name}-{cluster}", "marker_topic": f"{table.name}-{cluster}-markers"}
    given |= {"kind": "copy", "target": {"connector": f"{table.name}-sink"}}
    return Driver(BackfillSpec.model_validate(given), table.worker(), table.connector(), sink)


def test_a_table_is_in_the_bucket_once_wherever_a_lane_was_killed(
    table: Table, s3: S3Endpoint, s3_bucket: str, tmp_path
):
    table.fill(ROWS)
    sink = s3_sink(s3, s3_bucket, table.name, table.topic)
    bucket = Bucket(s3, s3_bucket, table.name)
    kills = KillEachStepOnce(tmp_path)
    with copy(table, sink) as driver:
        assert driver.run(LocalEngine(2, 8, kills)).state is JobState.COPIED
        assert kills.killed_at == {step.name for step in Step}
        assert Counter(bucket.ids()) == Counter(range(1, ROWS + 1))
        assert verify(driver).is_good
    assert bucket.keys()[0].startswith(f"{table.name}/{table.topic}/partition=0/{table.name}.")
    assert not table.records()


def test_a_job_of_the_same_name_in_another_cluster_is_told_from_the_first_one(
    table: Table, s3: S3Endpoint, s3_bucket: str
):
    table.fill(50)
    bucket = Bucket(s3, s3_bucket, table.name)
    for times, cluster in enumerate(("one", "two"), 1):
        with copy(table, s3_sink(s3, s3_bucket, table.name, table.topic), cluster) as driver:
            assert driver.run(OneAfterTheOther()).state is JobState.COPIED
            assert Counter(bucket.ids()) == Counter(dict.fromkeys(range(1, 51), times)), "its rows are written, too"
            assert verify(driver).is_good


def test_dead_letters_and_paths_that_may_change_are_refused_before_a_row_is_written(
    table: Table, s3: S3Endpoint, s3_bucket: str
):
    table.fill(10)
    sink = s3_sink(s3, s3_bucket, table.name, table.topic)
    letters = {"errors.deadletterqueue.topic.name": "letters", "errors.tolerance": "all"}
    with copy(table, sink | letters) as driver, pytest.raises(ConfigError, match="no records"):
        driver.run(OneAfterTheOther())
    by_field = {
        "partitioner.class": "io.confluent.connect.storage.partitioner.FieldPartitioner", "partition.field.name": "name"
    }  # fmt: skip
    with copy(table, sink | by_field) as driver, pytest.raises(ConnectError, match="DefaultPartitioner"):
        driver.run(OneAfterTheOther())
    assert not Bucket(s3, s3_bucket, table.name).keys()
