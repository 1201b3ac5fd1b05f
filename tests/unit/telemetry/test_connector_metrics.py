"""Every figure of a connector is declared, with what it means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import connectors
from connect.telemetry.connector_metrics import CONNECTOR_METRICS
from connect.telemetry.metrics import TASK_METRICS
from connectors.bigquery.spending.ledger import Kind

pytestmark = pytest.mark.quick
_SET = re.compile(r"gauge\(\s*\"(\w+)\"|\"(\w+_total)\"|\b(\w+_total)=")
"""Figures that are set by name, or added up in a mapping that is told as a whole."""


def test_every_figure_that_a_connector_sets_is_declared() -> None:
    files = [*Path(connectors.__file__).parent.rglob("*.py")]
    found = {name for file in files for groups in _SET.findall(file.read_text()) for name in groups if name}
    assert {"merges_total", "slot_retained_bytes", "duplicates_by_id_total", "open_files"} <= found, "looked for"
    assert found - {metric.figure for metric in TASK_METRICS} == set()


def test_what_each_kind_of_job_was_billed_for_is_declared() -> None:
    declared = {metric.figure for metric in TASK_METRICS}
    assert {f"{kind}_billed_{span}_bytes" for kind in Kind for span in ("day", "month")} <= declared
    assert {f"{kind}_jobs_{span}" for kind in Kind for span in ("day", "month")} <= declared


def test_a_declared_figure_says_whose_it_is() -> None:
    said = {metric.figure: metric.doc for metric in TASK_METRICS}
    assert all(f"Of {whose}." in said[figure] for whose, declared in CONNECTOR_METRICS for figure, *_ in declared)
    (wait,) = [metric for metric in TASK_METRICS if metric.figure == "budget_wait_s"]
    assert (wait.name, wait.kind) == ("kafka_connect_task_budget_wait_seconds", "gauge")
