"""Seeded defects that a sample alone shows, each found and named: no Kafka is needed for these."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.poc.report.report import SIZE_MAX, html_report
from connect.poc.sandbox import children
from connect.poc.sandbox.examination import examine
from connect.poc.sandbox.result import Outcome, Result
from connect.poc.source.sample_checks import check_sample
from connect.runtime.parts.connector_settings import ConnectorSettings

JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = {
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON, **EVERYWHERE,
}  # fmt: skip


@pytest.fixture
def checks(rows_database):
    """The checks of a sample of 500 rows of the kit's table, by name."""

    def run(connector, *, timeout_s=60.0, show_values=False, **more):
        config = {
            "name": "c", "connector.class": f"kit.{connector}", "database": str(rows_database), "batch.max.rows": "100",
            **more,
        }  # fmt: skip
        settings = ConnectorSettings(WORKER, config)
        found = check_sample(settings, 500, timeout_s, show_values=show_values, grace_s=2.0)
        return {check.name: check for check in found}

    return run


def test_a_clean_source_passes_them_all(checks):
    found = checks("TableConnector")
    assert {name: check.outcome for name, check in found.items()} == dict.fromkeys(found, Outcome.PASS)
    assert len(found) == 4
    assert found["Discovery"].summary == "1 task; 500 rows of 1 topic sampled."


def test_a_converter_that_rounds_decimals_is_found(checks):
    exact = checks("Amounts", **{"value.converter": JSON})
    assert exact["Round trip"].outcome is Outcome.PASS
    rounding = checks("Amounts", **{"value.converter": "kit.RoundsDecimals"})["Round trip"]
    assert (rounding.outcome, rounding.defects) == (Outcome.FAIL, {"lossy"})
    assert "amounts.amount (450 rows)" in rounding.summary, "of ten amounts one ends in a zero"


def test_a_source_that_skips_ties_is_found(checks):
    cursor = checks("SkipsTies", **{"batch.max.rows": "7"})["Cursor"]
    assert (cursor.outcome, cursor.defects) == (Outcome.FAIL, {"lost"})
    assert "batch.max.rows=7 and 2" in cursor.summary


@pytest.mark.parametrize("connector", ["HangsInOpen", "HangsInPoll"])
def test_a_source_that_hangs_is_said_to_within_the_time(checks, connector):
    found = checks(connector, timeout_s=5.0)
    assert found["Discovery"].outcome is Outcome.FAIL
    assert "did not return in 7 s" in found["Discovery"].summary
    assert {found[name].outcome for name in ("Types", "Round trip", "Cursor")} == {Outcome.NOT_TESTED}


def test_a_source_that_ends_its_process_is_said_to(checks):
    found = checks("Crashes")["Discovery"]
    assert found.outcome is Outcome.FAIL
    assert "its process ended with code -6" in found.summary


def test_what_ends_a_process_that_has_answered_is_no_answer(checks):
    assert {check.outcome for check in checks("AbortsAtExit").values()} == {Outcome.PASS}


def test_a_source_that_leaks_takes_no_more_than_its_share_of_memory(checks, monkeypatch):
    monkeypatch.setattr(children, "MEMORY_MAX", 2**30)
    found = checks("Leaks")["Discovery"]
    assert found.outcome is Outcome.FAIL
    assert "MemoryError" in found.summary


def test_a_table_of_one_row_is_compared_and_an_empty_one_is_told(checks, tmp_path):
    from kit_table import TableDriver

    driver = TableDriver(tmp_path)
    driver.reset()
    empty = checks("TableConnector", database=str(driver.path))["Discovery"]
    assert (empty.outcome, empty.defects) == (Outcome.WARN, {"empty"})
    driver.insert([{"id": 1, "tie": 1, "text": "a", "whole": 1, "number": 0.5}])
    one = checks("TableConnector", database=str(driver.path))["Round trip"]
    assert one.outcome is Outcome.PASS
    assert "of 1 row came back equal" in one.summary


def test_what_a_connector_found_out_before_it_failed_counts(rows_database):
    config = {"name": "c", "connector.class": "kit.ExaminesItself", "database": str(rows_database)}
    found = examine(ConnectorSettings(WORKER, config))
    assert [finding.remedy for finding in found.findings] == ["GRANT SELECT ON rows TO me;"]
    assert "in the midst of it" in found.broken


def test_rows_of_ten_thousand_columns_with_hostile_names_are_compared(checks):
    found = checks("Wide", timeout_s=120.0, **{"batch.max.rows": "50"})
    assert found["Round trip"].outcome is Outcome.PASS, found["Round trip"]
    (table,) = found["Types"].tables
    assert len(table.rows) == 10_006
    shown = html_report(Result("i", {"c": {}}, 0, 0, list(found.values())))
    assert len(shown.encode()) <= SIZE_MAX
    assert "<img" not in shown


def test_a_source_that_keeps_something_of_its_owners_is_not_run(checks):
    found = checks("KeepsASlot")
    assert {check.outcome for check in found.values()} == {Outcome.NOT_TESTED}
    assert "replication slot s" in found["Discovery"].summary


def test_no_value_is_shown_unless_that_is_asked_for(checks):
    hidden = json.dumps([asdict(check) for check in checks("TableConnector").values()], default=sorted)
    assert "SENTINEL" not in hidden
    assert "7000" not in hidden
    shown = json.dumps([asdict(check) for check in checks("TableConnector", show_values=True).values()], default=sorted)
    assert "SENTINEL-1" in shown
