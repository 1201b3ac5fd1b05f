"""Yields notes on valid settings of the sink that can lead to duplicates or unwritten records, with the remedy.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from connect.api.errors import ConfigProblem

if TYPE_CHECKING:
    from connectors.s3.settings.config import S3SinkConfig


def weaknesses(config: S3SinkConfig) -> Iterator[ConfigProblem]:
    """Yield the settings with which a restart can write a record twice, and what to set instead."""
    if config.is_time_partitioned and config.timestamp_extractor == "Wallclock":
        yield ConfigProblem(
            "timestamp.extractor",
            "timestamp.extractor=Wallclock gives a record another path when it is read again later, so that a "
            "restart can write it twice. Set timestamp.extractor to Record or RecordField.",
        )
    if config.has_wall_clock_rotation and not config.conditional_writes:
        yield ConfigProblem(
            "enable.conditional.writes",
            "Files that end by the wall clock (rotate.schedule.interval.ms, rotate.idle.ms, or rotate.interval.ms "
            "with timestamp.extractor=Wallclock) are exactly-once only with enable.conditional.writes=true: "
            "without it a restart can write a record twice. Set it, or have files end by records only.",
        )


def waiting_records(config: S3SinkConfig) -> Iterator[ConfigProblem]:
    """Yield the settings with which the last records of a topic may never be written."""
    if config.flush_size > 1 and not config.has_wall_clock_rotation:
        yield ConfigProblem(
            "flush.size",
            f"The last records of a topic are not in S3 before flush.size={config.flush_size} are there or a later "
            "record ends their file: Kafka keeps them. Set rotate.schedule.interval.ms or rotate.idle.ms to have "
            "them written in time.",
        )
