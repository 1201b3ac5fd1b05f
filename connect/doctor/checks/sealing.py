"""Judges if the records of the config topic are sealed by the worker's key."""

from __future__ import annotations

from collections.abc import Iterable

from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import some_of, topic_config_line
from connect.runtime.settings.encryption_keys import ENCRYPTION_KEY


class Sealing:
    """Judges the records of the config topic, if the worker's file names a key."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield records that the key does not open, those that it has not sealed, and older ones in plain text."""
        if facts.sealing is None:
            return
        topic, sealing = facts.worker.config_storage_topic, facts.sealing
        if sealing.trouble and facts.kafka.trouble is None:
            yield Finding(
                "config-topic-unread", Severity.NOTE, f"topic {topic}", sealing.trouble,
                f"Whether its records are sealed as {ENCRYPTION_KEY} asks is not known.", "",
            )  # fmt: skip
        if sealing.closed:
            yield Finding(
                "config-topic-closed", Severity.ERROR, f"topic {topic}",
                f"No key of {ENCRYPTION_KEY} opens the records of {_named(sealing.closed)}.",
                "No worker starts with these keys where the key is missing; a damaged record is left out.",
                f"{ENCRYPTION_KEY}=<the first key seals>,<all other keys of the cluster>",
            )  # fmt: skip
        if sealing.outdated:
            yield Finding(
                "config-topic-unsealed", Severity.WARNING, f"topic {topic}",
                f"The records of {_named(sealing.outdated)} are not sealed as {ENCRYPTION_KEY} asks.",
                "Whoever may read the topic, or has the former key, reads their secrets. The leader seals them when it "
                "begins to lead.",
                "Give all workers the same keys, then restart them one by one: the last one to lead seals.",
            )  # fmt: skip
        if sealing.older_plain_count:
            yield Finding(
                "config-topic-plain-before", Severity.WARNING, f"topic {topic}",
                f"It still holds {sealing.older_plain_count} older records with configurations in plain text.",
                "Newer ones have replaced them, but whoever may read the topic reads them until Kafka compacts it.",
                topic_config_line(facts, topic, "segment.ms=600000,max.compaction.lag.ms=600000")
                + "\n# Then change a secret that was there in plain text, as somebody may have read it.",
            )  # fmt: skip


def _named(names: Iterable[str]) -> str:
    known = [name for name in names if name]
    return f"connectors {some_of(known)}" if known else "the cluster itself"
