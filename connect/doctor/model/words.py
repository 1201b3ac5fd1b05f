"""Makes texts and command lines that several checks use. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from shlex import quote
from typing import Final

from connect.doctor.model.facts import ConnectorFacts, Facts
from connect.kafka.client.rights import grant_command

_SHOWN: Final = 5
DLQ_TOPIC: Final = "errors.deadletterqueue.topic.name"


def some_of(names: Collection[str]) -> str:
    """Return the first names, and how many more there are."""
    shown, more = sorted(names)[:_SHOWN], len(names) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def topic_config_line(facts: Facts, topic: str, config: str) -> str:
    """Return the command that sets a config of a topic."""
    return (
        f"kafka-configs.sh --bootstrap-server {servers(facts)} --alter --entity-type topics "
        f"--entity-name {quote(topic)} --add-config {config}"
    )


def acl_line(facts: Facts, operations: Iterable[str], resource: str, name: str) -> str:
    """Return the command that grants operations on a resource (`topic` or `group`)."""
    return grant_command(servers(facts), facts.kafka.principal, operations, f"--{resource} {quote(name)}")


def cluster_acl_line(facts: Facts, operation: str) -> str:
    """Return the command that grants an operation on the cluster itself."""
    return grant_command(servers(facts), facts.kafka.principal, [operation], "--cluster")


def partitions_line(facts: Facts, topic: str, partitions: int) -> str:
    """Return the command that gives a topic more partitions."""
    return (
        f"kafka-topics.sh --bootstrap-server {servers(facts)} --alter --topic {quote(topic)} --partitions {partitions}"
    )


def topics_in_use(facts: Facts) -> Mapping[str, list[ConnectorFacts]]:
    """Return the topics of connectors, each with the connectors that read or write it."""
    found: dict[str, list[ConnectorFacts]] = {}
    for connector in facts.connectors:
        for topic in connector.topics:
            found.setdefault(topic, []).append(connector)
    return found


def number(text: str | None) -> int | None:
    """Return the whole number that a text holds; None if it holds none."""
    try:
        return int(text or "")
    except ValueError:
        return None


def shown_bytes(count: int) -> str:
    """Return a size in bytes as text with a unit."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"


def servers(facts: Facts) -> str:
    """Return the broker addresses for the command lines of Kafka's tools."""
    return ",".join(facts.worker.bootstrap_servers)
