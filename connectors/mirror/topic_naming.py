"""Names topics of another cluster as MirrorMaker's replication policies do. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

HEARTBEATS = "heartbeats"


class NamingPolicy(Protocol):
    """Says how a topic of the source is called in the target, and where a topic came from."""

    def target_name(self, topic: str) -> str:
        """Return the name in the target of a topic of the source."""

    def origin(self, topic: str) -> str | None:
        """Return the alias of the cluster that a topic was copied from; None: from none."""

    def upstream_name(self, topic: str) -> str | None:
        """Return what a copied topic is called where it was copied from; None: it was not copied."""


@dataclass(frozen=True, slots=True)
class DefaultNaming:
    """Puts the alias of the source before the name, as `source.orders`."""

    source_alias: str
    separator: str

    def target_name(self, topic: str) -> str:
        """Return the alias and the topic's name."""
        return f"{self.source_alias}{self.separator}{topic}"

    def origin(self, topic: str) -> str | None:
        """Return what stands before the first separator; None where there is no separator."""
        alias, found, _ = topic.partition(self.separator)
        return alias if found else None

    def upstream_name(self, topic: str) -> str | None:
        """Return what stands behind the first separator."""
        _, found, name = topic.partition(self.separator)
        return name if found else None


@dataclass(frozen=True, slots=True)
class IdentityNaming:
    """Keeps the names of topics; those that end with heartbeats alone get the alias of the source."""

    default: DefaultNaming

    def target_name(self, topic: str) -> str:
        """Return the same name."""
        return self.default.target_name(topic) if topic.endswith(HEARTBEATS) else topic

    def origin(self, topic: str) -> str | None:
        """Return the alias of the source, as no name tells another one."""
        return self.default.origin(topic) if topic.endswith(HEARTBEATS) else self.default.source_alias

    def upstream_name(self, topic: str) -> str | None:
        """Return the same name."""
        return self.default.upstream_name(topic) if topic.endswith(HEARTBEATS) else topic


def original_name(naming: NamingPolicy, topic: str) -> str:
    """Return what a topic was called in the first cluster that had it."""
    while (upstream := naming.upstream_name(topic)) is not None and upstream != topic:
        topic = upstream
    return topic


def comes_from(naming: NamingPolicy, topic: str, alias: str) -> bool:
    """Tell if a topic was copied from the cluster of this alias, at once or by others: a copy back has no end."""
    while (origin := naming.origin(topic)) is not None:
        if origin == alias:
            return True
        upstream = naming.upstream_name(topic)
        if upstream is None or upstream == topic:
            return False
        topic = upstream
    return False


def is_internal(topic: str) -> bool:
    """Tell if a topic is Kafka's own, Connect's or MirrorMaker's: such topics are never copied."""
    return topic.startswith(("__", ".")) or topic.endswith((".internal", "-internal"))
