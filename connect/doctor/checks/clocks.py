"""Judges clocks by the records in topics, which cannot have been written in the future."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Finding, Severity

AHEAD: Final = timedelta(minutes=1)


class Clocks:
    """Judges the clock of this machine beside those of brokers and producers."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield topics whose newest record has a time in the future."""
        for name, topic in facts.kafka.topics.items():
            if topic.newest_ms is None or topic.newest_ms <= (facts.now + AHEAD).timestamp() * 1000:
                continue
            newest = datetime.fromtimestamp(topic.newest_ms / 1000, UTC)
            seconds = (newest - facts.now).total_seconds()
            yield Finding(
                "clock-ahead", Severity.WARNING,
                f"topic {name}", f"Its newest record bears a time {seconds:.0f} s ahead of this "
                "machine's clock.", "Kafka keeps records too long or too short, and lags in seconds are wrong.",
                "timedatectl set-ntp true  # here, and where brokers and producers run",
            )  # fmt: skip
