"""Checks the keys that public configurations of the two Java sinks use: what needs no jar of others runs unchanged."""

from __future__ import annotations

import pytest
from s3_http_store import TP, Store
from s3_task_runs import batch

from connect.api import schema as s
from connect.api.errors import ConfigError
from connect.api.records import Column, Header
from connect.convert.avro.values import avro_values
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.aiven.config import AivenS3SinkConfig
from connectors.s3.aiven.sink import AivenSinkConnector
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.sink import S3SinkConnector

AVRO = "format.class=io.confluent.connect.s3.format.avro.AvroFormat"
JSON = "format.class=io.confluent.connect.s3.format.json.JsonFormat"
PARQUET = "format.class=io.confluent.connect.s3.format.parquet.ParquetFormat"
BYTES = "format.class=io.confluent.connect.s3.format.bytearray.ByteArrayFormat"
DEFAULT = "partitioner.class=io.confluent.connect.storage.partitioner.DefaultPartitioner"
FIELD = "partitioner.class=io.confluent.connect.storage.partitioner.FieldPartitioner|partition.field.name=t"
TIME = "partitioner.class=io.confluent.connect.storage.partitioner.TimeBasedPartitioner"
HOURLY = "partitioner.class=io.confluent.connect.storage.partitioner.HourlyPartitioner"
DAILY = "partitioner.class=io.confluent.connect.storage.partitioner.DailyPartitioner"
BOTH = "partitioner.class=com.canelmas.kafka.connect.FieldAndTimeBasedPartitioner|partition.field.name=t"
STORAGE = "storage.class=io.confluent.connect.s3.storage.S3Storage"
HIVE = "schema.generator.class=io.confluent.connect.storage.hive.schema.DefaultSchemaGenerator"
UTC = "locale=en-US|timezone=UTC"
BY_HOUR = "path.format='year'=YYYY/'month'=MM/'day'=dd/'hour'=HH|partition.duration.ms=3600000"
BY_DAY = "path.format='date'=YYYY-MM-dd|partition.duration.ms=86400000"
ROLE = (
    "s3.credentials.provider.class=io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider|"
    "s3.credentials.provider.sts.role.arn=arn:aws:iam::123456789012:role/lake|"
    "s3.credentials.provider.sts.role.session.name=connect"
)
CONFLUENT = [
    f"{JSON}|{TIME}|{STORAGE}|{UTC}|{BY_HOUR}|s3.part.size=5242880|flush.size=10000|rotate.interval.ms=600000",
    f"{PARQUET}|{STORAGE}|{TIME}|{UTC}|{BY_HOUR}|s3.part.size=67108864|flush.size=10000|schema.compatibility=FULL",
    f"{PARQUET}|{TIME}|{BY_HOUR}|{UTC}|parquet.codec=zstd|filename.offset.zero.pad.width=20|flush.size=2000000",
    f"{JSON}|{STORAGE}|{DEFAULT}|{HIVE}|s3.part.size=5242880|schema.compatibility=NONE|flush.size=1",
    f"{AVRO}|{STORAGE}|topics.dir=raw|flush.size=100",
    f"{JSON}|{TIME}|{BY_HOUR}|{UTC}|{STORAGE}|flush.size=1000|rotate.schedule.interval.ms=60000|s3.part.size=5242880",
    f"{JSON}|{STORAGE}|flush.size=3",
    f"{AVRO}|{STORAGE}|topics.dir=a/b|locale=ko_KR|timezone=Asia/Seoul|flush.size=65536",
    (f"{PARQUET}|{STORAGE}|flush.size=2|rotate.schedule.interval.ms=20000|timezone=UTC|parquet.codec=snappy|"
    "s3.credentials.provider.class=com.amazonaws.auth.DefaultAWSCredentialsProviderChain|auto.register.schemas=false"),
    (f"{BYTES}|{DEFAULT}|{STORAGE}|flush.size=1|partition.duration.ms=600000|rotate.schedule.interval.ms=600000|"
    "s3.acl.canned=bucket-owner-full-control|s3.compression.type=none|topics.dir=|timezone=UTC|locale=en"),
    (f"{PARQUET}|enhanced.avro.schema.support=true|locale=en-GB|timezone=UTC|flush.size=10000|topics.dir=parquet-1|"
    "s3.credentials.provider.class=com.amazonaws.auth.DefaultAWSCredentialsProviderChain"),
    f"{JSON}|{HOURLY}|topics.dir=data|file.delim=-|flush.size=5|locale=en_US|timezone=UTC",
    f"{JSON}|{TIME}|{BY_HOUR}|{UTC}|flush.size=100|rotate.interval.ms=30000|timestamp.extractor=Record",
    (f"{JSON}|{STORAGE}|{DEFAULT}|flush.size=5|rotate.schedule.interval.ms=60000|timezone=UTC|"
    "behavior.on.null.values=ignore"),
    f"{AVRO}|{STORAGE}|flush.size=1000|rotate.interval.ms=3600000",
    f"{AVRO}|avro.codec=snappy|{DAILY}|{UTC}|flush.size=10000|connect.meta.data=false",
    f"{AVRO}|schema.compatibility=BACKWARD|{TIME}|{BY_DAY}|{UTC}|timestamp.extractor=Record|flush.size=50000",
    f"{AVRO}|schema.compatibility=FORWARD|{DEFAULT}|flush.size=50000|rotate.schedule.interval.ms=600000|timezone=UTC",
    f"{AVRO}|store.kafka.keys=true|keys.format.class=io.confluent.connect.s3.format.avro.AvroFormat|flush.size=10",
    (f"{JSON}|store.kafka.keys=true|keys.format.class=io.confluent.connect.s3.format.json.JsonFormat|"
    "store.kafka.headers=true|headers.format.class=io.confluent.connect.s3.format.json.JsonFormat|flush.size=10"),
    f"{PARQUET}|store.kafka.headers=true|headers.format.class=io.confluent.connect.s3.format.avro.AvroFormat|flush.size=2",
    (f"{JSON}|behavior.on.null.values=write|store.kafka.keys=true|tombstone.encoded.partition=deleted|flush.size=10|"
    "keys.format.class=io.confluent.connect.s3.format.json.JsonFormat"),
    f"{JSON}|{FIELD}|flush.size=100",
    f"{PARQUET}|{FIELD}|flush.size=100|rotate.interval.ms=900000|partitioner.max.open.files=100",
    f"{JSON}|{BOTH}|{BY_HOUR}|{UTC}|flush.size=1000|timestamp.extractor=Record|partition.field.format.path=true",
    f"{PARQUET}|{BOTH}|{BY_DAY}|{UTC}|flush.size=1000|timestamp.extractor=Record|linger.ms=1000",
    f"{JSON}|s3.compression.type=gzip|s3.compression.level=6|{TIME}|{BY_HOUR}|{UTC}|flush.size=100000",
    f"{BYTES}|format.bytearray.extension=.json|format.bytearray.separator=\\n|s3.compression.type=gzip|flush.size=1000",
    f"{JSON}|s3.ssea.name=AES256|flush.size=1000",
    f"{PARQUET}|s3.ssea.name=aws:kms|s3.sse.kms.key.id=alias/lake|flush.size=1000",
    f"{JSON}|s3.sse.customer.key=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=|s3.ssea.name=AES256|flush.size=1000",
    f"{JSON}|s3.object.tagging=true|s3.object.tagging.key.value.pairs=team:lake,env:prod|flush.size=1000",
    f"{JSON}|s3.object.tagging=true|s3.object.behavior.on.tagging.error=fail|flush.size=1000",
    f"{JSON}|s3.proxy.url=http://proxy.example.com:3128|s3.proxy.user=u|s3.proxy.password=p|flush.size=1000",
    f"{JSON}|s3.wan.mode=true|flush.size=1000",
    f"{JSON}|s3.path.style.access.enabled=false|flush.size=1000",
    f"{JSON}|s3.part.retries=5|s3.retry.backoff.ms=500|retry.backoff.ms=5000|flush.size=1000",
    (f"{JSON}|s3.send.digest=true|s3.http.send.expect.continue=false|s3.elastic.buffer.enable=true|"
    "s3.elastic.buffer.init.capacity=131072|flush.size=1000"),
    f"{AVRO}|s3.schema.partition.affix.type=PREFIX|flush.size=1000",
    f"{AVRO}|s3.schema.partition.affix.type=SUFFIX|{TIME}|{BY_DAY}|{UTC}|flush.size=1000",
    f"{JSON}|{ROLE}|s3.credentials.provider.sts.role.external.id=ext|flush.size=1000",
    f"{JSON}|{ROLE}|s3.credentials.provider.sts.region=eu-central-1|flush.size=1000",
    f"{JSON}|s3.credentials.provider.class=com.amazonaws.auth.EnvironmentVariableCredentialsProvider|flush.size=1000",
    f"{JSON}|s3.credentials.provider.class=com.amazonaws.auth.profile.ProfileCredentialsProvider|flush.size=1000",
    f"{JSON}|s3.credentials.provider.class=com.amazonaws.auth.InstanceProfileCredentialsProvider|flush.size=1000",
    f"{JSON}|s3.credentials.provider.class=com.amazonaws.auth.WebIdentityTokenCredentialsProvider|flush.size=1000",
    f"{JSON}|s3.credentials.provider.class=com.amazonaws.auth.EC2ContainerCredentialsProviderWrapper|flush.size=1000",
    f"{JSON}|json.decimal.format=NUMERIC|flush.size=1000",
    f"{JSON}|topics.dir=|directory.delim=/|file.delim=_|flush.size=1000",
    (f"{PARQUET}|{TIME}|path.format=YYYY/MM/dd/HH|partition.duration.ms=600000|locale=de_DE|timezone=Europe/Berlin|"
    "timestamp.extractor=RecordField|timestamp.field=at|flush.size=1000|rotate.interval.ms=60000|rotate.schedule.interval.ms=-1"),
    f"{JSON}|enable.conditional.writes=false|max.files.scan.limit=10|flush.size=1000",
    f"{JSON}|report.null.values.to.dlq=true|schema.cache.size=1000|shutdown.timeout.ms=3000|flush.size=1000",
]  # fmt: skip
AIVEN = [
    "",
    "file.compression.type=gzip|format.output.fields=value,key,timestamp|format.output.fields.value.encoding=base64",
    ("format.output.type=jsonl|file.compression.type=gzip|file.name.timestamp.timezone=Asia/Seoul|"
    "file.name.timestamp.source=wallclock|file.name.template=raw/{{topic}}/year={{timestamp:unit=yyyy}}/"
    "month={{timestamp:unit=MM}}/day={{timestamp:unit=dd}}/{{topic}}-{{partition}}-{{start_offset}}.gz"),
    "format.output.type=jsonl|format.output.fields=key,value,offset,timestamp|format.output.envelope=true",
    "format.output.type=json|format.output.fields=value|format.output.envelope=false|file.max.records=1000",
    ("format.output.type=parquet|format.output.fields=value|format.output.envelope=false|file.compression.type=zstd|"
    "file.name.template={{topic}}/{{partition}}-{{start_offset}}.parquet"),
    "format.output.type=avro|format.output.fields=key,value,headers|file.compression.type=snappy",
    "aws.s3.prefix=backup/{{topic}}/{{utc_date}}/|file.compression.type=none",
    ("aws.s3.part.size.bytes=5242880|aws.s3.backoff.delay.ms=200|aws.s3.backoff.max.delay.ms=20000|"
    "aws.s3.backoff.max.retries=5|kafka.retry.backoff.ms=1000|aws.s3.sse.algorithm=AES256"),
    ("aws.sts.role.arn=arn:aws:iam::123456789012:role/lake|aws.sts.role.session.name=aiven|"
    "aws.sts.role.external.id=x|aws.sts.role.session.duration=3600|aws.sts.config.endpoint=https://sts.example.com"),
    "file.name.template={{topic}}/{{partition:padding=true}}/{{start_offset:padding=true}}.gz|aws_s3_prefix=unused",
    "output_compression=gzip|output_fields=value,offset",
]  # fmt: skip
OF_OTHERS = [
    (
        "s3.credentials.provider.class=com.nordstrom.kafka.connect.auth.AWSAssumeRoleCredentialsProvider",
        "AwsAssumeRole",
    ),
    ("s3.credentials.provider.class=com.github.vdesabou.AwsAssumeRoleIrsaCredentialsProvider", "AwsAssumeRole"),
    ("partitioner.class=com.acme.CustomFieldPartitioner", "FieldPartitioner"),
    ("format.class=com.acme.OrcFormat", "ParquetFormat"),
]


