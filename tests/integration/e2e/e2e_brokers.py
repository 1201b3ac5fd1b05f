"""Runs three real Kafka brokers that are also the voters of the controller, so that any one of them may be stopped."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from e2e_network import Network
from e2e_secured import SecuredListener
from e2e_worker import wait_for

from connect.tools.services import KafkaEndpoint, KafkaService
from connect.tools.services.kafka_storage import new_id
from connect.tools.services.process.ports import LOOPBACK, free_ports

NUMBERS = (1, 2, 3)
SESSION_S = 6.0
"""A broker may be silent for this many seconds before the controller takes its partitions away."""
_INTERNAL_PARTITIONS = 4
_START_S = 180.0


class ThreeBrokers:
    """Keeps a cluster whose topics have three replicas; a record counts as written once two of them have it."""

    def __init__(self, folder: Path, network: Network | None = None, secured: SecuredListener | None = None) -> None:
        """Take the folder. With `network` all connections to the brokers go through it. With `secured` workers use that
        listener, which needs a login.
        """
        ports = free_ports(4 * len(NUMBERS))
        thirds = (ports[:3], ports[3:6], ports[6:9], ports[9:])
        own, own_controller, front, front_controller = (dict(zip(NUMBERS, one, strict=True)) for one in thirds)
        broker, controller = (own, own_controller) if network is None else (front, front_controller)
        voters = ",".join(f"{number}@{LOOPBACK}:{port}" for number, port in controller.items())
        cluster_id = new_id()
        self._folders = {number: folder / f"broker-{number}" for number in NUMBERS}
        self._services = {
            number: KafkaService(
                data_folder=self._folders[number],
                ports={"broker": own[number], "controller": own_controller[number]},
                properties=_with_listener(
                    secured,
                    number,
                    f"PLAINTEXT://{LOOPBACK}:{own[number]},CONTROLLER://{LOOPBACK}:{own_controller[number]}",
                    _properties(number, voters, f"PLAINTEXT://{LOOPBACK}:{broker[number]}"),
                ),
                heap_mib=256,
                cluster_id=cluster_id,
            )
            for number in NUMBERS
        }
        self.bootstrap_servers = ",".join(f"{LOOPBACK}:{port}" for port in broker.values())
        self.worker_settings = (
            {"bootstrap.servers": self.bootstrap_servers} if secured is None else secured.worker_settings
        )
        """These settings of a worker's file say how to reach the brokers."""
        self._admin: AdminClient | None = None
        self._network = network
        for number in NUMBERS if network is not None else ():
            assert network is not None
            network.parties[f"broker-{number}"] = lambda service=self._services[number]: service.pid
            network.relay(
                f"broker-{number}", {front[number]: own[number], front_controller[number]: own_controller[number]}
            )

    def __enter__(self) -> Self:
        self._services[1].prepare()
        self._start(NUMBERS)
        self.wait_until_whole()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._admin = None
        if self._network is not None:
            self._network.close()
        for service in self._services.values():
            service.kill()  # a graceful end would only save data that are thrown away now
            service.close()

    @property
    def endpoint(self) -> KafkaEndpoint:
        """Return the bootstrap addresses of all three brokers."""
        return KafkaEndpoint(self.bootstrap_servers)

    def is_running(self, number: int) -> bool:
        """Tell if the broker's process runs."""
        return self._services[number].running

    def kill(self, number: int) -> None:
        """Kill the broker, as a crash would."""
        self._services[number].kill()

    def freeze(self, number: int) -> None:
        """Stop the broker's process like a machine that pauses: its connections stay open."""
        self._signal(number, signal.SIGSTOP)

    def thaw(self, number: int) -> None:
        """Let a frozen broker go on."""
        self._signal(number, signal.SIGCONT)

    def stop(self, number: int) -> None:
        """Stop the broker as an operator would: it hands over the partitions that it leads."""
        self._services[number].stop(60.0)

    def start(self, *numbers: int) -> None:
        """Start brokers again on their own data, at the same time: a majority of the controllers has to run."""
        self._start(numbers)

    def wait_until_whole(self) -> None:
        """Wait until all replicas of each partition are in sync."""
        wait_for(self._is_whole, _START_S, "three brokers with every replica in sync")

    def leader_of(self, topic: str, partition: int = 0) -> int:
        """Return the number of the broker that leads a partition."""

        def leader() -> int | None:
            found = self._topics(topic).get(topic)
            return found.partitions[partition].leader if found and partition in found.partitions else None

        return wait_for(lambda: (found := leader()) in NUMBERS and found, 60, f"a leader of {topic}")

    def coordinator_of(self, group: str) -> int:
        """Return the number of the broker that coordinates a group of consumers or workers."""
        return self.leader_of("__consumer_offsets", _partition_for(group))

    def transaction_coordinator_of(self, transactional_id: str) -> int:
        """Return the number of the broker that coordinates a transactional id."""
        return self.leader_of("__transaction_state", _partition_for(transactional_id))

    def controller(self) -> int:
        """Return the number of the active controller, as the voters noted it at their last election."""

        def leader() -> int | None:
            states = [state for folder in self._folders.values() if (state := _quorum_state(folder))]
            newest = max(states, key=lambda state: state["leaderEpoch"], default=None)
            return newest["leaderId"] if newest and newest["leaderId"] in NUMBERS else None

        return wait_for(leader, 60, "an active controller")

    def replicas(self, topic: str) -> list[int]:
        """Return how many replicas each partition of a topic has."""
        return [len(partition.replicas) for partition in self._topics(topic)[topic].partitions.values()]

    def lag(self, group: str, topic: str) -> int:
        """Return how many committed records the group has not read yet; markers of transactions do not count."""
        settings = {"bootstrap.servers": self.bootstrap_servers, "group.id": group, "enable.auto.commit": False}
        consumer = Consumer({**settings, "isolation.level": "read_committed", "enable.partition.eof": True})
        try:
            partitions = [TopicPartition(topic, number) for number in self._topics(topic)[topic].partitions]
            at = [TopicPartition(p.topic, p.partition, max(p.offset, 0)) for p in consumer.committed(partitions, 20)]
            consumer.assign(at)
            return _records_left(consumer, len(at))
        finally:
            consumer.close()

    def _start(self, numbers: Iterable[int]) -> None:
        with ThreadPoolExecutor(thread_name_prefix="brokers") as pool:
            for started in [pool.submit(self._services[number].start, _START_S) for number in numbers]:
                started.result()

    def _signal(self, number: int, which: signal.Signals) -> None:
        pid = self._services[number].pid
        assert pid is not None, f"Broker {number} is not running."
        psutil.Process(pid).send_signal(which)

    def _topics(self, topic: str | None = None) -> dict:
        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        for _ in range(3):
            with suppress(KafkaException):  # the broker that was asked may be the one that does not run
                return self._admin.list_topics(topic, timeout=10).topics
        return {}

    def _is_whole(self) -> bool:
        client = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        try:
            seen = client.list_topics(timeout=10)
        except KafkaException:  # the broker is still starting
            return False
        partitions = [partition for topic in seen.topics.values() for partition in topic.partitions.values()]
        return set(seen.brokers) == set(NUMBERS) and all(len(p.isrs) == len(p.replicas) for p in partitions)


