"""Looks at a topic's records to see whether a Connect cluster keeps its state there."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_part, consumer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.lib.deadline import Deadline
from connect.runtime.settings.internal_topics import (
    SLOTS_SUFFIX,
    ReservedTopics,
    StateKind,
    claimed_topics,
    held_by_record,
)
from connect.runtime.settings.worker_config import WorkerConfig

log = logging.getLogger(__name__)
_LOOK_S: Final = 20.0
_RECORDS: Final = 20
"""So many of the first records of each partition that are no tombstones are looked at.

Records are counted, not offsets: compaction and transactions leave gaps, and deletions their tombstones for a day.
"""
_MOST_RECORDS: Final = 20_000
"""So many are read of a topic whose records are nearly all tombstones."""
_OVERRIDE: Final = "producer.override."
_ADDRESSES: Final = ("bootstrap.servers", "security.", "sasl.", "ssl.")


def reserved_topics(worker: WorkerConfig, connector: Mapping[str, str]) -> ReservedTopics:
    """Return the topics that a connector may not write to, on the brokers that its producer writes to.

    Connects to nothing.
    """
    overrides = {k.removeprefix(_OVERRIDE): v for k, v in connector.items() if k.startswith(_OVERRIDE)}
    client_id = f"connector-topics-{connector.get('name', '')}"
    return ReservedTopics(worker, BrokerTopicInspector(worker.originals, overrides, client_id))


class BrokerTopicInspector:
    """Asks the brokers that a connector's producer writes to. Owned by one thread."""

    def __init__(self, worker: Mapping[str, str], producer: Mapping[str, str], client_id: str) -> None:
        """Keep the settings; connect to nothing. `producer`: the connector's `producer.override.` settings without that
        prefix.
        """
        addresses = {key: value for key, value in producer.items() if key.startswith(_ADDRESSES)}
        self._settings = consumer_settings(worker, addresses, client_id=client_id).properties
        # The topics that this cluster claims on its own brokers are known by name.
        self._own_slots = None if addresses else f"{worker.get('group.id', '')}{SLOTS_SUFFIX}"
        self._admin: TopicAdmin | None = None
        self._claimed: frozenset[str] = frozenset()

    def __call__(self, topic: str) -> StateKind | None:
        """Return what state the topic's records are; None: none, or the principal may not look.

        RetriableError: no answer.

        A cluster's claim tells its topics. Every other topic of cluster state is compacted, so that no other one is
        read.
        """
        try:
            return self._found(topic, Deadline.after(_LOOK_S))
        except RetriableError:
            raise
        except ConnectError as error:
            log.info("What topic %s holds is not known: %s", topic, error)
            return None

    def rest(self) -> None:
        """Let the admin client go: no new topic came."""
        self._admin = None

    def _found(self, topic: str, deadline: Deadline) -> StateKind | None:
        if self._admin is None:
            admin = TopicAdmin(admin_part(self._settings))
            self._claimed = self._claims(admin, deadline)
            self._admin = admin
        if topic in self._claimed:
            return StateKind.CLUSTER
        if "compact" not in (self._admin.configs(topic, deadline, is_there=False).get("cleanup.policy") or ""):
            return None
        held = (held_by_record(key, value) for key, value in self._records(self._admin, [topic], deadline))
        return next((one for one in held if one is not None), None)

    def _claims(self, admin: TopicAdmin, deadline: Deadline) -> frozenset[str]:
        """Return the topics that other clusters of workers call their own, whatever is in them already."""
        slots = [name for name in admin.topics(deadline) if name.endswith(SLOTS_SUFFIX) and name != self._own_slots]
        records = self._records(admin, slots, deadline) if slots else iter(())
        return frozenset(topic for key, value in records for topic in claimed_topics(key, value))

    def _records(
        self, admin: TopicAdmin, topics: Sequence[str], deadline: Deadline
    ) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Yield keys and values of the first records of each partition of these topics."""
        counts = admin.partition_counts(topics, deadline)
        places = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
        begins, ends = admin.beginning_offsets(places, deadline), admin.end_offsets(places, deadline)
        spans = {place: OffsetRange(begins[place], ends[place]) for place in places if begins[place] < ends[place]}
        left, read, offsets = dict.fromkeys(spans, _RECORDS), 0, _RECORDS
        while spans and read < _MOST_RECORDS:
            first = {
                place: OffsetRange(span.start, min(span.end, span.start + offsets)) for place, span in spans.items()
            }
            for raw in read_spans(self._settings, first, deadline):
                keys = [None] * len(raw) if raw.keys is None else raw.keys.to_pylist()
                yield from zip(keys, raw.values.to_pylist(), strict=True)
                read += len(raw)
                left[TopicPartition(raw.topic, raw.partition or 0)] -= len(raw) - raw.values.null_count
            # Most partitions have no gap at their beginning, and are left alone now, however much they hold.
            spans = {
                place: OffsetRange(first[place].end, span.end)
                for place, span in spans.items()
                if left[place] > 0 and first[place].end < span.end
            }
            offsets *= 10
