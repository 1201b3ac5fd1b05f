"""Workers are exchanged for those of a newer version, and back, one by one while rows flow: each row is there once."""

from __future__ import annotations

import os

import pytest
from e2e_brokers import ThreeBrokers
from e2e_pipeline import pipeline
from e2e_release import FIRST, ReleasedWorker, build_release

from connect.lib.deadline import Deadline

MIXED_S = float(os.environ.get("CONNECT_MIXED_S", "30"))
"""How long two versions work side by side, on the way up and on the way back."""
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800 + round(2 * MIXED_S))]


@pytest.fixture(scope="session")
def first_release(tmp_path_factory):
    return build_release(FIRST, tmp_path_factory.mktemp("release"))


def test_workers_are_upgraded_and_taken_back_under_load(first_release, tmp_path, s3, s3_bucket, unique):
    class Released(ReleasedWorker):
        packages = first_release

    with ThreeBrokers(tmp_path) as brokers, pipeline(brokers, s3, s3_bucket, tmp_path, unique, Released) as flow:
        recovered_s = [flow.until_rows_flow()]
        for packages in (None, first_release, None):
            for worker in flow.workers:
                worker.stop()
                worker.packages = packages
                worker.start(180)
                recovered_s.append(flow.until_rows_flow())
                side_by_side = Deadline.after(MIXED_S / 2)
                while not side_by_side.expired:
                    flow.until_rows_flow()
        seen = flow.check()
    print(f"{seen}; rows flowed after {', '.join(f'{one:.1f}' for one in recovered_s)} s", flush=True)  # noqa: T201 - chaos reports how long rows stood
    assert seen.endswith("failed: []")
