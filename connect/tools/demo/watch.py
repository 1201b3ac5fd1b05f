"""Measures how far the rows have come, in Kafka and S3 themselves; the worker's own figures are not used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from connect.kafka.client.errors import is_retriable
from connect.tools.services import KafkaEndpoint, S3Endpoint

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

_WATERMARK_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Reading:
    """Holds how far a table's rows have come: records in its topic (transaction markers included), rows and bytes in
    S3.
    """

    topic_records: int
    s3_rows: int
    s3_bytes: int


def file_system(endpoint: S3Endpoint) -> S3FileSystem:
    """Return a plain S3 client for reading."""
    from pyarrow.fs import S3FileSystem

    return S3FileSystem(
        endpoint_override=endpoint.url,
        access_key=endpoint.access_key_id,
        secret_key=endpoint.secret_access_key,
        region=endpoint.region,
    )


class Watch:
    """Reads the number of records per topic and of rows per table folder. It is owned by the demo's main thread."""

    def __init__(self, kafka: KafkaEndpoint, s3: S3Endpoint, bucket: str, topic_prefix: str) -> None:
        from confluent_kafka import Consumer

        self._consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "demo-watch"})
        self._s3 = file_system(s3)
        self._bucket = bucket
        self._topic_prefix = topic_prefix
        self._records: dict[str, int] = {}
        self._footers: dict[str, tuple[int, int]] = {}

    def folder(self, table: str) -> str:
        """Return the folder in which the sink puts a table's objects."""
        return f"{self._bucket}/topics/{self._topic_prefix}{table}"

    def read(self, table: str) -> Reading:
        """Return how far a table's rows have come now: records in its topic, rows and bytes in S3."""
        rows, size_bytes = self._s3_totals(self.folder(table))
        return Reading(self._topic_records(self._topic_prefix + table), rows, size_bytes)

    def close(self) -> None:
        """Release the clients."""
        self._consumer.close()

    def _topic_records(self, topic: str) -> int:
        """Return how many records a topic has; the number of the last look if Kafka cannot tell it now."""
        from confluent_kafka import KafkaException, TopicPartition

        try:
            known = self._consumer.list_topics(timeout=_WATERMARK_TIMEOUT_S).topics.get(topic)
            ends = (
                self._consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=_WATERMARK_TIMEOUT_S)
                for partition in (() if known is None else known.partitions)
            )
            self._records[topic] = sum(high - low for low, high in ends)
        except KafkaException as error:
            # A topic that was just created has no leader yet.
            if not is_retriable(error.args[0]):
                raise
        return self._records.get(topic, 0)

    def _s3_totals(self, folder: str) -> tuple[int, int]:
        import pyarrow.parquet as pq
        from pyarrow.fs import FileSelector, FileType

        found = self._s3.get_file_info(FileSelector(folder, recursive=True, allow_not_found=True))
        totals = [0, 0]
        for info in found:
            if info.type != FileType.File:
                continue
            if info.path not in self._footers:
                with self._s3.open_input_file(info.path) as file:
                    self._footers[info.path] = (pq.read_metadata(file).num_rows, info.size)
            rows, size_bytes = self._footers[info.path]
            totals[0] += rows
            totals[1] += size_bytes
        return totals[0], totals[1]
