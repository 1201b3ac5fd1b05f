"""Reads the connectors of a cluster from its config topic, once, for commands that are no worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from connect.api.records import TopicPartition
from connect.cluster.model.config_state import ConfigState
from connect.cluster.model.record_json import RecordFormatError
from connect.cluster.store.config_opening import ConfigOpening
from connect.cluster.store.record_seals import RecordSeals
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings, consumer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig


def read_connectors(worker: WorkerConfig, client_id: str, deadline: Deadline) -> Mapping[str, Mapping[str, str]]:
    """Return configurations by connector, with their placeholders; they may hold secrets.

    RetriableError: they were not read in time. ConnectError: they are sealed by a key that the worker's file lacks.
    """
    state, opening = ConfigState(), ConfigOpening(RecordSeals.of(worker))
    for key, value in read_records(worker, client_id, deadline):
        try:
            state.apply(opening.take(key, value))
        except RecordFormatError:
            continue  # the workers warn of it
    opening.check()
    return state.snapshot().connectors


def read_records(
    worker: WorkerConfig, client_id: str, deadline: Deadline
) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Yield key and value of each record in the config topic. RetriableError: they were not read in time."""
    topic = worker.config_storage_topic
    admin = TopicAdmin(admin_settings(worker.originals, {}, client_id).properties)
    partitions = [TopicPartition(topic, p) for p in range(admin.partition_counts([topic], deadline).get(topic, 0))]
    ends = admin.end_offsets(partitions, deadline, committed_only=True) if partitions else {}
    settings = consumer_settings(worker.originals, {}, client_id=client_id).properties
    for raw in read_spans(settings, {tp: OffsetRange(0, end) for tp, end in ends.items()}, deadline):
        keys = raw.keys.to_pylist() if raw.keys is not None else [None] * len(raw)
        yield from zip(keys, raw.values.to_pylist(), strict=True)
