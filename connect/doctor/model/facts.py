"""Holds the facts that the doctor's checks judge, gathered once. Values only; none holds a secret."""

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

    `aged` has the first offset of each partition whose record is younger than most of the topic's retention time.
    """

    name: str
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    beginnings: Mapping[TopicPartition, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    aged: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NamedThing:
    """Names a thing beyond Kafka and the key that names it. `bounds` says which rule limits such values. No secrets."""

    reach: Reach
    key: str
    value: str
    bounds: str


@dataclass(frozen=True, slots=True)
class ConnectorFacts:
    """Holds a connector's configuration, and what validation and the connector itself say of it.

    Secrets in `config` are masked. `client` has the sizes among the settings that librdkafka gets for its producer or
    consumer. `named` has the things beyond Kafka that it names, if somebody asks about this connector alone.
    `failures` says why it and its tasks ("task 0") are FAILED, and is empty for one that is not stored. `missed` has
    what its tasks say of rows that they never read.
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
    """Holds the resources of the worker's machine. None means that a value is not known, or that there is no limit."""

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
    """Tells when a certificate ends, or why that is not known. `where` is the key that names its file."""

    where: str
    path: str
    ends: datetime | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class RegistryFacts:
    """Tells why a schema registry does not answer; None if it answers. The key `key` of `owner` names it.

    `ends` is when its certificate ends, at `address` (host:port); it is None where that is not known.
    """

    owner: str
    key: str
    trouble: str | None
    address: str = ""
    ends: datetime | None = None


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """Tells why nobody gets to a server (`address`: host:port) that the key `key` of a connector names; an empty
    `trouble`: it takes connections. `ends` is when the certificate ends that it shows, if it is spoken to in TLS.
    """

    connector: str
    key: str
    address: str
    trouble: str = ""
    ends: datetime | None = None


@dataclass(frozen=True, slots=True)
class UncoveredName:
    """Tells that the certificate of a listener does not hold for the host by which the listener is reached.

    `key` is the key that names the certificate, `covered` what its certificate is for.
    """

    listener: str
    key: str
    host: str
    covered: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SecretFile:
    """Tells who may read a file with secrets that the worker's file names by `key`.

    `is_own` says that it belongs to the worker's user, `is_read_only` that its file system takes no change.
    """

    key: str
    path: str
    mode: int
    is_own: bool = True
    is_read_only: bool = False


@dataclass(frozen=True, slots=True)
class SealingFacts:
    """Tells how the config topic is sealed, where the worker's file names a key for it.

    `outdated` are connectors with newest records that the first key does not seal; "" stands for the cluster's own key.
    `closed` are connectors with records that do not open. `older_plain_count` counts records in plain text that newer
    ones have replaced and that Kafka still holds. `trouble` says why the topic could not be read.
    """

    outdated: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    older_plain_count: int = 0
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Holds all facts of one examination. `is_running` is False for a worker's file whose worker does not run yet."""

    worker: WorkerConfig
    now: datetime
    is_running: bool = True
    kafka: ClusterState = NO_BROKER
    machine: MachineFacts = MachineFacts()
    connectors: Sequence[ConnectorFacts] = ()
    certificates: Sequence[CertificateFacts] = ()
    registries: Sequence[RegistryFacts] = ()
    targets: Sequence[TargetFacts] = ()
    uncovered_names: Sequence[UncoveredName] = ()
    secret_files: Sequence[SecretFile] = ()
    sealing: SealingFacts | None = None
    receiver_trouble: str = ""
    """It says why the receiver of alerts cannot be reached; it is empty if it can, or if there is none."""
    all_names: frozenset[str] | None = None
    """Holds the names of all connectors, if all are looked at for an admin."""
    file_notes: Sequence[str] = ()
    not_asked: Sequence[str] = ()
    """These sentences tell which questions could not be asked in time."""
