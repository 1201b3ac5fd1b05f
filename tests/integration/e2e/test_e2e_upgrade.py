"""Workers are exchanged for those of a newer version, and back, one by one while rows flow: each row is there once."""

from __future__ import annotations

import os

import pytest
from e2e_brokers import ThreeBrokers
from e2e_flow import Flow
from e2e_pipeline import pipeline
from e2e_release import FIRST, ReleasedWorker, build_release

from connect.lib.deadline import Deadline

MIXED_S = float(os.environ.get("CONNECT_MIXED_S", "30"))
"""How long workers of two versions run side by side, in all."""
STEPS = 3
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800 + round(2 * MIXED_S))]


@pytest.fixture(scope="session")
def first_release(tmp_path_factory):
    return build_release(FIRST, tmp_path_factory.mktemp("release"))


def exchanged(flow: Flow, number: int, packages) -> float:
    """Stop a worker and start it in another version, or the same one; return how long rows stood."""
    worker = flow.workers[number]
    worker.stop()
    worker.packages = packages
    worker.start(180)
    return flow.until_rows_flow()


def side_by_side(flow: Flow) -> list[float]:
    """Restart each connector, by each of the two workers, and each worker in turn; return how long rows stood."""
    until, turn, stood_s = Deadline.after(MIXED_S / STEPS), 0, []
    while turn < len(flow.workers) or not until.expired:
        number = turn % len(flow.workers)
        for name in flow.connectors:
            answer = flow.workers[number].call("POST", name, "/restart?includeTasks=true")
            assert answer.status_code in {202, 204}, answer.text
        stood_s.append(flow.until_rows_flow())
        stood_s.append(exchanged(flow, number, flow.workers[number].packages))
        turn += 1
    return stood_s


def test_workers_are_upgraded_and_taken_back_under_load(first_release, tmp_path, s3, s3_bucket, unique):
    class Released(ReleasedWorker):
        packages = first_release

    with ThreeBrokers(tmp_path) as brokers, pipeline(brokers, s3, s3_bucket, tmp_path, unique, Released) as flow:
        stood_s, mixed_s = [flow.until_rows_flow()], []
        for packages in (None, first_release, None):
            stood_s.append(exchanged(flow, 0, packages))
            mixed_s += side_by_side(flow)
            stood_s.append(exchanged(flow, 1, packages))
        seen = flow.check()
    mixed = (
        f"{len(mixed_s)} restarts of workers or connectors while mixed, rows flowed after {max(mixed_s):.1f} s at most"
    )
    print(f"{seen}; {mixed}; exchanged: {', '.join(f'{one:.1f}' for one in stood_s)} s", flush=True)  # noqa: T201 - who runs `make chaos` reads how long rows stood
    assert seen.endswith("failed: []")
