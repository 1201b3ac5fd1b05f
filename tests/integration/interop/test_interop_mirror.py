"""MirrorMaker's source in one Connect cluster that a Java worker and ours run by turns: the copies and the offsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from e2e_worker import WorkerProcess, wait_for
from interop_cluster import SLOW_S, Rest, java_worker, our_worker

from connect.tools.services import KafkaEndpoint
from connect.tools.services.ivy import Artifact, fetch
from connect.tools.services.kafka import KAFKA_VERSION

pytestmark = pytest.mark.timeout(300)
CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
Record = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]


def mirror(kafka: KafkaEndpoint, alias: str, topic: str) -> dict[str, str]:
    return {
        "connector.class": CLASS, "tasks.max": "2", "source.cluster.alias": alias, "target.cluster.alias": "here",
        "source.cluster.bootstrap.servers": kafka.bootstrap_servers,
        "target.cluster.bootstrap.servers": kafka.bootstrap_servers, "topics": topic, "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1", "refresh.topics.interval.seconds": "1",
        "sync.topic.configs.interval.seconds": "1", "key.converter": BYTES, "value.converter": BYTES,
        "header.converter": BYTES,
    }  # fmt: skip


def write(kafka: KafkaEndpoint, topic: str, begin: int, *, partitions: int = 3) -> None:
    """Write records of all forms: without a key, tombstones, headers that come twice or hold nothing, any bytes."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    refused: list[object] = []
    for number in range(begin, begin + 60):
        headers: list[tuple[str, bytes | None]] = [("n", b"%d" % number), ("n", b"\xff\x00"), ("none", None)]
        producer.produce(
            topic,
            key=None if number % 7 == 0 else b"\x00\xfe%d" % (number % 5),
            value=None if number % 11 == 0 else b"\x00\x01{%d" % number,
            headers=headers if number % 3 == 0 else [],
            timestamp=1_600_000_000_000 + number,
            partition=number % partitions,
            on_delivery=lambda error, _: refused.append(error) if error else None,
        )
    assert producer.flush(60) == 0
    assert refused == []


class Log:
    """Reads all of a topic, by partition."""

    def __init__(self, kafka: KafkaEndpoint, topic: str) -> None:
        self._topic = topic
        self._consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"{topic}-look"})
        self.found: dict[int, list[Record]] = {}

    def partitions(self) -> int:
        return len(self._consumer.list_topics(self._topic, timeout=10).topics[self._topic].partitions)

    def read(self) -> dict[int, list[Record]]:
        if set(range(self.partitions())) - self.found.keys():
            new = sorted(set(range(self.partitions())) - self.found.keys())
            self._consumer.incremental_assign([TopicPartition(self._topic, n, OFFSET_BEGINNING) for n in new])
            self.found |= {number: [] for number in new}
        for message in self._consumer.consume(1000, timeout=0.5):
            assert message.error() is None
            record = message.key(), message.value(), message.headers() or [], message.timestamp()[1]
            self.found[message.partition()].append(record)
        return self.found

    @property
    def is_read(self) -> bool:
        """Tell if all is read that was there when this was asked."""
        places = [TopicPartition(self._topic, number) for number in range(self.partitions())]
        ends = {place.partition: self._consumer.get_watermark_offsets(place, timeout=10)[1] for place in places}
        at = {found.partition: max(0, found.offset) for found in self._consumer.position(places)}
        return all(at[number] >= end for number, end in ends.items())

    def close(self) -> None:
        self._consumer.close()


@contextmanager
def logs(kafka: KafkaEndpoint, *topics: str) -> Iterator[list[Log]]:
    opened = [Log(kafka, topic) for topic in topics]
    try:
        yield opened
    finally:
        for log in opened:
            log.close()


def same(source: Log, copy: Log, records: int) -> bool:
    """Tell if the source has so many records, and its copy has as many in each partition; more are an error."""
    wanted, found = counts(source.read()), counts(copy.read())
    if sum(wanted.values()) < records:
        return False  # The source is not read to its end yet, so that its copy may be further.
    assert all(found.get(number, 0) <= count for number, count in wanted.items()), f"{found} of {wanted}"
    return wanted == found and sum(wanted.values()) == records


def counts(found: dict[int, list[Record]]) -> dict[int, int]:
    return {number: len(records) for number, records in found.items()}


def stored(kafka: KafkaEndpoint, group: str) -> dict[bytes, bytes | None]:
    """The bytes in the offsets topic, the newest of each key."""
    found: dict[bytes, bytes | None] = {}
    with logs(kafka, f"{group}-offsets") as (log,):
        while not log.is_read:
            log.read()
        for records in log.found.values():
            found |= {key or b"": value for key, value, _, _ in records}
    return found


def offsets_are(kafka: KafkaEndpoint, group: str, offset: bytes) -> bool:
    """Tell if all three partitions have this offset in the topic."""
    return list(stored(kafka, group).values()) == [offset] * 3


def configs(kafka: KafkaEndpoint, topic: str) -> dict[str, Any]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    found: Mapping[str, Any] = admin.describe_configs([resource])[resource].result(30)
    return {name: found[name].value for name in ("max.message.bytes", "retention.ms")}


