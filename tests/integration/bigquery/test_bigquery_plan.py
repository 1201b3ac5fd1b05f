"""`connect bigquery plan` on a table of the emulator: what it asks, what it assumes, and what it refuses."""

from __future__ import annotations

import json

import pytest
from bigquery_dataset import Dataset
from click.testing import CliRunner

from connect.api.allowed_paths import EVERYWHERE
from connect.cli import main
from connect.lib.deadline import Deadline
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkConnector

pytestmark = pytest.mark.integration


@pytest.fixture
def plan(dataset: Dataset, tmp_path):
    def run(*options, **settings):
        config = tmp_path / "sink.json"
        config.write_text(json.dumps({"name": "sink", "config": dataset.settings(topics="orders", **settings)}))
        return CliRunner().invoke(main, ["bigquery", "plan", str(config), *options])

    return run


def test_a_table_is_priced_by_its_rows_and_partitions(dataset, plan):
    dataset.query(f"CREATE TABLE `{dataset.name}`.orders (id INT64, at DATE) PARTITION BY at CLUSTER BY id")
    dataset.query(f"INSERT INTO `{dataset.name}`.orders VALUES (1, DATE '2026-01-01'), (2, DATE '2026-01-02')")
    done = plan("--rows-per-day", "86400", "--row-bytes", "100", "--json")
    assert done.exit_code == 0, done.output
    (table,) = json.loads(done.output)
    assert table["table"].endswith("orders")
    assert "2 rows" in table["facts"]
    assert "2 partitions by DAY of at, clustered by id" in table["facts"]
    modes = {mode["mode"]: mode for mode in table["modes"]}
    assert modes["none, load jobs"]["usd_per_day"] == 0
    assert modes["cdc"]["bytes_per_day"] == 8_640_000
    assert "merge, window of 1d" in modes
    assert sum(mode["fits"] for mode in modes.values()) == 1
    shown = plan("--rows-per-day", "86400", "--row-bytes", "100")
    assert "USD a day" in shown.output
    assert "merge, keep=first" in shown.output


def test_a_missing_table_asks_for_what_will_come(plan):
    done = plan()
    assert done.exit_code == 0, done.output
    assert "does not exist yet" in done.output
    assert "--rows-per-day" in done.output
    priced = plan("--rows-per-day", "1000", "--row-bytes", "100", "--json")
    assert json.loads(priced.output)[0]["modes"]


def test_wrong_prices_are_refused(plan, tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("query_tib: -5\nqueries: 1\n")
    done = plan("--prices", str(prices))
    assert done.exit_code == 1
    assert "query_tib is -5" in done.output
    assert "'queries' is no price" in done.output
    prices.write_text("- 1\n")
    assert "holds list, no prices" in plan("--prices", str(prices)).output


def test_a_table_that_may_not_be_read_is_told_and_ends_nothing(proxy, plan):
    proxy.add(r"^GET [^ ]*/tables/orders", times=9, status=403, reason="accessDenied")
    done = plan(bigquery__endpoint=proxy.url)
    assert done.exit_code == 0, done.output
    assert proxy.met
    assert "cannot be looked at" in done.output
    assert "BigQuery Data Editor" in done.output


def test_validation_notes_what_a_day_costs_for_a_table_with_rows(dataset):
    def notes(**settings):
        config = BigQuerySinkConfig.parse({**EVERYWHERE, **dataset.settings(topics="orders", **settings)})
        return BigQuerySinkConnector(config).check(Deadline.after(60))

    assert notes() == []
    dataset.query(f"CREATE TABLE `{dataset.name}`.orders (id INT64, at DATE) PARTITION BY at")
    dataset.query(f"INSERT INTO `{dataset.name}`.orders VALUES (1, DATE '2026-01-01'), (2, DATE '2026-01-02')")
    (note,) = notes()
    for part in ("2 rows", "2 partitions", "assumed", "merge, keep=first", "merge, window of 1d", "USD", "fits: "):
        assert part in note
    assert notes(dedup__fields="") == []
