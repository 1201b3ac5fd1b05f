"""Measures the S3 sink beside its peers: the same topic to the same store, and the rows of both counted in the
objects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileSystem, S3FileSystem

from connect.tools.services import KafkaService, SeaweedS3Service
from connect.tools.services.process.errors import ServiceError
from connect.tools.services.s3 import S3Endpoint
from tests.bench.cluster.cluster_workers import KAFKAS_HEAP_MIB
from tests.bench.java.avro_converter import CLASS as AVRO_CONVERTER
from tests.bench.java.avro_converter import avro_converter
from tests.bench.java.java_peer import JavaPeer
from tests.bench.measure import Figure

BUCKET = "bench"
FROM_START = {"consumer.override.auto.offset.reset": "earliest"}
AIVEN = "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector"
HEAP_MIB = 3 * KAFKAS_HEAP_MIB
"""It keeps all records of a flush interval as objects: with the default 2 GB it ends by OutOfMemoryError."""
FLUSH_MS = 5000
ROWS_PER_OBJECT = 100_000
PARQUET = {"format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat", "parquet.codec": "zstd"}
JSON_LINES = {"format.class": "io.confluent.connect.s3.format.json.JsonFormat"}
AIVENS_PARQUET = {"format.output.type": "parquet", "file.compression.type": "zstd"}
AIVENS_LINES = {"format.output.type": "jsonl"}


def check_rows(files: FileSystem, prefixes: Iterable[str], rows: int, count: Callable[[FileSystem, str], int]) -> None:
    """RuntimeError unless the objects below each prefix of the bucket hold so many rows."""
    found = {}
    for prefix in prefixes:
        below = files.get_file_info(FileSelector(f"{BUCKET}/{prefix}", recursive=True))
        found[prefix] = sum(count(files, file.path) for file in below if file.is_file)
    if wrong := {prefix: stored for prefix, stored in found.items() if stored != rows}:
        raise RuntimeError(f"The topic has {rows} rows, but the objects hold {wrong}.")


def parquet_rows(files: FileSystem, path: str) -> int:
    with files.open_input_file(path) as file:
        return int(pq.ParquetFile(file).metadata.num_rows)


def lines_of(compression: str | None) -> Callable[[FileSystem, str], int]:
    """Counts the lines of an object; the last one may lack its end."""

    def count(files: FileSystem, path: str) -> int:
        with files.open_input_stream(path, compression=compression) as file:
            return len(file.read().splitlines())

    return count


@contextmanager
def store() -> Iterator[S3Endpoint]:
    with SeaweedS3Service() as s3:
        s3.create_bucket(BUCKET)
        yield s3.endpoint


def file_system(endpoint: S3Endpoint) -> FileSystem:
    return S3FileSystem(
        access_key=endpoint.access_key_id, secret_key=endpoint.secret_access_key,
        endpoint_override=endpoint.url, region=endpoint.region,
    )  # fmt: skip


def our_settings(
    endpoint: S3Endpoint, base: Mapping[str, str], topic: str, prefix: str, chosen: Mapping[str, str]
) -> dict[str, str]:
    """Settings of the job `kafka_to_s3` that leaves its objects below `prefix`."""
    objects = {"name": f"{prefix}-{topic}", "topics.dir": prefix, "flush.size": str(ROWS_PER_OBJECT)}
    return {
        **base, "topic": topic, "s3_url": endpoint.url, "bucket": BUCKET,
        "access_key_id": endpoint.access_key_id, "secret_access_key": endpoint.secret_access_key,
        "connector": json.dumps({**objects, **chosen}),
    }  # fmt: skip


class JavaS3:
    """Aiven's S3 sink on a Java worker of its own, which has the heap that it needs."""

    def __init__(self, java: JavaPeer, endpoint: S3Endpoint, rows: int) -> None:
        self._java, self._endpoint, self._rows = java, endpoint, rows

    def parquet(self, topic: str, registry_url: str, prefix: str) -> Figure:
        """From Avro: it refuses rows without a schema."""
        avro = {"value.converter": AVRO_CONVERTER, "value.converter.schema.registry.url": registry_url}
        return self._run(topic, prefix, {**AIVENS_PARQUET, **avro})

    def json_lines(self, topic: str, prefix: str, compression: str) -> Figure:
        return self._run(topic, prefix, {**AIVENS_LINES, "file.compression.type": compression})

    def _run(self, topic: str, prefix: str, chosen: Mapping[str, str]) -> Figure:
        endpoint = self._endpoint
        config = {
            "connector.class": AIVEN, "aws.s3.endpoint": endpoint.url, "aws.s3.region": endpoint.region,
            "aws.s3.bucket.name": BUCKET, "aws.access.key.id": endpoint.access_key_id,
            "aws.secret.access.key": endpoint.secret_access_key, "format.output.fields": "value",
            "format.output.envelope": "false",
            # Its Parquet asks for a schema of the key too.
            "key.converter": "org.apache.kafka.connect.storage.StringConverter", **FROM_START, **chosen,
        }  # fmt: skip
        name = "file.name.template"
        template = "{{topic}}-{{partition}}-{{start_offset}}"
        configs = [{**config, name: f"{folder}/{template}"} for folder in (f"warm-up-{prefix}", prefix)]
        return self._java.committing_sink(prefix, configs, topic, self._rows, max(1, self._rows // 3))


@contextmanager
def java_s3(
    kafka: KafkaService,
    endpoint: S3Endpoint,
    plugin: Path | None,
    scratch: Path,
    rows: int,
    say: Callable[[str], None],
) -> Iterator[JavaS3 | None]:
    """None, and a line that says why, where the sink or a part of the Java worker is not there."""
    with ExitStack() as stack:
        found = None
        if plugin is None:
            say("Java is left out of the S3 rows: no S3 sink is on Maven Central; --java-s3-plugin DIR names a build.")
        else:
            try:
                plugins = [plugin.resolve(strict=True), avro_converter()]
                bootstrap = kafka.endpoint.bootstrap_servers
                peer = JavaPeer(bootstrap, plugins, scratch, heap_mib=HEAP_MIB, offset_flush_ms=FLUSH_MS)
                found = JavaS3(stack.enter_context(peer), endpoint, rows)
            except (ServiceError, FileNotFoundError) as error:
                say(f"Java is left out of the S3 rows: {error}")
        yield found