def make(kafka: KafkaEndpoint, topic: str) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    made = {"max.message.bytes": "2000000", "retention.ms": "-1", "min.insync.replicas": "1"}
    admin.create_topics([NewTopic(topic, 3, 1, config=made)])[topic].result(30)
    return admin


def java_plugins(folder: Path) -> str:
    path = folder / "plugins"
    path.mkdir()
    artifact = Artifact("org.apache.kafka", "connect-mirror", KAFKA_VERSION)
    jars = fetch(f"java-connect-mirror-{KAFKA_VERSION}", [artifact])
    (path / "mirror").symlink_to(jars)
    return str(path)


def test_a_mirror_moves_from_java_to_ours_and_back_without_a_record_lost_or_doubled(
    kafka: KafkaEndpoint, unique: str, tmp_path: Path
) -> None:
    topic, copy = f"{unique}-orders", f"source.{unique}-orders"
    make(kafka, topic)
    write(kafka, topic, 0)
    plugins = java_plugins(tmp_path)
    with java_worker(kafka, unique, tmp_path / "java", **{"plugin.path": plugins}) as java:
        Rest(java.endpoint.url).create("m", mirror(kafka, "source", topic))
        wait_for(lambda: copy in topics_of(kafka), SLOW_S, "Java's copy")
        with logs(kafka, topic, copy) as (source, copied):
            wait_for(lambda: same(source, copied, 60), SLOW_S, "Java copies the first records")
            assert copied.found == source.found
        wait_for(
            lambda: offsets_are(kafka, unique, b'{"offset":19}'),
            SLOW_S,
            lambda: f"Java's offsets: {stored(kafka, unique)}",
        )
    by_java = stored(kafka, unique)
    write(kafka, topic, 60)
    ours = our_worker(kafka, unique, tmp_path / "ours")
    ours.start()
    with logs(kafka, topic, copy) as (source, copied):
        wait_for(lambda: same(source, copied, 120), SLOW_S, "ours goes on")
        wait_for(
            lambda: offsets_are(kafka, unique, b'{"offset":39}'),
            SLOW_S,
            lambda: f"our offsets: {stored(kafka, unique)}",
        )
        assert copied.found == source.found
    ours.stop()
    assert stored(kafka, unique).keys() == by_java.keys()
    write(kafka, topic, 120)
    with java_worker(kafka, unique, tmp_path / "java2", **{"plugin.path": plugins}), logs(kafka, topic, copy) as both:
        source, copied = both
        wait_for(lambda: same(source, copied, 180), SLOW_S, "Java goes on")
        assert copied.found == source.found


def topics_of(kafka: KafkaEndpoint) -> set[str]:
    return set(AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=10).topics)


def test_copies_are_made_widened_and_set_as_their_topics_are(kafka: KafkaEndpoint, unique: str, tmp_path: Path) -> None:
    topic, copy = f"{unique}-orders", f"ours.{unique}-orders"
    admin = make(kafka, topic)
    write(kafka, topic, 0)
    ours = our_worker(kafka, f"{unique}-ours", tmp_path / "ours")
    ours.start()
    Rest(ours.url).create("m", mirror(kafka, "ours", topic))
    wait_for(lambda: copy in topics_of(kafka), SLOW_S, "the copy")
    assert configs(kafka, copy) == configs(kafka, topic) == {"max.message.bytes": "2000000", "retention.ms": "-1"}
    admin.create_partitions([new_partitions(topic, 5)])[topic].result(30)
    alter(admin, topic, "retention.ms", "9000000000000")
    write(kafka, topic, 60, partitions=5)
    with logs(kafka, topic, copy) as (source, copied):
        wait_for(lambda: same(source, copied, 120), SLOW_S, lambda: f"five partitions: {ours.log_tail()}")
        assert copied.found == source.found
    wait_for(lambda: configs(kafka, copy) == configs(kafka, topic), SLOW_S, "the copy is set")
    ours.stop()


def test_a_mirror_whose_worker_is_killed_copies_each_record_once(
    kafka: KafkaEndpoint, unique: str, tmp_path: Path
) -> None:
    topic, copy = f"{unique}-orders", f"once.{unique}-orders"
    make(kafka, topic)
    once = {"exactly.once.support": "required", "source.consumer.isolation.level": "read_committed"}
    worker = WorkerProcess(
        tmp_path, kafka.bootstrap_servers, f"{unique}-once", **{"exactly.once.source.support": "enabled"}
    )
    worker.start()
    Rest(worker.url).create("m", mirror(kafka, "once", topic) | once)
    wait_for(lambda: copy in topics_of(kafka), SLOW_S, lambda: f"the copy: {worker.log_tail()}")
    with logs(kafka, topic, copy) as (source, copied):
        for begin in (0, 60, 120):
            write(kafka, topic, begin)
            wait_for(lambda: sum(counts(copied.read()).values()) > begin, SLOW_S, worker.log_tail)  # noqa: B023 - asked in this turn
            worker.kill()
            worker.start()
        wait_for(lambda: same(source, copied, 180), SLOW_S, lambda: f"each record once: {worker.log_tail()}")
        assert copied.found == source.found
    worker.stop()


def new_partitions(topic: str, count: int) -> Any:
    from confluent_kafka.admin import NewPartitions

    return NewPartitions(topic, count)


def alter(admin: AdminClient, topic: str, name: str, value: str) -> None:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry

    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(30)
