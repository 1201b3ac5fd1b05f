"""Evaluates sinks: clean ones pass, seeded defects are found, nothing is written to the real target and nothing is
left.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.client.manifests import Manifest
from connect.poc.evaluation import Sides, run_checks
from connect.poc.sandbox.faults import KILL, Fault, Faults
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.result import Outcome
from connect.poc.sink.sink_delivery import compare_targets, judge_sink_delivery
from connect.poc.sink.sink_records import made
from connect.poc.sink.sink_run import SinkRunner
from connect.runtime.parts.connector_settings import ConnectorSettings
from tests.integration.poc.outcomes import by_name, not_passed

OPTIONS = Options(sample_rows=500, duration_s=120.0, crashes=2, seed=1)
"""The time is a bound alone: a run ends when its sink has committed all rows."""
WITHOUT_FAULTS = Options(sample_rows=500, duration_s=120.0, crashes=0)


@pytest.fixture(scope="module")
def sandbox(seeded_plugins):
    from connect.poc.sandbox.sandbox import Sandbox

    with Sandbox(EVERYWHERE) as running:
        yield running


@pytest.fixture
def real_target(tmp_path):
    """The database that a sink is set to; it stays empty and alone."""
    path = tmp_path / "real.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE rows (id INTEGER, text TEXT, body BLOB)")
    yield path
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM rows").fetchone() == (0,)
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def config(real_target):
    """The configuration of a seeded sink."""

    def of(connector):
        return {"connector.class": f"kit.{connector}", "database": str(real_target), "topics": f"made-{connector}"}

    return of


@pytest.fixture
def checks(sandbox, config):
    """The checks of an evaluation of a seeded sink."""

    def run(connector, options=OPTIONS):
        sink = Manifest("rows", config(connector), "test")
        return run_checks(sandbox, Sides(sink=sink), options, lambda text: None)

    return run


@pytest.mark.chaos
def test_a_clean_sink_gives_no_warning(checks):
    clean = checks("CleanSink")
    assert not_passed(clean) == {}
    assert [check.number for check in clean] == [1, 2, 3, 4, 5, 7, 8, 9]
    found = by_name(clean)
    assert "20,000 committed records" in found["Round trip"].summary
    assert "2 kills of the task and 1 pause of the broker, 20,000 rows" in found["Delivery under kills"].summary


def test_a_sink_that_drops_one_row_of_ten_thousand_is_found(checks):
    found = by_name(checks("DropsARow", replace(WITHOUT_FAULTS, budget_rows=10_000)))["Round trip"]
    assert (found.outcome, found.defects) == (Outcome.FAIL, {"lost"}), found
    assert "1 of 10,000" in found.summary


@pytest.mark.chaos
def test_a_sink_that_repeats_rows_after_a_crash_is_found(checks):
    found = by_name(checks("RepeatsRows", replace(OPTIONS, budget_rows=3000)))
    assert found["Round trip"].outcome is Outcome.PASS, found
    delivered = found["Delivery under kills"]
    assert (delivered.outcome, delivered.defects) == (Outcome.FAIL, {"duplicate"}), delivered


def test_one_kill_shows_a_sink_that_repeats_rows(sandbox, config):
    settings = ConnectorSettings(sandbox.worker_properties, {**config("RepeatsRows"), "name": "rows"})
    runner = SinkRunner(sandbox, settings, made(settings, 600).ends, OPTIONS)
    baseline = runner.run("baseline")
    kill = Fault(0.0, KILL, lambda: "killed" if sandbox.kill_task_hosts() else "")
    faults = Faults([kill], rows_per_second=100.0, further_s=60.0)
    killed = runner.run("kill", faults, until=baseline.committed)
    found = judge_sink_delivery(killed, compare_targets(baseline, killed, {}), faults)
    assert (found.outcome, found.defects) == (Outcome.FAIL, {"duplicate"}), found


@pytest.mark.chaos
def test_a_sink_that_hangs_is_said_to_within_the_time(checks):
    found = by_name(checks("HangsInPut", replace(WITHOUT_FAULTS, duration_s=6.0, budget_rows=3000)))["Round trip"]
    assert (found.outcome, found.defects) == (Outcome.FAIL, {"stuck"}), found


def test_a_sink_without_a_target_apart_is_not_run(checks):
    found = by_name(checks("NoTargetApart", replace(WITHOUT_FAULTS, budget_rows=3000)))
    assert found["Types"].outcome is Outcome.PASS
    names = ("Round trip", "Throughput", "Delivery under kills", "Schema change")
    assert {found[name].outcome for name in names} == {Outcome.NOT_TESTED}


@pytest.mark.chaos
def test_a_source_and_a_sink_are_evaluated_together(sandbox, real_target, rows_database):
    source = {
        "connector.class": "kit.TableConnector", "database": str(rows_database), "batch.max.rows": "7",
        "exactly.once.support": "required",
    }  # fmt: skip
    sink = {"connector.class": "kit.CleanSink", "database": str(real_target), "topics": "rows"}
    sides = Sides(Manifest("in", source, "test"), Manifest("out", sink, "test"))
    found = run_checks(sandbox, sides, replace(OPTIONS, crashes=1), lambda text: None)
    known = [check for check in found if check.connector == "out" or check.number < 9]
    assert {check.outcome for check in known} == {Outcome.PASS}, found
    assert {check.outcome for check in found} <= {Outcome.PASS, Outcome.NOT_TESTED}
    assert [check.connector for check in found] == ["in"] * 10 + ["out"] * 8
    assert "Every one of 3,000 committed records" in next(
        check.summary for check in found if (check.connector, check.name) == ("out", "Round trip")
    )
