"""Judges how records are spread over the partitions of a sink's topics."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote
from typing import Final

from connect.doctor.model.facts import ConnectorFacts, Facts, GroupFacts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import number, servers

TIMES: Final = 4
"""A partition is too full if it holds this many times as many records as the others on average."""
FEW_OFFSETS: Final = 1000
"""Fewer records than this say nothing about how keys are spread."""


class Skew:
    """Judges sinks with several tasks, as a single task reads all partitions anyway."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield topics most of whose records are in one partition."""
        for connector in facts.connectors:
            if connector.group is not None and (number(connector.config.get("tasks.max")) or 1) > 1:
                yield from _topics(facts, connector, connector.group)


def _topics(facts: Facts, connector: ConnectorFacts, group: GroupFacts) -> Iterable[Finding]:
    held: dict[str, dict[int, int]] = {}
    for tp, end in group.ends.items():
        held.setdefault(tp.topic, {})[tp.partition] = end - group.beginnings.get(tp, 0)
    for topic, partitions in sorted(held.items()):
        whole, fullest = sum(partitions.values()), max(partitions, key=partitions.__getitem__)
        most = partitions[fullest]
        # This does not divide, as the other partitions may be empty.
        if len(partitions) > 1 and whole >= FEW_OFFSETS and most * (len(partitions) - 1) > TIMES * (whole - most):
            yield Finding(
                "partition-skew", Severity.WARNING, f"connector {connector.name}",
                f"Partition {fullest} of topic {topic} holds {most} of {whole} offsets; it has {len(partitions)} "
                "partitions.",
                "One task has nearly all the work, and more tasks do not help.",
                f"kafka-get-offsets.sh --bootstrap-server {servers(facts)} --topic {quote(topic)}"
                "  # then have producers choose a key of more values",
            )  # fmt: skip
