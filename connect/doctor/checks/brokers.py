"""Judges the brokers: do they answer, and does every partition have its leader and its replicas?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import number, some_of

_KEPT_MINUTES: Final = 24 * 60
_DEFAULT_MINUTES: Final = 7 * 24 * 60  # what Kafka itself has


class Brokers:
    """Judges the cluster as a whole; the topics of connectors have a check of their own."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield what keeps clients from the brokers or partitions from their replicas."""
        kafka = facts.kafka
        if kafka.trouble is not None:
            yield Finding(
                "brokers-unreachable", Severity.ERROR,
                "Kafka", kafka.trouble, "Without a broker no worker starts and no task moves.",
                f"bootstrap.servers={','.join(facts.worker.bootstrap_servers)}  # mend it, or start the brokers",
            )  # fmt: skip
            return
        for address, why in kafka.unreached.items():
            yield Finding(
                "advertised-unreachable", Severity.ERROR, "Kafka",
                f"A broker advertises {address}, and nobody gets there from here: {why}.",
                "Clients ask bootstrap.servers where to go, and then speak to that address alone.",
                "advertised.listeners=PLAINTEXT://HOST:PORT  # in its server.properties: an address to be reached here",
            )  # fmt: skip
        yield from _places(facts)
        without_leader = [n for n, topic in kafka.topics.items() if any(p.leader < 0 for p in topic.partitions)]
        if without_leader:
            yield Finding(
                "no-leader", Severity.ERROR, "Kafka", f"Partitions of {some_of(without_leader)} have no leader.",
                "Nothing can be read from them or written to them.",
                _describe(facts, "--unavailable-partitions"),
            )  # fmt: skip
        behind = [n for n, topic in kafka.topics.items() if any(p.in_sync < p.replicas for p in topic.partitions)]
        if behind:
            yield Finding(
                "replicas-out-of-sync", Severity.WARNING, "Kafka", f"Replicas of {some_of(behind)} are not in sync.",
                "One more broker that fails stops writes, or loses what the others did not copy.",
                _describe(facts, "--under-replicated-partitions"),
            )  # fmt: skip


def _places(facts: Facts) -> Iterable[Finding]:
    minutes = number(facts.kafka.broker.get("offsets.retention.minutes"))
    if minutes is not None and minutes < _KEPT_MINUTES:
        yield Finding(
            "offsets-retention-short", Severity.WARNING,
            "Kafka", f"Brokers keep the offsets of a group without members for {minutes} minutes "
            "(offsets.retention.minutes).",
            "A sink that is stopped for longer forgets its place, and reads again or passes records over.",
            f"offsets.retention.minutes={_DEFAULT_MINUTES}  # in server.properties of every broker",
        )  # fmt: skip


def _describe(facts: Facts, which: str) -> str:
    return f"kafka-topics.sh --bootstrap-server {','.join(facts.worker.bootstrap_servers)} --describe {which}"
