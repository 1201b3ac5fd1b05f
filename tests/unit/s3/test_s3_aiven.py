"""Aiven's S3 sink by its class name: what its settings write, and where."""

from __future__ import annotations

import gzip
import io
import json
from urllib.parse import unquote

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3_http_store import TP, Store
from s3_task_runs import batch

from connect.api import schema as s
from connect.api.errors import ConfigError
from connect.api.records import Batch, Column, Header
from connect.convert.avro.values import avro_values
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.aiven.config import AivenS3SinkConfig
from connectors.s3.aiven.gcs_config import AivenGcsSinkConfig
from connectors.s3.aiven.sink import AivenSinkConnector
from connectors.s3.formats.compression import Compression

ROW = s.struct({"n": s.INT64, "t": s.STRING.as_optional()})
VALUES = [{"n": 1, "t": "a"}, {"n": 2, "t": None}]
KEYS = Column.from_rows(["k1", "k2"], s.STRING)
HEADERS = [[Header("h", "x")], []]
ALL = "key,value,offset,timestamp,headers"


def config(store: Store, **settings: str) -> AivenS3SinkConfig:
    return AivenS3SinkConfig.parse({
        "aws.s3.bucket.name": "bucket", "aws.s3.endpoint": f"http://127.0.0.1:{store.server_port}",
        "aws.s3.region": "eu-central-1", "aws.access.key.id": "id", "aws.secret.access.key": "secret",
        **{name.replace("_", "."): value for name, value in settings.items()},
    })  # fmt: skip


def written(store: Store, *batches: Batch, **settings: str) -> dict[str, bytes]:
    connector = AivenSinkConnector(config(store, **settings))
    task = connector.task(connector.task_configs(1)[0])
    task.open(FakeSinkContext(avro_values=avro_values))
    for given in batches:
        task.put(given, Deadline.after(60))
    assert not store.objects, "files wait for the commit"
    assert task.flush(Deadline.after(60)) == {TP: sum(map(len, batches))}
    task.close()
    return {unquote(key).split("/", 2)[2]: body for key, (body, _) in sorted(store.objects.items())}


def test_the_defaults_are_base64_values_in_gzip_below_the_names_of_old(store: Store):
    files = written(store, batch([b"one", b"\x00,"], s.BYTES), aws_s3_prefix="raw/{{topic}}/")
    assert {key: gzip.decompress(body) for key, body in files.items()} == {
        "raw/t/t-0-00000000000000000000.gz": b"b25l\nACw=\n",
    }  # fmt: skip


def test_csv_of_all_fields(store: Store):
    (body,) = written(
        store, batch(["a", None], s.STRING.as_optional(), keys=KEYS, headers=HEADERS), file_compression_type="none",
        format_output_fields="key,offset,timestamp,headers,value", format_output_fields_value_encoding="none",
        file_name_template="{{topic}}-{{partition}}-{{start_offset}}",
    ).values()  # fmt: skip
    assert body == b'azE=,0,"1970-01-01T00:00:00.000Z",aA==:eA==,a\nazI=,1,"1970-01-01T00:00:00.001Z",,\n'


def test_json_lines_with_an_envelope(store: Store):
    (item,) = written(
        store, batch(VALUES, ROW, keys=KEYS, headers=HEADERS), format_output_type="jsonl", format_output_fields=ALL,
        file_name_template="logs/{{topic}}/{{partition:padding=true}}-{{start_offset:padding=true}}.jsonl.gz",
    ).items()  # fmt: skip
    key, body = item
    assert key == "logs/t/0000000000-00000000000000000000.jsonl.gz"
    assert [json.loads(line) for line in gzip.decompress(body).splitlines()] == [
        {"key": "k1", "value": {"n": 1, "t": "a"}, "offset": 0, "timestamp": "1970-01-01T00:00:00.000Z",
         "headers": [{"key": "h", "value": "x"}]},
        {"key": "k2", "value": {"n": 2, "t": None}, "offset": 1, "timestamp": "1970-01-01T00:00:00.001Z",
         "headers": []},
    ]  # fmt: skip


def test_json_without_an_envelope_is_an_array_of_values(store: Store):
    (body,) = written(store, batch([{"a": 1}, None]), format_output_type="json", file_compression_type="none",
                      format_output_envelope="false").values()  # fmt: skip
    assert json.loads(body) == [{"a": 1}, None]


@pytest.mark.parametrize(("kind", "compression"), [("parquet", "zstd"), ("parquet", "gzip"), ("avro", "snappy")])
def test_parquet_and_avro_of_all_fields(store: Store, kind: str, compression: str):
    (body,) = written(
        store, batch(VALUES, ROW, keys=KEYS, headers=HEADERS), format_output_type=kind, format_output_fields=ALL,
        file_compression_type=compression,
    ).values()  # fmt: skip
    rows = pq.read_table(io.BytesIO(body)).to_pylist() if kind == "parquet" else list(fastavro.reader(io.BytesIO(body)))
    assert [row["value"] for row in rows] == VALUES
    assert [(row["key"], row["offset"]) for row in rows] == [("k1", 0), ("k2", 1)]
    assert rows[0]["headers"] == [{"key": "h", "value": "x"}]
    assert rows[1]["timestamp"].isoformat() == "1970-01-01T00:00:00.001000+00:00"


