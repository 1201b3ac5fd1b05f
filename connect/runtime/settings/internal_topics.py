"""Recognizes topics that hold the state of Connect clusters, and keeps connectors' rows out of them.

It goes by topics' names and records. Pure. A row in such a topic is an order to a cluster: in a config topic it starts
a connector, in an offsets topic it moves one, and among a backfill's markers it makes rows count as written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Any, Final

from connect.api.errors import ConfigError, RejectedRowsError
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_access_keys import AUDIT_TOPIC
from connect.runtime.settings.worker_config import WorkerConfig

JOBS_TOPIC: Final = "connect-backfill-jobs"
MARKERS_PREFIX: Final = "connect-backfill-"
SLOTS_SUFFIX: Final = "-slots"
KAFKA_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)
"""These topics are made by brokers at their first use. If a connector made them first, with too few partitions, no
client of that Kafka could begin a transaction or join a group."""


class StateKind(StrEnum):
    """Says what a topic of a cluster's state holds."""

    CONFIGS = "connector configurations"
    OFFSETS = "source offsets"
    STATUSES = "statuses"
    SLOTS = "the workers' slots"
    JOBS = "backfill jobs"
    MARKERS = "markers of a backfill"
    MEMORY = "what a source task remembers"
    REPLAYED = "marks of replayed dead letters"
    AUDIT = "who changed something"
    KAFKA = "transactions and groups of Kafka"
    CLUSTER = "the state of another cluster of workers"


class ReservedTopicError(ConfigError):
    """Says that a topic holds a cluster's state and must not be written to."""


TopicInspector = Callable[[str, Deadline | None], StateKind | None]
"""Returns the state that a topic holds by its records, or None.

Raises RetriableError when no broker answers by the deadline; None leaves the time to the inspector.
"""


def slots_topic(worker: WorkerConfig) -> str:
    """Return the topic whose partitions are the workers' slots; it holds no records."""
    return f"{worker.group_id}{SLOTS_SUFFIX}"


def held_by_name(worker: WorkerConfig, topic: str) -> StateKind | None:
    """Return the state that this cluster keeps in the topic, or None."""
    own = {
        worker.config_storage_topic: StateKind.CONFIGS,
        worker.offset_storage_topic: StateKind.OFFSETS,
        worker.status_storage_topic: StateKind.STATUSES,
        slots_topic(worker): StateKind.SLOTS,
        JOBS_TOPIC: StateKind.JOBS,
        **({worker.rest_audit_topic: StateKind.AUDIT} if worker.rest_audit_topic is not None else {}),
        **dict.fromkeys(KAFKA_TOPICS, StateKind.KAFKA),
    }
    return own.get(topic) or (StateKind.MARKERS if topic.startswith(MARKERS_PREFIX) else None)


class ReservedTopics:
    """Keeps rows out of the topics of cluster state. Each topic is judged once. Owned by one thread."""

    def __init__(self, worker: WorkerConfig, look: TopicInspector | None = None) -> None:
        """Take the worker's settings. `look` is asked about topics of other names: they may be another cluster's."""
        self._worker = worker
        self._look = look
        self._free: set[str] = set()

    def check(self, topic: str, rows: int) -> None:
        """Raise RejectedRowsError, which names all rows of a batch whose topic holds a cluster's state.

        They count as bad rows and do not fail the task at once: a transform may have taken the topic from the row, and
        `errors.tolerance` says if one such row stops the others. Raise RetriableError when no broker answers.
        """
        if (refusal := self.refusal(topic)) is not None:
            raise RejectedRowsError(dict.fromkeys(range(rows), refusal))

    def require_free(
        self, topic: str, key: str, *, but: Collection[StateKind] = (), deadline: Deadline | None = None
    ) -> None:
        """Raise ReservedTopicError if the topic holds a cluster's state of another kind than `but`.

        `key` names the setting. Raise RetriableError when no broker answers by the deadline.
        """
        refusal = self.refusal(topic, key, but=but, deadline=deadline)
        if refusal is not None:
            raise refusal

    def refusal(
        self, topic: str, key: str = "", *, but: Collection[StateKind] = (), deadline: Deadline | None = None
    ) -> ReservedTopicError | None:
        """Return why nothing may be written to a topic, or None if it may. State of the kind `but` is no reason."""
        if topic in self._free:
            return None
        own = held_by_name(self._worker, topic)
        if own is not None and own not in but:
            return ReservedTopicError(
                f"Topic {topic} holds this cluster's own state ({own}): no connector and no job writes there.",
                key=key,
                fix="Name another topic.",
            )
        if own is None and self._look is not None and topic not in self._worker.internal_topics_writable:
            other = self._look(topic, deadline)
            if other is not None and other not in but:
                return ReservedTopicError(
                    f"Topic {topic} holds {other}, which Connect clusters go by: no connector and no job writes there.",
                    key=key,
                    fix=f"Name another topic; or, where it is a copy, list it in the worker's own file: "
                    f"internal.topics.writable={topic}",
                )
        if not but:
            self._free.add(topic)
        return None


