"""In which snapshots the chunks of a job are read: each in its own, or all in one that the job's driver holds.

One snapshot ends with the driver that holds it. A job that goes on then reads the chunks that are left each in its own,
and says so: every row and change is in Kafka once all the same.
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
    """Return the plan when all chunks are read in one snapshot. ConfigError: the source cannot."""
    if not plan.is_fenced or not isinstance(source, SnapshotSource):
        raise ConfigError(
            f"Connector {connector} follows no log of changes behind a snapshot.",
            key=_KEY,
            fix="Leave it out, so that the source is read as its own mode says.",
        )
    return source.in_one_snapshot(plan)


def length_warnings(duration_s: float | None) -> Sequence[str]:
    """Return what to warn of where one snapshot is held for so long; None: nothing tells how long."""
    if duration_s is None or duration_s <= _LONG_S:
        return ()
    text = f"Without {_KEY} each chunk has a snapshot of its own for seconds, and each row and change comes once, too"
    return [f"One snapshot is held for about {duration_s / 3600:,.1f} hours. {text}"]


class RunSnapshot:
    """The one snapshot of a run's chunks, while it is held. Owned by the driver's thread."""

    def __init__(self) -> None:
        self._held: HeldSnapshot | None = None

    def hold(self, source: BulkSource, deadline: Deadline, *, is_begun: bool) -> Sequence[str]:
        """Hold the snapshot of now for all chunks, unless some were read before; what to warn of.

        `source`: one that was planned so. RetriableError: it is away.
        """
        if is_begun:
            _log.warning("%s", _SEVERAL)
            return [_SEVERAL]
        assert isinstance(source, SnapshotSource)
        self._held = source.hold_snapshot(deadline)
        return ()

    def placed(self, chunk: Split) -> Split:
        """Return the chunk as a lane is to read it."""
        return chunk if self._held is None else self._held.placed(chunk)

    def close(self) -> None:
        """Let the snapshot go. May be called twice."""
        held, self._held = self._held, None
        if held is not None:
            held.close()