def parsed(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split("|") if pair)


def confluent(text: str) -> dict[str, str]:
    return {"s3.bucket.name": "bucket", "s3.region": "us-east-1", **parsed(text)}


@pytest.mark.parametrize("text", CONFLUENT)
def test_a_configuration_of_confluents_sink_is_accepted(text: str):
    S3SinkConfig.parse(confluent(text))


@pytest.mark.parametrize("text", AIVEN)
def test_a_configuration_of_aivens_sink_is_accepted(text: str):
    given = {"aws.s3.bucket.name": "bucket", "aws.access.key.id": "id", "aws.secret.access.key": "s", **parsed(text)}
    config = AivenS3SinkConfig.parse(given)
    assert config.settings().bucket == "bucket"
    assert config.parsed_template.parts


@pytest.mark.parametrize(("text", "instead"), OF_OTHERS)
def test_a_class_of_others_is_named_with_what_there_is_in_its_place(text: str, instead: str):
    name = text.partition("=")[2]
    with pytest.raises(ConfigError) as raised:
        S3SinkConfig.parse(confluent(f"{JSON}|flush.size=1|{text}"))
    assert name in str(raised.value)
    assert instead in str(raised.value)


MOVED = [0, 3, 4, 9, 11, 16, 18, 19, 21, 22, 24, 26, 31, 38, 48]
"""Rows are moved with every third or so."""
ROW = s.struct({"n": s.INT64, "t": s.STRING, "at": s.TIMESTAMP_SCHEMA.as_optional()}, name="Row").as_optional()


