"""Holds the engines that run the lanes of a job: processes of this machine, or Spark. Both run `run_lane`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from connect.backfill.job.chunk import LaneReport
from connect.backfill.job.kinds import JobConnectors
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.lane.lane import LaneTask


class Engine(Protocol):
    """Runs lanes, round by round, until it is closed. Owned by the driver's thread."""

    def prepare(self, connectors: JobConnectors, lanes: int) -> None:
        """Get ready to run this many lanes of these connectors, while the job is planned."""

    def run(self, tasks: Sequence[LaneTask], at_once: int) -> list[LaneReport]:
        """Run each lane to its end, at most `at_once` of them at a time, and return their reports.

        A lane that died is run again. When a lane ended by its owner's signal, lanes that were not begun may be left
        out. ConnectError: a lane failed too often.
        """

    def close(self) -> None:
        """End the processes that ran lanes, as no more lanes come. May be called at any time, and twice."""


def engine_of(spec: BackfillSpec) -> Engine:
    """Return the engine that a spec names. ConnectError: the engine is not installed."""
    if spec.engine.type == "local":
        from connect.backfill.engines.local import LocalEngine

        return LocalEngine(spec.engine.processes, spec.limits.max_chunk_retries)
    from connect.backfill.engines.spark import SparkEngine

    return SparkEngine(spec.engine, spec.name)
