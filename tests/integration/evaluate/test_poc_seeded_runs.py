"""Seeded defects that only running shows, each found and named, beside a clean source that gives no warning."""

from __future__ import annotations

import pytest

from connect.client.manifests import Manifest
from connect.evaluate.evaluation import Sides, run_checks
from connect.evaluate.options import Options
from connect.evaluate.result import Outcome


@pytest.fixture(scope="module")
def sandbox(seeded_plugins):
    from connect.evaluate.sandbox import Sandbox

    with Sandbox({}) as running:
        yield running


@pytest.fixture
def checks(sandbox, rows_database):
    """The checks of an evaluation of the kit's table, by name."""

    def run(connector, crashes=2, **more):
        config = {
            "connector.class": f"kit.{connector}", "database": str(rows_database), "batch.max.rows": "7",
            "exactly.once.support": "required", **more,
        }  # fmt: skip
        options = Options(sample_rows=500, duration_s=12.0, crashes=crashes, seed=1)
        found = run_checks(sandbox, Sides(Manifest("rows", config, "test")), options, lambda text: None)
        return {check.name: check for check in found}

    return run


def test_a_clean_source_gives_no_warning(checks):
    found = checks("TableConnector")
    assert found.pop("Schema change").outcome is Outcome.NOT_TESTED
    assert {name: check.outcome for name, check in found.items()} == dict.fromkeys(found, Outcome.PASS), found
    assert len(found) == 9


def test_a_source_that_loses_a_row_after_a_crash_is_found(checks):
    delivered = checks("LosesARowAtTheEdge")["Delivery under kills"]
    assert (delivered.outcome, delivered.defects) == (Outcome.FAIL, {"lost"}), delivered.summary


def test_a_source_that_repeats_rows_after_a_crash_is_found(checks):
    delivered = checks("RepeatsAfterARestart")["Delivery under kills"]
    assert (delivered.outcome, delivered.defects) == (Outcome.FAIL, {"duplicate"}), delivered.summary


def test_a_source_that_invents_rows_after_a_crash_is_found(checks):
    delivered = checks("InventsRows")["Delivery under kills"]
    assert (delivered.outcome, delivered.defects) == (Outcome.FAIL, {"invented"}), delivered.summary


def test_a_source_whose_lag_grows_is_found(checks):
    throughput = checks("FallsBehind", crashes=0, **{"batch.max.rows": "2"})["Throughput"]
    assert (throughput.outcome, throughput.defects) == (Outcome.FAIL, {"lag"}), throughput