def _properties(number: int, voters: str, advertised: str) -> dict[str, str]:
    three, two = str(len(NUMBERS)), "2"
    return {
        "node.id": str(number),
        "controller.quorum.voters": voters,
        "advertised.listeners": advertised,
        "default.replication.factor": three,
        "min.insync.replicas": two,
        "offsets.topic.replication.factor": three,
        "offsets.topic.num.partitions": str(_INTERNAL_PARTITIONS),
        "transaction.state.log.replication.factor": three,
        "transaction.state.log.min.isr": two,
        "transaction.state.log.num.partitions": str(_INTERNAL_PARTITIONS),
        "broker.session.timeout.ms": str(round(SESSION_S * 1000)),
    }


def _with_listener(
    secured: SecuredListener | None, number: int, listeners: str, properties: dict[str, str]
) -> dict[str, str]:
    if secured is None:
        return properties
    return {**properties, **secured.properties(number, listeners, properties["advertised.listeners"])}


def _partition_for(name: str) -> int:
    """Return the partition of a coordinator's topic to which a group or a transactional id belongs, computed as brokers
    do.

    Source: Kafka 4.1, `GroupCoordinatorService.partitionFor` and `TransactionStateManager.partitionFor`: the absolute
    value of Java's hash of the text.
    """
    hashed = 0
    for character in name:
        hashed = (31 * hashed + ord(character)) & 0xFFFFFFFF
    return (hashed & 0x7FFFFFFF) % _INTERNAL_PARTITIONS


def _quorum_state(folder: Path) -> dict | None:
    file = folder / "data" / "__cluster_metadata-0" / "quorum-state"
    try:
        return json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError):  # the file is being replaced just now
        return None


def _records_left(consumer: Consumer, partitions: int) -> int:
    left, ended = 0, set()
    poll: Callable[[float], object] = consumer.poll
    while len(ended) < partitions:
        message = poll(10.0)
        if message is None:
            raise KafkaException("Neither a record nor the end of a partition came in 10 s.")
        error = message.error()
        if error is None:
            left += 1
        elif error.name() == "_PARTITION_EOF":
            ended.add(message.partition())
        else:
            raise KafkaException(error)
    return left
