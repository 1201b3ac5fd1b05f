"""Makes a topic and backfills it into an S3 sink; boto3 reads the objects back, never the sink's code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from connect.backfill.driver import Driver
from connect.backfill.job.spec import BackfillSpec
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint, S3Endpoint

JSON = "org.apache.kafka.connect.json.JsonConverter"
S3_JSON = "io.confluent.connect.s3.format.json.JsonFormat"
PARTITIONS = 3


def s3_sink(s3: S3Endpoint, bucket: str, prefix: str, topic: str, **settings: str) -> dict[str, str]:
    """Return the configuration of an S3 sink of a topic without schemas. `settings` has keys with `__` for each dot."""
    given = {
        "connector.class": "io.confluent.connect.s3.S3SinkConnector", "tasks.max": "1", "topics": topic,
        "s3.bucket.name": bucket, "s3.region": s3.region, "store.url": s3.url,
        "aws.access.key.id": s3.access_key_id, "aws.secret.access.key": s3.secret_access_key,
        "format.class": S3_JSON, "flush.size": "1000", "rotate.schedule.interval.ms": "500", "topics.dir": prefix,
        "offset.flush.interval.ms": "500", "value.converter": JSON, "value.converter.schemas.enable": "false",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    }  # fmt: skip
    return given | {key.replace("__", "."): value for key, value in settings.items()}


class Bucket:
    """Holds the objects below one prefix, as any other S3 client sees them."""

    def __init__(self, s3: S3Endpoint, bucket: str, prefix: str) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._client = boto3.client(
            "s3", endpoint_url=s3.url, aws_access_key_id=s3.access_key_id, aws_secret_access_key=s3.secret_access_key,
            region_name=s3.region, config=Config(s3={"addressing_style": "path"}),
        )  # fmt: skip

    def keys(self) -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=f"{self._prefix}/")
        return sorted(found["Key"] for page in pages for found in page.get("Contents", []))

    def body(self, key: str) -> bytes:
        return self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()

    def ids(self) -> list[int]:
        """Return the ids of all rows in objects of JSON lines."""
        return [json.loads(line)["id"] for key in self.keys() for line in self.body(key).splitlines()]


class Replay:
    """Holds a topic of three partitions, and the job that replays it into a sink."""

    def __init__(self, kafka: KafkaEndpoint, name: str) -> None:
        self.name = name
        self.kafka = kafka
        self.topic = f"{name}-rows"
        self.brokers = {"bootstrap.servers": kafka.bootstrap_servers}
        self.admin = AdminClient(self.brokers)
        self.admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])[self.topic].result(30)

    def produce(self, ids: range, value: Mapping[str, Any] | None = None) -> None:
        """Write a record for each id, with the id as its key and in its value."""
        producer = Producer(self.brokers)
        self._send(producer, ids, value)
        assert producer.flush(60) == 0

    def delete_before(self, offset: int) -> None:
        """Delete the records before an offset in each partition, as retention does."""
        wanted = [TopicPartition(self.topic, p, offset) for p in range(PARTITIONS)]
        for answer in self.admin.delete_records(wanted).values():
            answer.result(30)

    @contextmanager
    def transaction(self, ids: range) -> Iterator[Producer]:
        """Write records that are in the log but not committed; the caller ends the transaction with the producer that
        it gets.
        """
        producer = Producer({**self.brokers, "transactional.id": f"{self.name}-open"})
        producer.init_transactions(30)
        producer.begin_transaction()
        self._send(producer, ids, None)
        assert producer.flush(60) == 0
        yield producer

    def _send(self, producer: Producer, ids: range, value: Mapping[str, Any] | None) -> None:
        for n in ids:
            body = json.dumps({"id": n, "name": f"naïve {n}", **(value or {})})
            producer.produce(self.topic, body, str(n), partition=n % PARTITIONS)

    def worker_properties(self) -> dict[str, str]:
        return {
            "bootstrap.servers": self.kafka.bootstrap_servers, "group.id": self.name,
            "config.storage.topic": f"{self.name}-configs", "offset.storage.topic": f"{self.name}-offsets",
            "status.storage.topic": f"{self.name}-status", "config.storage.replication.factor": "1",
            "offset.storage.replication.factor": "1", "status.storage.replication.factor": "1",
            "key.converter": JSON, "value.converter": JSON,
        }  # fmt: skip

    def driver(self, sink: Mapping[str, str], worker: WorkerConfig | None = None, **parts: Any) -> Driver:
        given: dict[str, Any] = {
            "apiVersion": "backfill/v1", "name": self.name, "kind": "sink", "target": {"connector": self.name},
            "engine": {"type": "local", "processes": 2}, "chunking": {"rows": 250, "lanes": 2},
            "state": {"jobs_topic": f"{self.name}-jobs"},
        }  # fmt: skip
        spec = BackfillSpec.model_validate(given | parts)
        return Driver(spec, worker or WorkerConfig.parse(self.worker_properties()), sink)
