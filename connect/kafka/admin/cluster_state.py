"""Asks the brokers for the state of their cluster: replicas, configs and rights. It changes nothing."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, ConfigEntry, ConfigResource, NewTopic, OffsetSpec, ResourceType  # type: ignore[attr-defined]  # it re-exports them without saying so

from connect.api.errors import ConnectError
from connect.kafka.admin.broker_releases import BrokerRelease, release_of
from connect.kafka.admin.calls import RetryingAdmin
from connect.kafka.admin.topic_specs import TopicSpec
from connect.kafka.client.librdkafka import COORDINATOR_S
from connect.kafka.client.settings import Value
from connect.lib.deadline import Deadline

_DENIED: Final = frozenset({
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
})  # fmt: skip
_UNANSWERED: Final = frozenset({
    KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 - librdkafka's own codes
    KafkaError.REQUEST_TIMED_OUT, KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
})  # fmt: skip
_CALL_S: Final = 4.0
_CONNECT_S: Final = 1.0
"""A broker that takes no connection within so many seconds counts as unreachable."""
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class PartitionState:
    """Holds a partition's leader (-1: none), the number of its replicas, and how many of them are in sync."""

    leader: int
    replicas: int
    in_sync: int


@dataclass(frozen=True, slots=True)
class TopicState:
    """Holds a topic's partitions and, where the broker told them, its configs.

    `rights` names the operations that the principal may do (such as `READ`). `newest_ms` is the latest time that a
    record bears, in epoch milliseconds. Both are None if the broker did not tell.
    """

    partitions: Sequence[PartitionState] = ()
    configs: Mapping[str, str] = field(default_factory=dict)
    rights: frozenset[str] | None = None
    newest_ms: int | None = None

    @property
    def replication_factor(self) -> int:
        """Return the number of replicas of the partition that has the fewest."""
        return min((part.replicas for part in self.partitions), default=0)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Holds the brokers' answers. `trouble` says why no broker answered; it is None if one did.

    `denied` names topics that may not be described. `principal` is empty if it is not known.
    """

    trouble: str | None = None
    brokers: int = 0
    topics: Mapping[str, TopicState] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    configs_denied: frozenset[str] = frozenset()
    groups_denied: frozenset[str] = frozenset()
    broker: Mapping[str, str] = field(default_factory=dict)
    principal: str = ""
    controller: int = -1
    """Is the id of the broker that leads the cluster, or -1 if it is not known."""
    broker_denied: bool = False
    """Tells that the configs of brokers may not be read."""
    unanswered: Sequence[str] = ()
    """Names the questions that were not answered in time, such as `the groups`."""
    unreached: Mapping[str, str] = field(default_factory=dict)
    """Maps each advertised address (host:port) that cannot be reached from here to the reason."""
    creation_denied: frozenset[str] = frozenset()
    """Names the topics that are to be made and that the principal may not make."""
    creation_refused: Mapping[str, str] = field(default_factory=dict)
    """Maps each topic that is to be made, and that the brokers would not make as it is asked for, to the reason."""
    releases: Mapping[int, BrokerRelease] = field(default_factory=dict)
    """Maps the id of each broker to what its settings tell of its release."""


def cluster_state(
    settings: Mapping[str, Value],
    topics: Collection[str],
    groups: Collection[str],
    deadline: Deadline,
    to_make: Sequence[TopicSpec] = (),
) -> ClusterState:
    """Return the state of the cluster. Configs and rights are asked for `topics` and `groups` alone.

    Of those of `to_make` that are not seen, brokers say if they would make them; they make none.
    """
    principal = str(settings.get("sasl.username", ""))
    try:
        admin = RetryingAdmin(settings)
        metadata = admin.metadata(deadline, "asking how the brokers fare")
    except ConnectError as error:
        return ClusterState(trouble=str(error), principal=principal)
    seen = {
        name: TopicState([PartitionState(p.leader, len(p.replicas), len(p.isrs)) for p in topic.partitions.values()])
        for name, topic in metadata.topics.items()
        if topic.error is None
    }
    ask = _Questions(admin, deadline)
    rights, denied = ask.rights(sorted(topics))
    told = [name for name in sorted(topics) if name in seen]
    configs, configs_denied = ask.configs(ResourceType.TOPIC, told)
    first = str(min(metadata.brokers, default=0))
    brokers, broker_denied = ask.entries(ResourceType.BROKER, [str(number) for number in sorted(metadata.brokers)])
    newest = ask.newest({name: len(seen[name].partitions) for name in told})
    known = {
        name: TopicState(state.partitions, configs.get(name, {}), rights.get(name), newest.get(name))
        for name, state in seen.items()
    }
    groups_denied = ask.denied_groups(sorted(groups))
    creation_denied, creation_refused = ask.creations([spec for spec in to_make if spec.name not in seen])
    return ClusterState(
        None, len(metadata.brokers), known, denied, configs_denied, groups_denied, _shown(brokers.get(first, {})),
        principal,
        metadata.controller_id, bool(broker_denied), ask.unanswered,
        _unreached((one.host or "", one.port) for one in metadata.brokers.values()) if ask.unanswered else {},
        creation_denied, creation_refused, {int(number): release_of(entries) for number, entries in brokers.items()},
    )  # fmt: skip


def _unreached(addresses: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Return the addresses to which no connection can be made, and why."""
    found = {}
    for host, port in addresses:
        try:
            socket.create_connection((host, port), timeout=_CONNECT_S).close()
        except OSError as error:
            found[f"{host}:{port}"] = error.strerror or str(error)
    return found