def test_times_in_names_part_files(store: Store):
    files = written(
        store, batch([{"n": 1}]), batch([{"n": 2}], first=1), format_output_type="jsonl", file_compression_type="none",
        file_name_timestamp_source="event", format_output_envelope="false", file_name_timestamp_timezone="Asia/Tokyo",
        file_name_template="y={{timestamp:unit=yyyy}}/{{ timestamp:unit=MM }}-{{timestamp:unit=dd}}"
        "T{{timestamp:unit=HH}}/{{topic}}.{{partition}}.{{start_offset}}.json",
    )  # fmt: skip
    assert files == {"y=1970/01-01T09/t.0.0.json": b'{"n":1}\n{"n":2}\n'}


def test_a_file_ends_at_its_number_of_records(store: Store):
    connector = AivenSinkConnector(config(store, file_max_records="2", format_output_type="jsonl"))
    task = connector.task(connector.task_configs(1)[0])
    task.open(FakeSinkContext())
    task.put(batch([{"n": n} for n in range(5)]), Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {TP: 5}
    task.close()
    assert [key.rpartition("-")[2] for key in sorted(store.objects)] == [f"{n:020d}.gz" for n in (0, 2, 4)]


def test_rows_that_are_read_again_are_not_written_again(store: Store):
    for _ in range(2):
        task = AivenSinkConnector(config(store, format_output_type="jsonl")).task(
            config(store, format_output_type="jsonl").originals
        )
        task.open(FakeSinkContext())
        task.put(batch([{"n": 1}, {"n": 2}]), Deadline.after(60))
        assert task.flush(Deadline.after(60)) == {TP: 2}
        task.close()
    assert len(store.objects) == 1


def test_names_of_former_versions_are_understood(store: Store):
    given = AivenS3SinkConfig.parse({
        "aws_s3_bucket": "b", "aws_access_key_id": "id", "aws_secret_access_key": "s", "aws_s3_region": "eu-west-1",
        "output_compression": "none", "output_fields": "value,offset", "aws_s3_prefix": "p-",
    })  # fmt: skip
    assert (given.bucket, given.region, given.compression, given.fields) == (
        "b",
        "eu-west-1",
        "none",
        ("value", "offset"),
    )
    assert list(AivenS3SinkConfig.unknown_keys(["aws_s3_bucket", "aws.s3.part.size.bytes", "file.name.tmplate"])) == [
        "file.name.tmplate"
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"file_name_template": "{{key}}"}, "keeps the last record of each key alone"),
        ({"file_name_template": "{{topic}}-{{partition}}"}, "Name {{start_offset}} once"),
        ({"file_name_template": "{{topic}}-{{partition}}-{{start_offset}}-{{timestamp:unit=mm}}"}, "is not known"),
        ({"format_output_envelope": "false", "format_output_fields": "key,value"}, "needs one format.output.fields"),
        ({"format_output_type": "xml"}, "must be one of"),
        ({"aws_sts_role_arn": "arn:aws:iam::1:role/lake"}, "go together"),
    ],
)
def test_what_it_cannot_do_is_refused_in_words(store: Store, settings: dict[str, str], message: str):
    with pytest.raises(ConfigError) as raised:
        config(store, **settings)
    assert message in str(raised.value)


def test_snappy_text_is_the_stream_of_snappy_java(store: Store):
    rows = [{"t": "x" * 50_000}, {"t": "y"}]
    (body,) = written(store, batch(rows), format_output_type="jsonl", file_compression_type="snappy",
                      format_output_envelope="false").values()  # fmt: skip
    assert body.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    assert [json.loads(line) for line in Compression("snappy").unpacked(pa.py_buffer(body)).splitlines()] == rows


def test_rows_get_into_googles_store_under_aivens_keys(store: Store):
    given = {
        "topics": "t", "gcs.bucket.name": "lake", "gcs.endpoint": f"http://127.0.0.1:{store.server_port}",
        "format.output.type": "jsonl", "gcs.retry.backoff.max.attempts": "0", "file.name.prefix": "in/",
        "file.compression.type": "gzip", "gcs.user.agent": "x",
    }  # fmt: skip
    parsed = AivenGcsSinkConfig.parse(given)
    assert list(AivenGcsSinkConfig.unknown_keys(given.keys() - {"topics"})) == []
    task = AivenSinkConnector(parsed).task(given)
    task.open(FakeSinkContext())
    task.put(batch([{"n": 1}, {"n": 2}]), Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {TP: 2}
    task.close()
    ((path, (body, _)),) = store.objects.items()
    assert unquote(path) == "/lake/in/t-0-0.gz"
    assert [json.loads(line)["value"]["n"] for line in gzip.decompress(body).splitlines()] == [1, 2]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"gcs.credentials.json": "{}", "gcs.credentials.default": "true"}, "gcs.credentials.default"),
        ({"gcs.object.content.encoding": "gzip"}, "gcs.object.content.encoding"),
        ({"gcs.credentials.path": "/etc/passwd"}, "gcs.credentials.path"),
    ],
)
def test_keys_of_googles_store_that_do_not_go_together_are_refused(given: dict[str, str], key: str):
    with pytest.raises(ConfigError) as caught:
        AivenGcsSinkConfig.parse({"topics": "t", "gcs.bucket.name": "lake", **given})
    assert key in {problem.key for problem in caught.value.problems}
