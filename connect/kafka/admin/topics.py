"""Reads and changes topics, groups and offsets by Kafka's admin API, with deadlines and translated errors."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import ConfigResource, NewTopic, OffsetSpec, ResourceType  # type: ignore[attr-defined]  # it re-exports them without saying so

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.kafka.admin.calls import BrokerRefusedError, RetryingAdmin
from connect.kafka.admin.group_offsets import alter_offsets, committed_offsets
from connect.kafka.admin.groups import GroupMembers, delete_group, group_members
from connect.kafka.admin.internal_topics import check_policy, check_size, missing, not_created
from connect.kafka.admin.topic_descriptions import TopicDescription, asked_of_each, described, id_text
from connect.kafka.admin.topic_specs import InternalTopic, TopicSpec
from connect.kafka.client.librdkafka import COORDINATOR_S
from connect.kafka.client.rights import Needs
from connect.kafka.produce.producer import BatchProducer
from connect.lib.deadline import Deadline

Settings = Mapping[str, str | int | float | bool]

_LOG = logging.getLogger("connect.kafka.admin.calls")
_PROPAGATION_S: Final = 5.0
_EARLIEST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call]  # the library gives this method no types
_LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the library gives this method no types
_OFFSETS_S: Final = 0.5
"""A request for offsets is repeated after this time. librdkafka sometimes misses that a new topic has leaders.

