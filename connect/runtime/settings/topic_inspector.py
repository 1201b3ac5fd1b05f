"""Looks at a topic's records to see if a Connect cluster keeps its state there."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_part, consumer_settings
from connect.kafka.client.shared import Shared
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
"""The first so many records of each partition are looked at, tombstones not counted.

Records are counted, not offsets: compaction and transactions leave gaps, and deletions their tombstones for a day.
"""
_MOST_RECORDS: Final = 20_000
"""At most so many records of a topic are read, tombstones included."""
_CLAIMS_S: Final = 5.0
"""Other clusters' claims are read again after this time, so that tasks that begin together share one reading."""
_OVERRIDE: Final = "producer.override."
_ADDRESSES: Final = ("bootstrap.servers", "security.", "sasl.", "ssl.")


def reserved_topics(
    worker: WorkerConfig, connector: Mapping[str, str], shared: Shared[BrokerTopicInspector] | None = None
) -> ReservedTopics:
    """Return the topics that a connector may not write to, on the brokers that its producer writes to.

    Connects to nothing. The inspector is kept in `shared`, for other connectors that write to the same brokers.
    """
    overrides = {k.removeprefix(_OVERRIDE): v for k, v in connector.items() if k.startswith(_OVERRIDE)}
    addresses = {key: value for key, value in overrides.items() if key.startswith(_ADDRESSES)}
    if shared is None:
        client_id = f"connector-topics-{connector.get('name', '')}"
        return ReservedTopics(worker, BrokerTopicInspector(worker.originals, addresses, client_id))
    client_id = f"{worker.client_prefix}-shared-topics-{os.getpid()}"
    key = frozenset(addresses.items())
    return ReservedTopics(worker, shared.of(key, lambda: BrokerTopicInspector(worker.originals, addresses, client_id)))


class BrokerTopicInspector:
    """Asks the brokers that connectors' producers write to, with one client. Any thread may call it."""

    def __init__(self, worker: Mapping[str, str], addresses: Mapping[str, str], client_id: str) -> None:
        """Keep the settings; connect to nothing.

        `addresses` holds the producers' connection settings where they differ from the worker's.
        """
        self._settings = consumer_settings(worker, addresses, client_id=client_id).properties
        # The topics that this cluster claims on its own brokers are known by name.
        self._own_slots = None if addresses else f"{worker.get('group.id', '')}{SLOTS_SUFFIX}"
        self._lock = threading.Lock()  # lets many tasks that begin at once read the claims once
        self._admin: TopicAdmin | None = None
        self._claimed: frozenset[str] = frozenset()
        self._claims_of_s = float("-inf")

    def __call__(self, topic: str, deadline: Deadline | None = None) -> StateKind | None:
        """Return the kind of state that the topic holds; None if it holds none, or if it may not be read.

        Raise RetriableError when no broker answers by the deadline, and after 20 s in any case.

        Topics that a cluster claims are known by the claim. All other topics of cluster state are compacted, so only
        compacted topics are read.
        """
        try:
            return self._found(topic, Deadline.after(_LOOK_S) if deadline is None else deadline.sooner(_LOOK_S))
        except RetriableError:
            raise
        except ConnectError as error:
            log.info("What topic %s holds is not known: %s", topic, error)
            return None

    def _found(self, topic: str, deadline: Deadline) -> StateKind | None:
        admin, claimed = self._claims_now(deadline)
        if topic in claimed:
            return StateKind.CLUSTER
        if "compact" not in (admin.configs(topic, deadline, is_there=False).get("cleanup.policy") or ""):
            return None
        held = (held_by_record(key, value) for key, value in self._records(admin, [topic], deadline))
        return next((one for one in held if one is not None), None)

    def _claims_now(self, deadline: Deadline) -> tuple[TopicAdmin, frozenset[str]]:
        """Return the client, and the claims, which were read at most a moment ago.

        Raise RetriableError if another thread still reads them at the deadline.
        """
        if not self._lock.acquire(timeout=deadline.remaining_s):
            raise RetriableError("The topics of other clusters were not read in time.")
        try:
            if self._admin is None:
                self._admin = TopicAdmin(admin_part(self._settings))
            now_s = time.monotonic()
            if now_s - self._claims_of_s > _CLAIMS_S:
                self._claimed = self._claims(self._admin, deadline)
                self._claims_of_s = now_s
            return self._admin, self._claimed
        finally:
            self._lock.release()

    def _claims(self, admin: TopicAdmin, deadline: Deadline) -> frozenset[str]:
        """Return the topics that other clusters of workers claim, whatever they hold."""
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
            # Most partitions have no gap at their beginning, so enough of them is read now, however much they hold.
            spans = {
                place: OffsetRange(first[place].end, span.end)
                for place, span in spans.items()
                if left[place] > 0 and first[place].end < span.end
            }
            offsets *= 10
