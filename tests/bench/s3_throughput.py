"""Measures the S3 sink beside Aiven's, in the formats that its public peers write: jsonl gzip, jsonl zstd and
Parquet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from connect.tools.services.registry import SchemaRegistryService
from tests.bench import s3_files
from tests.bench.java.avro_converter import CLASS as AVRO_CONVERTER
from tests.bench.measure import Figure, entry
from tests.bench.throughput import JAVA, Bench, new_topic, run

PEER = f"{JAVA}, Aiven's S3 sink"


def measure_s3(bench: Bench) -> Iterator[dict]:
    """Ours and Java's in turn, from one topic of JSON and one of Avro."""
    lines, records = new_topic(bench.kafka, "json"), new_topic(bench.kafka, "avro")
    with SchemaRegistryService() as registry, s3_files.store() as store:
        avro = {**bench.base, "registry": registry.endpoint.url, "converter": AVRO_CONVERTER}
        run("memory_to_kafka", {**bench.base, "topic": lines})
        run("memory_to_kafka", {**avro, "topic": records})

        def ours(prefix: str, chosen: Mapping[str, str], base: Mapping[str, str], topic: str) -> Figure:
            return run("kafka_to_s3", s3_files.our_settings(store, base, topic, prefix, chosen))

        raw = "librdkafka consume(), thrown away", run("raw_consume", {**bench.base, "topic": lines})
        parquet = ours("json-parquet", s3_files.PARQUET, bench.base, lines)
        yield entry("Kafka JSON -> Parquet zstd in S3", parquet, *raw, must=200_000)
        plain = ours("lines", s3_files.JSON_LINES, bench.base, lines)
        yield entry("Kafka JSON -> JSON lines in S3", plain, *raw)
        shared = (bench.kafka, store, bench.java_s3_plugin, bench.folder, bench.rows, bench.say)
        with s3_files.java_s3(*shared) as java:
            parquet = ours("parquet", s3_files.PARQUET, avro, records)
            theirs = None if java is None else java.parquet(records, registry.endpoint.url, "java-parquet")
            yield entry("Kafka Avro -> Parquet zstd in S3", parquet, PEER, theirs, must=200_000, gate=4)
            for kind, must in (("gzip", 83_000), ("zstd", 166_000)):
                packed = ours(kind, {**s3_files.JSON_LINES, "s3.compression.type": kind}, bench.base, lines)
                theirs = None if java is None else java.json_lines(lines, f"java-{kind}", kind)
                name = f"Kafka JSON -> JSON lines {kind} in S3"
                yield entry(name, packed, PEER, theirs, must=must, gate=4)
        files = s3_files.file_system(store)
        counts = {
            "json-parquet": s3_files.parquet_rows, "parquet": s3_files.parquet_rows, "lines": s3_files.lines_of(None),
            "gzip": s3_files.lines_of("gzip"), "zstd": s3_files.lines_of("zstd"),
        }  # fmt: skip
        for prefix, count in counts.items():
            writers = [prefix] if java is None or prefix in {"json-parquet", "lines"} else [prefix, f"java-{prefix}"]
            s3_files.check_rows(files, writers, bench.rows, count)
            bench.say(f"{bench.rows:,} rows each in the objects of {' and '.join(writers)}")