It would look again only after 3 s."""


class TopicAdmin:
    """Reads and changes topics, groups and offsets. Any thread may use it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = dict(settings)
        self._admin = RetryingAdmin(settings)

    def cluster_id(self, deadline: Deadline) -> str:
        """Return the id of the Kafka cluster. RetriableError when no broker answers in time."""
        return str(self._admin.metadata(deadline, "asking for the cluster id").cluster_id)

    def topics(self, deadline: Deadline) -> dict[str, int]:
        """Return the number of partitions of every topic."""
        found = self._admin.metadata(deadline, "listing topics").topics
        return {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}

    def describe(self, names: Collection[str], deadline: Deadline) -> dict[str, TopicDescription]:
        """Return the topics that exist among these; missing ones are left out."""
        return described(self._admin, names, deadline)

    def topic_id(self, name: str, deadline: Deadline, operation: str = "Describe") -> str | None:
        """Return the id of a topic; None from brokers that give no ids.

        Raise MissingTopicError, or DeniedError if the topic is hidden for lack of a right; it tells the grant for
        `operation`.
        """

        def ask(timeout_s: float) -> Future[Any]:
            return asked_of_each(self._admin, [name], timeout_s)[name]

        needs = Needs.of(self._settings, operation, [name])
        return id_text(self._admin.call(ask, deadline, f"asking for the id of topic {name}", needs=needs).topic_id)

    def partition_counts(self, names: Collection[str], deadline: Deadline) -> dict[str, int]:
        """Return the number of partitions of the topics that exist among these."""
        return {name: topic.partitions for name, topic in self.describe(names, deadline).items()}

    def partition_count(self, name: str, deadline: Deadline) -> int:
        """Return the number of partitions of a topic as any one broker tells it; 0 if the topic does not exist.

        `partition_counts` asks the controller, for which librdkafka waits while it may be a broker that is away.
        """
        topic = self._admin.metadata(deadline, f"asking for the partitions of topic {name}", name).topics[name]
        return 0 if topic.error is not None else len(topic.partitions)

    def configs(self, name: str, deadline: Deadline, *, is_there: bool = True) -> dict[str, str | None]:
        """Return a topic's configs, broker defaults included.

        If it does not exist, raise RetriableError, or return no configs unless `is_there`.
        """
        resource = ConfigResource(ResourceType.TOPIC, name)

        def ask(timeout_s: float) -> Future[Any]:
            return self._admin.client.describe_configs([resource], request_timeout=timeout_s)[resource]

        # A topic that was just made is not known to every broker yet.
        unknown = {KafkaError.UNKNOWN_TOPIC_OR_PART}
        again, ignore = (unknown, set[int]()) if is_there else (set[int](), unknown)
        soon = deadline.sooner(_PROPAGATION_S)
        entries = self._admin.call(ask, soon, f"describing the configs of topic {name}", again=again, ignore=ignore)
        return {key: entry.value for key, entry in (entries or {}).items()}

    def create(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
        deadline: Deadline,
    ) -> bool:
        """Create a topic, where -1 is the broker's default. Return False if it exists; then it is left as it is."""
        made = self._create(TopicSpec(name, partitions, replication_factor, configs or {}), deadline)
        if made:
            self._admin.await_topic(name, deadline.sooner(_PROPAGATION_S))
        return made

    def delete(self, names: Collection[str], deadline: Deadline) -> None:
        """Delete these topics; missing ones are no error."""
        for name in names:

            def ask(timeout_s: float, name: str = name) -> Future[Any]:
                return self._admin.client.delete_topics([name], request_timeout=timeout_s)[name]

            self._admin.call(ask, deadline, f"deleting topic {name}", ignore={KafkaError.UNKNOWN_TOPIC_OR_PART})

    def delete_records(self, before: Mapping[TopicPartition, int], deadline: Deadline) -> None:
        """Delete the records of each partition that are before an offset."""
        wanted = [KafkaPartition(tp.topic, tp.partition, offset) for tp, offset in before.items()]

        def ask(timeout_s: float) -> dict[Any, Future[Any]]:
            return self._admin.client.delete_records(wanted, request_timeout=timeout_s)

        if wanted:
            names = ", ".join(sorted({tp.topic for tp in before}))
            self._admin.call(ask, deadline, f"deleting records of {names}")

    def ensure_internal(self, topics: Sequence[InternalTopic], deadline: Deadline, *, make: bool = True) -> set[str]:
        """Create the worker's topics where they are missing, and check the others. Return the names of the new ones.

        Raise ConfigError, which names the key, for a wrong topic, and without `make` for a missing one, too.
        """
        # They are made side by side, so a worker that starts waits for the slowest one, not for the sum.
        with ThreadPoolExecutor(max(1, len(topics)), thread_name_prefix="internal-topics") as threads:
            made = list(threads.map(lambda topic: self._ensure(topic, deadline, make=make), topics))
        return {topic.spec.name for topic, is_new in zip(topics, made, strict=True) if is_new}

    def call_coordinator(self, group: str) -> None:
        """Have a new cluster create its topic of groups, which takes it a second. This method does not wait for it."""
        self._admin.client.describe_consumer_groups([group], request_timeout=COORDINATOR_S)

    def end_offsets(
        self, partitions: Collection[TopicPartition], deadline: Deadline, *, committed_only: bool = False
    ) -> dict[TopicPartition, int]:
        """Return the ends of partitions; with `committed_only` the offset where the first open transaction begins."""
        return self._offsets(partitions, _LATEST, deadline, committed_only)

    def beginning_offsets(
        self, partitions: Collection[TopicPartition], deadline: Deadline
    ) -> dict[TopicPartition, int]:
        """Return the first offset of each partition that is still there."""
        return self._offsets(partitions, _EARLIEST, deadline, committed_only=False)

    def offsets_at(
        self, partitions: Collection[TopicPartition], at_ms: int, deadline: Deadline
    ) -> dict[TopicPartition, int]:
        """Return each partition's first offset with this time or a later one; partitions without one are left out."""
        since = OffsetSpec.for_timestamp(max(0, at_ms))
        found = self._offsets(partitions, since, deadline, committed_only=False)
        return {tp: offset for tp, offset in found.items() if offset >= 0}

    def group_offsets(self, group: str, deadline: Deadline) -> dict[TopicPartition, int]:
        """Return a group's committed offsets on topics that exist; empty for a group that does not exist."""
        wanted = [TopicPartition(topic, p) for topic, count in self.topics(deadline).items() for p in range(count)]
        return committed_offsets(self._settings, group, wanted, deadline)

    def alter_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int | None], deadline: Deadline) -> None:
        """Set committed offsets of a group; None removes one. Raise RetriableError while the group has members.

        Kafka sets and removes by two requests. If the second one fails, its error says so.
        """
        alter_offsets(self._admin, group, offsets, deadline)

    def delete_group(self, group: str, deadline: Deadline) -> None:
        """Delete a consumer group with its offsets, if it exists. Raise RetriableError while it has members."""
        delete_group(self._admin, group, deadline)

    def group_members(self, group: str, deadline: Deadline) -> GroupMembers:
        """Return the members that a group has now; a group that does not exist has none."""
        return group_members(self._admin, group, deadline)

    def fence(self, producer_settings: Sequence[Settings], deadline: Deadline) -> None:
        """Fence the producers of these transactional ids: open transactions are aborted, later writes fail.

        Kafka calls this fenceProducers. librdkafka has no such call, but a new producer of the same id does the same.
        """
        for settings in producer_settings:
            producer = BatchProducer(settings)
            try:
                producer.init_transactions(deadline)
            finally:
                producer.close()

    def _ensure(self, topic: InternalTopic, deadline: Deadline, *, make: bool) -> bool:
        """Return True if the topic was made; check it if it exists."""
        if not make:
            if not self.describe([topic.spec.name], deadline):
                raise missing(topic)
            self._check(topic, deadline)
            return False
        try:
            created = self._create(topic.spec, deadline)
        except RetriableError:
            raise
        except ConnectError as error:
            raise not_created(topic, error) from error
        if not created:
            self._check(topic, deadline)
        return created

    def _create(self, spec: TopicSpec, deadline: Deadline) -> bool:
        topic = NewTopic(
            spec.name,
            num_partitions=spec.partitions,
            replication_factor=spec.replication_factor,
            config=dict(spec.configs),
        )

        def ask(timeout_s: float) -> Future[Any]:
            return self._admin.client.create_topics([topic], request_timeout=timeout_s)[spec.name]

        needs = Needs.of(self._settings, "Create", [spec.name])
        exists = {KafkaError.TOPIC_ALREADY_EXISTS}
        try:
            self._admin.call(ask, deadline, f"creating topic {spec.name}", answers=exists, needs=needs)
        except BrokerRefusedError:
            return False
        return True

    def _check(self, topic: InternalTopic, deadline: Deadline) -> None:
        name = topic.spec.name
        try:
            policy = self.configs(name, deadline).get("cleanup.policy") or ""
        except RetriableError:
            raise
        except ConnectError as error:
            # A worker that may not describe configs starts all the same, as in Kafka Connect.
            _LOG.warning("The cleanup.policy of topic %s was not checked: %s", name, error)
        else:
            check_policy(topic, policy)
        found = self.describe([name], deadline).get(name)
        if found is not None:
            check_size(topic, found)

    def _offsets(
        self, partitions: Collection[TopicPartition], spec: Any, deadline: Deadline, committed_only: bool
    ) -> dict[TopicPartition, int]:
        level = IsolationLevel.READ_COMMITTED if committed_only else IsolationLevel.READ_UNCOMMITTED

        def ask(timeout_s: float) -> dict[Any, Future[Any]]:
            wanted = {KafkaPartition(*tp): spec for tp in partitions}
            return self._admin.client.list_offsets(wanted, isolation_level=level, request_timeout=timeout_s)

        names = sorted({tp.topic for tp in partitions})
        doing = f"listing offsets of topics {', '.join(names)}"
        # librdkafka's "no leaders found" is a broker that is away as well as a topic that is not there, and a leader
        # that says "unknown" is one that has not yet heard of a topic made a moment ago.
        again = {KafkaError._NOENT, KafkaError.UNKNOWN_TOPIC_OR_PART}  # noqa: SLF001 - librdkafka's own code
        found = self._admin.call(ask, deadline, doing, again=again, first_s=_OFFSETS_S) if partitions else {}
        # Such an offset means that the answer lacks the partition: whoever answered does not know its leader.
        while any(one.offset == OFFSET_INVALID for one in found.values()) and deadline.wait(_OFFSETS_S):
            found = self._admin.call(ask, deadline, doing, again=again, first_s=_OFFSETS_S)
        if any(one.offset == OFFSET_INVALID for one in found.values()):
            raise RetriableError(f"Failed {doing}: nobody who was asked knew the leader of each partition.")
        return {TopicPartition(part.topic, part.partition): result.offset for part, result in found.items()}
