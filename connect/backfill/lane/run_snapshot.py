"""Decides in which snapshots a job's chunks are read: each in its own, or all in one that the job's driver holds.

The one snapshot ends with the driver that holds it. If the job goes on then, each chunk that is left is read in its own
snapshot, and a warning says so. Every row and change is in Kafka once all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from connect.api.errors import ConfigError
from connect.api.optional.bulk import BulkPlan, BulkSource, HeldSnapshot, SnapshotSource, Split
from connect.lib.deadline import Deadline

_log = logging.getLogger(__name__)
_KEY: Final = "handover.mode"
_LONG_S: Final = 3600.0
_SEVERAL: Final = (
    "The chunks are not all of one moment: their snapshot ended with the driver that held it, and each of those that "
    "were left was read in one of its own."
)


def planned_in_one(plan: BulkPlan, source: BulkSource, connector: str) -> BulkPlan:
    """Return the plan for reading all chunks in one snapshot. ConfigError: the source cannot do that."""
    if not plan.is_fenced or not isinstance(source, SnapshotSource):
        raise ConfigError(
            f"Connector {connector} follows no log of changes behind a snapshot.",
            key=_KEY,
            fix="Leave it out, so that the source is read as its own mode says.",
        )
    return source.in_one_snapshot(plan)


def length_warnings(duration_s: float | None) -> Sequence[str]:
    """Return warnings about holding one snapshot for `duration_s` seconds; none if the duration is not known."""
    if duration_s is None or duration_s <= _LONG_S:
        return ()
    text = f"Without {_KEY} each chunk has a snapshot of its own for seconds, and each row and change comes once, too"
    return [f"One snapshot is held for about {duration_s / 3600:,.1f} hours. {text}"]


class RunSnapshot:
    """Holds the one snapshot of a run's chunks. Owned by the driver's thread."""

    def __init__(self) -> None:
        self._held: HeldSnapshot | None = None

    def hold(self, source: BulkSource, deadline: Deadline, *, is_begun: bool) -> Sequence[str]:
        """Hold the snapshot of now for all chunks, unless some chunks are begun; return warnings.

        `source` was planned in one snapshot. RetriableError: the source does not answer.
        """
        if is_begun:
            _log.warning("%s", _SEVERAL)
            return [_SEVERAL]
        assert isinstance(source, SnapshotSource)
        self._held = source.hold_snapshot(deadline)
        return ()

    def placed(self, chunk: Split) -> Split:
        """Return the chunk as a lane has to read it: in the snapshot, if one is held."""
        return chunk if self._held is None else self._held.placed(chunk)

    def close(self) -> None:
        """Release the snapshot. May be called twice."""
        held, self._held = self._held, None
        if held is not None:
            held.close()
