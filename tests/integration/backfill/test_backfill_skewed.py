"""Checks that the one large chunk of a table whose keys lie close together is cut again while lanes are killed."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from backfill_job import KillEachStepOnce, Table

from connect.backfill.engines.local import LocalEngine
from connect.backfill.job.chunk import Step
from connect.backfill.job.progress import Watch
from connect.backfill.job.states import JobState
from connect.backfill.verify.verify import verify
from connect.lib.deadline import Deadline

DENSE, SPARSE, FIRST, GAP = 60_000, 200, 150_000_000, 1_000_000


def filled(table: Table) -> list[int]:
    """All ids: many in a row, and a few far from each other."""
    table.fill(1)
    table.run(
        f"INSERT INTO {{t}} (id, name) SELECT {FIRST} + s, 'dense' FROM generate_series(1, {DENSE}) s",
        f"INSERT INTO {{t}} (id, name) SELECT s * {GAP} - 1, 'sparse' FROM generate_series(1, {SPARSE}) s",
    )
    with table.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(f"ANALYZE {table.name}")
    dense, sparse = range(FIRST + 1, FIRST + DENSE + 1), range(GAP - 1, SPARSE * GAP, GAP)
    return [1, *dense, *sparse]


@pytest.mark.chaos
def test_a_chunk_with_nearly_all_rows_is_cut_and_written_by_all_lanes_once(table: Table, tmp_path: Path) -> None:
    ids = filled(table)
    kills = KillEachStepOnce(tmp_path, (Step.ROWS_SENT, Step.MARKER_SENT, Step.COMMITTED))
    with table.driver(chunking={"rows": 2500, "max_bytes": "1MiB", "lanes": 4}) as driver:
        job = driver.run(LocalEngine(2, 3, kills))
        assert job.state is JobState.COPIED
        assert kills.killed_at == {"ROWS_SENT", "MARKER_SENT", "COMMITTED"}
        assert Counter(table.ids()) == Counter(ids)
        verdict = verify(driver)
        assert verdict.is_good, list(verdict.lines())
        store = driver.store
        by_lane = [sum(marker.read for marker in store.lane_markers(lane, Deadline.after(30))) for lane in range(4)]
        assert max(by_lane) < 0.6 * DENSE, "the lane of the large chunk has not written it alone"
        with closing(Watch(store, job.name, Deadline.after(30))) as watch:
            progress = watch.progress()
        assert progress.chunks == progress.chunks_done == len(verdict.chunks) > job.chunks
