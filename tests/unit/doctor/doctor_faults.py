"""Holds a sound system as plain facts, and each fault that the doctor finds in facts that differ from it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from connect.api.records import TopicPartition
from connect.doctor.model.facts import (
    CertificateFacts,
    ConnectorFacts,
    Facts,
    FolderFacts,
    GroupFacts,
    MachineFacts,
    RegistryFacts,
)
from connect.kafka.admin.cluster_state import ClusterState, PartitionState, TopicState
from connect.runtime.settings.worker_config import WorkerConfig

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MIB = 1 << 20
KEYS = {
    "bootstrap.servers": "kafka-1:9092",
    "group.id": "g",
    "config.storage.topic": "configs",
    "offset.storage.topic": "offsets",
    "status.storage.topic": "statuses",
    "key.converter": "JsonConverter",
    "value.converter": "JsonConverter",
    "listeners": "http://127.0.0.1:8083",
}
SPREAD = [TopicPartition("orders", number) for number in range(3)]
STATE = frozenset({"configs", "offsets", "statuses", "g-slots"})
LATE = TopicPartition("orders", 0)


def topic(partitions: int = 1, *, replicas: int = 3, in_sync: int = 3, leader: int = 1, **configs: str) -> TopicState:
    told = {"cleanup.policy": "delete", "min.insync.replicas": "2", "max.message.bytes": "1048588"}
    given = {name.replace("_", "."): value for name, value in configs.items()}
    rights = frozenset({"READ", "WRITE", "DESCRIBE"})
    return TopicState([PartitionState(leader, replicas, in_sync)] * partitions, told | given, rights)


SINK = ConnectorFacts(
    "late", True, {"tasks.max": "1"}, topics=("orders",), client={"receive.message.max.bytes": 100_000_000},
    group=GroupFacts("connect-late", {LATE: 5}, {LATE: 0}, {LATE: 9}, {LATE: 3}),
)  # fmt: skip
SAME_GROUP = {"consumer.override.group.id": "connect-late"}
SOURCE = ConnectorFacts("rows", False, {"tasks.max": "1"}, topics=("orders",), client={"message.max.bytes": 1_048_576})
SOUND = Facts(
    WorkerConfig.parse(KEYS),
    NOW,
    kafka=ClusterState(
        brokers=3, topics={"orders": topic(), **{name: topic(cleanup_policy="compact") for name in STATE}}
    ),
    machine=MachineFacts([FolderFacts("/tmp", 5000 * MIB, 9000 * MIB)], 65536, None, 5000 * MIB, 2, "/bin/java", True),
    connectors=(SINK, SOURCE),
    certificates=(CertificateFacts("worker file, ssl.ca", "/ca.pem", NOW + timedelta(days=300)),),
    registries=(RegistryFacts("worker file", "value.converter.schema.registry.url", None),),
)


def with_topic(name: str, state: TopicState | None) -> Facts:
    topics = {known: found for known, found in SOUND.kafka.topics.items() if known != name}
    return replace(SOUND, kafka=replace(SOUND.kafka, topics=topics if state is None else {**topics, name: state}))


def with_kafka(**changed: object) -> Facts:
    return replace(SOUND, kafka=replace(SOUND.kafka, **changed))


def with_sink(**changed: object) -> Facts:
    return replace(SOUND, connectors=(replace(SINK, **changed),))


def with_source(**changed: object) -> Facts:
    return replace(SOUND, connectors=(replace(SOURCE, **changed),))


def with_machine(**changed: object) -> Facts:
    return replace(SOUND, machine=replace(SOUND.machine, **changed))


def with_keys(**keys: str) -> Facts:
    return replace(SOUND, worker=WorkerConfig.parse({**KEYS, **{k.replace("_", "."): v for k, v in keys.items()}}))


def before_start() -> Facts:
    return replace(with_topic("configs", None), is_running=False, kafka=ClusterState(brokers=1))


def held(*offsets: int) -> GroupFacts:
    ends = dict(zip(SPREAD, offsets, strict=True))
    return GroupFacts("g1", ends, dict.fromkeys(SPREAD, 0), ends)


def bounded(**configs: str) -> TopicState:
    return topic(cleanup_policy="delete", max_message_bytes="1048588", **configs)


def _compact(partitions: int) -> TopicState:
    return topic(partitions, cleanup_policy="compact")


NAMES = """
advertised-unreachable alert-receiver-unreachable
bad-rows-dropped below-min-isr broken-key broker-configs-denied
brokers-of-different-releases brokers-too-old brokers-unmaintained brokers-unreachable
certificate-expired certificate-expiring certificate-of-another-name certificate-unreadable
clock-ahead config-topic-partitions configuration-note
consumer-below-topic disk-low failed fewer-replicas group-denied group-shared host-memory-low hosts-unbounded idle-tasks
internal-topic-missing internal-topic-refused
internal-topic-not-compacted internal-topic-partitions java-missing key-without-effect letters-deleted-soon
letters-unwritable memory-free-low memory-limit-low min-isr-equals-replicas no-leader not-asked nothing-committed
offsets-retention-short
open-files-low open-files-used open-listener override-refused partition-skew paths-unbounded producer-above-topic
records-deleted-soon records-deleted-unread registry-unreachable replicas-out-of-sync request-below-topic rows-missed
secret-file-readable single-replica target-missing target-unreachable too-few-brokers
topic-configs-denied topic-denied topic-missing
topic-setting-unknown topics-unwritable unclean-leader-election upgrade-unfinished weak-acks
"""

FAULTS: dict[str, tuple[Callable[[], Facts], str, str, str]] = {
    "refused override": (
        lambda: with_sink(notes=["consumer.override.fetch.max.bytes: tasks fail until it is mended: no."]), "error",
        "consumer.override.fetch.max.bytes", "# mend or remove consumer.override.fetch.max.bytes",
    ),
    "missed rows": (
        lambda: with_sink(missed=["7 rows of orders-3 were deleted before they were read."]), "error",
        "7 rows of orders-3", "retention.ms=",
    ),
    "no broker": (lambda: with_kafka(trouble="refused"), "error", "refused", "bootstrap.servers=kafka-1:9092"),
    "advertised": (
        lambda: with_kafka(unreached={"kafka-1:9092": "Connection refused"}), "error",
        "advertises kafka-1:9092, and nobody gets there from here: Connection refused", "advertised.listeners=",
    ),
    "no leader": (lambda: with_topic("x", topic(leader=-1)), "error", "x have no leader", "--unavailable-partitions"),
    "out of sync": (lambda: with_topic("x", topic(in_sync=2)), "warning", "x are not in sync", "--under-replicated"),
    "no config topic": (lambda: with_topic("configs", None), "error", "is not there", "--create --topic configs"),
    "too few brokers": (before_start, "error", "3 replicas; the cluster has 1", "storage.replication.factor=1"),
    "refused topic": (
        lambda: replace(before_start(), kafka=ClusterState(brokers=3, creation_refused={"configs": "No: a policy."})),
        "error", "would not make the topic that holds connector configurations (config.storage.topic): No: a policy.",
        "mend config.storage.topic",
    ),
    "may not make a topic": (
        lambda: replace(before_start(), kafka=ClusterState(brokers=3, creation_denied=frozenset({"configs"}))),
        "error", "deny this principal CREATE on the topic", "--operation Create --topic configs",
    ),
    "may not write letters": (
        lambda: replace(
            with_sink(config={**SINK.config, "errors.deadletterqueue.topic.name": "letters"}),
            kafka=replace(SOUND.kafka, denied=frozenset({"letters"}), creation_denied=frozenset({"letters"})),
        ),
        "error", "deny this principal CREATE and WRITE on the topic, and do not say if it is there",
        "--operation Create --operation Write --topic letters",
    ),
    "may not make its topic": (
        lambda: replace(
            with_source(topics=["rows-new"]), kafka=replace(SOUND.kafka, creation_denied=frozenset({"rows-new"}))
        ),
        "error", "deny this principal CREATE on the topic.", "--operation Create --topic rows-new",
    ),
    "not compacted": (
        lambda: with_topic("offsets", topic()), "error", "cleanup.policy=delete",
        "--entity-name offsets --add-config cleanup.policy=compact",
    ),
    "both policies": (
        lambda: with_topic("statuses", topic(cleanup_policy="compact,delete")), "error", "compact,delete", "compact",
    ),
    "config partitions": (lambda: with_topic("configs", _compact(2)), "error", "2 partitions", "storage.topic="),
    "two replicas": (
        lambda: with_topic(
            "offsets", topic(replicas=2, in_sync=2, cleanup_policy="compact", min_insync_replicas="1")
        ),
        "warning", "2 replicas; 3 are asked for", "kafka-reassign-partitions.sh",
    ),
    "no receiver": (
        lambda: replace(SOUND, receiver_trouble="Nobody answers at alerts:443: refused."), "warning",
        "Nobody answers at alerts:443", "alerts.webhook.url=",
    ),
    "tiny hosts": (
        lambda: with_keys(task_host_memory_limit="10"), "error", "limit=10; a task host takes about 120",
        "task.host.memory.limit=1024",
    ),
    "full of files": (
        lambda: with_machine(open_files_limit=1000, open_files=900), "error", "900 files open, and may open 1000",
        "ulimit -n",
    ),
    "slots": (lambda: with_keys(slots="60"), "error", "the worker's file asks for 60", "slots=1"),
    "one replica": (
        lambda: with_topic("orders", topic(replicas=1, in_sync=1, min_insync_replicas="1")), "warning",
        "one replica on 3 brokers", "kafka-reassign-partitions.sh",
    ),
    "min ISR is RF": (
        lambda: with_topic("orders", topic(min_insync_replicas="3")), "warning", "min.insync.replicas=3",
        "min.insync.replicas=2",
    ),
    "below min ISR": (lambda: with_topic("orders", topic(in_sync=1)), "error", "1 of 3 replicas are in sync", "=2"),
    "no letters": (
        lambda: replace(
            with_sink(config={"errors.deadletterqueue.topic.name": "letters"}),
            kafka=replace(SOUND.kafka, brokers=2),
        ), "error", "dead-letter topic letters is not there, and takes 3 replicas; brokers: 2",
        '"errors.deadletterqueue.topic.replication.factor": "2"',
    ),
    "acks": (
        lambda: with_source(config={"producer.override.acks": "1"}), "warning", "acks=1",
        '"producer.override.acks": "all"',
    ),
    "acks of the worker's file": (lambda: with_keys(producer_acks="0"), "warning", "acks=0", "producer.acks=all"),
    "new topics": (
        lambda: with_source(config={"topic.creation.default.replication.factor": "5"}), "error",
        "take 5 replicas (topic.creation.default.replication.factor); brokers: 3",
        '"topic.creation.default.replication.factor": "3"',
    ),
    "shared group": (
        lambda: replace(SOUND, connectors=[SINK, replace(SINK, name="other", config=SAME_GROUP)]), "error",
        "Group connect-late reads topic orders for late and other.", '"consumer.override.group.id": "connect-other"',
    ),
    "failed": (
        lambda: with_sink(failures={"task 0": "Error: boom"}), "error", "The task 0 is FAILED: Error: boom",
        "connect connectors why late",
    ),
    "no table": (
        lambda: with_sink(notes=["There is no table t for topic orders; tasks fail until it is there."]), "warning",
        "tasks fail until it is there", "create it",
    ),
    "large producer": (
        lambda: with_source(client={"message.max.bytes": 5_000_000}), "warning", "up to 5000000 bytes",
        "max.message.bytes=5000000",
    ),
    "small consumer": (
        lambda: with_sink(client={"receive.message.max.bytes": 1000}), "warning", "up to 1000 bytes",
        "consumer.override.receive.message.max.bytes",
    ),
    "deleted unread": (
        lambda: with_sink(group=GroupFacts("g1", {LATE: 5}, {LATE: 8}, {LATE: 9})), "error",
        "3 offsets of topic orders were deleted before group g1", "retention.ms=",
    ),
    "deleted soon": (
        lambda: with_sink(group=GroupFacts("g1", {LATE: 5}, {LATE: 0}, {LATE: 9}, {LATE: 9})), "warning",
        "4 offsets of topic orders that group g1 has yet to read", "retention.ms=",
    ),
    "outgrown soon": (
        lambda: replace(
            with_sink(group=GroupFacts("g1", {LATE: 1010}, {LATE: 1000}, {LATE: 2000})),
            kafka=replace(SOUND.kafka, topics={**SOUND.kafka.topics, "orders": bounded(retention_bytes="100000000")}),
        ), "warning", "190 offsets of topic orders that group g1 has yet to read are in the oldest fifth",
        "retention.bytes=200000000",
    ),
    "never committed": (
        lambda: with_sink(group=GroupFacts("g1", {}, {LATE: 0}, {LATE: 9})), "note", "has committed nothing", "why",
    ),
    "few partitions": (
        lambda: with_sink(config={"tasks.max": "4"}), "warning", "tasks.max=4, and its topics have 1", "--partitions",
    ),
    "skewed": (
        lambda: with_sink(config={"tasks.max": "2"}, group=held(9000, 500, 500)), "warning",
        "Partition 0 of topic orders holds 9000 of 10000 offsets", "kafka-get-offsets.sh",
    ),
    "short-lived places": (
        lambda: with_kafka(broker={"offsets.retention.minutes": "60"}), "warning", "for 60 minutes",
        "offsets.retention.minutes=10080",
    ),
    "small requests": (
        lambda: with_kafka(broker={"socket.request.max.bytes": "1000"}), "warning", "requests of up to 1000",
        "socket.request.max.bytes=",
    ),
    "unclean leaders": (
        lambda: with_topic("orders", topic(unclean_leader_election_enable="true")), "warning", "unclean",
        "unclean.leader.election.enable=false",
    ),
    "denied brokers": (
        lambda: with_kafka(broker_denied=True, principal="alice"), "note", "configs of brokers",
        "User:alice --operation DescribeConfigs --cluster",
    ),
    "silent brokers": (lambda: with_kafka(unanswered=["the groups"]), "note", "did not tell the groups in time", ""),
    "no such topic": (lambda: with_sink(topics=("ordres",)), "warning", "ordres, which is not there", "--create"),
    "denied topic": (
        lambda: with_kafka(denied={"orders"}, principal="alice", topics={
            k: v for k, v in SOUND.kafka.topics.items() if k != "orders"}), "error",
        "deny this principal READ and WRITE",
        "--allow-principal User:alice --operation Read --operation Write --topic orders",
    ),
    "denied write": (
        lambda: with_topic("orders", replace(topic(), rights=frozenset({"READ"}))), "error", "WRITE", "Write --topic",
    ),
    "denied group": (lambda: with_kafka(groups_denied={"connect-late"}), "error", "READ", "Read --group connect-late"),
    "denied configs": (lambda: with_kafka(configs_denied={"orders"}), "note", "configs", "DescribeConfigs --topic"),
    "full disk": (
        lambda: with_machine(folders=[FolderFacts("/tmp", MIB, 9000 * MIB)]), "error", "1 MiB of 8 GiB", "TMPDIR",
    ),
    "scarce disk": (
        lambda: with_machine(folders=[FolderFacts("/tmp", 200 * MIB, 9000 * MIB)]), "warning", "200 MiB", "TMPDIR",
    ),
    "open files": (lambda: with_machine(open_files_limit=256), "warning", "may open 256 files", "ulimit -n"),
    "memory limit": (
        lambda: replace(with_keys(task_host_memory_limit="2000"), machine=replace(
            SOUND.machine, memory_limit_bytes=1000 * MIB)), "warning", "2 task hosts may take", "limit=400",
    ),
    "no memory": (lambda: with_machine(memory_free_bytes=9 * MIB), "warning", "9 MiB of memory", "task.hosts=1"),
    "no Java": (lambda: with_machine(java=None), "warning", "no Java", "openjdk"),
    "broken key": (lambda: with_sink(errors={"file": ["file: bad"]}), "error", "file: bad", '"file"'),
    "letters of old records": (
        lambda: replace(
            with_sink(config={"errors.deadletterqueue.topic.name": "letters"}),
            kafka=with_topic("letters", topic(retention_ms="604800000")).kafka,
        ), "warning", "dead-letter topic letters has retention.ms=604800000", "--add-config retention.ms=-1",
    ),
    "bad rows without letters": (
        lambda: with_sink(config={"errors.tolerance": "all"}), "warning", "a row that fails is passed over",
        "-letters",
    ),
    "bad rows in the log alone": (
        lambda: with_source(config={"errors.tolerance": "ALL", "errors.log.enable": "true"}), "note",
        "the log alone tells of it", "errors.deadletterqueue.topic.name",
    ),
    "unknown setting of topics": (
        lambda: with_source(notes=["topic.creation.default.retention.msx: tasks fail until it is removed."]),
        "warning", "retention.msx", "topic.creation.default.retention.msx",
    ),
    "misspelt key": (
        lambda: with_sink(notes=["fiel: nobody knows this key, so it has no effect."]), "warning", "fiel", "fiel",
    ),
    "former key": (lambda: with_sink(notes=["fetch.size: this key is named batch.max.rows now"]), "note", "named", ""),
    "worker's key": (lambda: replace(SOUND, file_notes=["x has no effect: y"]), "warning", "x has no effect", "x"),
    "not asked": (lambda: replace(SOUND, not_asked=["Nobody came."]), "note", "Nobody came.", ""),
    "dead registry": (
        lambda: replace(SOUND, registries=[RegistryFacts("worker file", "value.converter.url", "no answer")]), "error",
        "no answer", "value.converter.url=",
    ),
    "clock": (
        lambda: with_topic("orders", replace(topic(), newest_ms=int(NOW.timestamp() * 1000) + 3_600_000)), "warning",
        "3600 s ahead", "set-ntp",
    ),
    "open listener": (lambda: with_keys(listeners="http://0.0.0.0:8083"), "warning", "asks nobody", "rest.basic"),
    "no host": (lambda: with_keys(listeners="http://:8083"), "warning", "asks nobody", "rest.basic"),
    "all hosts": (
        lambda: with_keys(listeners="http://10.0.0.1:8083"), "note", "allowed.hosts names no hosts",
        "security.profile=strict",
    ),
    "all paths": (lambda: with_keys(allowed_paths="/"), "note", "allowed.paths=/", "allowed.paths="),
}  # fmt: skip
