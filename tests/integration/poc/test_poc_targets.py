"""Sinks with real targets: records go to a folder or dataset apart, which is removed in the end."""

from __future__ import annotations

import boto3
import pyarrow as pa
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from connect.api.allowed_paths import EVERYWHERE
from connect.client.manifests import Manifest
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.poc.evaluation import Sides, run_checks
from connect.poc.sandbox.copies import write_records
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.result import Outcome
from connect.poc.sandbox.sandbox import Sandbox
from tests.integration.poc.outcomes import by_name, not_passed

ROWS = 5000
STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
OPTIONS = Options(sample_rows=ROWS, budget_rows=ROWS, duration_s=120.0, crashes=2, seed=1)
WITHOUT_FAULTS = Options(sample_rows=200, budget_rows=600, duration_s=120.0, crashes=0)


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(EVERYWHERE) as running:
        yield running


@pytest.fixture
def topic(kafka, unique):
    """A topic of the user's with two partitions. Nothing of it, and of the groups there, is changed."""
    name = f"users-{unique}"
    values = pa.array([f'{{"id": {i}, "name": "row {i}"}}'.encode() for i in range(ROWS)], pa.binary())
    halves = [RawBatch(name, values.slice(half * ROWS // 2, ROWS // 2), keys=None, partition=half) for half in (0, 1)]
    ends = write_records(kafka.clients, halves, {name: 2}, Deadline.after(30))
    admin = TopicAdmin(admin_settings({"bootstrap.servers": kafka.bootstrap_servers}, {}, "looks-on").properties)
    yield name
    assert admin.end_offsets(list(ends), Deadline.after(30)) == ends
    assert admin.group_offsets("connect-poc", Deadline.after(30)) == {}


@pytest.fixture
def worker(kafka):
    """The user's worker, as far as it counts."""
    return {
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": "users", "config.storage.topic": "users-c",
        "offset.storage.topic": "users-o", "status.storage.topic": "users-s", "key.converter": STRING,
        "value.converter": JSON, "value.converter.schemas.enable": "false",
    }  # fmt: skip


def test_nobody_else_on_this_machine_reaches_the_topics_from_which_the_sandbox_takes_its_connectors(sandbox):
    servers = {"bootstrap.servers": sandbox.worker_properties["bootstrap.servers"]}
    with pytest.raises(KafkaException):
        AdminClient({**servers, "log_level": 0}).list_topics(timeout=3)
    own = AdminClient(sandbox.kafka.endpoint.clients).list_topics(timeout=20)
    assert sandbox.worker_properties["config.storage.topic"] in own.topics


@pytest.mark.parametrize(
    "options", [WITHOUT_FAULTS, pytest.param(OPTIONS, marks=pytest.mark.chaos)], ids=["baseline", "kills"]
)
def test_the_s3_sink_is_tried_with_the_users_records(sandbox, topic, worker, s3, s3_bucket, unique, options):
    config = {
        "connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": topic, "s3.bucket.name": s3_bucket,
        "s3.region": s3.region, "store.url": s3.url, "aws.access.key.id": s3.access_key_id,
        "aws.secret.access.key": s3.secret_access_key, "flush.size": "100", "topics.dir": unique,
        "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat", "key.converter": STRING,
        "value.converter": JSON, "value.converter.schemas.enable": "false",
    }  # fmt: skip
    checks = run_checks(sandbox, Sides(sink=Manifest("lake", config, "test")), options, lambda text: None, worker)
    assert not_passed(checks) == {"Configuration": "warn: 1 note on keys."}, "rows wait until a file is full"
    found = by_name(checks)
    assert f"{options.sink_records:,} committed records" in found["Round trip"].summary
    assert "100 records with a field more are taken" in found["Schema change"].summary
    if options.crashes:
        assert "none lost, none twice" in found["Delivery under kills"].summary
    client = boto3.client(
        "s3", endpoint_url=s3.url, aws_access_key_id=s3.access_key_id, aws_secret_access_key=s3.secret_access_key,
        region_name=s3.region,
    )  # fmt: skip
    assert "Contents" not in client.list_objects_v2(Bucket=s3_bucket, Prefix=f"{unique}/")


@pytest.mark.chaos
def test_the_file_sink_repeats_rows_after_kills_as_it_says(sandbox, tmp_path):
    config = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out.txt"), "topics": "lines"}
    found = by_name(run_checks(sandbox, Sides(sink=Manifest("out", config, "t")), OPTIONS, lambda text: None))
    assert found["Round trip"].outcome is Outcome.PASS, found["Round trip"]
    delivered = found["Delivery under kills"]
    assert (delivered.outcome, delivered.defects) == (Outcome.WARN, {"duplicate"}), delivered
    assert list(tmp_path.iterdir()) == []


@pytest.mark.chaos
def test_the_bigquery_sink_is_tried_in_a_dataset_of_its_own(sandbox, bigquery_service):
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import bigquery

    endpoint = bigquery_service.endpoint
    config = {
        "connector.class": "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector", "topics": "made",
        "project": endpoint.project, "defaultDataset": "real", "bigquery.endpoint": endpoint.url,
        "bigquery.storage.endpoint": endpoint.storage, "bigquery.insecure": "true", "dedup.fields": "id",
        "dedup.merge.interval.ms": "500", "allowNewBigQueryFields": "true", "decimalHandlingMode": "NUMERIC",
    }  # fmt: skip
    options = Options(sample_rows=300, budget_rows=300, duration_s=120.0, crashes=1, seed=1)
    found = by_name(run_checks(sandbox, Sides(sink=Manifest("dw", config, "test")), options, lambda text: None))
    assert not_passed(list(found.values())) == {"Configuration": "warn: 1 note on keys."}, "what each merge costs"
    assert "300 records are 300 rows" in found["Round trip"].summary
    (columns,) = [table for table in found["Round trip"].tables if table.title == "What the fields are in the target"]
    assert ("made.id", "integer") in [(name, kind.partition(" ")[0]) for name, kind in columns.rows]
    client = bigquery.Client(
        project=endpoint.project, credentials=AnonymousCredentials(), client_options={"api_endpoint": endpoint.url}
    )
    names = {found.dataset_id for found in client.list_datasets()}
    assert not {name for name in names if name.startswith("real")}
