"""Looks for seeded defects that only running shows: each is found and named, beside a clean source that gives no
warning.
"""

from __future__ import annotations

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.client.manifests import Manifest
from connect.poc.evaluation import Sides, run_checks
from connect.poc.sandbox.faults import KILL, Fault, Faults
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.result import Outcome
from connect.poc.sandbox.run_comparison import compare
from connect.poc.source.delivery_check import check_delivery
from connect.poc.source.source_run import SourceRunner
from connect.poc.source.throughput_check import judge_throughput
from tests.integration.poc.outcomes import by_name, not_passed


@pytest.fixture(scope="module")
def sandbox(seeded_plugins):
    from connect.poc.sandbox.sandbox import Sandbox

    with Sandbox(EVERYWHERE) as running:
        yield running


OPTIONS = Options(sample_rows=500, duration_s=120.0, crashes=2, seed=1)
"""The time is a bound alone: a run ends when its source has no more rows."""


@pytest.fixture(scope="module")
def config(rows_database):
    """The configuration of a seeded source over the kit's table."""

    def of(connector, **more):
        return {
            "name": "rows", "connector.class": f"kit.{connector}", "database": str(rows_database),
            "batch.max.rows": "7", "exactly.once.support": "required", **more,
        }  # fmt: skip

    return of


@pytest.fixture(scope="module")
def baseline(sandbox, config):
    """A run without faults, and its rows: the same for each source whose defect only a restart shows."""
    run = SourceRunner(sandbox, config("TableConnector"), OPTIONS).run("baseline")
    return run, run.rows(sandbox)


@pytest.fixture
def delivered(sandbox, config, baseline):
    """Check 8 of a seeded source."""

    def check(connector):
        runner = SourceRunner(sandbox, config(connector), OPTIONS)
        return check_delivery(sandbox, runner, *baseline, options=OPTIONS, exactly_once=True)

    return check


@pytest.mark.chaos
def test_a_clean_source_gives_no_warning(sandbox, config):
    manifest = Manifest("rows", config("TableConnector"), "test")
    found = by_name(run_checks(sandbox, Sides(manifest), OPTIONS, lambda text: None))
    # It has no plan of a bulk read, so that its rows are known where the run without faults came to their end.
    assert found.pop("Load and cost").outcome in {Outcome.PASS, Outcome.NOT_TESTED}
    assert not_passed(list(found.values())) == {}
    assert len(found) == 9


@pytest.mark.chaos
def test_one_kill_shows_a_source_that_repeats_rows(sandbox, config, baseline):
    kill = Fault(0.0, KILL, lambda: "killed" if sandbox.kill_task_hosts() else "")
    runner = SourceRunner(sandbox, config("RepeatsAfterARestart"), OPTIONS)
    run = runner.run("kill", Faults([kill], rows_per_second=500.0, further_s=60.0))
    found = compare(baseline[1], run.rows(sandbox))
    assert (run.failure, found.lost, found.duplicate > 0) == (None, 0, True), found


@pytest.mark.chaos
def test_a_source_that_loses_a_row_after_a_crash_is_found(delivered):
    found = delivered("LosesARowAtTheEdge")
    assert (found.outcome, found.defects) == (Outcome.FAIL, {"lost"}), found.summary


@pytest.mark.chaos
def test_a_source_that_repeats_rows_after_a_crash_is_found(delivered):
    found = delivered("RepeatsAfterARestart")
    assert (found.outcome, found.defects) == (Outcome.FAIL, {"duplicate"}), found.summary


@pytest.mark.chaos
def test_a_source_that_invents_rows_after_a_crash_is_found(delivered):
    found = delivered("InventsRows")
    assert (found.outcome, found.defects) == (Outcome.FAIL, {"invented"}), found.summary


@pytest.mark.chaos
def test_a_source_whose_lag_grows_is_found(sandbox, config):
    options = Options(duration_s=12.0)
    runner = SourceRunner(sandbox, config("FallsBehind", **{"batch.max.rows": "2"}), options)
    run = runner.run("lag")
    rows = run.rows(sandbox)
    found = judge_throughput(run, rows.count, rows.size_bytes)
    assert (found.outcome, found.defects) == (Outcome.FAIL, {"lag"}), found