_CONFIG_MEMBERS: Final = {
    b"connector-": {"properties"}, b"task-": {"properties"}, b"commit-": {"tasks"}, b"target-state-": {"state"},
    b"tasks-fencing-": {"task-count"}, b"restart-connector-": {"include-tasks", "only-failed"},
    b"logger-cluster-": {"level"}, b"session-key": {"key", "algorithm"}, b"placement-": {"slots"},
    b"worker-": {"slots", "url"}, b"history-config-": {"properties"},
}  # fmt: skip
"""Maps the beginning of a config topic's keys to the members of their values (Kafka 4.1's, and ours)."""
_CLAIM_KEY: Final = b"cluster"
_CLAIMED: Final = ("config.storage.topic", "offset.storage.topic", "status.storage.topic", AUDIT_TOPIC)
_STATUS_KEY: Final = re.compile(rb"status-(connector|task|topic)-.+", re.DOTALL)
# The keys of records in which the Cassandra copies' source keeps its state.
_MEMORY_KEY: Final = re.compile(rb'(ids \S+ \d+ .*|\["rows",".*)', re.DOTALL)


def claimed_topics(key: bytes | None, value: bytes | None) -> list[str]:
    """Return the topics that a record of a slots topic claims for its cluster; empty if the record is no claim."""
    told = _json(value or b"") if key == _CLAIM_KEY else None
    return [str(told[name]) for name in _CLAIMED if name in told] if isinstance(told, dict) else []


def held_by_record(key: bytes | None, value: bytes | None) -> StateKind | None:
    """Return the kind of state that a record holds; None if it holds none, or if it is a tombstone of unknown kind."""
    if key is None or value is None:
        return None
    if _MEMORY_KEY.fullmatch(key):
        return StateKind.MEMORY
    told = _json(value)
    if not isinstance(told, dict):
        return None
    if key == _CLAIM_KEY and {"group.id", "config.storage.topic"} <= told.keys():
        return StateKind.SLOTS
    if any(key.startswith(kind) and members <= told.keys() for kind, members in _CONFIG_MEMBERS.items()):
        return StateKind.CONFIGS
    if _STATUS_KEY.fullmatch(key):
        return StateKind.STATUSES
    named = _json(key)
    if isinstance(named, list):
        return _by_array(named, told)
    return _by_object(named, told) if isinstance(named, dict) else None


def _by_array(named: list[Any], told: Mapping[str, Any]) -> StateKind | None:
    match named:
        case [str(), dict()]:
            return StateKind.OFFSETS
        case [int(), int()] if {"connector", "from", "timestamp_ms"} <= told.keys():
            return StateKind.REPLAYED
        case _:
            return None


def _by_object(named: Mapping[str, Any], told: Mapping[str, Any]) -> StateKind | None:
    spec = told.get("spec")
    if named.keys() == {"job"} and isinstance(spec, dict) and str(spec.get("apiVersion", "")).startswith("backfill/"):
        return StateKind.JOBS
    if named.keys() in ({"job", "wish"}, {"job", "pace"}):
        return StateKind.JOBS
    if named.keys() == {"chunk", "part"} and "checksum" in told:
        return StateKind.MARKERS
    if named.keys() == {"plan"} and "splits" in told:
        return StateKind.MARKERS
    return None


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # deeply nested text
        return None
