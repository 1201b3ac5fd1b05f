"""Dashboards and alerts ask for what a worker really tells."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing

import pytest
import requests
from e2e_worker import wait_for
from observability import BIGQUERY, RULES, asked, board_queries, metrics_in, prometheus, queries, samples_of, tool


@pytest.fixture
def moved(worker, unique, tmp_path):
    """Rows that went through a source and a sink."""
    database = tmp_path / "orders.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO orders VALUES (?, ?)", [(i, f"order {i}") for i in range(50)])
    source, sink, target = f"{unique}-source", f"{unique}-sink", tmp_path / "out.txt"
    json = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    assert worker.create(source, json | {
        "connector.class": "JdbcSourceConnector", "connection.url": f"jdbc:sqlite:{database}", "mode": "incrementing",
        "incrementing.column.name": "id", "table.whitelist": "orders", "topic.prefix": f"{unique}-",
        "poll.interval.ms": "200", "offset.flush.interval.ms": "200",
    }).status_code == 201  # fmt: skip
    assert worker.create(sink, json | {
        "connector.class": "FileStreamSink", "file": str(target), "topics": f"{unique}-orders",
        "offset.flush.interval.ms": "200",
    }).status_code == 201  # fmt: skip
    yield worker, source, sink
    worker.call("DELETE", source)
    worker.call("DELETE", sink)


def scraped(worker):
    return requests.get(f"{worker.url}/metrics", timeout=30).text


def value(worker, metric, connector):
    start = f'{metric}{{connector="{connector}",task="0"}} '
    return next(
        (float(line.removeprefix(start)) for line in scraped(worker).splitlines() if line.startswith(start)), None
    )


def test_every_query_of_the_dashboards_and_alerts_names_metrics_that_a_worker_has(moved):
    worker, source, sink = moved
    wanted = set().union(*map(metrics_in, queries()))
    assert len(wanted) > 30, "the queries were read"
    wait_for(lambda: not wanted - samples_of(scraped(worker)) or None, 120, f"all of {len(wanted)} metrics")

    assert wait_for(lambda: value(worker, "kafka_connect_task_latency_seconds_count", sink) == 50, 60, "all rows timed")
    assert value(worker, "kafka_connect_sink_task_sink_record_read_total", sink) == 50
    assert value(worker, "kafka_connect_source_task_source_record_write_total", source) == 50


def test_a_drained_table_is_not_behind_although_it_was_looked_at_a_while_ago(moved):
    worker, source, _ = moved
    wait_for(lambda: value(worker, "kafka_connect_task_rows_total", source) == 50, 60, "all rows")
    wait_for(lambda: value(worker, "kafka_connect_task_source_lag_seconds", source) == 0.0, 60, "a lag of nothing")
    assert value(worker, "kafka_connect_task_caught_up_age_seconds", source) > 0.0
    said = worker.call("GET", source, "/why").json()
    assert not any("behind" in one["text"] for one in said), said


@pytest.mark.chaos
def test_each_alert_rings_for_its_fault_and_none_on_a_sound_cluster():
    ran = subprocess.run([tool("promtool"), "test", "rules", "connect.test.yml"], cwd=RULES, capture_output=True,
                         text=True, timeout=120, check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.chaos
def test_prometheus_scrapes_a_worker_and_answers_every_query(moved, tmp_path):
    worker, source, sink = moved
    with prometheus(tmp_path, worker.url) as server:
        wait_for(lambda: asked(server, 'up{job="connect"} == 1') or None, 60, "a scrape")
        rows = 'kafka_connect_task_rows_total{connector="%s"} == 50'
        wait_for(lambda: (asked(server, rows % source) and asked(server, rows % sink)) or None, 60, "the rows")
        for query in (*queries(), *board_queries(BIGQUERY)):
            asked(server, query.replace("$connector", sink))
        rules = requests.get(f"{server}/api/v1/rules", timeout=30).json()["data"]["groups"]
        assert sum(len(group["rules"]) for group in rules) == 18
        assert asked(server, 'ALERTS{alertstate="firing"}') == []
