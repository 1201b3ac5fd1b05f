"""Checks on real Kafka that a worker alerts a receiver when a budget for BigQuery is nearly used up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bigquery_oracle import Message
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from google.cloud import bigquery
from test_bigquery_killed import config_of, produce

from connect.tools.services.process.ports import free_ports
from connectors.bigquery.merge.staging import connector_label
from connectors.bigquery.spending.connector_spending import spending_table
from connectors.bigquery.spending.ledger import Job, Kind, Ledger

RECEIVER = Path(__file__).parents[1] / "cluster" / "alert_receiver.py"
BUDGET_BYTES = 10**12


@pytest.fixture
def receiver(tmp_path) -> Iterator[tuple[str, Path]]:
    """Its address, and the file with a line for each request; the first two are answered late and by 500."""
    port, log = free_ports(1)[0], tmp_path / "alerts.jsonl"
    process = subprocess.Popen([sys.executable, str(RECEIVER), str(port), str(log)])
    yield f"http://127.0.0.1:{port}/alerts", log
    process.kill()
    process.wait(10)


def spent(dataset, connector: str, share: float) -> None:
    """Note that jobs of today were billed for a share of the budget, as a task of the connector does."""
    job = Job("job", Kind.MERGE, int(BUDGET_BYTES * share), was_reserved=False)
    ledger = Ledger().at(f"{datetime.now(UTC):%Y-%m-%d}").with_job(job)
    table = bigquery.Table(f"{dataset.project}.{dataset.name}.{spending_table(connector_label(connector))}")
    table.schema, table.description = [bigquery.SchemaField("nothing", "INTEGER")], ledger.text()
    dataset.client.create_table(table)


def budget_alerts(log: Path) -> list[dict[str, Any]]:
    lines = log.read_text().splitlines() if log.exists() else []
    requests = [json.loads(line) for line in lines]
    told = [json.loads(request["body"]) for request in requests if request["status"] == 200]
    return [one for one in told if one["event"] == "budget"]


def test_a_budget_is_told_to_the_webhook_before_it_is_used_up(kafka, dataset, receiver, tmp_path, unique):
    url, log = receiver
    topic, name = f"{unique}-orders", f"{unique}-sink"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 3, config={"retention.ms": "-1"})])[topic].result(60)
    spent(dataset, name, 0.85)
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique, **{"alerts.webhook.url": url})
    worker.start()
    try:
        given = {"bigquery.budget.bytes.per.day": str(BUDGET_BYTES), "timePartitioningType": "NONE"}
        assert worker.create(name, config_of(kafka, dataset, topic, **given)).status_code == 201
        produce(kafka, topic, [Message(0, 0, 1, 100, text="row")])
        (alert,) = wait_for(lambda: budget_alerts(log), 240, lambda: f"an alert; {worker.log_tail()}")
        (task,) = worker.status(name)["tasks"]
        assert task["state"] == "RUNNING"
        assert task.get("waiting_for") in {None, "rows", "budget"}, "nobody is told that it stands still"
    finally:
        worker.stop()
    assert (alert["state"], alert["connector"], alert["task"]) == ("firing", name, None)
    assert alert["reason"].startswith("85 % of the day's budget are used")