@pytest.mark.parametrize("number", MOVED)
def test_rows_are_moved_with_them(store: Store, number: int):
    given = {
        **confluent(CONFLUENT[number]), "store.url": f"http://127.0.0.1:{store.server_port}",
        "aws.access.key.id": "id", "aws.secret.access.key": "secret", "flush.size": "2",
    }  # fmt: skip
    task = S3SinkConnector(S3SinkConfig.parse(given)).task(given)
    task.open(FakeSinkContext(avro_values=avro_values))
    is_bytes = given["format.class"] == BYTES.partition("=")[2]
    rows = [b"a", b"b"] if is_bytes else [{"n": n, "t": "x", "at": None} for n in range(2)]
    keys = Column.from_rows(["k", "k"], s.STRING)
    headers = [[Header("h", "v")], [Header("h", "v")]]
    task.put(batch(rows, s.BYTES if is_bytes else ROW, keys=keys, headers=headers), Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {TP: 2}
    task.close()
    assert store.objects


@pytest.mark.parametrize("number", [0, 2, 3, 4, 5, 7, 10])
def test_rows_are_moved_with_those_of_aivens(store: Store, number: int):
    given = {
        "aws.s3.bucket.name": "bucket", "aws.s3.endpoint": f"http://127.0.0.1:{store.server_port}",
        "aws.access.key.id": "id", "aws.secret.access.key": "secret", **parsed(AIVEN[number]),
    }  # fmt: skip
    task = AivenSinkConnector(AivenS3SinkConfig.parse(given)).task(given)
    task.open(FakeSinkContext(avro_values=avro_values))
    is_csv = given.get("format.output.type", "csv") == "csv"
    rows = ["a", "b"] if is_csv else [{"n": n, "t": "x", "at": None} for n in range(2)]
    task.put(batch(rows, s.STRING if is_csv else ROW), Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {TP: 2}
    task.close()
    assert len(store.objects) == 1
