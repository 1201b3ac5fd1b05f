"""Makes and reads the topics that hold a job's state; the driver writes the state in its transactions."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.backfill.job.job import Job, JobPace, Jobs, JobSignal
from connect.backfill.job.markers import (
    DriverState,
    Marker,
    MarkersOwner,
    RecordedVerdict,
    driver_state,
    markers,
    require_done,
    undone,
)
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobStateError
from connect.kafka.admin.topic_descriptions import ids_of
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.errors import MissingTopicError
from connect.kafka.client.settings import admin_settings, consumer_settings, producer_settings
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.kafka.log.kv_log import KeyValueLog
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.settings.internal_topics import JOBS_TOPIC, ReservedTopics, StateKind
from connect.runtime.settings.topic_inspector import BrokerTopicInspector
from connect.runtime.settings.worker_config import WorkerConfig

KeyValue = tuple[bytes, bytes | None]
_COMPACT: Final = {"cleanup.policy": "compact"}
_JOBS_PARTITION: Final = 0
_FETCH_MS: Final = 100
"""A broker holds a fetch for so long while there is no new record. Each lane waits for that once at its start.

The default is 500 ms.
"""

_LOOK_S: Final = 0.1
_OPEN_S: Final = 5.0
"""A follower waits so many seconds at its start for a transaction that is open."""


@dataclass(frozen=True, slots=True)
class StateTopics:
    """Holds the names of a job's topics. The marker topic has a partition per lane, and one more for the driver."""

    jobs: str
    markers: str
    lanes: int


def lane_transactional_id(job: str, lane: int) -> str:
    """Return the transactional id of all runs of a lane; a later run fences an earlier one by it."""
    return f"bf-{job}-{lane}"


def driver_transactional_id(job: str) -> str:
    """Return the transactional id that all drivers of a job have."""
    return f"bf-{job}-driver"


def raw_batch(topic: str, partition: int, records: Iterable[KeyValue]) -> RawBatch:
    """Return records as a batch for one partition."""
    import pyarrow as pa

    keys, values = zip(*records, strict=True)
    return RawBatch(topic, pa.array(values, pa.binary()), pa.array(keys, pa.binary()), partition=partition)


def known_spec(worker: WorkerConfig, name: str, jobs_topic: str | None, deadline: Deadline) -> BackfillSpec:
    """Return the spec of a job that was run before. ConnectError: no job has that name, or it is another cluster's."""
    topic = jobs_topic or JOBS_TOPIC
    found = JobStore(worker, StateTopics(topic, "", 0)).jobs(deadline)
    job = found.known(name)
    if job is None:
        known = ", ".join(sorted(found.jobs)) or "none"
        raise ConnectError(
            f"There is no backfill {name} in topic {topic}, and no file of that name; known: {known}.",
            fix="Begin it by `connect backfill run FILE`, or name its topic by --jobs-topic.",
        )
    job.require_owner(worker.group_id)
    # The topic that was read counts, not the one in the record, which somebody else may have written.
    spec = found.spec(job)
    return spec.model_copy(update={"state": spec.state.model_copy(update={"jobs_topic": topic})})


def _counts(admin: TopicAdmin, topics: Collection[str], deadline: Deadline, operation: str) -> Mapping[str, int]:
    """Return the partition counts of topics; see `JobStore.partition_counts`. `operation` is the right to ask for.

    A topic that brokers hide from this login looks as if it were missing. Chunks with markers in it would then be
    written again, so such a topic is an error.
    """
    found = admin.partition_counts(topics, deadline)
    for topic in set(topics) - found.keys():
        with suppress(MissingTopicError):  # It is not there, indeed.
            admin.topic_id(topic, deadline, operation)
    return found


def _send(worker: WorkerConfig, batch: RawBatch, deadline: Deadline) -> None:
    settings = producer_settings(worker.originals, {}, client_id="connect-backfill-owner").properties
    producer = BatchProducer(settings)
    try:
        producer.send(batch, deadline)
        producer.flush(deadline)
    finally:
        producer.close()


def owner_of(store: JobStore, job: str) -> MarkersOwner:
    """Return the owner that the marker topic of a job has to have: the store's cluster, with its jobs topic."""
    return MarkersOwner(store.worker.group_id, store.topics.jobs, job)


