"""The facts that the doctor's checks judge, gathered once. Values only; none holds a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from connect.api.reach import Reach
from connect.api.records import TopicPartition
from connect.kafka.admin.cluster_state import ClusterState
from connect.runtime.settings.worker_config import WorkerConfig

NO_BROKER = ClusterState(trouble="The brokers did not answer in time.")


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """Tells where a sink's consumer group stands in each partition of its topics.

    `aged`: the first offset whose record is younger than most of the topic's retention time.
    """

    name: str
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    beginnings: Mapping[TopicPartition, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    aged: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NamedThing:
    """Tells what a key names beyond Kafka. `bounds`: a sentence on what keeps such values in bounds; no secrets."""

    reach: Reach
    key: str
    value: str
    bounds: str


@dataclass(frozen=True, slots=True)
class ConnectorFacts:
    """Tells of a connector what its configuration says, and what validation and the connector itself say of that.

    `config`: secrets are masked. `client`: settings of its producer or consumer as librdkafka gets them, sizes alone.
    `named`: what it names beyond Kafka, gathered where somebody asks about this connector alone. `failures`: why it and
    its tasks are FAILED, by what they are ("task 0"); none of one that is not stored. `missed`: what its tasks say of
    rows that they never read.
    """

    name: str
    is_sink: bool
    config: Mapping[str, str]
    errors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    topics: Sequence[str] = ()
    client: Mapping[str, int] = field(default_factory=dict)
    group: GroupFacts | None = None
    named: Sequence[NamedThing] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    missed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """Tells how much room a folder has that the worker writes to."""

    path: str
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Tells what the machine of the worker gives it. None: not known, or no limit."""

    folders: Sequence[FolderFacts] = ()
    open_files_limit: int | None = None
    memory_limit_bytes: int | None = None
    memory_free_bytes: int | None = None
    cores: int = 1
    java: str | None = None
    spark: bool = False
    open_files: int | None = None


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """Tells until when a certificate holds, or why nobody can tell. `where`: the key that names its file."""

    where: str
    path: str
    ends: datetime | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class RegistryFacts:
    """Tells why a schema registry does not answer; None: it does. `key` of `owner` names it."""

    owner: str
    key: str
    trouble: str | None


@dataclass(frozen=True, slots=True)
class SealingFacts:
    """Tells how the config topic is sealed, where the worker's file names a key for it.

    `outdated`: the connectors whose newest records are not sealed by the first key, and "" for the cluster's own key.
    `closed`: those whose records do not open. `older_plain_count`: records in plain text that newer ones have replaced,
    and that Kafka still holds. `trouble`: why the topic could not be read.
    """

    outdated: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    older_plain_count: int = 0
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Holds all facts of one examination. `is_running` False: of a worker's file before its worker starts."""

    worker: WorkerConfig
    now: datetime
    is_running: bool = True
    kafka: ClusterState = NO_BROKER
    machine: MachineFacts = MachineFacts()
    connectors: Sequence[ConnectorFacts] = ()
    certificates: Sequence[CertificateFacts] = ()
    registries: Sequence[RegistryFacts] = ()
    sealing: SealingFacts | None = None
    file_notes: Sequence[str] = ()
    not_asked: Sequence[str] = ()
    """What could not be asked in time, as sentences."""
