"""Runs `connect bigquery plan` on a table of the emulator: what it asks, what it assumes, and what it refuses."""

from __future__ import annotations

import json

import pytest
from bigquery_dataset import Dataset
from click.testing import CliRunner
from confluent_kafka import Producer

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConnectError
from connect.api.optional.costs import TopicRate
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
    assert "merge, keep=first: one row per key, the first: no update is kept\n" in shown.output


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


def orders_in_kafka(kafka, topic: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(records):
        producer.produce(topic, b"x" * 100, key=f"{number % 4}".encode())
    assert producer.flush(60) == 0


def test_what_comes_is_sampled_in_kafka_for_a_table_that_is_not_there_yet(kafka, topic_name, dataset, tmp_path):
    orders_in_kafka(kafka, topic_name, 50)
    config, worker = tmp_path / "sink.json", tmp_path / "worker.properties"
    settings = dataset.settings(topics=topic_name, sanitizeTopics="true")
    config.write_text(json.dumps({"name": "sink", "config": settings}))
    worker.write_text(
        f"bootstrap.servers={kafka.bootstrap_servers}\ngroup.id=g\nconfig.storage.topic=c\noffset.storage.topic=o\n"
        "status.storage.topic=s\nkey.converter=org.apache.kafka.connect.json.JsonConverter\n"
        "value.converter=org.apache.kafka.connect.json.JsonConverter\n"
    )
    done = CliRunner().invoke(main, ["bigquery", "plan", str(config), "--worker", str(worker), "--json"])
    assert done.exit_code == 0, done.output
    (table,) = json.loads(done.output)
    assert "does not exist yet; sampled: 7,200 records a day, as in the last 10 minutes of its topic" in table["facts"]
    assert "of the last 50 records 4 keys differ" in table["facts"]
    assert "a row is as large as a record's value in Kafka" in table["facts"]
    modes = {mode["mode"]: mode for mode in table["modes"]}
    assert modes["cdc"]["bytes_per_day"] == 7200 * 100


def test_validation_prices_what_comes_before_there_is_a_table_and_goes_on_without_kafka(dataset):
    def notes(rates):
        config = BigQuerySinkConfig.parse({**EVERYWHERE, **dataset.settings(topics="orders")})
        connector = BigQuerySinkConnector(config)
        connector.sampling(rates)
        return connector.check(Deadline.after(60))

    def refused(topics, deadline):
        raise ConnectError("no broker")

    asked = []
    rate = TopicRate(86_400_000, 86_400, row_bytes=1000)
    (note,) = notes(lambda topics, deadline: asked.extend(topics) or {"orders": rate})
    assert asked == ["orders"]
    assert "86,400,000 records a day, as in the last 24 hours of its topic" in note
    assert "A day costs about: merge" in note
    assert "dedup.mode=auto takes merge for it" in note, "as it does where a table has no rows"
    assert notes(refused) == []
