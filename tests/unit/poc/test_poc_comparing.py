"""Shows two results beside each other, the files to take away, and charts as places on a canvas."""

from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner

from connect.api.errors import ConfigError
from connect.backfill.job.spec_file import parse_spec
from connect.cli import main
from connect.poc.report.charts import HEIGHT, WIDTH, drawing_of
from connect.poc.report.finished import finished_files
from connect.poc.report.result_comparison import as_text, compare_results
from connect.poc.sandbox.result import Chart, Check, Outcome, Result, Setting


def result(rate=10.0, outcome=Outcome.PASS, **config) -> Result:
    checks = [
        Check(7, "Throughput", Outcome.PASS, "s", figures={"rows_per_second": rate}),
        Check(8, "Delivery", outcome, "s", settings=(Setting("a", "2", "why"), Setting("b", None, "why"))),
        Check(10, "Load and cost", Outcome.PASS, "s", figures={"chunks": 3}),
    ]
    return Result("i", {"c": config}, 0, 0, checks)


def test_what_differs_is_marked():
    lines = compare_results(result(mode="x").as_json(), result(20.0, Outcome.WARN, mode="y", more="z").as_json())
    assert [(line.what, line.left, line.right) for line in lines if line.differs] == [
        ("verdict", "fits", "fits with warnings"),
        ("Throughput: rows_per_second", "10", "20"),
        ("Delivery", "pass", "warn"),
        ("mode", "x", "y"),
        ("more", "–", "z"),
    ]
    text = as_text(lines, ("a.json", "b.json")).splitlines()
    assert "a.json" in text[0]
    assert text[1].startswith("*  verdict")
    assert text[2].startswith("   Throughput")


def test_files_that_are_no_results_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="no result of connect poc"):
        compare_results({}, {})
    left, right = tmp_path / "a.json", tmp_path / "b.json"
    left.write_text(json.dumps(result().as_json()))
    right.write_text("{")
    run = CliRunner().invoke(main, ["poc", "compare", str(left), str(right)])
    assert run.exit_code == 3
    right.write_text(json.dumps(result(20.0).as_json()))
    run = CliRunner().invoke(main, ["poc", "compare", str(left), str(right)])
    assert run.exit_code == 0
    assert "*  Throughput: rows_per_second" in run.output


def test_a_connector_is_taken_away_with_what_to_set_instead():
    connector, backfill = finished_files(result(a="1", b="x", keep="k"))
    assert json.loads(connector.text) == {"name": "c", "config": {"keep": "k", "a": "2"}}
    changed = [
        line for line in connector.difference.splitlines() if line[:1] in "+-" and line[:3] not in {"+++", "---"}
    ]
    assert [line.strip(" ,") for line in changed][:2] == ['-    "a": "1"', '-    "b": "x"']
    assert parse_spec(backfill.text, "f").source.connector == "c"
    assert yaml.safe_load(backfill.text)["engine"]["type"] == "spark"


def test_a_chart_fits_its_canvas_and_keeps_its_peak():
    drawing = drawing_of(Chart("Rate", "rows/s", [(i / 10, 5.0 if i != 777 else 100.0) for i in range(5000)]))
    places = [tuple(map(float, place.split(","))) for place in drawing.line.split()]
    assert len(places) <= 300
    assert min(y for _, y in places) == 0.0, "the peak is at the top"
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    assert drawing.top == "100 rows/s"
    assert drawing_of(Chart("Nothing", "s", [(0.0, 0.0), (0.0, 0.0)])).line