class _Questions:
    """Asks about many things at once. Refused and late answers are left out; `unanswered` names the late ones."""

    def __init__(self, admin: RetryingAdmin, deadline: Deadline) -> None:
        self._client = admin.client
        self._deadline = deadline
        self.unanswered: list[str] = []

    def rights(self, topics: Sequence[str]) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
        """Return the operations that are allowed on each topic, and the topics that may not be described."""
        if not topics:
            return {}, frozenset()
        asked = self._client.describe_topics(
            TopicCollection(list(topics)), include_authorized_operations=True, request_timeout=self._timeout_s
        )
        answers, refused = self._answers("the rights on topics", asked)
        found = {name: _operations(topic.authorized_operations) for name, topic in answers.items()}
        return {name: rights for name, rights in found.items() if rights is not None}, refused

    def configs(self, kind: Any, names: Sequence[str]) -> tuple[dict[str, dict[str, str]], frozenset[str]]:
        """Return the configs of topics or of brokers, and the names whose configs may not be read."""
        answers, refused = self.entries(kind, names)
        return {name: _shown(entries) for name, entries in answers.items()}, refused

    def entries(self, kind: Any, names: Sequence[str]) -> tuple[dict[str, Mapping[str, ConfigEntry]], frozenset[str]]:
        """Return the configs with where each is from, and the names whose configs may not be read."""
        if not names:
            return {}, frozenset()
        resources = {name: ConfigResource(kind, name) for name in names}
        # The client asks about one broker in a call, as each broker answers for itself.
        each = [[one] for one in resources.values()] if kind is ResourceType.BROKER else [[*resources.values()]]
        asked: dict[ConfigResource, Future[Any]] = {}
        for some in each:
            asked |= self._client.describe_configs(some, request_timeout=self._timeout_s)
        what = "the configs of brokers" if kind is ResourceType.BROKER else "the configs of topics"
        return self._answers(what, {name: asked[resource] for name, resource in resources.items()})

    def newest(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Return each topic's latest record time in epoch milliseconds. `partitions` holds their partition counts."""
        latest = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]  # the library has no types
        wanted = {TopicPartition(name, number): latest for name, count in partitions.items() for number in range(count)}
        if not wanted:
            return {}
        asked = self._client.list_offsets(wanted, request_timeout=self._timeout_s)
        found: dict[str, int] = {}
        for place, told in self._answers("the newest records of topics", asked)[0].items():
            if told.timestamp > 0:
                found[place.topic] = max(told.timestamp, found.get(place.topic, 0))
        return found

    def denied_groups(self, groups: Sequence[str]) -> frozenset[str]:
        """Return the groups that may not be read."""
        if not groups:
            return frozenset()
        asked = self._client.describe_consumer_groups(
            list(groups), include_authorized_operations=True, request_timeout=COORDINATOR_S
        )
        answers, refused = self._answers("the groups of sinks", asked)
        told = {name: _operations(group.authorized_operations) for name, group in answers.items()}
        return refused | {name for name, rights in told.items() if rights is not None and "READ" not in rights}

    def creations(self, specs: Sequence[TopicSpec]) -> tuple[frozenset[str], dict[str, str]]:
        """Return the topics that the principal may not make, and those that brokers would not make, with the reason."""
        if not specs:
            return frozenset(), {}
        new = [
            NewTopic(spec.name, spec.partitions, spec.replication_factor, config=dict(spec.configs)) for spec in specs
        ]
        asked = self._client.create_topics(new, validate_only=True, request_timeout=self._timeout_s)
        refused: dict[str, str] = {}
        _, denied = self._answers("if the topics of workers would be made", asked, refused)
        return denied, {name: why for name, why in refused.items() if name not in denied}

    @property
    def _timeout_s(self) -> float:
        return min(_CALL_S, max(0.1, self._deadline.remaining_s))

    def _answers(
        self, what: str, asked: Mapping[K, Future[Any]], others: dict[K, str] | None = None
    ) -> tuple[dict[K, Any], frozenset[K]]:
        """Return the answers, and what is denied. `others` takes the reasons of what is refused but for rights."""
        answers: dict[K, Any] = {}
        refused: set[K] = set()
        for name, future in asked.items():
            try:
                answers[name] = future.result(max(0.1, self._deadline.remaining_s))
            except KafkaException as error:
                code = error.args[0].code()
                if code in _DENIED:
                    refused.add(name)
                elif code in _UNANSWERED:
                    self.unanswered += [what] if what not in self.unanswered else []
                elif others is not None and code != KafkaError.TOPIC_ALREADY_EXISTS:
                    others[name] = error.args[0].str()
            except TimeoutError:
                self.unanswered.append(what)
                break  # the futures behind it are left out, too
        return answers, frozenset(refused)


def _shown(entries: Mapping[str, ConfigEntry]) -> dict[str, str]:
    return {key: entry.value for key, entry in entries.items() if entry.value and not entry.is_sensitive}


def _operations(found: Sequence[AclOperation] | None) -> frozenset[str] | None:
    return None if found is None else frozenset(operation.name for operation in found)
