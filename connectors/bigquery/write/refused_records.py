"""Turns rows that BigQuery refused back into the records that they were made of, for the dead letter queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from connect.api.records import Batch, Column, Consumed, TopicPartition
from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch


def given_up(sealed: SealedBatch, refused: Refusals) -> Iterator[tuple[Batch, Mapping[int, Exception]]]:
    """Yield for each partition a batch that names the refused records by their offsets, and the reason of each.

    The batch has no values, as the framework reads the bytes of a dead letter from Kafka.
    """
    for partition, places in sealed.places(list(refused)).items():
        offsets = sorted(places)
        reasons = {index: refused[row] for index, (_, row) in enumerate(offsets)}
        yield _without_values(partition, [offset for offset, _ in offsets]), reasons


def _without_values(partition: TopicPartition, offsets: Sequence[int]) -> Batch:
    import pyarrow as pa

    return Batch(
        partition.topic,
        Column.nulls(len(offsets)),
        partition=partition.partition,
        consumed=Consumed(partition, pa.array(offsets, pa.int64()), offsets[-1] + 1),
    )