class JobStore:
    """Reads jobs and markers, and creates their topics. May be used from any thread."""

    def __init__(self, worker: WorkerConfig, topics: StateTopics) -> None:
        self.topics = topics
        self.worker = worker
        self._admin = TopicAdmin(admin_settings(worker.originals, {}, "connect-backfill-admin").properties)

    def make_topics(self, deadline: Deadline) -> None:
        """Create the topics that are missing.

        ConfigError: the marker topic exists with another number of lanes, or one of the topics holds other state of a
        cluster.
        """
        self.require_own_topics()
        factor = self.worker.offset_storage_replication_factor
        for name, partitions in ((self.topics.jobs, 1), (self.topics.markers, self.topics.lanes + 1)):
            self._admin.create(
                name, partitions=partitions, replication_factor=factor, configs=_COMPACT, deadline=deadline
            )
        found = self.partition_counts([self.topics.markers], deadline).get(self.topics.markers)
        if found is not None and found != self.topics.lanes + 1:
            raise ConfigError(
                f"Topic {self.topics.markers} has {found} partitions, but a job of {self.topics.lanes} lanes needs "
                f"{self.topics.lanes + 1}.",
                key="chunking.lanes",
                fix="Give the job the lanes it was planned with, or another name.",
            )

    def require_own_topics(self) -> None:
        """Raise ConfigError if one of the job's topics holds other state of a cluster."""
        self._require_own(self.topics.jobs, "state.jobs_topic", StateKind.JOBS)
        self._require_own(self.topics.markers, "state.marker_topic", StateKind.MARKERS)

    def _require_own(self, topic: str, key: str, state: StateKind) -> None:
        look = BrokerTopicInspector(self.worker.originals, {}, "connect-backfill-look")
        ReservedTopics(self.worker, look).require_free(topic, key, but={state})

    def partition_counts(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, int]:
        """Return the number of partitions of each of these topics that exists.

        DeniedError: a topic may exist that the brokers hide from this login.
        """
        return _counts(self._admin, topics, deadline, "Write")

    def topic_ids(self, topics: Collection[str], deadline: Deadline) -> Mapping[str, str]:
        """Return the ids of those of these topics that exist, as far as brokers give ids."""
        return ids_of(self._admin.describe(topics, deadline))

    def require_markers_of(self, job: str, deadline: Deadline) -> None:
        """Raise JobStateError if the marker topic belongs to another job, also of another cluster or jobs topic."""
        found = self.driver_state(deadline).owner
        if found is None:
            return
        if replace(found, job=job) != owner_of(self, job):
            raise JobStateError(
                f"Topic {self.topics.markers} has the markers of a backfill {job} of the cluster with "
                f"group.id={found.group}, in jobs topic {found.jobs_topic}.",
                key="name",
                fix="Give the job another name.",
            )
        if found.job not in {"", job}:
            raise JobStateError(
                f"Topic {self.topics.markers} has the markers of backfill {found.job}, and chunks of two jobs over a "
                "table have the same names.",
                key="state.marker_topic",
                fix="Leave state.marker_topic out, so that each job has a topic of its own, or name a new one.",
            )

    def require_no_markers(self, job: str, deadline: Deadline) -> None:
        """Raise JobStateError if the marker topic says that rows were written, although there is no such job."""
        found = len(self.all_markers(deadline))
        if found or self.driver_state(deadline).handover is not None:
            raise JobStateError(
                f"There is no backfill {job} in topic {self.topics.jobs}, but topic {self.topics.markers} has markers "
                f"of chunks ({found}) or of a handover: the job's record is lost, or these are markers of another job, "
                "and what they count as written would be left out.",
                key="name",
                fix="Begin under another name, without state.marker_topic or with a new one.",
            )

    def jobs(self, deadline: Deadline) -> Jobs:
        """Return every job, signal and pace of the jobs topic, as far as no open transaction hides them."""
        return Jobs(self._read(self.topics.jobs, [_JOBS_PARTITION], deadline))

    def newest_jobs(self, deadline: Deadline) -> Jobs:
        """Return every job, signal and pace of the jobs topic, when the transactions have ended that are open now.

        All jobs write to one partition, and a driver that froze in its transaction hides what others write behind it.
        RetriableError: one is still open at the deadline.
        """
        place = TopicPartition(self.topics.jobs, _JOBS_PARTITION)
        end = self._admin.end_offsets([place], deadline)[place]
        while self._admin.end_offsets([place], deadline, committed_only=True)[place] < end:
            if not deadline.wait(_LOOK_S):
                raise RetriableError(
                    f"Topic {self.topics.jobs} cannot be read to its end: a driver of another backfill has an open "
                    "transaction there, and what is behind it may be newer than what can be read.",
                    fix="Try again: the brokers end it after its transaction.timeout.ms. See whose it is by "
                    f"`kafka-transactions.sh find-hanging --topic {self.topics.jobs}`.",
                )
        return self.jobs(deadline)

    def lane_markers(self, lane: int, deadline: Deadline) -> list[Marker]:
        """Return the committed markers of a lane, in order. ConnectError: the topic has lost its first records."""
        return markers(self._read(self.topics.markers, [lane], deadline))

    def all_markers(self, deadline: Deadline) -> list[Marker]:
        """Return the committed markers of all lanes; those of each lane are in order."""
        return markers(self._read(self.topics.markers, range(self.topics.lanes), deadline))

    def markers_of(self, done: Sequence[str], deadline: Deadline) -> list[Marker]:
        """Return all markers, as soon as they say that the chunks of `done` are done.

        A commit is answered a moment before its records can be read. ConnectError: the chunks are not done by the
        deadline.
        """
        while undone(done, found := self.all_markers(deadline)) and deadline.wait(_LOOK_S):
            pass
        require_done(done, found)
        return found

    def driver_state(self, deadline: Deadline) -> DriverState:
        """Return the state in the driver's partition, such as the plan and the handover."""
        return driver_state(self._read(self.topics.markers, [self.topics.lanes], deadline))

    def marker_batch(self, marker: Marker, lane: int) -> RawBatch:
        """Return the record of a marker, for the partition of its lane."""
        return raw_batch(self.topics.markers, lane, [marker.record])

    def driver_batch(self, records: Iterable[KeyValue]) -> RawBatch:
        """Return records as a batch for the driver's partition."""
        return raw_batch(self.topics.markers, self.topics.lanes, records)

    def job_batch(self, job: Job) -> RawBatch:
        """Return the record of a job, for the jobs topic."""
        return raw_batch(self.topics.jobs, _JOBS_PARTITION, [job.record])

    def said_batch(self, said: JobSignal | JobPace) -> RawBatch:
        """Return the record of a signal or pace, for the jobs topic."""
        return raw_batch(self.topics.jobs, _JOBS_PARTITION, [said.record])

    def say(self, said: JobSignal | JobPace, deadline: Deadline) -> None:
        """Write what the job's owner wants. Anybody may call this; lanes read it before their next chunk.

        ConfigError: the jobs topic holds other state of a cluster.
        """
        self._require_own(self.topics.jobs, "state.jobs_topic", StateKind.JOBS)
        _send(self.worker, self.said_batch(said), deadline)

    def say_verdict(self, good: bool, line: str, began_ms: int, deadline: Deadline) -> None:
        """Write the verdict of a verification that began at `began_ms`; a handover looks at it.

        Nothing is written if there is a verdict of a later reading: compaction would leave this one alone.
        """
        self._require_own(self.topics.markers, "state.marker_topic", StateKind.MARKERS)
        said = RecordedVerdict(good, line, time.time_ns() // 1_000_000, began_ms)
        if said.replaces(self.driver_state(deadline).verdict):
            _send(self.worker, self.driver_batch([said.record]), deadline)

    def driver_producer(self, job: str) -> BatchProducer:
        """Return a producer with the transactional id of the job's driver. It has not taken over the id yet."""
        return BatchProducer(self._settings(driver_transactional_id(job)))

    def fence_lanes(self, job: str, deadline: Deadline) -> None:
        """Fence every run of every lane: their open transactions are aborted, and they can commit nothing more."""
        ids = (lane_transactional_id(job, lane) for lane in range(self.topics.lanes))
        self._admin.fence([self._settings(transactional_id) for transactional_id in ids], deadline)

    def followed(
        self, topic: str, on_record: Callable[[bytes, bytes | None, int], None], deadline: Deadline
    ) -> KeyValueLog:
        """Return a log that has read a topic to its end and follows it; the caller closes it.

        `on_record` gets key, value and partition, on the log's thread. If a driver died and left a transaction open,
        the records behind it come later.
        """
        own = consumer_settings(self.worker.originals, {}, client_id="connect-backfill-watch").properties
        settings = {**own, "fetch.wait.max.ms": _FETCH_MS}

        def take(key: bytes | None, value: bytes | None, partition: int, _offset: int, _timestamp_ms: int) -> None:
            on_record(key or b"null", value, partition)

        log = KeyValueLog(topic, settings, on_record=take)
        try:
            log.begin(deadline)
            try:
                log.read_to_end(deadline.sooner(_OPEN_S))
            except RetriableError:
                log.read_to_end(deadline, committed_only=True)
        except BaseException:
            log.close()
            raise
        return log

    def _settings(self, transactional_id: str) -> Mapping[str, str | int | float | bool]:
        return producer_settings(
            self.worker.originals, {}, client_id=transactional_id, transactional_id=transactional_id
        ).properties

    def _read(self, topic: str, partitions: Collection[int], deadline: Deadline) -> list[KeyValue]:
        if not _counts(self._admin, [topic], deadline, "Read"):
            return []
        wanted = [TopicPartition(topic, p) for p in partitions]
        ends = self._admin.end_offsets(wanted, deadline)
        begins = self._admin.beginning_offsets(wanted, deadline)
        if any(begins.values()):
            raise ConnectError(
                f"Topic {topic} has lost its first records, so nothing tells what this job has written.",
                fix="Keep its cleanup.policy at compact alone. Begin again under another name, into a new topic.",
            )
        settings = consumer_settings(self.worker.originals, {}, client_id="connect-backfill-reader").properties
        spans = {tp: OffsetRange(0, end) for tp, end in ends.items()}
        found: list[KeyValue] = []
        for raw in read_spans(settings, spans, deadline):
            keys = raw.keys.to_pylist() if raw.keys is not None else [None] * len(raw)
            found += [(key or b"null", value) for key, value in zip(keys, raw.values.to_pylist(), strict=True)]
        return found
