"""Describes topics as they should be: those that are made for rows, and the worker's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """Describes a topic to create. -1 is the broker's default; `configs` are topic configs such as cleanup.policy."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """Describes one of the worker's own topics, which is compacted, and made when it is missing.

    `key` is the worker key that names the topic ("config.storage.topic"), and `set_in` says where that key is set.
    `purpose` names the content as Kafka Connect's messages do ("connector configurations"). With `single_partition`
    more than one partition is an error. `factor_key` is the worker key of the replication factor, where that is not
    named after `key`.
    """

    spec: TopicSpec
    key: str
    purpose: str
    single_partition: bool = False
    factor_key: str = ""
    set_in: str = "Connect worker configurations"
    explicit: frozenset[str] = frozenset()
    """Names what the worker's file sets itself (partitions, replicas). A topic that has less is refused."""
